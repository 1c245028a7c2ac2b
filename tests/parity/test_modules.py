"""Every module that PyTorch keeps a record of, run by `tests.parity.modules`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import PARITY
from tests.parity import modules

INFOS = modules.infos() if PARITY else {}
MISSING = "wengert.nn lacks it"

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
    result = modules.run(torch, INFOS[name])
    failures, reason = GAPS.get(name, (0, ""))
    assert result.tried > 0
    assert result.tried - result.passed == failures, f"{reason}\n{result}"


@pytest.mark.torch
def test_every_gap_is_of_a_recorded_module() -> None:
    assert INFOS.keys() >= GAPS.keys()
