"""A photograph takes on the style of another, with PyTorch's losses."""

from __future__ import annotations

from pathlib import Path

import pytest

import wengert
from tests.examples.runs import after, needs, run, same_on_pytorch

pytestmark = needs("sklearn", "PIL")

QUICK = ("--size", "24", "--steps", "3", "--iterations", "3")


def test_style_comes_closer(tmp_path: Path) -> None:
    out = tmp_path / "picture.png"
    output = run("style_transfer.py", *QUICK, "--out", str(out))
    content, style = after("content", output), after("style", output)
    assert content[0] < 0.01  # the picture begins as the content
    assert content[0] < content[-1] < 1
    assert style[0] > style[1] > style[2]
    from PIL import Image

    with Image.open(out) as picture:
        assert picture.size == (36, 24)


def test_reads_weights(tmp_path: Path) -> None:
    weights = {}
    shapes = {0: (64, 3), 2: (64, 64), 5: (128, 64), 7: (128, 128), 10: (256, 128), 12: (9, 9)}
    for number, shape in shapes.items():  # more than the script needs, as in torchvision's file
        weights[f"features.{number}.weight"] = wengert.full((*shape, 3, 3), 1e-2)
        weights[f"features.{number}.bias"] = wengert.zeros(shape[0])
    wengert.save(weights, tmp_path / "vgg19.pth")
    files = ("--weights", str(tmp_path / "vgg19.pth"), "--out", str(tmp_path / "picture.png"))
    outputs = [run("style_transfer.py", *QUICK, *files, "--seed", seed) for seed in "01"]
    assert after("style", outputs[0]) == after("style", outputs[1])  # nothing is random


@pytest.mark.torch
def test_losses_are_pytorchs(tmp_path: Path) -> None:
    # One iteration a step: a few of them in a row, and the line search has turned rounding into
    # steps of another length.
    arguments = (*QUICK[:-1], "1", "--out", str(tmp_path / "picture.png"))
    same_on_pytorch("style_transfer.py", *arguments, labels=("content", "style"), tolerance=2e-4)
