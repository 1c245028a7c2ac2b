"""A network is trained, saved, loaded and timed; PyTorch reads its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.runs import after, needs, run, run_on_pytorch

pytestmark = needs("sklearn")

QUICK = ("--threads", "1", "--batches", "1", "64", "--seconds", "0.05")
ACCURACY = "test accuracy:"


def test_saves_and_loads(tmp_path: Path) -> None:
    weights = str(tmp_path / "digits.pt")
    trained = run("inference.py", "--weights", weights, "--epochs", "2", *QUICK)
    first, second = after(": loss", trained)
    assert second < first / 2
    (accuracy,) = after(ACCURACY, trained)
    assert accuracy > 80
    single, batches = after("batches of 1 ", trained)[0], after("batches of 64", trained)[0]
    assert batches > single  # images a second

    loaded = run("inference.py", "--weights", weights, *QUICK)
    assert "loss" not in loaded
    assert after(ACCURACY, loaded) == [accuracy]


@pytest.mark.torch
def test_losses_are_pytorchs_and_it_reads_the_weights(tmp_path: Path) -> None:
    training = ("--epochs", "1", *QUICK)
    reading = ("--weights", str(tmp_path / "digits.pt"), *training)
    ours = run("inference.py", *reading)
    trained, loaded = (run_on_pytorch("inference.py", *a) for a in (training, reading))
    assert after(": loss", ours) == pytest.approx(after(": loss", trained), abs=1e-3)
    assert "loss" not in loaded
    assert after(ACCURACY, ours) == after(ACCURACY, loaded)
