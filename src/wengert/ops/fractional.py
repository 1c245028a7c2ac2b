"""Fractional max pooling: maxima over windows at random positions that cover the input."""

from __future__ import annotations

from typing import Any

from wengert import kernels
from wengert.core.generators import default_generator, draw_numbers
from wengert.core.tensor import Tensor, memory_of, shape_of
from wengert.kernels.geometry import Shape
from wengert.ops.batching import leading
from wengert.ops.casting import convert
from wengert.ops.checks import require_kind
from wengert.ops.declare import Value, primitive
from wengert.ops.pool import Ints, ints_of, space_of, take_positions
from wengert.ops.variadic import require_tensor


@primitive(input=None, samples=None, mixed=False, batch=leading, name="fractional_max_pool2d")
def random_window_positions(input: Value, samples: Value, kernel: Shape, count: Shape) -> Value:
    """The flat position of each window's maximum within the last dimensions."""
    return kernels.pool.fractional_max_positions(input, samples, kernel, count)


def _fractional(
    name: str, n: int, input: Tensor, kernel_size: Ints, output_size: Any, output_ratio: Any,
    samples: Tensor | None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    require_tensor(name, "input", input)
    if input.ndim <= n and samples is None:
        raise IndexError(
            f"{name}(): Dimension out of range (expected a tensor of {n + 1} or {n + 2} dimensions,"
            f" but got shape {list(input.shape)})"
        )
    size = space_of(name, input, n)
    require_kind(name, memory_of(input), "f")
    kernel = _all_of(name, "kernel_size", kernel_size, n)
    if output_size is None:
        output_size = [int(m * r) for m, r in zip(size, _ratios(n, output_ratio), strict=True)]
    out = _all_of(name, "output_size", output_size, n)
    for m, k, o in zip(size, kernel, out, strict=True):
        most = m if n == 2 else m - 1  # as in PyTorch
        if o < 0 or k < 1 or o + k - 1 > most:
            raise RuntimeError(
                f"{name}(): pool size {k} too large relative to input size {m}: output_size is {o},"
                f" and must be from 0 to {most - k + 1}, with a pool size of at least 1"
            )
    lead = shape_of(input)[:-n]
    samples = _starts(name, n, input, lead if len(lead) == 2 else (1, *lead), samples)
    if len(lead) == 1:
        samples = samples.squeeze(0)
    indices = random_window_positions(input, samples, kernel, out)
    return take_positions(input, indices, n), indices


def _all_of(name: str, what: str, value: Any, n: int) -> Shape:
    """Expand an integer to one per dimension."""
    if isinstance(value, (tuple, list)) and len(value) != n:
        raise RuntimeError(
            f"{name}: {what} must either be a single int or a tuple of {n} ints, got {tuple(value)}"
        )
    return ints_of(name, what, value, n)


def _ratios(n: int, output_ratio: Any) -> Any:
    """A ratio for each dimension; for two PyTorch's function takes no single one."""
    if not isinstance(output_ratio, (tuple, list)):
        if n == 2:
            raise TypeError(
                "fractional_max_pool2d(): argument 'output_ratio' must be tuple of floats, not"
                f" {type(output_ratio).__name__}"
            )
        return (output_ratio,) * n
    if len(output_ratio) < n:
        raise IndexError(f"fractional_max_pool{n}d(): output_ratio has {len(output_ratio)} items")
    return output_ratio[:n]


def _starts(
    name: str, n: int, input: Tensor, lead: tuple[int, ...], samples: Tensor | None
) -> Tensor:
    """The window offsets of each channel, as numbers from 0 to 1, for each dimension."""
    dtype = input.dtype
    if samples is None:
        return draw_numbers(
            lambda shape: default_generator.uniform(shape, np_dtype=dtype.np),
            (*lead, n),
            partner=input,
        )
    samples_shape = shape_of(samples)
    if samples_shape[1:] != (*lead[1:], n) or samples_shape[0] < lead[0]:
        raise RuntimeError(
            f"{name}(): Expect _random_samples of shape {[*lead, n]}; got {list(samples_shape)}."
        )
    return convert(samples[: lead[0]], dtype)


def fractional_max_pool2d(
    input: Tensor, kernel_size: Ints, output_size: Any = None, output_ratio: Any = None,
    return_indices: bool = False, _random_samples: Tensor | None = None,
) -> Any:  # fmt: skip
    """Maxima over windows of the last two dimensions at random positions that cover them.

    The output has `output_size`, or `output_ratio` of the input's. `_random_samples`, numbers
    from 0 to 1 of shape (batch, channel, 2), determine the positions of the windows.

    >>> import wengert
    >>> x = wengert.arange(16.).reshape(1, 4, 4)
    >>> wengert.nn.functional.fractional_max_pool2d(x, 2, output_size=1)
    tensor([[[15.]]])
    """
    result = _fractional("fractional_max_pool2d", 2, input, kernel_size, output_size, output_ratio,
                        _random_samples)  # fmt: skip
    return result if return_indices else result[0]


def fractional_max_pool3d(
    input: Tensor, kernel_size: Ints, output_size: Any = None, output_ratio: Any = None,
    return_indices: bool = False, _random_samples: Tensor | None = None,
) -> Any:  # fmt: skip
    """Maxima over windows of the last three dimensions at random positions that cover them.

    >>> import wengert
    >>> x = wengert.arange(27.).reshape(1, 3, 3, 3)
    >>> wengert.nn.functional.fractional_max_pool3d(x, 2, output_size=1)
    tensor([[[[26.]]]])
    """
    result = _fractional("fractional_max_pool3d", 3, input, kernel_size, output_size, output_ratio,
                        _random_samples)  # fmt: skip
    return result if return_indices else result[0]


__all__: list[str] = []
FUNCTIONAL = ("fractional_max_pool2d", "fractional_max_pool3d")
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
