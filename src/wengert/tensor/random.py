"""Random tensors, and filling tensors with random numbers.

The streams are those of `wengert.core.generators`: PyTorch's, seed by seed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Unpack

import numpy as np

from wengert.autograd.transforms.levels import transform_stack
from wengert.autograd.transforms.randomness import vmaps
from wengert.core import dtypes
from wengert.core.device import cpu, default_device, on_meta
from wengert.core.dtypes import int64, of_numpy
from wengert.core.float8 import is_float8
from wengert.core.generators import Draw, Generator, default_generator, draw_numbers
from wengert.core.preparations import read_of
from wengert.core.tensor import Tensor, Tracer, memory_of, wrap
from wengert.kernels.layout import order_of
from wengert.meta.tensors import MetaTensor, without_memory
from wengert.ops import formats
from wengert.ops.broadcasting import broadcast_shapes, expand
from wengert.ops.casting import convert
from wengert.ops.sampling import (
    check_deviations,
    check_probabilities,
    check_rates,
    check_weights,
    counts,
    normals,
    successes,
    with_replacement,
    without_replacement,
)
from wengert.ops.shape import contiguous
from wengert.tensor.arguments import (
    Options,
    dtype_of,
    finish,
    into,
    no_memory,
    only_dtype,
    require_int,
    require_tensor,
    size_of,
)
from wengert.tensor.creation import empty_like

Size = Any


def manual_seed(seed: int) -> Generator:
    """Seed the default generator and return it.

    >>> import wengert
    >>> _ = wengert.manual_seed(0)
    >>> wengert.rand(3)
    tensor([0.4963, 0.7682, 0.0885])
    """
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Seed the default generator with an unpredictable number, and return the number.

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
    """Return the state of the default generator, a uint8 tensor in PyTorch's layout.

    >>> import wengert
    >>> wengert.get_rng_state().shape
    torch.Size([5056])
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Restore a state of the default generator returned by `get_rng_state`.

    >>> import wengert
    >>> state = wengert.get_rng_state()
    >>> first = wengert.rand(2)
    >>> wengert.set_rng_state(state)
    >>> wengert.equal(wengert.rand(2), first)
    True
    """
    default_generator.set_state(new_state)


def generator_of(name: str, generator: Any) -> Generator:
    """The generator given by an argument; None is the default one."""
    if generator is None:
        return default_generator
    if not isinstance(generator, Generator):
        raise TypeError(
            f"{name}(): argument 'generator' must be torch.Generator, not"
            f" {type(generator).__name__}"
        )
    return generator


def require_floating(name: str, dtype: dtypes.dtype) -> None:
    """Raise unless the dtype is floating point, of more than 8 bits, or complex."""
    if dtype.category < dtypes.FLOAT or is_float8(dtype.np):
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
    dtype = dtype_of(name, options, None if out is None else of_numpy[out._outline.dtype])
    require_floating(name, dtype)
    source = default_generator if generator is None else generator_of(name, generator)

    def draw(shape: tuple[int, ...]) -> np.ndarray:
        try:
            return sample(source, shape, np_dtype=dtype.np)
        except (MemoryError, ValueError) as error:
            raise no_memory(shape, dtype, error) from error

    return _finished(name, draw, size_of(name, size), dtype, options, out)


def _finished(
    name: str,
    draw: Draw,
    shape: tuple[int, ...],
    dtype: dtypes.dtype,
    options: Options,
    out: Tensor | None,
) -> Tensor:
    """Wrap random numbers in a tensor, applying the options that do not concern its elements."""
    if out is None and only_dtype(options) and not transform_stack.levels:
        return wrap(draw(shape))
    _refuse_out(out)
    if on_meta(options.get("device")):
        return finish(name, without_memory(shape, dtype.np)._array, options, out)
    if out is not None:
        return finish(name, draw(shape), options, out)
    numbers = draw_numbers(draw, shape)
    tensor = finish(name, memory_of(numbers), options)
    if not isinstance(numbers, Tracer):
        return tensor
    return numbers if tensor._edge is None else numbers.requires_grad_()


def _refuse_out(out: Tensor | None) -> None:
    if out is not None and vmaps():
        raise RuntimeError(
            "vmap: We do not support calling out variants of random operations inside of vmap."
            " Please use non-out variants as a workaround"
        )


def _like(
    name: str, input: Any, draw: Callable[..., Tensor], fill: str, bounds: Any, options: Any
) -> Tensor:
    """`draw` of a shape, or `fill` of a tensor if the result is not contiguous.

    Numbers are drawn in the order of memory.
    """
    require_tensor(name, "input", input)
    if only_dtype(options) and type(input) is Tensor and input._array.flags.c_contiguous:
        if options.get("dtype") is None:
            options["dtype"] = of_numpy[input._array.dtype]
        return draw(input._array.shape, **options)
    format = formats.check_format(name, options.pop("memory_format", None))
    if options.get("dtype") is None:
        options["dtype"] = of_numpy[input._outline.dtype]
    if isinstance(input, MetaTensor):
        options["device"] = options.get("device") or input.device
        input = input.value
    elif default_device.meta:
        options["device"] = options.get("device") or cpu
    if on_meta(options.get("device")):
        options.pop("generator", None)
        return empty_like(input, memory_format=format, **options)
    if not isinstance(input, Tracer) and not vmaps():
        result = wrap(formats.empty(input._outline, format, dtype_of(name, options).np))
        if not result._array.flags.c_contiguous:
            getattr(result, fill)(*bounds, generator=options.pop("generator", None))
            return finish(name, result._array, options)
    return draw(input._outline.shape, **options)


def rand_like(input: Tensor, **options: Any) -> Tensor:
    """Uniform random numbers in [0, 1), in the shape and dtype of `input`.

    >>> import wengert
    >>> wengert.rand_like(wengert.zeros(2, 3)).shape
    torch.Size([2, 3])
    """
    return _like("rand_like", input, rand, "uniform_", (), options)


def randn_like(input: Tensor, **options: Any) -> Tensor:
    """Normal random numbers in the shape and dtype of `input`.

    >>> import wengert
    >>> wengert.randn_like(wengert.zeros(2, 3)).shape
    torch.Size([2, 3])
    """
    return _like("randn_like", input, randn, "normal_", (), options)


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
    draw = functools.partial(randint, low, high)
    return _like("randint_like", input, draw, "random_", (low, high), options)


def randint(*args: Any, low: int = 0, high: int | None = None, size: Any = None,
            generator: Generator | None = None, out: Tensor | None = None,
            **options: Unpack[Options]) -> Tensor:  # fmt: skip
    """``randint(high, size)``, ``randint(low, high, size)``: random integers in [low, high).

    >>> import wengert
    >>> _ = wengert.manual_seed(0)
    >>> wengert.randint(10, (3,))
    tensor([4, 9, 3])
    """
    arguments = list(args)
    if size is None and arguments:
        size = arguments.pop()
    if len(arguments) == 2:
        low, high = arguments
    elif len(arguments) == 1:
        low, high = (low, arguments[0]) if high is None else (arguments[0], high)
    if high is None or len(arguments) > 2:
        raise TypeError(
            f"randint() received an invalid combination of arguments - got {len(args)} positional,"
            " expected (high, size) or (low, high, size)"
        )
    if not isinstance(size, (tuple, list)):
        raise TypeError(
            f"randint(): argument 'size' (position {len(arguments) + 1}) must be tuple of ints, not"
            f" {type(size).__name__}"
        )
    bounds = require_int("randint", "low", low), require_int("randint", "high", high)
    dtype = dtype_of("randint", options, dtypes.int64)
    check_bounds(*bounds, dtype)
    source = generator_of("randint", generator)
    return _finished(
        "randint",
        lambda shape: source.integers(shape, *bounds, dtype.np),
        size_of("randint", (size,)),
        dtype,
        options,
        out,
    )


def check_bounds(low: int, high: int, dtype: dtypes.dtype) -> None:
    """Raise unless [low, high) is a range of numbers that the dtype holds."""
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    least, most = _limits(dtype)
    for what, value in (("from", low), ("to - 1", high - 1)):
        if not least <= value <= most:
            raise RuntimeError(
                f"{what} is out of bounds for {dtype.name}: {value} is not in [{least}, {most}]"
            )


@functools.cache
def _limits(dtype: dtypes.dtype) -> tuple[Any, Any]:
    """The least and the largest number that `random_` takes as a bound."""
    if dtype.category == dtypes.BOOL:
        return 0, 1
    info: Any = np.finfo(np.float64) if dtype.category == dtypes.FLOAT else np.iinfo(dtype.np)
    return info.min, info.max


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
    dtype = dtype_of("randperm", options, dtypes.int64)
    if dtype.category == dtypes.INT and (dtype is not dtypes.int64 or count > 2**63):
        dtypes.scalar_array(max(count - 1, 0), dtype, "randperm")
    source = generator_of("randperm", generator)

    def draw(shape: tuple[int, ...]) -> np.ndarray:
        if len(shape) == 1:
            order = source.permutation(count)
            return order if dtype is dtypes.int64 else order.astype(dtype.np)
        orders = [source.permutation(count) for _ in range(math.prod(shape[:-1]))]
        return np.array(orders, dtype.np).reshape(shape)

    return _finished("randperm", draw, (count,), dtype, options, out)


def normal(mean: Any, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None,
           out: Tensor | None = None, **options: Unpack[Options]) -> Tensor:  # fmt: skip
    """Normal random numbers; mean and standard deviation are tensors, or numbers with a `size`.

    >>> import wengert
    >>> wengert.normal(wengert.zeros(3), 2.0).shape
    torch.Size([3])
    """
    source = generator_of("normal", generator)
    if size is not None:
        dtype = dtype_of("normal", options)
        require_floating("normal_kernel_cpu", dtype)
        center, spread = _number(mean), _number(std)
        if not spread >= 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {spread}")
        shape = size_of("normal", (size,))
        return _finished(
            "normal",
            lambda s: source.normal(s, center, spread, dtype.np),
            shape,
            dtype,
            options,
            out,
        )
    tensors = [x for x in (mean, std) if isinstance(x, Tensor)]
    if not tensors:
        raise TypeError(
            "normal() received an invalid combination of arguments - got"
            f" ({type(mean).__name__}, {type(std).__name__}) without a size"
        )
    dtype = of_numpy[tensors[0]._outline.dtype]
    require_floating("normal_kernel_cpu", dtype)
    shapes = [x._outline.shape for x in tensors]
    shape = shapes[0] if shapes[0] == shapes[-1] else broadcast_shapes(*shapes)
    center, spread = (_in_shape(x, dtype, shape) for x in (mean, std))
    if not any(x._memoryless for x in tensors):
        check_deviations(spread)
    _refuse_out(out)
    draws = draw_numbers(lambda s: source.normal(s, np_dtype=dtype.np), shape, tensors)
    return _placed("normal", normals(center, spread, draws), options, out)


def _in_shape(value: Any, dtype: dtypes.dtype, shape: tuple[int, ...]) -> Tensor:
    """A tensor or a number in a dtype, and expanded to a shape."""
    x = convert(value, dtype) if isinstance(value, Tensor) else wrap(np.asarray(value, dtype.np))
    return x if x._outline.shape == shape else expand(x, shape)


def _placed(name: str, result: Tensor, options: Options, out: Tensor | None) -> Tensor:
    """A result, after the options; in the tensor given as `out`."""
    if out is not None:
        return into(name, out, result._array, options)
    if options:
        finish(name, memory_of(result), options)
    return result


def _number(value: Any) -> Any:
    return value._array.item() if isinstance(value, Tensor) else value


def bernoulli(input: Tensor, p: float | None = None, *, generator: Generator | None = None,
              out: Tensor | None = None) -> Tensor:  # fmt: skip
    """0 or 1: 1 with the probability in `input`, or `p` everywhere.

    >>> import wengert
    >>> wengert.bernoulli(wengert.tensor([0.0, 1.0]))
    tensor([0., 1.])
    """
    require_tensor("bernoulli", "input", input)
    source, dtype = generator_of("bernoulli", generator), input._outline.dtype
    if p is None:
        require_floating("bernoulli_tensor_cpu_p_", of_numpy[dtype])
        check_probabilities(input)
    else:
        probability("bernoulli_", p)
    _refuse_out(out)
    draw = uniforms(source, np.dtype(np.float64) if p is not None else dtype)
    result = successes(input, draw_numbers(draw, tuple(input.shape), (input,)), p)
    return _placed("bernoulli", result, {}, out)


def uniforms(source: Generator, dtype: np.dtype[Any]) -> Draw:
    """Uniform draws in a dtype's precision: float64 for float64, float32 for others."""
    draw = source.doubles if dtype == np.float64 else source.singles
    return lambda shape: draw(math.prod(shape)).reshape(shape)


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
    """Indices drawn from each row with probabilities proportional to its weights.

    `input` has one or two dimensions; its last one is what the indices run over.

    >>> import wengert
    >>> wengert.multinomial(wengert.tensor([0.0, 1.0]), 3, replacement=True)
    tensor([1, 1, 1])
    """
    require_tensor("multinomial", "input", input)
    if (read := read_of(input)) is not None:
        input = wrap(read)  # samples have no derivative
    weights, source = input._array, generator_of("multinomial", generator)
    _check_sizes(weights, num_samples, replacement)
    check_weights(input)
    _refuse_out(out)
    if out is not None and out.dtype is not int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {out.dtype}")
    shape = (*weights.shape[:-1], num_samples)
    if replacement and num_samples > 1:
        draws = draw_numbers(uniforms(source, np.dtype(np.float64)), shape, (input,))
        result = with_replacement(input, draws)
    else:
        turned = not isinstance(input, Tracer) and weights.ndim > 1 and _stands(weights)
        draws = draw_numbers(
            lambda s: source.exponential(math.prod(s)).reshape(s),
            weights.shape[::-1] if turned else weights.shape,
            (input,),
        )
        result = without_replacement(input, draws.t() if turned else draws, num_samples)
    return _placed("multinomial", contiguous(result), {}, out)


def _stands(matrix: np.ndarray) -> bool:
    """Whether a matrix is column-major: numbers are drawn in memory order."""
    return order_of(matrix.shape, ((matrix.shape, matrix.strides),)) == (1, 0)


def _check_sizes(weights: np.ndarray, n: int, replacement: bool) -> None:
    if of_numpy[weights.dtype].category != dtypes.FLOAT:
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


def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Poisson random numbers with the rates in `input`.

    >>> import wengert
    >>> wengert.poisson(wengert.zeros(2))
    tensor([0., 0.])
    """
    require_tensor("poisson", "input", input)
    source = generator_of("poisson", generator)
    require_floating("poisson_cpu", of_numpy[input._outline.dtype])
    check_rates(input)
    samples = draw_numbers(lambda shape: np.empty(shape, bool), tuple(input.shape), (input,))
    return counts(input, samples, source)


__all__ = [
    "Generator", "bernoulli", "default_generator", "get_rng_state", "initial_seed", "manual_seed",
    "multinomial", "normal", "poisson", "rand", "rand_like", "randint", "randint_like", "randn",
    "randn_like", "randperm", "seed", "set_rng_state",
]  # fmt: skip
