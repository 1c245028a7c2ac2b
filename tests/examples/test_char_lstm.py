"""The character LSTM learns, with PyTorch's losses."""

from __future__ import annotations

import pytest

from tests.examples.runs import after, run, same_on_pytorch

QUICK = ("--width", "32", "--streams", "8", "--window", "32", "--sample", "20")


def test_learns() -> None:
    output = run("char_lstm.py", "--steps", "40", *QUICK)
    first, at_20, at_40, unseen = after("bits per character", output)
    assert 6 < first < 7  # 96 characters, as likely as each other
    assert first > at_20 > at_40
    assert unseen < 5
    assert "\n| " in output  # a sample follows


@pytest.mark.torch
def test_losses_are_pytorchs() -> None:
    labels = ("bits per character",)
    same_on_pytorch("char_lstm.py", "--steps", "20", *QUICK, labels=labels, tolerance=2e-3)
