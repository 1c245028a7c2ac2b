"""Collectives and data parallelism are PyTorch's with gloo: two processes of each run a program."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.process import ENVIRONMENT
from tests.source import ROOT

pytestmark = [pytest.mark.torch, pytest.mark.slow]

PROGRAM = str(ROOT / "tests" / "distributed" / "gloo_program.py")
RUNNERS = {
    "torch": [sys.executable],
    "wengert": [sys.executable, "-m", "wengert", "run", "--quiet"],
}

ORDERED = "SUM", "PRODUCT", "MIN", "MAX"
BITWISE = "BAND", "BOR", "BXOR"
# What gloo has no code for, and is computed here.
BEYOND = {f"all_reduce int16 {op}" for op in (*ORDERED, *BITWISE)}
BEYOND |= {"exchange int16"}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """What each rank of each library wrote."""
    pytest.importorskip("torch.distributed")
    folder = tmp_path_factory.mktemp("gloo")
    results = {}
    for name, runner in RUNNERS.items():
        outputs = [folder / f"{name}{rank}.json" for rank in range(2)]
        store = str(folder / f"{name}.store")
        processes = [
            subprocess.Popen([*runner, PROGRAM, str(rank), store, str(out)], env=ENVIRONMENT,
                             stderr=subprocess.PIPE, text=True)
            for rank, out in enumerate(outputs)
        ]  # fmt: skip
        try:
            errors = [process.communicate(timeout=120)[1] for process in processes]
        finally:
            for process in processes:
                process.kill()
        assert [process.returncode for process in processes] == [0, 0], errors
        results[name] = [json.loads(Path(out).read_text()) for out in outputs]
    return results


def both(outcomes: dict[str, list[dict[str, Any]]]) -> Iterator[tuple[str, Any, Any]]:
    for expected, own in zip(outcomes["torch"], outcomes["wengert"], strict=True):
        assert expected.keys() == own.keys()
        for name in expected:
            yield name, expected[name], own[name]


def same(expected: Any, own: Any) -> bool:
    """Whether plain values are the same, numbers to rounding."""
    if isinstance(expected, list):
        fits = isinstance(own, list) and len(own) == len(expected)
        return fits and all(map(same, expected, own))
    if isinstance(expected, float):
        return bool(own == pytest.approx(expected, rel=1e-6, abs=1e-9))
    return bool(expected == own)


def raised(outcome: Any) -> bool:
    return isinstance(outcome, dict) and "raised" in outcome


def test_values_are_gloos(outcomes: Any) -> None:
    compared = {name: (a, b) for name, a, b in both(outcomes) if not raised(a)}
    assert {name: pair for name, pair in compared.items() if not same(*pair)} == {}
    assert len(compared) > 70
    assert {"parallel_training", "objects", "derivative of all_to_all"} <= compared.keys()


def test_errors_are_of_gloos_classes(outcomes: Any) -> None:
    refusals = {name: (a, b) for name, a, b in both(outcomes) if raised(a) and name not in BEYOND}
    assert {name for name in refusals if name.startswith("refused")} == {
        name for name, _, _ in both(outcomes) if name.startswith("refused")
    }
    assert {n: b for n, (a, b) in refusals.items() if not raised(b)} == {}
    wrong = {n: (a, b) for n, (a, b) in refusals.items() if a["raised"][0] not in b["raised"]}
    assert wrong == {}


def test_what_gloo_cannot_reduce(outcomes: Any) -> None:
    beyond = [(name, raised(a), raised(b)) for name, a, b in both(outcomes) if name in BEYOND]
    assert len(beyond) == 2 * len(BEYOND)
    assert all(refused and not own for _, refused, own in beyond), beyond
