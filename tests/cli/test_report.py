"""The summary after `wengert run`."""

from __future__ import annotations

import json
import re

import pytest

from tests.cli.process import good, script, wengert
from wengert.cli._report import format_report
from wengert.graph import Report
from wengert.graph.formatting import format_bytes, shorten_path

# The product keeps y, and the second backward does not go through it: 16 bytes stay, beside which
# there are x and y of the next step until `a` is the new product.
TRAINING = """
    import torch
    w = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    for step in range(30):
        x = torch.tensor([1.0, 2.0, 3.0, 4.0])
        y = (w * x).tanh()
        a, b = y * y, y + y
        a.sum().backward(retain_graph=True)
        b.sum().backward()
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a run, what it printed to stderr, and its data."""
    folder = tmp_path_factory.mktemp("run")
    script(folder, TRAINING, "train.py")
    result = wengert("run", "--report-json", "out.json", "train.py", cwd=folder)
    assert good(result) == ""
    return folder, result.stderr, json.loads((folder / "out.json").read_text())


def test_summary_reads_well(run):
    lines = [re.sub(r"\d+\.\d s", "0.1 s", line) for line in run[1].splitlines()]
    assert lines == [
        "wengert: train.py, 0.1 s, 60 backward calls through 240 operations",
        "  operations    mul 90, tanh 60, sum 60, add 30",
        "  graph memory  peak 48 B at train.py:8, 16 B after the last backward",
        "  released by   train.py:9  b.sum().backward(): 30 calls, 4 operations, 16 B each",
        "  retained by   train.py:8  a.sum().backward(retain_graph=True): 30 calls,"
        " up to 32 B each",
    ]


def test_json_has_the_data(run):
    folder, _, data = run
    assert data["script"] == "train.py"
    assert data["seconds"] > 0
    assert data["backward_calls"] == 60
    assert data["nodes"] == 240
    assert data["ops"] == {"mul": 90, "tanh": 60, "sum": 60, "add": 30}
    assert data["memory"]["peak"] == 48
    assert data["memory"]["after"] == 16
    retaining, releasing = data["lines"]
    assert retaining["where"] == f"{folder}/train.py:8"
    assert retaining["text"] == "a.sum().backward(retain_graph=True)"
    assert (retaining["calls"], retaining["retaining"], retaining["kept_bytes"]) == (30, 30, 32)
    assert retaining["released_nodes"] == 0
    assert (releasing["calls"], releasing["released_nodes"]) == (30, 120)
    assert releasing["released_bytes"] == 30 * 16
    assert data["findings"] == []


def test_quiet_says_nothing_and_still_writes(tmp_path):
    file = script(tmp_path, TRAINING)
    out = tmp_path / "out.json"
    result = wengert("run", "--quiet", "--report-json", str(out), str(file))
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert json.loads(out.read_text())["backward_calls"] == 60


def test_printed_after_a_failure(tmp_path):
    file = script(tmp_path, TRAINING + "    1 / 0\n")
    result = wengert("run", str(file))
    assert result.returncode == 1
    traceback, _, summary = result.stderr.partition("wengert: ")
    assert traceback.endswith("ZeroDivisionError: division by zero\n")
    assert "60 backward calls" in summary


def test_printed_after_sys_exit(tmp_path):
    file = script(tmp_path, TRAINING + "    import sys; sys.exit(3)\n")
    result = wengert("run", str(file))
    assert result.returncode == 3
    assert "60 backward calls" in result.stderr


def test_needless_retain_is_pointed_out(tmp_path):
    file = script(
        tmp_path,
        """
        import torch
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        for step in range(5):
            (w * w).sum().backward(retain_graph=True)
        """,
    )
    result = wengert("run", str(file), cwd=tmp_path)
    good(result)
    assert (
        "  look at       script.py:5: kept its graph every time, and no later backward went"
        " through it: retain_graph=True may go (5 times)\n"
    ) in result.stderr


def test_lenient_second_backward_is_pointed_out(tmp_path):
    file = script(
        tmp_path,
        """
        import torch
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        y = w + 1
        z = y * 2
        y.sum().backward()
        z.sum().backward()
        """,
    )
    result = wengert("run", str(file), cwd=tmp_path)
    good(result)
    assert f"look at       script.py:7: passed add, which {file}:6 had released" in result.stderr


def test_no_backward_at_all():
    assert format_report(Report(), "a/b.py", 1.0) == "wengert: b.py, 1.0 s, no backward call\n"


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_949, "999.9 kB"), (999_960, "1.0 MB"),
     (2.5e9, "2.5 GB"), (4e12, "4000.0 GB")],
)  # fmt: skip
def test_sizes_are_for_people(count, text):
    assert format_bytes(count) == text


def test_places_are_relative_to_the_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert shorten_path(f"{tmp_path}/a/b.py:3") == "a/b.py:3"
    assert shorten_path("/elsewhere/b.py:3") == "/elsewhere/b.py:3"


KEPT = """
    import torch
    shared = torch.ones(64_000)
    net = torch.nn.Linear(1, 64_000)

    def train():
        history = []
        for step in range(40):
            (net.bias * 2).sum().backward()
            history.append((shared * net.bias).sum())

    train()
"""


@pytest.mark.parametrize("options", [(), ("--report-json", "out.json")])
def test_the_peak_is_that_of_all_graphs(options, tmp_path):
    script(tmp_path, KEPT, "train.py")
    result = wengert("run", *options, "train.py", cwd=tmp_path)
    assert good(result) == ""
    memory = next(line for line in result.stderr.splitlines() if "graph memory" in line)
    size = "256.0 kB"  # what all of the kept losses share
    assert f"peak {size} at train.py:9, {size} after the last backward" in memory
    if options:
        data = json.loads((tmp_path / "out.json").read_text())
        ((_, leak),) = data["leaks"]
        assert leak["nbytes"] == data["memory"]["after"] <= data["memory"]["peak"]
        assert data["timeline"]["peak"]["nbytes"] <= data["memory"]["peak"]
