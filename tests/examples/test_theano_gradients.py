"""A program for Theano: gradients one by one are the graph of the gradients together."""

from __future__ import annotations

from tests.cli.process import forked, good
from tests.examples.runs import after
from tests.source import ROOT


def test_one_by_one_is_the_same_work() -> None:
    script = str(ROOT / "examples" / "theano_gradients.py")
    small = ("--layers", "64", "32", "16", "10", "--rounds", "2", "--steps", "60")
    output = good(forked("wengert", "-m", "wengert", "run", "--as", "theano", "--quiet", script,
                         *small))  # fmt: skip
    assert after("largest difference", output) == [0]
    assert after("operations in one call", output) == after("one by one", output)[:1]
    costs = after("cost", output)
    assert costs[1] < 0.2 * costs[0]
