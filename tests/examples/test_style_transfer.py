"""A photograph takes on the style of another, with PyTorch's losses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.runs import after, run, same_on_pytorch

pytest.importorskip("sklearn")
Image = pytest.importorskip("PIL.Image")

QUICK = ("--size", "24", "--steps", "3", "--iterations", "3")


def test_style_comes_closer(tmp_path: Path) -> None:
    out = tmp_path / "picture.png"
    output = run("style_transfer.py", *QUICK, "--out", str(out))
    content, style = after("content", output), after("style", output)
    assert content[0] < 0.01  # the picture begins as the content
    assert content[0] < content[-1] < 1
    assert style[0] > style[1] > style[2]
    with Image.open(out) as picture:
        assert picture.size == (36, 24)


@pytest.mark.torch
def test_losses_are_pytorchs(tmp_path: Path) -> None:
    arguments = (*QUICK, "--out", str(tmp_path / "picture.png"))
    same_on_pytorch("style_transfer.py", *arguments, labels=("content", "style"), tolerance=1e-3)
