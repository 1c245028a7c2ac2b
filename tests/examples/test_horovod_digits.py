"""The example with Horovod's names: two ranks learn, however they are started."""

from __future__ import annotations

import re

import pytest

from tests.cli.process import python
from tests.examples.runs import needs

pytestmark = [needs("sklearn"), pytest.mark.slow]

SCRIPT = "examples/horovod_digits.py"


def test_two_ranks_learn() -> None:
    launcher = "-m", "horovod.runner.launch", "-np", "2", "python", SCRIPT, "--epochs=2"
    result = python("-m", "wengert", "run", "--quiet", *launcher, "--fp16-allreduce")
    assert result.returncode == 0, result.stderr
    losses = [float(text) for text in re.findall(r"epoch \d: loss (\S+),", result.stdout)]
    assert len(losses) == 2
    assert losses[1] < 0.7 * losses[0]
