"""Every optimizer against PyTorch's own records of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.parity import optimizers
from wengert import optim

NAMES = [name for name in optim.__all__ if isinstance(getattr(optim, name), type)]


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad")  # PyTorch's L-BFGS
@pytest.mark.parametrize("name", [name for name in NAMES if name != "Optimizer"])
def test_optimizer(name: str, torch: Any) -> None:
    from torch.testing._internal.common_optimizers import optim_db

    (info,) = (info for info in optim_db if info.optim_cls.__name__ == name)
    result = optimizers.check(info)
    assert not result.failed, str(result)
    assert result.passed


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_no_optimizer_is_missing(torch: Any) -> None:
    from torch.testing._internal.common_optimizers import optim_db

    assert {info.optim_cls.__name__ for info in optim_db} | {"Optimizer"} == set(NAMES)
