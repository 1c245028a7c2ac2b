"""`wengert compare`: what has changed between two runs of a script."""

from __future__ import annotations

import json

import pytest

from tests.browser import SIZES, sticking_out
from tests.cli.process import good, script, wengert
from wengert.cli._changes import Change, Measure, compared, load_run
from wengert.cli._compare import amount_of, difference

BEFORE = """
    import time
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(8, 16)
            self.second = nn.Linear(16, 4)

        def forward(self, x):
            return self.second(self.first(x).tanh())

    def train():
        net, history = Net(), []
        for step in range(40):
            x = torch.randn(32, 8)
            loss = net(x).square().mean()
            loss.backward()
            history.append(net(x).sum())
            time.sleep(0.002)

    train()
"""
# Two lines more in front, a wider layer, a mistake gone and another one made.
AFTER = BEFORE
for old, new in (
    ("import time", "# About it\n    import os\n    import time"),
    ("nn.Linear(8, 16)", "nn.Linear(8, 64)"),
    ("nn.Linear(16, 4)", "nn.Linear(64, 4)"),
    ("history.append(net(x).sum())", "history.append(loss.item())"),
    ("loss.backward()", "loss.backward(retain_graph=True)"),
    ("0.002", "0.02"),
):
    AFTER = AFTER.replace(old, new)


def line(text, part):
    """``train.py:line`` of a part of a script."""
    lines = text.splitlines()
    (found,) = [k for k, words in enumerate(lines, 1) if part in words]
    return f"train.py:{found}"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The folder with the data of two runs, of different folders."""
    folder = tmp_path_factory.mktemp("runs")
    for name, text in (("before", BEFORE), ("after", AFTER)):
        inside = folder / name
        inside.mkdir()
        script(inside, text, "train.py")
        options = ["--quiet", "--report-json", f"../{name}.json"]
        assert good(wengert("run", *options, "train.py", cwd=inside)) == ""
    return folder


def changes(runs, name, by):
    """The changes of a measure, by line or module."""
    found = compared(load_run(runs / "before.json"), load_run(runs / "after.json"))
    measure = next(measure for measure in found.measures if measure.name == name)
    return {change.text or change.where: change for change in getattr(measure, by)}


def test_lines_are_known_again_by_their_text(runs):
    forward = changes(runs, "FLOP", "lines")["return self.second(self.first(x).tanh())"]
    assert forward.where == line(AFTER, "self.second(self")
    products = {16: 2 * 32 * (8 * 16 + 16 * 4), 64: 2 * 32 * (8 * 64 + 64 * 4)}
    assert forward.before > products[16]
    assert forward.after > products[64]
    assert forward.after == pytest.approx(4 * forward.before, rel=0.01)


def test_modules_are_compared(runs):
    bytes_ = changes(runs, "bytes", "modules")
    assert (bytes_["Net"].before, bytes_["Net"].after) == (32 * 16 * 4, 32 * 64 * 4)
    flops = changes(runs, "FLOP", "modules")
    assert flops["Net.second"].after == 4 * flops["Net.second"].before


def test_findings_that_are_new_and_gone(runs):
    found = compared(load_run(runs / "before.json"), load_run(runs / "after.json"))
    assert [(one.kind, one.line) for one in found.gone] == [
        ("leak", "history.append(net(x).sum())")
    ]
    assert [(one.kind, one.where) for one in found.new] == [
        ("needless-retain", line(AFTER, "backward"))
    ]
    same = compared(load_run(runs / "before.json"), load_run(runs / "before.json"))
    assert (same.new, same.gone) == ((), ())
    assert not any(m.moved(m.lines) or m.moved(m.modules) for m in same.measures)


def test_it_prints_what_has_changed(runs):
    result = wengert("compare", "before.json", "after.json", cwd=runs)
    text = good(result)
    assert text.startswith("before: train.py, ")
    assert "peak bytes of graphs" in text
    slow = next(line for line in text.splitlines() if "time.sleep(0.02)" in line)
    assert slow.split()[2] == "new"
    assert "FLOP by module" in text
    assert "+49.2 kFLOP (+300%)  Net.first" in text
    gone, new = line(BEFORE, "history.append"), line(AFTER, "backward")
    assert f"gone: leak at {gone}  history.append(net(x).sum())" in text
    assert f"new: needless-retain at {new}  loss.backward(retain_graph=True)" in text
    assert str(runs) not in text.split("gone:")[0]


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_page_has_it_all(runs, open_page, size):
    good(wengert("compare", "before.json", "after.json", "--report", "page.html", cwd=runs))
    page = open_page(runs / "page.html", viewport={"width": size[0], "height": size[1]})
    assert sticking_out(page) == []
    findings = page.locator(".finding h3").all_inner_texts()
    assert findings == ["new A graph is retained for nothing", "gone A graph outlives its step"]
    page.locator("[role=tab] >> text=FLOP").click()
    table = page.locator("[role=tabpanel]:visible")
    assert line(AFTER, "self.second(self") in table.inner_text()
    assert "Net.second" in table.inner_text()
    assert sticking_out(page) == []


def test_what_comes_from_the_data_is_escaped(runs, open_page):
    data = json.loads((runs / "after.json").read_text())
    bad = "<script>alert(1)</script>\"'&"
    for node in data["captures"][0]["graph"]["nodes"]:
        node["text"] = node["module"] = bad
    data["script"] = data["began"] = bad
    data["findings"] = [{"kind": bad, "where": bad, "line": bad, "text": bad}]
    (runs / "bad.json").write_text(json.dumps(data))
    good(wengert("compare", "before.json", "bad.json", "--report", "bad.html", cwd=runs))
    page = open_page(runs / "bad.html")
    assert page.locator("main script").count() == 0
    assert bad in page.inner_text("main")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (None, "No such file or directory: 'other.json'"),
        ("nothing", "other.json is no JSON"),
        ("[]", "other.json is not what this version's `wengert run --report-json` writes"),
        ('{"script": 1}', "folder, "),
        (
            '{"folder": "", "memory": 1, "findings": 1, "captures": 1, "hotness": 1, "began": 1}',
            "before.json or other.json is not as `wengert run --report-json` wrote it",
        ),
    ],
)
def test_what_is_no_data_of_a_run_is_refused(runs, text, complaint):
    other = runs / "other.json"
    other.unlink(missing_ok=True)
    if text is not None:
        other.write_text(text)
    result = wengert("compare", "before.json", "other.json", cwd=runs)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("wengert compare: ")
    assert complaint in result.stderr
    assert "Traceback" not in result.stderr


def test_changes_of_time_that_are_chance_are_left_out():
    rows = [
        Change("a", "", 1.0, 1.05),
        Change("b", "", 1.0, 1.2),
        Change("c", "", 0.01, 0.05),
        Change("d", "", None, 0.3),
        Change("e", "", 0.4, None),
    ]
    time = Measure("time", tuple(rows), (), 0.05)
    assert [change.where for change in time.moved(time.lines)] == ["e", "d", "b"]
    exact = Measure("bytes", (Change("a", "", 4, 4), Change("b", "", 4, 5)), ())
    assert [change.where for change in exact.moved(exact.lines)] == ["b"]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (1000, 1500, "+500 B (+50%)"),
        (1500, 1000, "-500 B (-33%)"),
        (None, 5, "new"),
        (5, None, "gone"),
        (5, 5, ""),
        (0, 5, "+5 B"),
    ],
)
def test_differences_read_well(before, after, words):
    assert difference(Change("", "", before, after), amount_of("bytes")) == words
