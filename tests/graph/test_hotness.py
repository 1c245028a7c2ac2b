"""The sampler gives time to the lines, phases and operations that took it."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections import defaultdict
from statistics import median

import pytest

import wengert
from tests.cli.process import good, python, script
from wengert.graph import _stack_timer, hotness
from wengert.graph.hotness import PHASES, StackSampler, is_users

linux = pytest.mark.skipif(sys.platform != "linux", reason="the timer is Linux's")

PLANTED = """
    import wengert
    from time import perf_counter

    def train(seconds):
        truth = {}
        weight = wengert.rand(300, 300, requires_grad=True)
        small = wengert.rand(1000)
        end = perf_counter() + seconds
        marks = [perf_counter()]
        def mark(text):
            marks.append(perf_counter())
            truth[text] = truth.get(text, 0.0) + marks[-1] - marks.pop(0)
        while marks[0] < end:
            for number in range(8000): number * number
            mark("for number in range(8000)")
            product = weight @ weight
            mark("product = ")
            for number in range(800): number * number
            mark("for number in range(800)")
            small = small * small
            mark("small = small")
            product.sum().backward()
            mark("product.sum()")
        return truth
"""


def planted(folder, text):
    """The names of a file with a script in it, and the file."""
    path = script(folder, text, "planted.py")
    names = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return names, str(path)


def line(file, text):
    """The ``file:line`` of a text that a line starts with."""
    with open(file) as lines:
        found = [k for k, found in enumerate(lines, 1) if found.strip().startswith(text)]
    assert len(found) == 1
    return f"{file}:{found[0]}"


def sampled(work):
    """What the sampler says of a call, and what that returned."""
    sampler = StackSampler(0.002)
    sampler.start()
    try:
        result = work()
    finally:
        sampler.stop()
    return sampler.hotness(), result


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The planted file, and what the sampler says of it."""
    names, file = planted(tmp_path_factory.mktemp("trained"), PLANTED)
    names["train"](0.1)  # kernels are compiled once
    hotness, _ = sampled(lambda: names["train"](1.5))
    return file, hotness


@linux
def test_shares_are_those_of_a_clock(tmp_path):
    """In the median of five runs: one that the machine stops for a while counts in one line."""
    names, file = planted(tmp_path, PLANTED)
    names["train"](0.1)
    errors, totals = defaultdict(list), []
    for _ in range(5):
        hotness, truth = sampled(lambda: names["train"](0.5))
        total = sum(truth.values())
        seen = {hot.where: hot.total / hotness.total for hot in hotness.lines}
        for text, seconds in truth.items():
            errors[text].append(seen.get(line(file, text), 0.0) - seconds / total)
        totals.append(hotness.total / total)
    assert median(totals) == pytest.approx(1, rel=0.1)
    assert len(errors) == 5
    for text, found in errors.items():
        assert abs(median(found)) < 0.1, (text, found)


@linux
def test_phases_and_operations(trained):
    file, hotness = trained
    lines = {hot.where: hot for hot in hotness.lines}
    python = lines[line(file, "for number in range(8000)")]
    assert python.seconds["other"] > 0.9 * python.total
    forward = lines[line(file, "product = ")]
    assert forward.seconds["forward"] > 0.8 * forward.total
    backward = lines[line(file, "product.sum()")]
    assert backward.seconds["backward"] > 0.8 * backward.total
    assert backward.text == "product.sum().backward()"
    matmul = next(op for op in hotness.ops if op.name == "matmul")
    assert matmul.forward > 0
    assert matmul.backward > 0


def test_sums_agree_and_data_are_plain(trained):
    _, hotness = trained
    assert tuple(hotness.seconds) == PHASES
    assert sum(hotness.seconds.values()) == pytest.approx(hotness.total)
    assert sum(hot.samples for hot in hotness.lines) <= hotness.samples
    assert sum(hot.total for hot in hotness.lines) <= hotness.total + 1e-9
    data = json.loads(json.dumps(hotness.to_dict()))
    assert data["lines"][0]["where"] == hotness.lines[0].where
    assert data["samples"] == hotness.samples


def test_line_that_is_slower_gets_more_from_a_thread_as_well(tmp_path, monkeypatch):
    monkeypatch.setattr(_stack_timer, "_timer_is_possible", lambda: False)
    names, file = planted(
        tmp_path,
        """
        def run():
            for _ in range(40):
                for number in range(200_000): number * number
                for number in range(20_000): number * number
        """,
    )
    before = sys.getswitchinterval()
    hotness, _ = sampled(names["run"])
    lines = {hot.where: hot.total for hot in hotness.lines}
    slow, fast = (lines[line(file, f"for number in range({n})")] for n in ("200_000", "20_000"))
    assert slow > 2 * fast
    assert sys.getswitchinterval() == before
    assert "wengert ticks" not in {thread.name for thread in threading.enumerate()}


def test_waiting_belongs_to_the_line_that_waits(tmp_path):
    names, file = planted(tmp_path, "import time\ndef wait():\n    time.sleep(0.3)\n")
    hotness, _ = sampled(names["wait"])
    (waiting,) = [hot for hot in hotness.lines if hot.where == line(file, "time.sleep")]
    assert list(waiting.seconds) == ["other"]
    assert waiting.total > 0.2  # more where the machine is busy
    assert waiting.samples > 1


def test_packages_time_is_that_of_the_line_that_called_them(tmp_path):
    names, file = planted(
        tmp_path,
        """
        import json
        text = str(list(range(200_000)))
        def load():
            return json.JSONDecoder().raw_decode(text), json.dumps([0.1] * 200_000, indent=1)
        """,
    )
    hotness, _ = sampled(names["load"])
    files = {hot.where.rpartition(":")[0] for hot in hotness.lines}
    assert files <= {file, __file__}  # this one starts and stops
    assert hotness.lines[0].where == line(file, "return json")


def test_hooks_inside_of_a_backward_belong_to_it(tmp_path):
    names, file = planted(
        tmp_path,
        """
        import time
        import wengert
        def hook(g):
            time.sleep(0.1)
        def run():
            x = wengert.ones(3, requires_grad=True)
            y = x * 2
            y.register_hook(hook)
            y.sum().backward()
        """,
    )
    hotness, _ = sampled(names["run"])
    waiting = next(hot for hot in hotness.lines if hot.where == line(file, "time.sleep"))
    assert list(waiting.seconds) == ["backward"]
    assert waiting.total > 0.05


def test_optimizer_and_data_have_phases_of_their_own(tmp_path):
    names, _ = planted(
        tmp_path,
        """
        import time
        import wengert
        from wengert.utils.data import DataLoader
        class Slow:
            def __len__(self): return 4
            def __getitem__(self, index):
                time.sleep(0.03)
                return index
        def run():
            parameter = wengert.nn.Parameter(wengert.ones(200_000))
            parameter.grad = wengert.ones(200_000)
            optimizer = wengert.optim.Adam([parameter])
            for _ in DataLoader(Slow()):
                pass
            for _ in range(300):
                optimizer.step()
        """,
    )
    hotness, _ = sampled(names["run"])
    assert hotness.seconds["data"] > 0.06
    assert hotness.seconds["optimizer"] > 0.01


@linux
def test_time_of_watching_is_no_lines(tmp_path):
    names, _ = planted(
        tmp_path,
        """
        import wengert
        from wengert import graph

        def work():
            kept = [wengert.ones(2, requires_grad=True) * k for k in range(500)]
            return graph.live()
        """,
    )
    names["work"]()
    hotness, _ = sampled(names["work"])
    assert hotness.seconds["report"] > 0
    assert all("report" not in hot.seconds for hot in hotness.lines)
    assert hotness.of_script == pytest.approx(hotness.total - hotness.seconds["report"])
    assert sum(hot.total for hot in hotness.lines) <= hotness.of_script + 1e-9


def test_signal_is_given_back():
    assert signal.getsignal(signal.SIGPROF) is signal.SIG_DFL
    sampled(lambda: time.sleep(0.05))
    assert signal.getsignal(signal.SIGPROF) is signal.SIG_DFL


@linux
def test_signal_of_somebody_else_is_left_alone():
    seen = []
    signal.signal(signal.SIGPROF, lambda *_: seen.append(1))
    try:
        hotness, _ = sampled(lambda: time.sleep(0.2))
    finally:
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
    assert hotness.samples > 0
    assert seen == []


@linux
def test_programs_that_are_started_meanwhile_live(tmp_path):
    """A timer that survived exec would kill what has no handler for its signal."""
    file = script(
        tmp_path,
        """
        import os, sys, time, subprocess
        from wengert.graph.hotness import StackSampler
        StackSampler(0.001).start()
        subprocess.run([sys.executable, "-c", "import time; time.sleep(0.2); print('child')"])
        if os.fork() == 0:
            time.sleep(0.1)
            os._exit(0)
        assert os.wait()[1] == 0
        code = "import time; time.sleep(0.2); print('exec')"
        os.execv(sys.executable, [sys.executable, "-c", code])
        """,
    )
    assert good(python(str(file))) == "child\nexec\n"


@linux
def test_alarm_of_the_program_rings(tmp_path):
    file = script(
        tmp_path,
        """
        import signal, time
        from wengert.graph.hotness import StackSampler
        sampler = StackSampler(0.001)
        sampler.start()
        signal.signal(signal.SIGALRM, lambda *_: print("alarm", flush=True))
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        time.sleep(0.3)
        print("awake", flush=True)
        sampler.stop()
        """,
    )
    assert good(python(str(file))) == "alarm\nawake\n"


@linux
def test_thread_looks_where_the_system_refuses_a_timer(monkeypatch):
    def refuse(name, *arguments):
        raise OSError(11, name)

    monkeypatch.setattr(_stack_timer, "_call", refuse)
    hotness, _ = sampled(lambda: time.sleep(0.2))
    assert hotness.samples > 0
    assert signal.getsignal(signal.SIGPROF) is signal.SIG_DFL


@pytest.mark.parametrize(
    ("file", "users"),
    [
        ("/home/me/project/train.py", True),
        ("/home/me/my-packages/train.py", True),
        ("relative.py", True),
        (os.__file__, False),
        (pytest.__file__, False),
        ("/home/me/project/.venv/lib/python3.12/site-packages/tqdm/std.py", False),
        (hotness.__file__, False),
        ("<op mul>", False),
        ("<string>", False),
        ("<frozen importlib._bootstrap>", False),
    ],
)
def test_whose_file_it_is(file, users):
    assert is_users(file) == users


MODULES = """
    import time
    import wengert
    from wengert import nn

    class Slow(nn.Module):
        def __init__(self, seconds):
            super().__init__()
            self.seconds = seconds

        def forward(self, x):
            time.sleep(self.seconds)
            return Late.apply(x * 2)

    class Late(wengert.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            time.sleep(0.03)
            return g

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Sequential(Slow(0.06), nn.ReLU())
            self.second = Slow(0.02)

        def forward(self, x):
            time.sleep(0.04)
            return self.second(self.first(x))

    def train():
        Net()(wengert.ones(3, requires_grad=True)).sum().backward()
"""


@linux
def test_modules_have_the_time_of_their_calls_and_derivatives(tmp_path):
    names, _ = planted(tmp_path, MODULES)
    runs = [sampled(lambda: [names["train"]() for _ in range(5)])[0] for _ in range(3)]
    found = [{module.name: module for module in hotness.modules} for hotness in runs]
    for name, forward, backward in (
        ("Net", 0.2, 0.0), ("Net.first.0", 0.3, 0.15), ("Net.second", 0.1, 0.15),
    ):  # fmt: skip
        of_name = [modules[name] for modules in found]
        assert median(m.forward for m in of_name) == pytest.approx(forward, abs=0.08)
        assert median(m.backward for m in of_name) == pytest.approx(backward, abs=0.08)
    for run in runs:
        assert sum(module.total for module in run.modules) <= run.of_script


@linux
def test_sites_are_read_once_for_each_chain_of_modules(tmp_path, monkeypatch):
    names, _ = planted(tmp_path, MODULES)
    asked = []
    monkeypatch.setattr(hotness, "submodule_names", lambda module: asked.append(module) or {})
    net = names["Net"]()
    sampled(lambda: [net(wengert.ones(3)) for _ in range(3)])
    assert len(asked) == len({id(module) for module in asked}) <= len(list(net.modules()))
