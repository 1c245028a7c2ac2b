"""The demo runs unmodified on wengert and on PyTorch, and learns."""

from __future__ import annotations

import json
import re

import pytest

from tests.cli.process import wengert
from tests.examples.runs import needs, run, run_on_pytorch
from tests.source import ROOT

pytestmark = needs("sklearn", "tqdm")

SCRIPT = ROOT / "examples" / "two_heads.py"


def accuracies(output: str) -> tuple[float, float]:
    found = re.search(r"test accuracy: digit ([\d.]+)%, odd ([\d.]+)%", output)
    assert found is not None, output
    return float(found[1]), float(found[2])


def test_one_epoch(tmp_path):
    out = tmp_path / "report.json"
    result = wengert("run", "--report-json", str(out), str(SCRIPT), "--epochs", "1")
    digit, odd = accuracies(result.stdout)
    assert digit > 70
    assert odd > 80
    assert result.returncode == (0 if digit >= 97 else 1)
    if digit < 97:
        assert "expected a digit accuracy of at least 97%" in result.stderr
    assert "epoch 1/1: 100%" in result.stderr
    assert "digit=" in result.stderr
    report = json.loads(out.read_text())
    assert report["backward_calls"] == 2 * 45
    # Each head goes through its own linear layers, both go through the convolutions.
    assert report["ops"]["linear"] == 45 * (3 + 3)
    assert report["ops"]["conv2d"] == 45 * (3 + 3)
    retaining, releasing = report["lines"]
    assert "digit_loss.backward(retain_graph=True)" in retaining["text"]
    assert retaining["retaining"] == 45
    assert retaining["released_nodes"] == 0
    assert "odd_loss.backward()" in releasing["text"]
    assert releasing["released_bytes"] > 1_000_000
    assert report["findings"] == []


@pytest.mark.slow
def test_learns_on_wengert():
    digit, odd = accuracies(run(SCRIPT.name))
    assert digit >= 97
    assert odd >= 97


@pytest.mark.slow
@pytest.mark.torch
def test_learns_on_pytorch():
    digit, odd = accuracies(run_on_pytorch(SCRIPT.name))
    assert digit >= 97
    assert odd >= 97
