"""``torch.testing._internal.common_methods_invocations``: operations, and inputs for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import wengert
from wengert import Tensor
from wengert.compat._private.harness.cases import set_rng_seed
from wengert.compat._private.harness.common import freeze_rng_state
from wengert.compat._private.harness.operations import core, foreach, lists, second_forms
from wengert.compat._private.harness.operations.core import *  # noqa: F403
from wengert.compat._private.harness.operations.foreach import *  # noqa: F403
from wengert.compat._private.harness.operations.lists import *  # noqa: F403
from wengert.compat._private.harness.operations.second_forms import *  # noqa: F403

L, M, S, XS = 20, 10, 5, 3


def mask_not_all_zeros(shape: Any) -> Tensor:
    """Random booleans, at least one of which is true."""
    if not all(shape):
        raise AssertionError(f"a mask of shape {tuple(shape)} has no elements")
    while True:
        mask = wengert.randn(shape).gt(0)
        if mask.any():
            return mask


def wrapper_set_seed(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a call gives after the generators were seeded; they go on as they were."""
    with freeze_rng_state():
        set_rng_seed(42)
        return op(*args, **kwargs)


__all__ = [
    *core.__all__, *foreach.__all__, *lists.__all__, *second_forms.__all__, "L", "M", "S",
    "XS", "mask_not_all_zeros",
    "wrapper_set_seed",
]  # fmt: skip
