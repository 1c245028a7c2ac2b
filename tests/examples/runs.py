"""Running the examples and reading what they print."""

from __future__ import annotations

import importlib.util
import re

import pytest

from tests.cli.process import forked, good
from tests.source import ROOT

NUMBER = r"(-?[\d,]+(?:\.\d+)?(?:e[+-]\d+)?)"


def needs(*modules: str) -> pytest.MarkDecorator:
    """Skips what an example cannot run without; imports nothing, the example does."""
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {missing}")


def run(name: str, *arguments: str) -> str:
    """What an example prints on wengert."""
    command = ("-m", "wengert", "run", "--quiet")
    return good(forked("wengert sklearn", *command, str(ROOT / "examples" / name), *arguments))


def run_on_pytorch(name: str, *arguments: str) -> str:
    """What an example prints on PyTorch."""
    return good(forked("torch sklearn", str(ROOT / "examples" / name), *arguments))


def after(label: str, output: str) -> list[float]:
    """The numbers that stand after a label, from line to line."""
    found = [
        float(number.replace(",", ""))
        for number in re.findall(rf"{re.escape(label)}\s+{NUMBER}", output)
    ]
    assert found, output
    return found


def same_on_pytorch(name: str, *arguments: str, labels: tuple[str, ...], tolerance: float) -> None:
    """The numbers after these labels are those of the same script on PyTorch."""
    ours, theirs = run(name, *arguments), run_on_pytorch(name, *arguments)
    for label in labels:
        assert after(label, ours) == pytest.approx(after(label, theirs), abs=tolerance), label
