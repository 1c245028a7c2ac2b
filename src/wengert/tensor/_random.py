"""Random tensors, and filling tensors with random numbers.

The streams are those of `wengert._random`: PyTorch's, seed by seed.
"""

from __future__ import annotations

import math
from typing import Any, Unpack

import numpy as np

from wengert import _dtypes
from wengert._core import Tensor, wrap
from wengert._dtypes import of_numpy
from wengert._random import Generator, default_generator
from wengert.ops.expansion import broadcast_shapes, expand
from wengert.ops.shape import clone
from wengert.tensor._arguments import (
    Options,
    allocate,
    dtype_of,
    finish,
    into,
    require_int,
    require_tensor,
    size_of,
)
from wengert.tensor._inplace import overwrite

Size = Any


def manual_seed(seed: int) -> Generator:
    """Start the default generator's stream of this seed; returns the generator.

    >>> import wengert
    >>> _ = wengert.manual_seed(0)
    >>> wengert.rand(3)
    tensor([0.4963, 0.7682, 0.0885])
    """
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Seed the default generator with a number that cannot be foreseen, and return that.

    >>> import wengert
    >>> wengert.seed() == wengert.initial_seed()
    True
    """
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default generator.

    >>> import wengert
    >>> _ = wengert.manual_seed(7)
    >>> wengert.initial_seed()
    7
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator, a uint8 tensor in PyTorch's layout.

    >>> import wengert
    >>> wengert.get_rng_state().shape
    torch.Size([5056])
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Let the default generator go on from a state that `get_rng_state` returned.

    >>> import wengert
    >>> state = wengert.get_rng_state()
    >>> first = wengert.rand(2)
    >>> wengert.set_rng_state(state)
    >>> wengert.equal(wengert.rand(2), first)
    True
    """
    default_generator.set_state(new_state)


def generator_of(name: str, generator: Any) -> Generator:
    """The generator that an argument means; None is the default one."""
    if generator is None:
        return default_generator
    if not isinstance(generator, Generator):
        raise TypeError(
            f"{name}(): argument 'generator' must be torch.Generator, not"
            f" {type(generator).__name__}"
        )
    return generator


def require_floating(name: str, dtype: _dtypes.dtype) -> None:
    """Raise unless the dtype is floating point or complex."""
    if dtype.category < _dtypes.FLOAT:
        raise NotImplementedError(f"\"{name}\" not implemented for '{dtype.short}'")


def rand(*size: Size, generator: Generator | None = None, out: Tensor | None = None,
         **options: Unpack[Options]) -> Tensor:  # fmt: skip
    """Uniform random numbers in [0, 1).

    >>> import wengert
    >>> _ = wengert.manual_seed(0)
    >>> wengert.rand(2)
    tensor([0.4963, 0.7682])
    """
    return _sized("rand", Generator.uniform, size, generator, out, options)


def randn(*size: Size, generator: Generator | None = None, out: Tensor | None = None,
          **options: Unpack[Options]) -> Tensor:  # fmt: skip
    """Normal random numbers of mean 0 and variance 1.

    >>> import wengert
    >>> _ = wengert.manual_seed(0)
    >>> wengert.randn(3)
    tensor([ 1.5410, -0.2934, -2.1788])
    """
    return _sized("randn", Generator.normal, size, generator, out, options)


def _sized(name: str, sample: Any, size: Any, generator: Any, out: Any, options: Any) -> Tensor:
    if "size" in options:
        size = (options.pop("size"),)
    elif not size:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    dtype = dtype_of(name, options)
    require_floating(name, dtype)
    source = generator_of(name, generator)

    def make(shape: Any, np_dtype: Any) -> np.ndarray:
        return sample(source, shape, np_dtype=np_dtype)

    return finish(name, allocate(make, size_of(name, size), dtype), options, out)


def _like(name: str, function: Any, input: Any, options: Any) -> Tensor:
    require_tensor(name, "input", input)
    options.pop("memory_format", None)
    if options.get("dtype") is None:
        options["dtype"] = of_numpy[input._array.dtype]
    return function(input._array.shape, **options)


def rand_like(input: Tensor, **options: Any) -> Tensor:
    """Uniform random numbers in [0, 1), in the shape and dtype of `input`.

    >>> import wengert
    >>> wengert.rand_like(wengert.zeros(2, 3)).shape
    torch.Size([2, 3])
    """
    return _like("rand_like", rand, input, options)


def randn_like(input: Tensor, **options: Any) -> Tensor:
    """Normal random numbers in the shape and dtype of `input`.

    >>> import wengert
    >>> wengert.randn_like(wengert.zeros(2, 3)).shape
    torch.Size([2, 3])
    """
    return _like("randn_like", randn, input, options)


def randint_like(input: Tensor, *bounds: Any, low: int = 0, high: int | None = None,
                 **options: Any) -> Tensor:  # fmt: skip
    """Random integers in [low, high), in the shape and dtype of `input`.

    >>> import wengert
    >>> wengert.randint_like(wengert.zeros(2, 3), 10).dtype
    torch.float32
    """
    if len(bounds) == 2:
        low, high = bounds
    elif bounds:
        low, high = (low, bounds[0]) if high is None else (bounds[0], high)
    return _like("randint_like", lambda size, **o: randint(low, high, size, **o), input, options)


def randint(*args: Any, low: int = 0, high: int | None = None, size: Any = None,
            generator: Generator | None = None, out: Tensor | None = None,
            **options: Unpack[Options]) -> Tensor:  # fmt: skip
    """``randint(high, size)``, ``randint(low, high, size)``: random integers in [low, high).

    >>> import wengert
    >>> _ = wengert.manual_seed(0)
    >>> wengert.randint(10, (3,))
    tensor([4, 9, 3])
    """
    rest = list(args)
    if size is None and rest:
        size = rest.pop()
    if len(rest) == 2:
        low, high = rest
    elif len(rest) == 1:
        low, high = (low, rest[0]) if high is None else (rest[0], high)
    if high is None or len(rest) > 2:
        raise TypeError(
            f"randint() received an invalid combination of arguments - got {len(args)} positional,"
            " expected (high, size) or (low, high, size)"
        )
    if not isinstance(size, tuple | list):
        raise TypeError(
            f"randint(): argument 'size' (position {len(rest) + 1}) must be tuple of ints, not"
            f" {type(size).__name__}"
        )
    bounds = require_int("randint", "low", low), require_int("randint", "high", high)
    dtype = dtype_of("randint", options, _dtypes.int64)
    check_bounds(*bounds, dtype)
    array = generator_of("randint", generator).integers(size_of("randint", (size,)), *bounds,
                                                        dtype.np)  # fmt: skip
    return finish("randint", array, options, out)


def check_bounds(low: int, high: int, dtype: _dtypes.dtype) -> None:
    """Raise unless [low, high) is a range of numbers that the dtype holds."""
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    if dtype.category == _dtypes.FLOAT:
        limits: Any = np.finfo(np.float64)
    elif dtype.category == _dtypes.BOOL:
        limits = _Bits
    else:
        limits = np.iinfo(dtype.np)
    for what, value in (("from", low), ("to - 1", high - 1)):
        if not limits.min <= value <= limits.max:
            raise RuntimeError(
                f"{what} is out of bounds for {dtype.name}: {value} is not in [{limits.min},"
                f" {limits.max}]"
            )


class _Bits:
    """The limits of booleans."""

    min, max = 0, 1


def randperm(n: int, *, generator: Generator | None = None, out: Tensor | None = None,
             **options: Unpack[Options]) -> Tensor:  # fmt: skip
    """The integers from 0 to n - 1 in random order.

    >>> import wengert
    >>> _ = wengert.manual_seed(0)
    >>> wengert.randperm(4)
    tensor([0, 1, 3, 2])
    """
    count = require_int("randperm", "n", n)
    if count < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {count}: [{count}]"
                           " in randperm()")  # fmt: skip
    dtype = dtype_of("randperm", options, _dtypes.int64)
    if dtype.category == _dtypes.INT:
        _dtypes.scalar_array(max(count - 1, 0), dtype, "randperm")
    order = generator_of("randperm", generator).permutation(count)
    return finish("randperm", order.astype(dtype.np, copy=False), options, out)


def normal(mean: Any, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None,
           out: Tensor | None = None, **options: Unpack[Options]) -> Tensor:  # fmt: skip
    """Normal random numbers; mean and standard deviation are tensors, or numbers with a `size`.

    >>> import wengert
    >>> wengert.normal(wengert.zeros(3), 2.0).shape
    torch.Size([3])
    """
    source = generator_of("normal", generator)
    given = [x for x in (mean, std) if isinstance(x, Tensor)]
    if size is not None:
        dtype = dtype_of("normal", options)
        require_floating("normal_kernel_cpu", dtype)
        array = source.normal(size_of("normal", (size,)), _mean(mean), _std(std), dtype.np)
        return finish("normal", array, options, out)
    if not given:
        raise TypeError(
            "normal() received an invalid combination of arguments - got"
            f" ({type(mean).__name__}, {type(std).__name__}) without a size"
        )
    center, spread = (x._array if isinstance(x, Tensor) else x for x in (mean, std))
    _std(spread)
    dtype = of_numpy[given[0]._array.dtype]
    require_floating("normal_kernel_cpu", dtype)
    shape = broadcast_shapes(*(x._array.shape for x in given))
    array = np.asarray(source.normal(shape, np_dtype=dtype.np) * spread + center, dtype.np)
    wanting = [x for x in given if x._edge is not None]
    if out is None and wanting:
        return _drawn(expand(wanting[0], shape), array, "normal")
    return finish("normal", array, options, out)


def _drawn(input: Tensor, values: np.ndarray, name: str) -> Tensor:
    """Numbers that were drawn for `input`: the gradient that it gets from them is zero."""
    if input._edge is None:
        return wrap(values)
    return overwrite(clone(input), wrap(values), name)


def _mean(mean: Any) -> float:
    return mean._array.item() if isinstance(mean, Tensor) else mean


def _std(std: Any) -> Any:
    if isinstance(std, Tensor):
        std = std._array.item()
    if np.size(std) and not np.min(std) >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {np.min(std)}")
    return std


def bernoulli(input: Tensor, p: float | None = None, *, generator: Generator | None = None,
              out: Tensor | None = None) -> Tensor:  # fmt: skip
    """0 or 1: 1 with the probability that stands in `input`, or else `p` everywhere.

    >>> import wengert
    >>> wengert.bernoulli(wengert.tensor([0.0, 1.0]))
    tensor([0., 1.])
    """
    require_tensor("bernoulli", "input", input)
    source, array = generator_of("bernoulli", generator), input._array
    if p is None:
        require_floating("bernoulli_tensor_cpu_p_", of_numpy[array.dtype])
        chosen = source.bernoulli(array.shape, probabilities(array))
    else:
        chosen = source.bernoulli(array.shape, probability("bernoulli_", p))
    result = chosen.astype(array.dtype)
    return into("bernoulli", out, result) if out is not None else _drawn(input, result, "bernoulli")


def probabilities(p: np.ndarray) -> np.ndarray:
    """The array itself; RuntimeError unless all of it lies in [0, 1]."""
    if p.size and not (p.min() >= 0 and p.max() <= 1):
        raise RuntimeError(
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false: bernoulli() got"
            f" probabilities from {p.min()} to {p.max()}"
        )
    return p


def probability(name: str, p: Any) -> float:
    """The number itself; RuntimeError unless it lies in [0, 1]."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"{name} expects p to be in [0, 1], but got p={p}")
    return p


def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Indices drawn from each row with probabilities in proportion to its weights.

    `input` has one or two dimensions; its last one is what the indices run over.

    >>> import wengert
    >>> wengert.multinomial(wengert.tensor([0.0, 1.0]), 3, replacement=True)
    tensor([1, 1, 1])
    """
    require_tensor("multinomial", "input", input)
    weights, source = input._array, generator_of("multinomial", generator)
    _check_weights(weights, num_samples, replacement)
    rows = weights.reshape(-1, weights.shape[-1])
    if replacement and num_samples > 1:
        drawn = _with_replacement(rows, num_samples, source)
    else:
        drawn = _without_replacement(rows, num_samples, source)
    result = drawn.reshape(*weights.shape[:-1], num_samples)
    return wrap(result) if out is None else into("multinomial", out, result)


def _check_weights(weights: np.ndarray, n: int, replacement: bool) -> None:
    if of_numpy[weights.dtype].category != _dtypes.FLOAT:
        raise RuntimeError(
            "multinomial only supports floating-point dtypes for input, got:"
            f" {of_numpy[weights.dtype].short}"
        )
    if weights.ndim not in (1, 2):
        raise RuntimeError(f"prob_dist must be 1 or 2 dim, got {weights.ndim}")
    if n <= 0:
        raise RuntimeError(f"cannot sample n_sample <= 0 samples, got num_samples={n}")
    if not replacement and n > weights.shape[-1]:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement: got"
            f" num_samples={n} and {weights.shape[-1]} categories"
        )
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not (weights.sum(-1) > 0).all():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


def _without_replacement(rows: np.ndarray, n: int, source: Generator) -> np.ndarray:
    """The categories whose exponential clocks, running at the rate of the weights, ring first."""
    clocks = source.exponential(rows.size).reshape(rows.shape).astype(rows.dtype)
    clocks[clocks == 0] = np.finfo(np.float32).tiny
    early = rows / clocks
    if n == 1:
        return early.argmax(-1)[:, None]
    return np.argsort(-early, axis=-1, kind="stable")[:, :n]


def _with_replacement(rows: np.ndarray, n: int, source: Generator) -> np.ndarray:
    draws = source.doubles(len(rows) * n).reshape(len(rows), n)
    total = rows.cumsum(-1, dtype=rows.dtype)
    total = total / total[:, -1:]
    total[:, -1] = 1
    return np.stack([np.searchsorted(t, d) for t, d in zip(total, draws, strict=True)])


def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Poisson random numbers of the rates that stand in `input`.

    >>> import wengert
    >>> wengert.poisson(wengert.zeros(2))
    tensor([0., 0.])
    """
    require_tensor("poisson", "input", input)
    rates, source = input._array, generator_of("poisson", generator)
    require_floating("poisson_cpu", of_numpy[rates.dtype])
    if rates.size and not rates.min() >= 0:
        raise RuntimeError(
            f"invalid Poisson rate, expected rate to be non-negative, got {rates.min()}"
        )
    counts = [_poisson(float(rate), source) for rate in rates.ravel().tolist()]
    return _drawn(input, np.array(counts, rates.dtype).reshape(rates.shape), "poisson")


def _poisson(rate: float, source: Generator) -> int:
    """One number: by multiplying uniforms, or for large rates by transformed rejection.

    W. Hörmann, "The transformed rejection method for generating Poisson random variables",
    Insurance: Mathematics and Economics 12 (1993), algorithm PTRS.
    """
    if rate < 10:
        limit, product, count = math.exp(-rate), 1.0, 0
        while rate:
            product *= source.doubles(1)[0]
            if product <= limit:
                break
            count += 1
        return count
    log_rate = math.log(rate)
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    while True:
        u, v = source.doubles(1)[0] - 0.5, source.doubles(1)[0]
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= 0.9277 - 3.6224 / (b - 2):
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        accepted = math.log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b)
        if accepted <= k * log_rate - rate - math.lgamma(k + 1):
            return k


__all__ = [
    "Generator", "bernoulli", "default_generator", "get_rng_state", "initial_seed", "manual_seed",
    "multinomial", "normal", "poisson", "rand", "rand_like", "randint", "randint_like", "randn",
    "randn_like", "randperm", "seed", "set_rng_state",
]  # fmt: skip
