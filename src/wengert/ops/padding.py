"""Padding: constants around a tensor, or its own elements mirrored, repeated or wrapped."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wengert import kernels
from wengert.core.tensor import Tensor
from wengert.kernels.layout import CHANNELS_LAST, as_images, empty, is_channels_last
from wengert.ops.batching import leading
from wengert.ops.declare import Value, primitive
from wengert.ops.interpolate import resample
from wengert.ops.masking import number_of
from wengert.ops.operands import as_one_call
from wengert.ops.shape import contiguous
from wengert.ops.variadic import require_tensor

if TYPE_CHECKING:
    from wengert.kernels.resample import Taps

Pads = tuple[int, ...]


@primitive(
    batch=leading,
    jvp=lambda tangent, pad: _constant_pad(tangent, pad, 0.0),
    input=lambda g, pad: _constant_pad(g, tuple([-p for p in pad]), 0.0),
    name="pad",
)
def _constant_pad(input: Value, pad: Pads, value: float) -> Value:
    """`pad` counts from the last dimension; negative entries crop, which is the adjoint."""
    frame = _frame(input.shape, pad)
    order = CHANNELS_LAST[input.ndim] if is_channels_last(input) else range(input.ndim)
    out = empty(frame.shape, input.dtype, order)
    for border in frame.borders:
        out[border] = value
    out[frame.inside] = input[frame.kept]
    return as_images(out, input)


class _Frame(NamedTuple):
    """Where elements of a padded tensor are: those of the input that are kept, and what is new."""

    shape: tuple[int, ...]
    kept: tuple[slice, ...]  # of the input
    inside: tuple[slice, ...]
    borders: tuple[tuple[slice, ...], ...]  # where rows are short all of it is filled


# Numbers that are written in the time that it takes to go on to the next row.
_SHORT = 40


@lru_cache(maxsize=512)
def _frame(shape: tuple[int, ...], pad: Pads) -> _Frame:
    lead = len(shape) - len(pad) // 2
    sides = [(0, 0)] * lead + [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -2, -2)]
    kept: list[slice] = []
    inside: list[slice] = []
    sizes: list[int] = []
    borders: list[tuple[slice, ...]] = []
    for n, (low, high) in zip(shape, sides, strict=True):
        first, last = max(-low, 0), n - max(-high, 0)
        start, stop = max(low, 0), max(low, 0) + last - first
        sizes.append(stop + max(high, 0))
        # In the dimensions before this one the borders have been filled.
        pieces = (slice(0, start), slice(stop, sizes[-1]))
        borders += [(*inside, piece) for piece in pieces if piece.start < piece.stop]
        kept.append(slice(first, last))
        inside.append(slice(start, stop))
    if sides and any(sides[-1]) and sizes[-1] < _SHORT:
        borders = [()]
    return _Frame(tuple(sizes), tuple(kept), tuple(inside), tuple(borders))


@lru_cache(maxsize=512)
def _taps(mode: str, axis: int, size: int, low: int, high: int) -> Taps:
    position = np.arange(-low, size + high)
    if mode == "reflect":
        index = np.abs(position)
        index = np.where(index >= size, 2 * (size - 1) - index, index)
    elif mode == "replicate":
        index = np.clip(position, 0, size - 1)
    else:
        first = max(-low, 0)  # cropped elements do not wrap around
        index = first + (position - first) % (size - first - max(-high, 0))
    return kernels.resample.Taps(axis, index[None], None, size)


def pad(
    input: Tensor, pad: tuple[int, ...] | list[int], mode: str = "constant",
    value: float | None = None,
) -> Tensor:  # fmt: skip
    """Add elements at both ends of dimensions: `pad` is (before, after) from the last one on.

    `mode` is constant (any dimensions; negative entries crop), reflect, replicate or circular
    (the last one to three dimensions). Raises RuntimeError for a padding that does not fit.

    >>> import wengert
    >>> wengert.nn.functional.pad(wengert.tensor([[1., 2., 3.]]), (2, 1), mode="reflect")
    tensor([[3., 2., 1., 2., 3., 2.]])
    """
    require_tensor("pad", "input", input)
    if mode != "constant" and (level := as_one_call(input)) is not None:
        return _pad_in_one_call(level, input, pad, mode, value)
    pads = _whole(pad)
    misfit = None if mode == "constant" or value is None else float(value)
    taps = _checked(input._outline.shape, pads, mode, misfit)
    if mode == "constant" and any(pads):
        filler = 0.0 if value is None else value * 1.0  # PyTorch has it as a float
        number = number_of(input._outline.dtype, filler, "pad")[()]
        return _constant_pad(input, pads, number)
    if mode == "circular":
        input = contiguous(input)
    return resample(input, taps) if taps else input.clone()


def _pad_in_one_call(level: Any, *args: Any) -> Any:
    return level.call(pad, args, {})


def _is_whole(p: Any) -> bool:
    """Whether a length is a tensor with one integer."""
    return isinstance(p, Tensor) and p._array.dtype.kind in "iu" and p._array.size == 1


def _whole(pad: tuple[int, ...] | list[int]) -> Pads:
    """The lengths as integers."""
    if all([type(p) is int for p in pad]):
        return tuple(pad)
    for p in pad:
        if not isinstance(p, (int, np.integer)) and not _is_whole(p):
            kind = type(p).__name__
            raise TypeError(f"pad(): argument 'pad' must be tuple of ints, but found {kind}: {p}")
    return tuple(map(int, pad))


@lru_cache(maxsize=512)
def _checked(
    shape: tuple[int, ...], pads: Pads, mode: str, value: float | None
) -> tuple[Taps, ...]:
    """What outputs are made of, but for constants, of a padding that fits the shape."""
    if len(pads) % 2:
        raise RuntimeError(f"Padding length must be divisible by 2, got {len(pads)}: {pads}")
    if len(pads) > 2 * len(shape):
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but"
            f" got padding length {len(pads)} and input of dimension {len(shape)}"
        )
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if mode != "constant":
        _check_rank(len(shape), pads, mode, value)
        if mode != "circular":
            _check_length(shape, pads)
    sides = [(len(shape) - 1 - d, *pads[2 * d : 2 * d + 2]) for d in range(len(pads) // 2)]
    for axis, low, high in sides:
        _check_side(shape, axis, low, high, mode)
    if mode == "constant":
        return ()
    return tuple([_taps(mode, d, shape[d], low, high) for d, low, high in sides if low or high])


def _check_rank(ndim: int, pads: Pads, mode: str, value: float | None) -> None:
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument, got {value}')
    n = len(pads) // 2
    if n not in (1, 2, 3) or ndim not in (n + 1, n + 2):
        raise NotImplementedError(
            f"Padding size {len(pads)} is not supported for {ndim}D input tensor in mode {mode!r}:"
            " it covers all dimensions but the first one or two"
        )


def _check_length(shape: tuple[int, ...], pads: Pads) -> None:
    """For reflect and replicate, raise RuntimeError if nothing can be repeated or is left."""
    n = len(pads) // 2
    if 0 in shape[len(shape) - n - 1 :]:
        raise RuntimeError(
            "pad(): expected a tensor with possibly 0 batch size and other non-zero dimensions for"
            f" input, but got: {list(shape)}"
        )
    sizes = [shape[-1 - d] + pads[2 * d] + pads[2 * d + 1] for d in range(n)]
    if max(sizes) < 1 or min(sizes) < 0:
        raise RuntimeError(f"pad(): input {list(shape)} is too small for padding {pads}")


def _check_side(shape: tuple[int, ...], axis: int, low: int, high: int, mode: str) -> None:
    n = shape[axis]
    left = n + min(low, 0) + min(high, 0)
    cropped = n + low + high < 0 or min(n + low, n + high) < 0
    if cropped and mode in ("constant", "circular"):
        raise RuntimeError(
            f"narrow(): length must be non-negative. Padding ({low}, {high}) removes more than"
            f" dimension {axis} of input {list(shape)} has"
        )
    if mode == "reflect" and max(low, high) >= n:
        raise RuntimeError(
            "Padding size should be less than the corresponding input dimension, but got:"
            f" padding ({low}, {high}) at dimension {axis} of input {list(shape)}"
        )
    if mode == "circular" and (max(low, high) > n or max(low, high) > 0 >= left):
        raise RuntimeError(
            f"Padding value causes wrapping around more than once: ({low}, {high}) at dimension"
            f" {axis} of input {list(shape)}"
        )


__all__: list[str] = []
FUNCTIONAL = ("pad",)
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
