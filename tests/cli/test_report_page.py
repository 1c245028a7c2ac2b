"""`wengert run --report`: the page says what happened, however the script ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys

import pytest

from tests.browser import SIZES, sticking_out
from tests.cli.process import ENVIRONMENT, good, script, wengert
from wengert.cli import _live_page

GAN = """
    import time
    import torch
    from torch import nn

    class Critic(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
            self.spare = nn.Linear(3, 2)

        def forward(self, x):
            time.sleep(0.001)
            return self.layers(x)

    def slow():
        time.sleep(0.06)

    def quick():
        time.sleep(0.015)

    def main():
        generator, critic = nn.Linear(2, 4), Critic()
        optimizers = [torch.optim.Adam(m.parameters()) for m in (generator, critic)]
        total, history = 0, []
        for step in range(40):
            fake = generator(torch.randn(32, 2))
            critic_loss = critic(fake.detach()).mean() - critic(torch.randn(32, 4)).mean()
            optimizers[1].zero_grad()
            critic_loss.backward()
            optimizers[1].step()
            generator_loss = -critic(fake).mean()
            optimizers[0].zero_grad()
            generator_loss.backward()
            optimizers[0].step()
            history.append(critic(torch.randn(2, 4)).sum())
            if step < 10:
                slow()
                quick()

    main()
"""


@pytest.fixture(scope="module")
def gan(tmp_path_factory):
    """The folder of a run of two backward lines, with its page and its data."""
    folder = tmp_path_factory.mktemp("gan")
    script(folder, GAN, "gan.py")
    options = ["--quiet", "--report", "out.html", "--report-json", "out.json"]
    result = wengert("run", *options, "gan.py", "--width", "a b", cwd=folder)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    return folder


def line(folder, text, name="gan.py"):
    """The number of the line that starts with a text."""
    lines = (folder / name).read_text().splitlines()
    (found,) = [k for k, words in enumerate(lines, 1) if words.strip().startswith(text)]
    return found


def report(folder, text, *options, name="train.py", **more):
    """The result of a run of a script with ``--report``."""
    script(folder, text, name)
    return wengert("run", "--quiet", "--report", "out.html", *options, name, cwd=folder, **more)


def test_sections_and_head(gan, open_page):
    page = open_page(gan / "out.html")
    assert page.title() == "gan.py: wengert run"
    assert page.inner_text("h1") == "gan.py"
    assert page.inner_text(".command") == "wengert run gan.py --width 'a b'"
    assert page.inner_text(".status") == "finished"
    sections = ["Findings", "Graphs", "Memory", "Time", "Source", "Releases", "Operations"]
    assert page.locator("main > section > h2:first-child").all_inner_texts() == sections
    links = [re.sub(r"\s*\d*$", "", text) for text in page.locator("nav a").all_inner_texts()]
    assert links == sections
    facts = dict(zip(page.locator("header dt").all_inner_texts(),
                     page.locator("header dd").all_inner_texts(), strict=True))  # fmt: skip
    assert facts["backward calls"] == "80"


def test_findings_have_line_and_remedy(gan, open_page):
    page = open_page(gan / "out.html")
    found = page.locator(".finding").all_inner_texts()
    leak = next(text for text in found if "outlives its step" in text)
    assert f"gan.py:{line(gan, 'history.append')}" in leak
    assert "history.append(critic(torch.randn(2, 4)).sum().item())" in leak
    unreached = next(text for text in found if "no gradient" in text)
    assert f"gan.py:{line(gan, 'self.spare')}" in unreached
    assert "Critic.spare (weight, bias)" in unreached
    assert "its module was never called" in unreached
    assert "requires_grad_(False)" in unreached
    assert len(found) == 2


def test_graph_of_each_backward_line(gan, open_page):
    page = open_page(gan / "out.html")
    tabs = page.locator("#graphs > .tabs > [role=tablist] > [role=tab]")
    assert tabs.all_inner_texts() == ["critic_loss.backward()", "generator_loss.backward()"]
    first, second = page.locator("#graph-0"), page.locator("#graph-1")
    assert first.is_visible()
    assert not second.is_visible()
    tabs.nth(1).click()
    assert not first.is_visible()
    assert f"gan.py:{line(gan, 'generator_loss.backward')}" in second.inner_text()
    tabs.nth(1).press("ArrowLeft")
    assert first.is_visible()
    page.locator("#graph-0-tab-1").click()
    by_line = page.locator("#graph-0-1").inner_text()
    assert f"gan.py:{line(gan, 'return self.layers(x)')}" in by_line


def test_drawings_are_made_when_they_are_seen(gan, open_page):
    pytest.importorskip("igraph")
    page = open_page(gan / "out.html")
    frames = page.locator("iframe.drawing")
    assert frames.count() == 2
    first = page.frame_locator("iframe.drawing >> nth=0")
    first.locator("#world .box").first.wait_for()
    assert "Critic" in first.locator("#world").text_content()
    assert frames.nth(1).get_attribute("srcdoc") is None
    page.locator("#graph-tab-1").click()
    second = page.frame_locator("iframe.drawing >> nth=1")
    second.locator("#world .box").first.wait_for()
    assert "generator_loss.backward()" in second.locator("h1").inner_text()


def test_without_the_extra_the_page_says_what_to_install(tmp_path, open_page):
    (tmp_path / "without").mkdir()
    script(tmp_path / "without", "raise ImportError('not here')\n", "igraph.py")
    path = os.pathsep.join(filter(None, [str(tmp_path / "without"), os.environ.get("PYTHONPATH")]))
    text = "import torch\n(torch.ones(2, requires_grad=True) * 2).sum().backward()\n"
    good(report(tmp_path, text, env=ENVIRONMENT | {"PYTHONPATH": path}))
    page = open_page(tmp_path / "out.html")
    assert "pip install 'wengert[graph]'" in page.inner_text("#graphs")
    assert page.locator("iframe").count() == 0


def test_hot_lines_lead_to_the_source(gan, open_page):
    page = open_page(gan / "out.html")
    slow = f"gan.py:{line(gan, 'time.sleep(0.06)')}"
    rows = page.locator("#time tbody tr").all_inner_texts()
    share = {row.split("\t")[0].strip(): row for row in rows}
    assert "time.sleep(0.06)" in share[slow]
    page.get_by_role("link", name=slow, exact=True).first.click()
    target = page.locator("tr.target")
    assert target.locator("td").first.inner_text() == slow.partition(":")[2]
    assert target.is_visible()
    assert "time.sleep(0.06)" in target.inner_text()


def test_memory_has_a_chart_of_the_first_calls(gan, open_page):
    page = open_page(gan / "out.html")
    memory = page.locator("#memory")
    assert "The first 30 calls, in which they held at most" in memory.inner_text()
    memory.locator(".timeline svg .call").first.wait_for()
    assert "critic_loss.backward()" in memory.inner_text()
    timeline = json.loads((gan / "out.json").read_text())["timeline"]
    assert [call["text"] for call in timeline["calls"]] == [
        "critic_loss.backward()", "generator_loss.backward()",
    ] * 15  # fmt: skip
    assert max(timeline["total"]) == timeline["peak"]["nbytes"] > 0


def test_tables_are_sorted_by_a_click(gan, open_page):
    page = open_page(gan / "out.html")
    operations = page.locator("#operations")

    def column(number):
        return operations.locator(f"tbody td:nth-child({number})").all_inner_texts()  # fmt: skip

    operations.get_by_role("button", name="operation").click()
    assert column(1) == sorted(column(1))
    operations.get_by_role("button", name="operation").click()
    assert column(1) == sorted(column(1), reverse=True)
    operations.get_by_role("button", name="passed").click()
    numbers = [int(text.replace(",", "") or 0) for text in column(2)]
    assert numbers == sorted(numbers, reverse=True)
    head = operations.locator("th[aria-sort=descending]")
    assert head.all_inner_texts() == ["passed"]


def test_graphs_have_the_time_of_modules_and_their_flops(gan, open_page):
    pytest.importorskip("igraph")
    page = open_page(gan / "out.html", viewport={"width": 1280, "height": 900})
    page.locator("#graph-0-tab-0").click()
    heads = page.locator("#graph-0-0 th").all_inner_texts()
    assert heads == ["module", "nodes", "bytes", "frees", "forward", "backward"]
    (layer,) = page.locator("#graph-0-0 tr", has_text="Critic.layers.0").all()
    assert layer.locator("td").all_inner_texts()[4:] == ["8.2 kFLOP", "8.2 kFLOP"]
    tree = page.frame_locator("#graph-0 iframe").locator("#overview")
    tree.locator(".choice >> text=FLOP").click()
    assert "Critic" in tree.locator("[role=tree]").inner_text()
    page.locator("#hot-tab-1").click()
    modules = page.locator("#hot-1 tbody tr td:first-child").all_inner_texts()
    assert all(name.split(".")[0] in ("Critic", "Linear") for name in modules)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_page_fits_its_window(gan, open_page, scheme, size):
    page = open_page(
        gan / "out.html",
        color_scheme=scheme,
        viewport={"width": size[0], "height": size[1]},
    )
    assert sticking_out(page) == []


def test_data_are_those_of_the_page(gan):
    data = json.loads((gan / "out.json").read_text())
    assert data["arguments"] == ["--width", "a b"]
    assert data["ending"] == {"kind": "finished", "status": 0, "text": "", "where": ""}
    assert data["backward_calls"] == 80
    assert [found["kind"] for found in data["findings"]] == ["leak", "no-gradient"]
    assert [capture["text"] for capture in data["captures"]] == [
        "critic_loss.backward()", "generator_loss.backward()",
    ]  # fmt: skip
    seconds = {hot["where"]: sum(hot["seconds"].values()) for hot in data["hotness"]["lines"]}
    slow, quick = (seconds[f"{gan}/gan.py:{line(gan, f'time.sleep({n})')}"] for n in (0.06, 0.015))
    assert slow > 0.5  # of ten calls; more where the machine is busy
    assert quick > 0.1
    assert slow + quick < sum(data["hotness"]["seconds"].values()) < 1.1 * data["seconds"]


def test_refused_backward_has_its_graph(tmp_path):
    result = report(
        tmp_path,
        """
        import torch
        x = torch.ones(2, requires_grad=True)
        y = (x * x).exp()
        for k in range(3):
            (y * k).sum().backward()
        """,
        "--report-json", "out.json",
    )  # fmt: skip
    assert result.returncode == 1
    data = json.loads((tmp_path / "out.json").read_text())
    assert [(c["call"], c["refused"]) for c in data["captures"]] == [(1, False), (2, True)]
    page = (tmp_path / "out.html").read_text()
    assert page.count(" (refused)</button>") == 1
    assert page.count("backward call 2 of the run, which was refused") == 1
    operations = [node["op"] for node in data["captures"][1]["graph"]["nodes"]]
    assert operations == ["AccumulateGrad", "mul", "exp", "mul", "sum"]
    assert data["backward_calls"] == 1


def test_failing_script_has_its_report(tmp_path, open_page):
    result = report(
        tmp_path,
        """
        import torch
        def main():
            x = torch.ones(2, requires_grad=True)
            (x * 2).sum().backward()
            raise ValueError("wrong <b>number</b>")
        main()
        """,
    )
    assert result.returncode == 1
    assert result.stderr.startswith("Traceback")
    page = open_page(tmp_path / "out.html")
    assert page.inner_text(".status") == "failed"
    ending = page.inner_text(".ending")
    assert "ValueError: wrong <b>number</b>" in ending
    assert "train.py:6" in ending
    assert page.inner_text("#findings .calm").startswith("Nothing beside what ended the run")


def test_script_that_cannot_be_compiled_is_told_with_its_line(tmp_path, open_page):
    result = report(tmp_path, "import torch\nx = (\n")
    assert result.returncode == 1
    page = open_page(tmp_path / "out.html")
    assert page.inner_text(".ending .where") == "train.py:2"


def test_exit_status_is_told(tmp_path, open_page):
    result = report(tmp_path, "import sys\nsys.exit(3)\n")
    assert (result.returncode, result.stderr) == (3, "")
    page = open_page(tmp_path / "out.html")
    assert page.inner_text(".status") == "exited with status 3"


def test_text_that_ends_a_script_is_told(tmp_path, open_page):
    result = report(tmp_path, "import sys\nsys.exit('not good enough')\n")
    assert (result.returncode, result.stderr) == (1, "not good enough\n")
    page = open_page(tmp_path / "out.html")
    assert page.inner_text(".ending") == "not good enough"


def test_script_without_backward(tmp_path, open_page):
    good(report(tmp_path, "import torch\nprint(torch.ones(2).sum())\n"))
    page = open_page(tmp_path / "out.html")
    assert "made no backward call" in page.inner_text("header")
    titles = page.locator("main > section > h2:first-child").all_inner_texts()
    assert not {"Findings", "Graphs", "Memory", "Releases"} & set(titles)
    assert "Source" in titles


def test_graphs_without_any_backward_are_told(tmp_path, open_page):
    text = """
        import torch
        model = torch.nn.Linear(10, 10)
        outputs = [model(torch.ones(5, 10)).exp() for _ in range(3)]
        """
    good(report(tmp_path, text, "--report-json", "out.json"))
    page = open_page(tmp_path / "out.html")
    found = page.inner_text(".finding")
    assert "at the end 3 graphs of 6 operations and 1.2 kB are kept" in found
    assert "train.py:4" in found
    assert "outputs[0], global of __main__" in found
    (data,) = json.loads((tmp_path / "out.json").read_text())["findings"]
    assert data["kind"] == "no-backward"


def test_what_grows_is_told_once(tmp_path):
    text = """
        import torch
        w, state = torch.ones(3, requires_grad=True), torch.ones(3)
        for _ in range(20):
            state = (state * w).tanh()
            state.sum().backward(retain_graph=True)
        """
    good(report(tmp_path, text, "--report-json", "out.json"))
    found = json.loads((tmp_path / "out.json").read_text())["findings"]
    assert [(one["kind"], one["where"].rpartition(":")[2]) for one in found] == [("leak", "5")]


def test_reasons_name_their_lines(tmp_path, open_page):
    text = """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.head = nn.Linear(3, 3), nn.Linear(3, 1)
            def forward(self, x):
                return self.head(self.body(x).detach())
        net = Net()
        net(torch.ones(2, 3)).sum().backward()
        """
    result = wengert(
        "run", "--report", "out.html", str(script(tmp_path, text, "train.py")), cwd=tmp_path
    )
    good(result)
    assert (
        "train.py:7: no gradient reached Net.body (weight, bias), 12 numbers, in 1 backward call:"
        " its values were cut off from the graph; cut off by: detach()  at train.py:9"
    ) in result.stderr
    page = open_page(tmp_path / "out.html")
    assert "detach() at train.py:9 return self.head(self.body(x).detach())" in " ".join(
        page.inner_text(".finding").split()
    )
    assert page.locator(".finding a.where").all_inner_texts() == ["train.py:7", "train.py:9"]


def test_interrupted_script_has_its_report(tmp_path, open_page):
    text = "import time\ntime.sleep(0.1)\nprint('ready', flush=True)\ntime.sleep(60)\n"
    file = script(tmp_path, text)
    out = tmp_path / "out.html"
    command = [sys.executable, "-m", "wengert", "run", "--report", str(out), str(file)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=ENVIRONMENT) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode == -signal.SIGINT
    page = open_page(out)
    assert page.inner_text(".status") == "interrupted"
    assert "time.sleep(0.1)" in page.inner_text("#time")


@pytest.mark.skipif(not hasattr(signal, "SIGCHLD"), reason="no fork")
def test_children_write_no_report(tmp_path):
    result = report(
        tmp_path,
        """
        import os, sys
        import torch
        x = torch.ones(3, requires_grad=True)
        def written():
            return os.path.exists("out.html") and os.stat("out.html").st_mtime_ns
        (x * 2).sum().backward()
        before = written()
        if os.fork() == 0:
            for _ in range(50):
                (x * 2).sum().backward()
            sys.exit(0)
        assert os.wait()[1] == 0
        print(written() == before)
        (x * 2).sum().backward()
        """,
        "--report-json",
        "out.json",
    )
    assert good(result) == "True\n"
    assert json.loads((tmp_path / "out.json").read_text())["backward_calls"] == 2


def test_module_with_arguments(tmp_path, open_page):
    (tmp_path / "package").mkdir()
    script(tmp_path / "package", "import torch, time\ntime.sleep(0.05)\n", "__main__.py")
    options = ["--quiet", "--report", "out.html", "-m", "package", "--report"]
    good(wengert("run", *options, cwd=tmp_path))
    page = open_page(tmp_path / "out.html")
    assert page.inner_text(".command") == "wengert run -m package --report"
    assert "package/__main__.py" in page.inner_text("#source")


def test_files_of_others_are_not_shown(tmp_path, open_page):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "mine").mkdir()
    script(tmp_path / "elsewhere", "def work():\n    sum(range(3_000_000))\n", "other.py")
    path = f"import sys\nsys.path.append({str(tmp_path / 'elsewhere')!r})\n"
    good(report(tmp_path / "mine", path + "import other\nother.work()\n"))
    page = open_page(tmp_path / "mine" / "out.html")
    assert page.locator("#source [role=tab]").all_inner_texts() == ["train.py"]
    assert "other.py:2" in page.inner_text("#time")
    assert page.get_by_role("link", name="other.py").count() == 0


HOSTILE = '</script><script>document.title="owned"</script><img src=x onerror=alert(1)>'


def test_hostile_names_are_text(tmp_path, open_page):
    name = "it's <b>\"bold\" & 'so'.py"
    result = report(
        tmp_path,
        f"""
        import torch
        text = {HOSTILE!r}
        x = torch.ones(3, requires_grad=True)
        (x * 2).sum().backward(); kept = {HOSTILE!r}
        raise ValueError(text)
        """,
        name=name,
    )
    assert result.returncode == 1
    page = open_page(tmp_path / "out.html")
    assert page.title() == f"{name}: wengert run"
    assert page.inner_text("h1") == name
    assert page.locator("img, h1 b").count() == 0
    assert HOSTILE in page.inner_text(".ending")
    assert HOSTILE in page.inner_text("#source")
    assert HOSTILE in page.inner_text("#graphs")


def test_long_lines_fit_and_graphs_without_modules_have_no_table_of_them(tmp_path, open_page):
    text = """
        import torch
        long_name = torch.ones(3, requires_grad=True)
        torch.autograd.backward([(long_name * 2).sum()], [torch.ones(())], retain_graph=False)
        """
    good(report(tmp_path, text))
    page = open_page(tmp_path / "out.html", viewport={"width": 500, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") == 500
    tabs = page.locator("#graphs [role=tab]").all_inner_texts()[1:]
    assert tabs == ["by line", "by node"]


def test_place_that_cannot_be_written_is_told_at_once_and_does_no_harm(tmp_path):
    text = "import sys\nprint('working', file=sys.stderr)\nsys.exit(4)\n"
    file = script(tmp_path, text)
    result = wengert("run", "--quiet", "--report", f"{file}/out.html", str(file), cwd=tmp_path)
    assert result.returncode == 4
    before, _, after = result.stderr.partition("working\n")
    cannot = "wengert run: cannot write the report: "
    assert before == f"{cannot}there is no folder '{file}', and none can be made there\n"
    assert after.startswith(f"{cannot}NotADirectoryError")
    folder = wengert("run", "--quiet", "--report", ".", str(file), cwd=tmp_path)
    assert folder.stderr.startswith("wengert run: cannot write the report: '.' is a folder\n")


def test_folder_of_the_report_is_made(tmp_path):
    file = script(tmp_path, "print(1)\n")
    good(wengert("run", "--quiet", "--report", "a/b ä/out.html", str(file), cwd=tmp_path))
    assert (tmp_path / "a" / "b ä" / "out.html").is_file()


def test_report_stays_where_it_was_asked_for(tmp_path):
    (tmp_path / "below").mkdir()
    good(report(tmp_path, "import os\nos.chdir('below')\n", "--report-json", "out.json"))
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "below", "out.html", "out.json", "train.py",
    ]  # fmt: skip
    assert list((tmp_path / "below").iterdir()) == []


def test_summary_names_the_page(tmp_path):
    file = script(tmp_path, "import torch\n")
    result = wengert("run", "--report", "out.html", str(file), cwd=tmp_path)
    assert good(result) == ""
    assert result.stderr.splitlines()[-1] == f"  report        {tmp_path}/out.html"


def test_signal_handlers_are_those_of_python_afterwards(tmp_path):
    """What runs at exit runs without the sampler."""
    text = """
        import atexit, signal, time
        atexit.register(lambda: print(signal.getsignal(signal.SIGPROF) is signal.SIG_DFL))
        atexit.register(time.sleep, 0.05)
        """
    assert good(report(tmp_path, text)) == "True\n"


WATCHED = """
import os
import time

import torch

weight = torch.ones(3, requires_grad=True)
until = time.time() + 60
while not os.path.exists("out.html") and time.time() < until:
    (weight * 2).sum().backward()
    time.sleep(0.01)
print(open("out.html").read())
"""


def test_page_is_there_while_the_script_runs(tmp_path, open_page):
    result = report(tmp_path, WATCHED)
    assert result.returncode == 0, result.stderr
    (tmp_path / "during.html").write_text(result.stdout)
    assert '<meta http-equiv="refresh" content="5">' in result.stdout
    assert "refresh" not in (tmp_path / "out.html").read_text().partition("</head>")[0]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "during.html", "out.html", "train.py",
    ]  # fmt: skip
    page = open_page(tmp_path / "during.html")
    assert page.inner_text(".status") == "running"
    assert open_page(tmp_path / "out.html").inner_text(".status") == "finished"


def test_pages_while_running_take_their_share_of_the_time(tmp_path, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(_live_page, "perf_counter", lambda: clock[0])

    def page():
        clock[0] += 1.0
        return f"written at {clock[0]:.0f}"

    live = _live_page.LivePage(str(tmp_path / "out.html"), page)
    times = []
    for now in range(80):
        clock[0] = max(clock[0], float(now))
        before = clock[0]
        live.update()
        if clock[0] > before:
            times.append(before)
    assert times[0] == 2.0
    assert times[1] - times[0] == pytest.approx(26.0)  # 1 s of 25 s
    assert (tmp_path / "out.html").read_text().startswith("written at ")
