"""Families of operations whose tests share a form: reductions, transforms, functions of shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

from wengert.compat._private.harness.operations.records import OpInfo, Samples
from wengert.compat._private.harness.operations.sample_inputs import SampleInput
from wengert.testing import make_tensor

SpectralFuncType = Enum("SpectralFuncType", ("OneD", "TwoD", "ND"))


def _no_arguments(t: Any, dim: Any = None, keepdim: bool = False) -> Iterator[Any]:
    yield (), {}


def _generate_reduction_kwargs(
    ndim: int, supports_multiple_dims: bool = True
) -> Iterator[dict[str, Any]]:
    """Dimensions to reduce, of a tensor with so many."""
    yield {}
    for dim in {0: (0,), 1: (-1,)}.get(ndim, (1, -2)):
        for keepdim in (False, True):
            yield {"dim": dim, "keepdim": keepdim}
    if supports_multiple_dims and ndim:
        yield {"dim": tuple(reversed(range(ndim)))}
        yield {"dim": (-1,), "keepdim": True}
    if supports_multiple_dims and ndim > 2:
        yield {"dim": (ndim - 1, 0), "keepdim": True}


def sample_inputs_reduction(
    op_info: Any, device: Any, dtype: Any, requires_grad: bool, **kwargs: Any
) -> Iterator[SampleInput]:
    """Tensors with up to four dimensions, and which of these to reduce."""
    several = kwargs.get("supports_multiple_dims", op_info.supports_multiple_dims)
    for shape in [(), (4,), (2, 3), (2, 3, 1, 4)]:
        for reduced in _generate_reduction_kwargs(len(shape), several):
            x = make_tensor(shape, dtype=dtype, device=device, requires_grad=requires_grad)
            for args, more in op_info.generate_args_kwargs(x, **reduced):
                yield SampleInput(x, args=args, kwargs=more | reduced)


class ReductionOpInfo(OpInfo):
    """An operation that reduces dimensions: ``op(input, *args, dim=None, keepdim=False)``.

    `identity` is what it gives of nothing, `nan_policy` whether it gives NaN where it sees one
    ("propagate") or leaves it out ("omit").
    """

    def __init__(
        self, name: str, *, identity: Any = None, nan_policy: str | None = None,
        supports_multiple_dims: bool = True, promotes_int_to_float: bool = False,
        promotes_int_to_int64: bool = False, result_dtype: Any = None,
        complex_to_real: bool = False, generate_args_kwargs: Callable[..., Any] = _no_arguments,
        sample_inputs_func: Samples = sample_inputs_reduction, inplace_variant: Any = None,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        if nan_policy not in (None, "propagate", "omit"):
            raise AssertionError(
                f"argument 'nan_policy' is {nan_policy!r}, expected None, 'propagate' or 'omit'"
            )
        results = {
            "result_dtype": result_dtype is not None,
            "promotes_int_to_float": promotes_int_to_float,
            "promotes_int_to_int64": promotes_int_to_int64,
        }
        given = [name for name, holds in results.items() if holds]
        if len(given) > 1:
            raise AssertionError(f"{given[0]} and {given[1]} exclude each other")
        super().__init__(
            name, promotes_int_to_float=promotes_int_to_float, inplace_variant=inplace_variant,
            sample_inputs_func=sample_inputs_func, **kwargs,
        )  # fmt: skip
        self.identity, self.nan_policy = identity, nan_policy
        self.supports_multiple_dims = supports_multiple_dims
        self.promotes_int_to_int64, self.result_dtype = promotes_int_to_int64, result_dtype
        self.complex_to_real = complex_to_real
        self.generate_args_kwargs = generate_args_kwargs


class SpectralFuncInfo(OpInfo):
    """A Fourier transform; `ndimensional` says along how many dimensions it goes."""

    def __init__(self, name: str, *, ndimensional: Any, **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self.ndimensional = ndimensional


class ShapeFuncInfo(OpInfo):
    """A function that repeats a tensor, whose reference is NumPy's."""

    def __init__(self, name: str, *, ref: Any, **kwargs: Any) -> None:
        super().__init__(name, ref=ref, **kwargs)


__all__ = [
    "ReductionOpInfo", "ShapeFuncInfo", "SpectralFuncInfo", "SpectralFuncType",
    "_generate_reduction_kwargs", "sample_inputs_reduction",
]  # fmt: skip
