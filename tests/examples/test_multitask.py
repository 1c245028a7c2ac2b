"""Three ways to train three tasks: what is equal is equal, balance helps, losses are PyTorch's."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.examples.runs import after, needs, run, run_on_pytorch

pytestmark = needs("sklearn")


def losses(output: str) -> np.ndarray:
    """What the table says of an epoch, a method and a task."""
    rows = re.findall(r"^ +\d+((?: +[\d.]+){9})$", output, re.MULTILINE)
    assert rows, output
    return np.array([row.split() for row in rows], dtype=float).reshape(-1, 3, 3)


def test_learns() -> None:
    output = run("multitask.py", "--epochs", "4")
    assert after("relative difference", output)[0] < 1e-5
    table = losses(output)
    assert len(table) == 4
    assert np.all(table[-1] < table[0])
    summed, sequential, balanced = table.swapaxes(0, 1)
    np.testing.assert_allclose(summed[:2], sequential[:2], rtol=1e-2)
    assert balanced[-1, 0] < 0.6 * summed[-1, 0]
    assert after("balanced:", output)[0] > 50


@pytest.mark.torch
def test_losses_are_pytorchs() -> None:
    theirs = run_on_pytorch("multitask.py", "--epochs", "1")
    ours = run("multitask.py", "--epochs", "1")
    np.testing.assert_allclose(losses(ours), losses(theirs), rtol=1e-4, atol=2e-3)
