"""Functions of lists of tensors, by what they do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import wengert
from wengert.compat._private import top
from wengert.compat._private.harness.operations.letters import EVERY, FLOATS_COMPLEX, REALS
from wengert.compat._private.harness.operations.recipes import dtypes_of
from wengert.compat._private.harness.operations.records import OpInfo
from wengert.compat._private.harness.operations.sample_inputs import SampleInput
from wengert.testing import make_tensor


class ForeachFuncInfo(OpInfo):
    """A function of lists, whose reference is what is done to each tensor."""

    def __init__(self, name: str, *, arity: int, **kwargs: Any) -> None:
        function = getattr(wengert, f"_foreach_{name}", None)
        if function is None:
            function = getattr(top, f"_foreach_{name}")
        super().__init__(
            f"_foreach_{name}", op=function, method_variant=function, operator_variant=None,
            inplace_variant=getattr(wengert, f"_foreach_{name}_", None), supports_out=False,
            sample_inputs_func=_lists, **kwargs,
        )  # fmt: skip
        self.arity = arity
        self.ref = getattr(wengert, name, None)
        self.ref_inplace = getattr(wengert.Tensor, f"{name}_", None)


def _lists(
    op: Any, device: Any, dtype: Any, requires_grad: bool, **kwargs: Any
) -> Iterator[SampleInput]:
    """Lists of one and of three tensors, with as many further lists as the function takes."""
    for count in (1, 3):

        def tensors(low: float | None = None, count: int = count) -> list[Any]:
            given: dict[str, Any] = {"device": device, "low": low, "requires_grad": requires_grad}
            return [make_tensor((i + 1, 2), dtype=dtype, **given) for i in range(count)]

        args = [tensors(1.0 if dtype.is_floating_point else None) for _ in range(op.arity - 1)]
        yield SampleInput(tensors(), args=(*args,))


def _infos(names: str, letters: str, arity: int) -> list[ForeachFuncInfo]:
    return [ForeachFuncInfo(name, arity=arity, dtypes=dtypes_of(letters)) for name in names.split()]


foreach_unary_op_db = [
    *_infos(
        "exp expm1 log log10 log1p log2 sqrt rsqrt reciprocal sin cos tan asin acos atan sinh cosh"
        " tanh sigmoid", FLOATS_COMPLEX, 1,
    ),
    *_infos("ceil floor round trunc sign", REALS, 1),
    *_infos("frac erf erfc lgamma", "fd", 1),
    *_infos("neg abs", "iswlhgfdcD", 1),
]  # fmt: skip
foreach_binary_op_db = [
    *_infos("add mul", EVERY, 2),
    *_infos("sub", "uiswlhgfdcD", 2),
    *_infos("div", FLOATS_COMPLEX, 2),
    *_infos("maximum minimum clamp_max clamp_min", REALS, 2),
]
foreach_pointwise_op_db = _infos("addcmul addcdiv", FLOATS_COMPLEX, 3)
foreach_reduce_op_db = _infos("norm", FLOATS_COMPLEX, 1)
foreach_other_op_db = _infos("lerp", "hgfdcD", 3)

__all__ = [
    "ForeachFuncInfo", "foreach_binary_op_db", "foreach_other_op_db", "foreach_pointwise_op_db",
    "foreach_reduce_op_db", "foreach_unary_op_db",
]  # fmt: skip
