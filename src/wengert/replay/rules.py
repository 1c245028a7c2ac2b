"""Which operations a record may hold, and what they need beside their operands."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from wengert.core.tensor import RawCut, Tensor
from wengert.ops.op import Op


class Step(NamedTuple):
    """The state of the thread at a step of a run."""

    site: Any  # where operations are recorded; None where they are not
    off: Any  # where recording was turned off; of a backward, its line
    seq: int


# Elementwise operations whose forward may refuse elements, or is random.
_REFUSE = frozenset({
    "bitwise_left_shift", "bitwise_right_shift", "gcd", "lcm", "standard_gamma_grad",
    "dirichlet_grad", "_complex", "_polygamma", "from_start", "_discrete", "_div_floor",
    "_div_trunc", "remainder", "fmod",
})  # fmt: skip
# Others that are functions of their operands' elements for all elements.
_OTHERS = frozenset({
    "linear", "addmm", "baddbmm", "matmul", "mm", "bmm", "dot", "outer", "sum_over", "mean_over",
    "sum_to_shape", "_softmax", "_log_softmax", "logsumexp", "_cross_entropy", "_weighed_pick",
    "reshape", "view", "flatten", "squeeze", "unsqueeze", "transpose", "t", "permute", "expand",
    "clone", "_layer_norm", "_rms_norm", "_group_norm", "_convolution", "_transposed_convolution",
    "_var", "_std", "amax", "amin", "vector_norm", "_where", "_masked_fill", "tril", "triu",
    "window_mean", "_constant_pad", "_attention", "select",
})  # fmt: skip

_FLOATS = frozenset({np.dtype(np.float32), np.dtype(np.float64)})


def defers(op: Op) -> bool:
    """Whether calls of an operation are compared with the record."""
    return op.name in _OTHERS or (op.kind == "elementwise" and op.name not in _REFUSE)


def eligible(op: Op, arguments: dict[str, Any]) -> bool:
    """Whether a call computes the same from arrays as from tensors: its operands have one dtype."""
    dtypes = set()
    for name, x in arguments.items():
        if name not in op.rules:
            if name not in op.params:
                return False
            continue
        if isinstance(x, Tensor | np.ndarray):
            dtypes.add(x._array.dtype if isinstance(x, Tensor) else x.dtype)
        elif x is not None and type(x) is not float and type(x) is not int:
            return False
    if not dtypes:
        return False
    if op.mixed or op.floats:
        return len(dtypes) == 1 and dtypes <= _FLOATS
    return bool(dtypes & _FLOATS)


Cut = RawCut | None
