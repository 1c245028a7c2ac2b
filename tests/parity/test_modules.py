"""Every module that PyTorch keeps a record of, run by `tests.parity.modules`.

A few samples of each; all of them with PARITY_SAMPLES=all.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.conftest import PARITY
from tests.parity import modules

INFOS = modules.infos() if PARITY else {}
MISSING = "wengert.nn lacks it"
MOST = None if os.environ.get("PARITY_SAMPLES") == "all" else 6

# What does not pass yet: how many samples fail, and why. One that is mended has to be taken off.
GAPS: dict[str, tuple[int, str]] = {
    "nn.CrossEntropyLoss": (
        1, "where every target is ignored, second derivatives are 0 here and nan in PyTorch"
    ),
    "nn.LinearCrossEntropyLoss": (1, MISSING),
}  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("name", sorted(INFOS))
def test_module_is_as_in_pytorch(torch: Any, name: str) -> None:
    result = modules.run(torch, INFOS[name], MOST)
    expected, reason = GAPS.get(name, (0, ""))
    failures = result.tried - result.passed
    assert result.tried > 0
    if MOST is None:
        assert failures == expected, f"{reason}\n{result}"
    else:
        assert failures <= expected, f"{reason}\n{result}"


@pytest.mark.torch
def test_every_gap_is_of_a_recorded_module() -> None:
    assert INFOS.keys() >= GAPS.keys()
