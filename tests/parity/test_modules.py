"""Every module that PyTorch keeps a record of, run by `tests.parity.modules`.

A few samples of each; all of them with PARITY_SAMPLES=all.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.parity import modules

MISSING = "wengert.nn lacks it"
MOST = None if os.environ.get("PARITY_SAMPLES") == "all" else 6

# What does not pass yet: how many samples fail, and why. One that is mended has to be taken off.
GAPS: dict[str, tuple[int, str]] = {
    "nn.CrossEntropyLoss": (
        1, "where every target is ignored, second derivatives are 0 here and nan in PyTorch"
    ),
    "nn.LinearCrossEntropyLoss": (1, MISSING),
}  # fmt: skip


# Who collects tests does not import PyTorch's records for their names: that takes seconds.
SHARES = 16


@pytest.mark.torch
@pytest.mark.parametrize("share", range(SHARES))
def test_modules_are_as_in_pytorch(torch: Any, share: int) -> None:
    infos = modules.infos()
    wrong = {}
    for name in sorted(infos)[share::SHARES]:
        result = modules.run(torch, infos[name], MOST)
        expected, reason = GAPS.get(name, (0, ""))
        failures = result.tried - result.passed
        if not result.tried or failures > expected or (MOST is None and failures < expected):
            wrong[name] = f"{reason}\n{result}"
    assert wrong == {}


@pytest.mark.torch
def test_every_gap_is_of_a_recorded_module() -> None:
    assert modules.infos().keys() >= GAPS.keys()
