"""Functions of elements: what is known of them beyond other operations, and inputs for them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import wengert
from wengert import Tensor
from wengert.compat._private.harness.operations.records import OpInfo, Samples
from wengert.compat._private.harness.operations.sample_inputs import ErrorInput, SampleInput
from wengert.core.dtypes import dtype as dtype_type
from wengert.testing import make_tensor

_EPS = 1e-3  # how far from the ends of a domain numbers stay


def _no_arguments(device: Any, dtype: Any, input: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    return {}, {}


def _bounds(op: Any, dtype: dtype_type) -> dict[str, Any]:
    """Where the numbers of a dtype lie in the domain of an operation, for `make_tensor`."""
    low, high = op.domain
    if dtype.is_floating_point or dtype.is_complex:
        return {
            "low": None if low is None else low + _EPS,
            "high": None if high is None else high - _EPS,
        }
    if low is not None and dtype == wengert.uint8:
        low = max(low, 0)
    return {
        "low": None if low is None else math.ceil(low),
        "high": None if high is None else math.floor(high) + 1,
    }


def _unary_sample(op: Any, x: Tensor) -> SampleInput:
    return SampleInput(x, kwargs=op.sample_kwargs(x.device, x.dtype, x)[0])


def _of_shapes(
    op: Any, shapes: Iterable[tuple[int, ...]], device: Any, dtype: Any, requires_grad: bool
) -> Iterator[SampleInput]:
    bounds = {} if dtype == wengert.bool else _bounds(op, dtype)
    for shape in shapes:
        x = make_tensor(shape, dtype=dtype, device=device, **bounds)
        if op.reference_numerics_filter is not None and dtype != wengert.bool:
            condition, safe = op.reference_numerics_filter
            x = x.masked_fill(condition(x), safe)
        yield _unary_sample(op, x.requires_grad_(requires_grad))


def sample_inputs_elementwise_unary(
    op_info: Any, device: Any, dtype: Any, requires_grad: bool, **kwargs: Any
) -> Iterator[SampleInput]:
    """A vector, an empty tensor and a single number."""
    length = 4 if kwargs.get("small_inputs_only") else 15
    return _of_shapes(op_info, [(length,), (2, 0), ()], device, dtype, requires_grad)


def generate_elementwise_unary_tensors(
    op: Any, *, device: Any, dtype: Any, requires_grad: bool = False, **kwargs: Any
) -> Iterator[SampleInput]:
    """A matrix, a vector, and empty tensors."""
    shapes = [(31, 70), (500,), (0,), (2, 0), (0, 1, 4)]
    return _of_shapes(op, shapes, device, dtype, requires_grad)


_SMALL: dict[str, list[float]] = {
    "float": [0.0, -0.0, 0.002, -0.002, 0.5, -0.5, 1.0, -1.0, math.sqrt(2), 3.25, -3.25],
    "int": [0, 1, -1, 2, -2, 40, -40, 100, -100],
    "uint": [0, 1, 2, 40, 100, 250],
}
_LARGE: dict[str, list[float]] = {
    "float": [700.5, -700.5, 2048.0, -20000.5, 5e4, -5e4],
    "int": [120, -120, 3000, -3000, 20000, -20000],
    "uint": [],
}
_EXTREMAL = [math.inf, -math.inf, math.nan]


def _combinations(
    values: Iterable[float], device: Any, dtype: Any, requires_grad: bool
) -> Iterator[SampleInput]:
    """Each pair of values, in two vectors; of a complex dtype each with each as its parts."""
    numbers: list[Any] = [*values]
    if dtype.is_complex:
        numbers = [complex(a, b) for a, b in itertools.product(numbers, repeat=2)][:40]
    if dtype == wengert.bool:
        numbers = [True, False]
    left, right = zip(*itertools.product(numbers, repeat=2), strict=True)
    both = (wengert.tensor(side, device=device).to(dtype) for side in (left, right))
    yield SampleInput(*(x.requires_grad_(requires_grad) for x in both))


def _kind(dtype: dtype_type) -> str:
    if dtype.is_floating_point or dtype.is_complex:
        return "float"
    return "uint" if dtype in (wengert.uint8, wengert.bool) else "int"


def generate_elementwise_binary_small_value_tensors(
    op: Any, *, device: Any, dtype: Any, requires_grad: bool = False,
    exclude_zero: bool | None = None,
) -> Iterator[SampleInput]:  # fmt: skip
    """Numbers near zero, each with each."""
    if exclude_zero is None:
        exclude_zero = getattr(op, "rhs_make_tensor_kwargs", {}).get("exclude_zero", False)
    for sample in _combinations(_SMALL[_kind(dtype)], device, dtype, requires_grad):
        if exclude_zero:
            right = sample.args[0].detach()
            right = right.masked_fill(right == 0, 1).requires_grad_(requires_grad)
            sample.args = (right,)
        yield sample


def generate_elementwise_binary_large_value_tensors(
    op: Any, *, device: Any, dtype: Any, requires_grad: bool = False
) -> Iterator[SampleInput]:
    """Large numbers, each with each."""
    values = _LARGE[_kind(dtype)] if dtype not in (wengert.int8,) else [120, -120]
    if values and dtype != wengert.bool:
        yield from _combinations(values, device, dtype, requires_grad)


def generate_elementwise_binary_extremal_value_tensors(
    op: Any, *, device: Any, dtype: Any, requires_grad: bool = False
) -> Iterator[SampleInput]:
    """Infinities and NaN, each with each."""
    if dtype.is_floating_point or dtype.is_complex:
        yield from _combinations(_EXTREMAL, device, dtype, requires_grad)


def _left(op: Any, samples: Iterable[SampleInput]) -> Iterator[SampleInput]:
    """The first operands, those outside of a domain at its end."""
    for sample in samples:
        x = sample.input.detach()
        bounds = _bounds(op, x.dtype)
        ends = {"min": bounds["low"], "max": bounds["high"]}
        if any(v is not None for v in ends.values()) and x.dtype != wengert.bool:
            x = (
                wengert.complex(x.real.clamp(**ends), x.imag.clamp(**ends))
                if x.is_complex()
                else x.clamp(**ends)
            )
        yield _unary_sample(op, x.requires_grad_(sample.input.requires_grad))


def generate_elementwise_unary_small_value_tensors(
    op: Any, *, device: Any, dtype: Any, requires_grad: bool = False
) -> Iterator[SampleInput]:
    """Numbers near zero."""
    given = {"device": device, "dtype": dtype, "requires_grad": requires_grad}
    return _left(op, generate_elementwise_binary_small_value_tensors(op, **given))


def generate_elementwise_unary_large_value_tensors(
    op: Any, *, device: Any, dtype: Any, requires_grad: bool = False
) -> Iterator[SampleInput]:
    """Large numbers."""
    given = {"device": device, "dtype": dtype, "requires_grad": requires_grad}
    return _left(op, generate_elementwise_binary_large_value_tensors(op, **given))


def generate_elementwise_unary_extremal_value_tensors(
    op: Any, *, device: Any, dtype: Any, requires_grad: bool = False
) -> Iterator[SampleInput]:
    """Infinities and NaN."""
    for sample in generate_elementwise_binary_extremal_value_tensors(
        op, device=device, dtype=dtype, requires_grad=requires_grad
    ):
        yield _unary_sample(op, sample.input)


class UnaryUfuncInfo(OpInfo):
    """A function of each element. `domain` is where it is defined."""

    def __init__(
        self, name: str, *, dtypes: Any = (wengert.float32, wengert.float64),
        domain: tuple[float | None, float | None] = (None, None),
        handles_complex_extremal_values: bool = True, handles_large_floats: bool = True,
        supports_complex_to_float: bool = False,
        sample_inputs_func: Samples = sample_inputs_elementwise_unary,
        sample_kwargs: Callable[..., Any] = _no_arguments, reference_numerics_filter: Any = None,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(name, dtypes=dtypes, sample_inputs_func=sample_inputs_func, **kwargs)
        self.domain = domain
        self.handles_complex_extremal_values = handles_complex_extremal_values
        self.handles_large_floats = handles_large_floats
        self.supports_complex_to_float = supports_complex_to_float
        self.sample_kwargs = sample_kwargs
        self.reference_numerics_filter = reference_numerics_filter


def _pairs(
    op: Any, shapes: Iterable[Any], device: Any, dtype: Any, requires_grad: bool
) -> Iterator[SampleInput]:
    for left, right in shapes:
        draw = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
        x = make_tensor(left, **(draw | op.lhs_make_tensor_kwargs))
        y = make_tensor(right, **(draw | op.rhs_make_tensor_kwargs))
        yield SampleInput(
            x, args=(y,), kwargs=op.sample_kwargs(device, dtype, x)[0],
            broadcasts_input=left != tuple(wengert.broadcast_shapes(left, right)),
        )  # fmt: skip


def sample_inputs_elementwise_binary(
    op: Any, device: Any, dtype: Any, requires_grad: bool, **kwargs: Any
) -> Iterator[SampleInput]:
    """Operands of one shape, and of shapes that are broadcast."""
    shapes = [
        ((), ()), ((4,), (4,)), ((4,), ()), ((), (4,)), ((2, 3), (3,)), ((3, 1), (1, 2)),
        ((2, 1, 3), (4, 1)), ((2, 3, 2), (2, 3, 2)), ((0, 2), (0, 1)),
    ]  # fmt: skip
    return _pairs(op, shapes, device, dtype, requires_grad)


def generate_elementwise_binary_tensors(
    op: Any, *, device: Any, dtype: Any, requires_grad: bool = False, exclude_zero: bool = False
) -> Iterator[SampleInput]:
    """Operands of one shape."""
    shapes = [(n, n) for n in [(), (50,), (0,), (2, 0), (21, 13), (2, 9, 4)]]
    return _pairs(op, shapes, device, dtype, requires_grad)


def generate_elementwise_binary_broadcasting_tensors(
    op: Any, *, device: Any, dtype: Any, requires_grad: bool = False, exclude_zero: bool = False
) -> Iterator[SampleInput]:
    """Operands that are broadcast."""
    shapes = [
        ((3,), ()), ((), (3,)), ((1,), (4,)), ((4, 1), (3,)), ((2, 3), (1, 3)), ((2, 3), (2, 1)),
        ((5, 2, 3), (3,)), ((5, 1, 3), (2, 1)), ((1, 2, 1), (5, 1, 3)),
    ]  # fmt: skip
    return _pairs(op, shapes, device, dtype, requires_grad)


def generate_elementwise_binary_with_scalar_samples(
    op: Any, *, device: Any, dtype: Any, requires_grad: bool = False
) -> Iterator[SampleInput]:
    """A tensor and a number of Python's, and the other way around where that is possible."""
    shapes = [((5,), ()), ((2, 3), ()), ((), ())]
    for sample in _pairs(op, shapes, device, dtype, requires_grad):
        number = sample.args[0].item()
        if op.supports_rhs_python_scalar:
            yield SampleInput(sample.input, args=(number,), kwargs=sample.kwargs)
        if op.supports_one_python_scalar:
            yield SampleInput(number, args=(sample.input,), kwargs=sample.kwargs)


def generate_elementwise_binary_with_scalar_and_type_promotion_samples(
    op: Any, *, device: Any, dtype: Any, requires_grad: bool = False
) -> Iterator[SampleInput]:
    """A tensor and numbers of Python's of every kind; none where NumPy promotes otherwise."""
    if op.name in ("eq", "ne", "gt", "ge", "lt", "le", "logical_and", "logical_or", "logical_xor"):
        return
    numbers: list[Any] = [2, 2.5, True] + [2 + 3j] * dtype.is_complex
    for number in numbers if op.supports_rhs_python_scalar else ():
        x = make_tensor((4,), dtype=dtype, device=device, **op.lhs_make_tensor_kwargs)
        yield SampleInput(x.requires_grad_(requires_grad), args=(number,))


def reference_inputs_elementwise_binary(
    op: Any, device: Any, dtype: Any, requires_grad: bool, **kwargs: Any
) -> Iterator[SampleInput]:
    """The samples and what the generators make, in one sequence."""
    given = {"device": device, "dtype": dtype, "requires_grad": requires_grad}
    yield from op.sample_inputs_func(op, device, dtype, requires_grad, **kwargs)
    yield from generate_elementwise_binary_tensors(op, **given)
    yield from generate_elementwise_binary_broadcasting_tensors(op, **given)
    yield from generate_elementwise_binary_with_scalar_samples(op, **given)


def _shapes_that_differ(op: Any, device: Any, **kwargs: Any) -> Iterator[ErrorInput]:
    """Operands that cannot be broadcast."""
    dtype = next(d for d in (wengert.float32, wengert.complex64, wengert.int64) if d in op.dtypes)
    for sample in _pairs(op, [((2, 3), (2, 3))], device, dtype, False):
        sample.args = (wengert.cat([sample.args[0]] * 2, 1),)
        yield ErrorInput(sample, error_regex="must match the size of tensor")


class BinaryUfuncInfo(OpInfo):
    """A function of pairs of elements, which are broadcast."""

    def __init__(
        self, name: str, *, sample_inputs_func: Samples = sample_inputs_elementwise_binary,
        reference_inputs_func: Samples = reference_inputs_elementwise_binary,
        sample_kwargs: Callable[..., Any] = _no_arguments,
        error_inputs_func: Samples = _shapes_that_differ,
        lhs_make_tensor_kwargs: dict[str, Any] | None = None,
        rhs_make_tensor_kwargs: dict[str, Any] | None = None, always_returns_bool: bool = False,
        supports_rhs_python_scalar: bool = True, supports_one_python_scalar: bool = False,
        supports_two_python_scalars: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            name, sample_inputs_func=sample_inputs_func, error_inputs_func=error_inputs_func,
            reference_inputs_func=reference_inputs_func, **kwargs,
        )  # fmt: skip
        self.sample_kwargs = sample_kwargs
        self.lhs_make_tensor_kwargs = lhs_make_tensor_kwargs or {}
        self.rhs_make_tensor_kwargs = rhs_make_tensor_kwargs or {}
        self.always_returns_bool = always_returns_bool
        self.supports_two_python_scalars = supports_two_python_scalars
        self.supports_one_python_scalar = supports_one_python_scalar or supports_two_python_scalars
        self.supports_rhs_python_scalar = (
            supports_rhs_python_scalar or self.supports_one_python_scalar
        )


__all__ = [
    "BinaryUfuncInfo", "UnaryUfuncInfo",
    *(name for name in list(globals()) if name.startswith(("generate_", "sample_", "reference_"))),
]  # fmt: skip
