"""The plumbing of benchmarks/compare.py, sweep.py and report.py; nothing is timed."""

from __future__ import annotations

import importlib
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import wengert
from tests.parity.ops import listed
from wengert import nn

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
OWN = (
    "_chart", "_contender", "_measure", "_peer", "compare", "report", "sweep", "sweeps",
    "workloads",
)  # fmt: skip


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Imports a module of benchmarks/ as its scripts do, and forgets it afterwards."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    yield importlib.import_module
    for name in [n for n in sys.modules if n.partition(".")[0] in OWN]:
        del sys.modules[name]


# A child that knows three workloads, of which the library "odd" gets one wrong.
CHILD = """
import json, os, sys
name = sys.argv[2]
for line in sys.stdin:
    request = json.loads(line)
    if request.get("load") == "crash":
        os._exit(3)
    if request.get("load") == "missing" and name == "torch":
        answer = {"reason": "not there"}
    elif "load" in request:
        answer = {"numbers": [[2.0 if name == "odd" else 1.0]]}
    else:
        answer = {"seconds": 0.001 if name == "wengert" else 0.004}
    print(json.dumps(answer), flush=True)
"""


@pytest.fixture
def compared(load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Compares libraries in a workload of the child above."""
    compare = load("compare")
    child = tmp_path / "child.py"
    child.write_text(CHILD)
    monkeypatch.setattr(compare, "CHILD", child)
    monkeypatch.setattr(compare, "PAUSE", 0.0)
    conditions = compare.Conditions(rounds=2, environment=compare.clean_environment())
    started: list[Any] = []

    def row(name: str, *names: str) -> Any:
        started.extend(compare.Peer(n, conditions) for n in names)
        workload = SimpleNamespace(name=name, unit="ms")
        return compare.compare("training", workload, started[-len(names) :], conditions)

    yield row
    for peer in started:
        peer.end()


def test_row_has_medians_and_ratios(compared: Any) -> None:
    row = compared("some", "wengert", "torch")
    assert row.medians == {"wengert": 1.0, "torch": 4.0}
    assert row.ratios == {"torch": 0.25}
    assert row.disagreeing == []
    assert row.text(["wengert", "torch"]).split() == ["some", "ms", "1", "4", "0.25"]


def test_row_says_who_disagrees(compared: Any) -> None:
    row = compared("some", "wengert", "torch", "odd")
    assert row.disagreeing == ["odd"]
    assert row.text(["wengert", "torch", "odd"]).endswith("DISAGREES: odd")


def test_missing_step_is_a_dash_with_its_reason(compared: Any) -> None:
    row = compared("missing", "wengert", "torch")
    assert row.reasons == {"torch": "not there"}
    assert row.text(["wengert", "torch"]).split() == ["missing", "ms", "1", "-", "-"]


def test_process_that_ends_is_a_reason(compared: Any) -> None:
    row = compared("crash", "wengert")
    assert row.reasons == {"wengert": "the process ended with status 3"}
    assert row.medians == {}


def test_numbers_see_signs_and_places(load: Any) -> None:
    numbers = load("_peer").numbers
    x = np.array([1.0, 2.0, 3.0])
    for other in (x[::-1], -x, x * [1, 1, -1]):
        assert numbers(other)[0] == numbers(x)[0]
        assert not math.isclose(numbers(other)[1], numbers(x)[1], rel_tol=1e-3)
    assert numbers(wengert.tensor(2.5, requires_grad=True)) == [2.5]
    assert numbers((x, 1.5)) == [*numbers(x), 1.5]


def test_not_a_number_disagrees(load: Any) -> None:
    alike = load("compare").alike
    assert alike([[1.0], [2.0]], [[1.0], [2.001]])
    assert not alike([[1.0], [2.0]], [[1.0], [2.01]])
    assert not alike([[math.nan]], [[math.nan]])
    assert not alike([[1.0]], [[1.0, 2.0]])


def test_server_answers_with_numbers_then_with_seconds(load: Any) -> None:
    peer = load("_peer")
    server = peer.Server("wengert")
    name = "MLP 64-128-128-10, Adam, batch 32"
    losses = np.ravel(server.answer({"load": name})["numbers"])
    assert losses.shape == (peer.STEPS,)
    assert losses[0] > losses[1] > losses[2]
    server.count = 1
    assert server.answer({"clock": "processor"})["seconds"] > 0
    assert server.answer({"load": "no such"})["reason"] == "KeyError: 'no such'"


def test_server_says_what_is_not_there(load: Any) -> None:
    peer = load("_peer")
    workloads = load("workloads")
    workload = workloads.kernels.FAMILY[0]
    assert peer.Server("compile").answer({"load": workload.name}) == {"reason": workload.compiled}


def test_weights_belong_to_names(load: Any) -> None:
    workload = load("workloads._workload")
    model = workload.fill(wengert, nn.Sequential(nn.Linear(3, 2), nn.LayerNorm(2)))
    expected = workload.weights(workload.linear("0", 3, 2) | workload.norm("1", 2))
    assert model.state_dict().keys() == expected.keys()
    for name, parameter in model.named_parameters():
        np.testing.assert_array_equal(parameter.detach().numpy(), expected[name])
    assert expected["1.weight"].mean() > 0.5 > abs(expected["1.bias"].mean())


def test_every_row_has_a_name_of_its_own(load: Any) -> None:
    workloads = load("workloads")
    assert len(workloads.BY_NAME) == 1 + sum(map(len, workloads.FAMILIES.values()))


@pytest.mark.parametrize(
    ("only", "families", "count"),
    [
        (["mlp", "optimizers"], {"mlp", "optimizers", "gradients"}, 13),
        (["gpt"], {"gpt"}, 1),
        (["two HEADS"], {"images"}, 2),
        (["layer norm, forward, 1e3", "lstm"], {"ops", "recurrent"}, 3),
        (["cold"], set(), 0),
    ],
)
def test_only_selects_families_and_rows(
    load: Any, only: list[str], families: set[str], count: int
) -> None:
    compare = load("compare")
    assert compare.chosen([], quick=False) == compare.FAMILIES
    chosen = compare.chosen(only, quick=False)
    assert chosen.keys() == families
    assert sum(map(len, chosen.values())) == count


def test_command_line(load: Any, capsys: pytest.CaptureFixture[str]) -> None:
    parsed = load("compare").parsed
    assert parsed([]).peers == ["wengert", "torch", "compile", "jax", "compiled"]
    assert parsed(["--quick"]).peers == ["wengert", "torch"]
    assert parsed(["--quick", "--peers", "jax", "--rounds", "5"]).rounds == 5
    with pytest.raises(SystemExit):
        parsed(["--peers", "wengert,theano"])
    assert "theano: expected wengert, torch" in capsys.readouterr().err


def test_means_and_report(load: Any) -> None:
    compare, report = load("compare"), load("report")
    rows = [
        compare.Comparison("a", "training", "ms", {"wengert": 1.0, "torch": 2.0, "jax": 4.0}),
        compare.Comparison("b", "training", "ms", {"wengert": 2.0, "torch": 1.0}),
        compare.Comparison("exp, forward, 1e3", "ops", "us", {"wengert": 1.0, "torch": 4.0}),
    ]
    means = compare.geometric_means(rows)
    assert means == {
        "training": {"torch": pytest.approx(1.0), "jax": pytest.approx(0.25)},
        "ops": {"torch": pytest.approx(0.25)},
    }
    saved = {"rows": [vars(row) | {"ratios": row.ratios} for row in rows], "means": means}
    text = report.comparison(json.loads(json.dumps(saved)))
    assert "| training | 1.00 | 0.25 |" in text
    assert "| a (ms) | 1.00 | 2.00 | 4.00 | 0.50 | 0.25 |" in text
    assert "| b (ms) | 2.00 | 1.00 | - | 2.00 | - |" in text
    assert "| exp, forward | 0.25 |" in text


def test_a_machine_replaces_what_it_had(load: Any) -> None:
    report = load("report")
    ratios = {"training": {"torch": 0.5}, "optimizers": {"torch": 0.25}, "kernels": {"torch": 1.5},
              "memory": {"torch": 2.0}}  # fmt: skip
    row = {
        "name": "a step",
        "kind": "training",
        "unit": "ms",
        "medians": {},
        "ratios": {"torch": 3.0},
    }
    origin = {"machine": "B, 2 cores, Python 3.11.7, numpy 2", "date": "2026-01-01"}
    overhead = [
        {"name": "add", "unit": "us/op", "ratio": r, "wengert": r, "torch": 1.0} for r in (1, 4)
    ]
    found = {
        "compare": origin | {"rows": [row], "means": ratios},
        "overhead": origin | {"rows": overhead},
    }
    line = report.summary_line(found)
    assert line == "| B, 2 cores | 0.50 | 0.25 | 1.50 | 2.00 | 2.00 |"
    table = f"{report.BEGIN}\n| | x |\n|---|---|\n| A, 2 cores | 1 |\n{report.END}\nafter"
    once = report.with_line(table, line)
    assert once.splitlines()[3:] == ["| A, 2 cores | 1 |", line, report.END, "after"]
    assert report.with_line(once, line.replace("0.50", "0.75")) == once.replace("0.50", "0.75")

    section = report.section(found)
    assert section.startswith("## B, 2 cores\n\nPython 3.11.7, numpy 2.\n\n### ")
    before = (
        f"{report.BEGIN}\n## B, 2 cores\n\n1.\n\n### Overhead\n\nold\n\n### Checkpoints\n\nkept\n"
    )
    again = report.section(found, f"{before}\n## C\n\n### Examples\n\nof C\n{report.END}")
    assert again == f"{section}\n\n### Checkpoints\n\nkept"
    page = f"{report.BEGIN}\n## A, 2 cores\n\nold\n{report.END}\nafter"
    once = report.with_section(page, section)
    assert once.startswith(f"{report.BEGIN}\n## A, 2 cores\n\nold\n\n## B, 2 cores")
    assert report.with_section(once, section) == once
    chart = report.chart(found)
    assert chart.startswith("<svg")
    assert ">3.00</text>" in chart


def test_sweep_covers_what_scripts_use(load: Any) -> None:
    """The listed functions, but for methods that are others under another name."""
    sweeps = load("sweeps")
    path_of = load("sweeps._sample").path_of
    names = {path_of(name).rstrip("_") for name in sweeps.BY_NAME}
    assert len(sweeps.BY_NAME) == sum(map(len, sweeps.FAMILIES.values()))
    assert {name.rstrip("_") for name in listed()} - names == {"T"}


@pytest.mark.torch
@pytest.mark.parametrize("name", ["cumsum (dim=1)", "nn.Linear", "distributions.Gamma", "rand"])
def test_sweep_runs_a_sample_in_both_libraries(torch: Any, load: Any, name: str) -> None:
    sweep = load("sweep")
    sample = sweep.BY_NAME[name]
    found = []
    for library in (wengert, torch):
        step = sweep.Step(library, sample, 3, "float32")
        found.append(step.numbers())
        assert len(step.timed(2)) == 1 + sample.backward
    assert sweep.alike(*found)


def test_sweep_in_the_report(load: Any) -> None:
    sweep, report = load("sweep"), load("report")
    rows = [
        sweep.Timing("sort", "reducing", 5, "forward", 30.0, 10.0),
        sweep.Timing("sort", "reducing", 5, "backward", 10.0, 30.0),
        sweep.Timing("exp", "elementwise", 5, "forward", 1.0, 3.0),
    ]
    saved = {"rows": [vars(row) | {"ratio": row.ratio} for row in rows]}
    text = report.sweep(json.loads(json.dumps(saved)))
    assert "| forward, 1e5 elements | 2 | 1.00 | 1 | 1 | 0 |" in text
    assert "| sort, forward, 1e5 | 30.00 | 10.00 | 3.00 |" in text
    assert "2 rows, geometric mean 1.00, 1 above 2" in sweep.summary(rows, 1)
