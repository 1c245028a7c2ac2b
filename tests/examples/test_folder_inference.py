"""A folder of pictures is read by workers and classified in batches, as on PyTorch."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.examples.runs import after, needs, run, same_on_pytorch

pytestmark = needs("sklearn", "PIL", "tqdm")

QUICK = ("--crops", "64", "--epochs", "1", "--batch", "16")


def test_classifies_what_it_made_up(tmp_path: Path) -> None:
    out = tmp_path / "answers.csv"
    arguments = ("--count", "60", "--crops", "160", "--epochs", "3", "--out", str(out))
    output = run("folder_inference.py", *arguments)
    losses = after(": loss", output)
    assert losses[-1] < losses[0]
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    names = [Path(row["file"]).name for row in rows]
    assert len(rows) == 60
    assert names == sorted(names)
    assert all(0.5 <= float(row["sure"]) <= 1 for row in rows)
    right = sum(n.startswith(row["class"]) for n, row in zip(names, rows, strict=True))
    assert after("accuracy:", output) == [pytest.approx(100 * right / 60, abs=0.06)]


def test_reads_a_folder_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "deeper").mkdir()
    (tmp_path / "notes.txt").write_text("no picture")
    noise = np.random.default_rng(0).integers(0, 256, (30, 50, 3), np.uint8)
    for name in ("a.png", "b.JPG", "deeper/c.jpeg"):
        Image.fromarray(noise).save(tmp_path / name)
    Image.fromarray(noise[:, :, 0]).save(tmp_path / "grey.png")
    output = run("folder_inference.py", *QUICK, "--folder", str(tmp_path), "--workers", "0")
    assert "4 pictures," in output
    assert "accuracy" not in output


@pytest.mark.torch
def test_losses_and_accuracy_are_pytorchs() -> None:
    arguments = (*QUICK, "--count", "16", "--workers", "1")
    labels = (": loss", "accuracy:")
    same_on_pytorch("folder_inference.py", *arguments, labels=labels, tolerance=1e-3)
