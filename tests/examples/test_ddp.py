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

    def train(ranks: int, name: str, *options: str) -> tuple[list[str], str]:
        arguments = "examples/ddp_restart.py", "--checkpoint", str(tmp_path / name), *options
        if "--fail-at" in options:
            arguments = "--max-restarts", "1", *arguments
        result = python("-m", "wengert", "run", "--nproc", str(ranks), *arguments)
        assert result.returncode == 0, result.stderr
        return re.findall(r"(epoch \d+: loss \S+) on", result.stdout), result.stderr

    first, errors = train(3, "stopped.pt", "--fail-at", "1", "--epochs", "2")
    assert "ended with signal SIGKILL" in errors
    assert "starting again (1 of 1)" in errors
    second, _ = train(2, "stopped.pt", "--epochs", "3")
    expected, _ = train(1, "whole.pt", "--epochs", "3")
    assert first + second == expected
    assert len(expected) == 3
