"""The examples of several processes: losses are PyTorch's with gloo, and those of one process."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.process import python
from tests.examples.runs import needs

pytestmark = pytest.mark.slow

ARGUMENTS = "--nproc-per-node=2", "examples/ddp.py", "--epochs=1"


def losses(*command: str) -> list[float]:
    result = python("-m", *command, *ARGUMENTS)
    assert result.returncode == 0, result.stderr
    return [float(text) for text in re.findall(r"loss (\S+) on 2 ranks", result.stdout)]


@needs("sklearn")
@pytest.mark.torch
def test_losses_are_pytorchs() -> None:
    launcher = "torch.distributed.run"
    own = losses("wengert", "run", "--quiet", "-m", launcher, "--standalone")
    assert len(own) == 1
    assert losses(launcher, "--standalone") == pytest.approx(own, abs=1e-3)


def test_training_goes_on_after_a_loss_with_fewer_ranks(tmp_path: Path) -> None:
    """The losses are those of one rank that was never stopped."""

    def train(ranks: str, name: str, *options: str) -> tuple[list[tuple[str, str]], str]:
        arguments = "examples/ddp_restart.py", "--checkpoint", str(tmp_path / name), *options
        if "--fail-at" in options:
            arguments = "--max-restarts", "1", *arguments
        result = python("-m", "wengert", "run", "--nproc", ranks, *arguments)
        assert result.returncode == 0, result.stderr
        return re.findall(r"(epoch \d+: loss \S+) on (\d)", result.stdout), result.stderr

    epochs = "--epochs", "4"
    fewer, errors = train("2:3", "fewer.pt", "--fail-at", "1", *epochs)
    assert "ended with signal SIGKILL" in errors
    assert "starting again (1 of 1) with 2 ranks" in errors
    assert [ranks for _, ranks in fewer] == ["3", "2", "2", "2"]
    as_many, errors = train("3", "as_many.pt", "--fail-at", "1", *epochs)
    assert "starting again (1 of 1)\n" in errors
    assert [ranks for _, ranks in as_many] == ["3", "3", "3", "3"]
    whole, _ = train("1", "whole.pt", *epochs)
    losses = [loss for loss, _ in whole]
    assert [loss for loss, _ in fewer] == [loss for loss, _ in as_many] == losses
    assert len(losses) == 4
