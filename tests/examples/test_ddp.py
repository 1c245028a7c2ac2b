"""The example of several processes: its losses are PyTorch's with gloo."""

from __future__ import annotations

import re

import pytest

from tests.cli.process import python
from tests.examples.runs import needs

pytestmark = [needs("sklearn"), pytest.mark.slow, pytest.mark.torch]

ARGUMENTS = "--nproc-per-node=2", "examples/ddp.py", "--epochs=1"


def losses(*command: str) -> list[float]:
    result = python("-m", *command, *ARGUMENTS)
    assert result.returncode == 0, result.stderr
    return [float(text) for text in re.findall(r"loss (\S+) on 2 ranks", result.stdout)]


def test_losses_are_pytorchs() -> None:
    launcher = "torch.distributed.run"
    own = losses("wengert", "run", "--quiet", "-m", launcher, "--standalone")
    assert len(own) == 1
    assert losses(launcher, "--standalone") == pytest.approx(own, abs=1e-3)
