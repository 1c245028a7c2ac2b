"""The GPT learns, with PyTorch's losses."""

from __future__ import annotations

import pytest

from tests.examples.runs import after, run, same_on_pytorch

QUICK = ("--layers", "2", "--width", "32", "--context", "32", "--batch", "8", "--sample", "20")


def test_learns() -> None:
    output = run("gpt.py", "--steps", "60", *QUICK)
    first, *middle, last, unseen = after("loss", output)
    assert len(middle) == 2
    assert 4.4 < first < 4.8  # 96 characters, as likely as each other
    assert last < 3
    assert unseen < 3.2
    assert "\n| " in output  # a sample follows


@pytest.mark.torch
def test_losses_are_pytorchs() -> None:
    same_on_pytorch("gpt.py", "--steps", "20", *QUICK, labels=("loss",), tolerance=2e-3)
