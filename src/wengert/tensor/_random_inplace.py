"""Filling tensors with random numbers: `uniform_`, `normal_`, and the other in-place samplers."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.autograd.transforms.levels import transform_stack
from wengert.core import dtypes
from wengert.core.dtypes import of_numpy
from wengert.core.generators import Generator, draw_numbers, remainders
from wengert.core.info import finfo
from wengert.core.tensor import Tensor, Tracer
from wengert.ops.broadcasting import expand
from wengert.ops.outputs import check_memory
from wengert.ops.sampling import check_probabilities, successes
from wengert.ops.shape import inverse_of, permute
from wengert.tensor._inplace import check_writable, is_plain, overwrite, write_plain
from wengert.tensor.arguments import require_int
from wengert.tensor.random import (
    bernoulli,
    check_bounds,
    generator_of,
    multinomial,
    probability,
    require_floating,
    uniforms,
)

Sampler = Callable[[tuple[int, ...]], np.ndarray]


def _fill(target: Tensor, name: str, sample: Sampler) -> Tensor:
    """Overwrite the target with ``sample(shape)``; numbers are drawn in the order of memory."""
    array = target._array
    if array.flags.c_contiguous and not transform_stack.levels and is_plain(target, name):
        return write_plain(target, sample(array.shape), name)
    check_writable(target, name)
    if not isinstance(target, Tracer):
        check_memory(array, name)
    if array.flags.c_contiguous:
        return overwrite(target, draw_numbers(sample, array.shape, target=target), name)
    order = sorted(range(array.ndim), key=lambda d: -array.strides[d])
    numbers = draw_numbers(sample, tuple(array.shape[d] for d in order), target=target)
    return overwrite(target, permute(numbers, inverse_of(order)), name)


def _floating(target: Tensor, name: str) -> np.dtype[Any]:
    require_floating(name, of_numpy[target._outline.dtype])
    return target._outline.dtype


@functools.cache
def _largest_finite(dtype: np.dtype[Any]) -> float:
    return finfo(of_numpy[dtype]).max


def _bounds(name: str, positional: tuple[Any, ...], named: dict[str, Any], default: tuple[Any, Any],
            ) -> tuple[Any, Any]:  # fmt: skip
    """The arguments `from` and `to`; the first is a keyword of Python, hence this."""
    if not (positional or named):
        return default
    values = dict(zip(("from", "to"), default, strict=True)) | named
    if len(values) > 2 or len(positional) > 2:
        raise TypeError(f"{name}() got unexpected arguments: {positional}, {sorted(named)}")
    values |= dict(zip(("from", "to"), positional, strict=False))
    return values["from"], values["to"]


def uniform_(self: Tensor, *bounds: float, generator: Generator | None = None,
             **named: float) -> Tensor:  # fmt: skip
    """Fill with uniform numbers: ``uniform_(from=0, to=1)``.

    >>> import wengert
    >>> _ = wengert.manual_seed(0)
    >>> wengert.zeros(2).uniform_(-1, 1)
    tensor([-0.0075,  0.5364])
    """
    to = _floating(self, "check_uniform_bounds")
    low, high = _bounds("uniform_", bounds, named, (0.0, 1.0))
    if not low <= high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}"
        )
    if high - low > _largest_finite(to):
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{of_numpy[to].short}>::max(), but"
            f" found to={high:g} and from={low:g} which result in to-from to exceed the limit"
        )
    source = generator_of("uniform_", generator)
    return _fill(self, "uniform_", lambda shape: source.uniform(shape, low, high, to))


def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *,
            generator: Generator | None = None) -> Tensor:  # fmt: skip
    """Fill with normal numbers.

    >>> import wengert
    >>> _ = wengert.manual_seed(0)
    >>> wengert.zeros(2).normal_(10, 1)
    tensor([11.5410,  9.7066])
    """
    to = _floating(self, "normal_kernel_cpu")
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    source = generator_of("normal_", generator)
    if self._array.flags.c_contiguous or to.kind == "c":
        return _fill(self, "normal_", lambda shape: source.normal(shape, mean, std, to))
    return _fill(self, "normal_", lambda shape: _sequence(source, shape, mean, std))


def _sequence(source: Generator, shape: tuple[int, ...], mean: float, std: float) -> np.ndarray:
    return source.normal_sequence(math.prod(shape)).reshape(shape) * std + mean


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fill with 1 where a draw succeeds, with probability `p`, and 0 elsewhere.

    >>> import wengert
    >>> wengert.zeros(2).bernoulli_(1.0)
    tensor([1., 1.])
    """
    source = generator_of("bernoulli_", generator)
    if not isinstance(p, Tensor):
        probability("bernoulli_", p)
        return _fill(self, "bernoulli_", lambda shape: source.bernoulli(shape, p))
    dtype = p._outline.dtype
    require_floating("bernoulli_tensor_cpu_p_", of_numpy[dtype])
    check_probabilities(p)
    chances = expand(p, self._outline.shape)
    check_writable(self, "bernoulli_")
    draws = draw_numbers(uniforms(source, dtype), self._outline.shape, (p,), self)
    return overwrite(self, successes(chances, draws), "bernoulli_")


def random_(self: Tensor, *bounds: int, generator: Generator | None = None,
            **named: int) -> Tensor:  # fmt: skip
    """Fill with integers: ``random_()``, ``random_(to)``, ``random_(from, to)``.

    Without bounds they run from 0 to the largest that the dtype holds exactly.

    >>> import wengert
    >>> _ = wengert.manual_seed(0)
    >>> wengert.zeros(3).random_(0, 10)
    tensor([4., 9., 3.])
    """
    source, dtype = generator_of("random_", generator), of_numpy[self._outline.dtype]
    if dtype.category == dtypes.COMPLEX:
        raise NotImplementedError(f"\"random_\" not implemented for '{dtype.short}'")
    if len(bounds) == 1:
        bounds = (0, *bounds)
    low, high = _bounds("random_", bounds, named, (None, None))
    if low is None and high is None:
        return _fill(self, "random_", lambda shape: _any_integers(source, shape, dtype))
    low = 0 if low is None else require_int("random_", "from", low)
    high = _largest(dtype) + 1 if high is None else require_int("random_", "to", high, 2)
    check_bounds(low, high, dtype)
    return _fill(self, "random_", lambda shape: source.integers(shape, low, high, np.int64))


def _any_integers(source: Generator, shape: tuple[int, ...], dtype: dtypes.dtype) -> np.ndarray:
    limit = _largest(dtype) + 1
    if dtype.itemsize == 4 and dtype.category == dtypes.INT:  # of words, where a range takes pairs
        return remainders(source.random32(math.prod(shape)), limit).reshape(shape)
    return source.integers(shape, 0, limit, np.int64)


def _largest(dtype: dtypes.dtype) -> int:
    """The largest integer up to which the dtype holds every one."""
    if dtype.category == dtypes.BOOL:
        return 1
    if dtype.category == dtypes.INT:
        return min(int(np.iinfo(dtype.np).max), 2**63 - 1)
    return {"float16": 2**11, "bfloat16": 2**8, "float32": 2**24, "float64": 2**53}[dtype.name]


def exponential_(self: Tensor, lambd: float = 1.0, *,
                 generator: Generator | None = None) -> Tensor:  # fmt: skip
    """Fill with numbers of the exponential distribution of this rate.

    >>> import wengert
    >>> bool((wengert.zeros(3).exponential_() > 0).all())
    True
    """
    _floating(self, "exponential")
    _positive("exponential_", "lambda", lambd)
    source = generator_of("exponential_", generator)
    return _doubles(self, "exponential_", lambda n: source.exponential(n, lambd))


def log_normal_(self: Tensor, mean: float = 1.0, std: float = 2.0, *,
                generator: Generator | None = None) -> Tensor:  # fmt: skip
    """Fill with numbers whose logarithms are normal.

    >>> import wengert
    >>> bool((wengert.zeros(3).log_normal_() > 0).all())
    True
    """
    _floating(self, "log_normal")
    _positive("log_normal_", "std", std)
    source = generator_of("log_normal_", generator)
    return _doubles(self, "log_normal_", lambda n: np.exp(source.normal_sequence(n) * std + mean))


def cauchy_(self: Tensor, median: float = 0.0, sigma: float = 1.0, *,
            generator: Generator | None = None) -> Tensor:  # fmt: skip
    """Fill with numbers of the Cauchy distribution.

    >>> import wengert
    >>> wengert.zeros(3).cauchy_().shape
    torch.Size([3])
    """
    _floating(self, "cauchy")
    _positive("cauchy_", "sigma", sigma)
    source = generator_of("cauchy_", generator)
    return _doubles(
        self,
        "cauchy_",
        lambda n: median + sigma * np.tan(math.pi * (source.doubles(n) - 0.5)),
    )


def geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Fill with numbers of trials until the first success, of probability `p`.

    >>> import wengert
    >>> bool((wengert.zeros(3).geometric_(0.5) >= 1).all())
    True
    """
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    source = generator_of("geometric_", generator)
    return _doubles(
        self,
        "geometric_",
        lambda n: np.ceil(np.log(source.doubles(n)) / math.log1p(-p)),
    )


def _doubles(self: Tensor, name: str, draw: Callable[[int], np.ndarray]) -> Tensor:
    return _fill(self, name, lambda shape: draw(math.prod(shape)).reshape(shape))


def _positive(name: str, argument: str, value: float) -> None:
    if not value > 0:
        raise RuntimeError(f"{name} expects {argument} > 0.0, but found {argument}={value}")


def bind() -> None:
    """Give Tensor what this module is about."""
    define: Any = Tensor
    for function in (uniform_, normal_, bernoulli_, random_, exponential_, log_normal_, cauchy_,
                     geometric_, bernoulli, multinomial):  # fmt: skip
        setattr(define, function.__name__, function)
