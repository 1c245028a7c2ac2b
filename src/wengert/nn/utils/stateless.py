"""The older location of `wengert.func.functional_call`."""

from __future__ import annotations

import warnings
from typing import Any

from wengert import func
from wengert.core.tensor import Tensor
from wengert.nn.module import Module


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """The old name of `wengert.func.functional_call`."""
    warnings.warn(
        "This API is deprecated as of PyTorch 2.0 and will be removed in a future release. Please"
        " use torch.func.functional_call instead which is a drop-in replacement for this API.",
        FutureWarning,
        stacklevel=2,
    )
    return func.functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )


__all__ = ["functional_call"]
