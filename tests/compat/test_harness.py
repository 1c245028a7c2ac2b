"""Tests written as PyTorch's own are: the same ones are found, run, skipped and fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.process import ENVIRONMENT, good, wengert

PROGRAM = Path(__file__).with_name("harness_program.py")
LISTED = Path(__file__).with_name("listed_program.py")


def test_tests_of_pytorch_run() -> None:
    output = good(wengert("run", str(PROGRAM)))
    assert "TestDevicesCPU.test_dtypes_k_1_cpu_complex64" in output
    assert "TestParameters.test_product_p_1_5_small" in output
    assert "\nfailed []\n" in output
    assert "\nexpected 3 []" in output


@pytest.mark.torch
def test_they_are_those_that_pytorch_makes_of_the_program() -> None:
    theirs = subprocess.run(
        [sys.executable, str(PROGRAM)], capture_output=True, text=True, env=ENVIRONMENT, check=True
    )
    assert good(wengert("run", str(PROGRAM))) == theirs.stdout


def test_tests_of_lists_are_those_that_pytorch_makes() -> None:
    # What PyTorch prints is kept: there its lists alone take longer to import than all of this.
    assert good(wengert("run", str(LISTED))) == LISTED.with_name("listed_tests.txt").read_text()
