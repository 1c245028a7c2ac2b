"""Resizing: interpolation along each spatial dimension in turn.

Every mode is a linear map along one axis, given by a few neighbours and their weights
(`Taps`), so one operation and its adjoint serve them all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert import kernels
from wengert.core import dtypes
from wengert.core.tensor import Tensor
from wengert.kernels.layout import as_images
from wengert.kernels.precision import narrowed, widened
from wengert.ops import formats
from wengert.ops.batching import Batch
from wengert.ops.casting import convert
from wengert.ops.declare import Value, multilinear
from wengert.ops.operands import as_one_call
from wengert.ops.shape import clone, contiguous
from wengert.ops.variadic import require_tensor

if TYPE_CHECKING:
    from wengert.kernels.resample import Taps

Positions = np.ndarray


def _one_axis_on(b: Batch) -> Value:
    """Batching rule: the same along axes shifted by one."""
    return b(taps=tuple([t._replace(axis=t.axis + 1) for t in b.params["taps"]]))


@multilinear(
    batch=_one_axis_on,
    input=lambda g, taps, lines: resample_back(g, taps, lines),
    name="interpolate",
)
def resample(input: Value, taps: tuple[Taps, ...], lines: bool = False) -> Value:
    """The input resized along the axis of each of the taps; `lines` as in `as_images`."""
    x = kernels.resample.gather_all(widened(input), taps)
    return as_images(narrowed(x, input.dtype), input, lines=lines)


@multilinear(
    batch=_one_axis_on,
    input=lambda g, taps, lines: resample(g, taps, lines),
    name="interpolate_backward",
)
def resample_back(input: Value, taps: tuple[Taps, ...], lines: bool = False) -> Value:
    """The adjoint of `resample`."""
    x = kernels.resample.scatter_all(widened(input), taps)
    return as_images(narrowed(x, input.dtype), input, lines=lines)


def _nearest(size: int, out: int, ratio: float, shift: float) -> tuple[Positions, None]:
    # In float32, like PyTorch: rounding decides when a position falls on an edge.
    source = (np.arange(out, dtype=np.float32) + np.float32(shift)) * np.float32(ratio)
    return np.minimum(source.astype(np.int64), size - 1)[None], None


def _source(out: int, ratio: float, align_corners: bool) -> np.ndarray:
    """The position of each output's centre in input coordinates."""
    return np.arange(out) * ratio if align_corners else (np.arange(out) + 0.5) * ratio - 0.5


def _linear(size: int, out: int, ratio: float, align: bool) -> tuple[Positions, np.ndarray]:
    source = np.maximum(_source(out, ratio, align), 0)
    low = np.minimum(source.astype(np.int64), size - 1)
    fraction = np.clip(source - low, 0, 1)
    return np.stack([low, np.minimum(low + 1, size - 1)]), np.stack([1 - fraction, fraction])


def _cubic_weight(x: np.ndarray, a: float) -> np.ndarray:
    """Keys' convolution kernel."""
    x = np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


def _cubic(size: int, out: int, ratio: float, align: bool) -> tuple[Positions, np.ndarray]:
    source = _source(out, ratio, align)
    low = np.floor(source)
    index = low + np.arange(-1, 3)[:, None]
    weight = _cubic_weight(source - index, -0.75)
    return np.clip(index, 0, size - 1).astype(np.int64), weight


def _filtered(
    size: int, out: int, ratio: float, align: bool, reach: float, shape: Callable[..., Any]
) -> tuple[Positions, np.ndarray]:
    """Antialiasing: stretch the kernel over all inputs that an output covers."""
    stretch = max(ratio, 1.0)
    centre = ratio * (np.arange(out) + 0.5)
    support = reach * stretch
    first = np.maximum((centre - support + 0.5).astype(np.int64), 0)
    last = np.minimum((centre + support + 0.5).astype(np.int64), size)
    index = first + np.arange(int((last - first).max()))[:, None]
    weight = np.where(index < last, shape((index - centre + 0.5) / stretch), 0.0)
    return np.where(index < last, index, -1), weight / weight.sum(0)


def _triangle(x: np.ndarray) -> np.ndarray:
    return np.maximum(1 - np.abs(x), 0)


def _area(size: int, out: int) -> tuple[Positions, np.ndarray]:
    low, high = np.array(kernels.pool.region_bounds(size, out), np.int64).reshape(-1, 2).T
    index = low + np.arange(int((high - low).max(initial=1)))[:, None]
    weight = (index < high) / (high - low)
    return np.where(index < high, index, -1), weight


@lru_cache(maxsize=512)
def _taps(
    mode: str, axis: int, size: int, out: int, ratio: float, align: bool, antialias: bool
) -> Taps:
    index: Positions
    weight: np.ndarray | None
    if mode == "area":
        index, weight = _area(size, out)
    elif mode.startswith("nearest"):
        index, weight = _nearest(size, out, ratio, 0.5 if mode == "nearest-exact" else 0.0)
    elif mode == "bicubic" and antialias:
        index, weight = _filtered(size, out, ratio, align, 2.0, lambda x: _cubic_weight(x, -0.5))
    elif antialias:
        index, weight = _filtered(size, out, ratio, align, 1.0, _triangle)
    else:
        index, weight = (_cubic if mode == "bicubic" else _linear)(size, out, ratio, align)
    return kernels.resample.Taps(axis, index, weight, size)


def area_taps(axis: int, size: int, out: int) -> Taps:
    """The windows of adaptive average pooling along one axis."""
    return _taps("area", axis, size, out, 0.0, False, False)


# The numbers of spatial dimensions a mode supports.
_RANKS = {
    "nearest": (1, 2, 3), "nearest-exact": (1, 2, 3), "area": (1, 2, 3),
    "linear": (1,), "bilinear": (2,), "bicubic": (2,), "trilinear": (3,),
}  # fmt: skip


def interpolate(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
    align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:  # fmt: skip
    """Resize the spatial dimensions of `input` (batch, channel, *space) to `size` or by a factor.

    `mode` is nearest, nearest-exact, area, linear (3-D input), bilinear or bicubic (4-D), or
    trilinear (5-D). Raises ValueError or NotImplementedError for options that do not fit.

    >>> import wengert
    >>> row = wengert.tensor([[[0., 1., 2.]]])
    >>> wengert.nn.functional.interpolate(row, size=5, mode="linear", align_corners=True)
    tensor([[[0.0000, 0.5000, 1.0000, 1.5000, 2.0000]]])
    """
    require_tensor("interpolate", "input", input)
    if (level := as_one_call(input)) is not None:
        options = {"align_corners": align_corners, "antialias": antialias}
        options |= {"recompute_scale_factor": recompute_scale_factor}
        return level.call(interpolate, (input, size, scale_factor, mode), options)
    space = tuple(input.shape[2:])
    _check_mode(mode, len(space), align_corners, antialias)
    _check_dtype(mode, input)
    out, factors = _out_size(space, size, scale_factor, recompute_scale_factor)
    align = bool(align_corners)
    taps = []
    for d, (n, o, factor) in enumerate(zip(space, out, factors, strict=True)):
        if align and mode != "nearest":
            ratio = (n - 1) / (o - 1) if o > 1 else 0.0
        else:
            ratio = n / o if factor is None else 1 / factor
        if n != o or ratio not in (0.0, 1.0):
            taps.append(_taps(mode, d + 2, n, o, ratio, align, antialias))
    if mode == "area" and len(space) == 3:
        input = contiguous(input)
    if not taps:
        return clone(input, memory_format=formats.suggested(input._outline))
    if input._outline.dtype == np.uint8 and mode in ("bilinear", "bicubic"):
        # Images: computed in float32 and rounded once.
        image = resample(convert(input, dtypes.float32), tuple(taps))
        return convert(image.round().clamp(0, 255), dtypes.uint8)
    return resample(input, tuple(taps), mode == "area")


def _check_dtype(mode: str, input: Tensor) -> None:
    dtype = input._outline.dtype
    if dtype in dtypes.inexact or mode.startswith("nearest"):
        return
    if dtype != np.uint8 or mode not in ("bilinear", "bicubic"):
        raise NotImplementedError(
            f"interpolate() is not implemented for {dtypes.of_numpy[dtype].short!r} with mode"
            f" {mode!r}; convert the input to a floating-point type"
        )


def _check_mode(mode: str, rank: int, align_corners: bool | None, antialias: bool) -> None:
    if mode in ("nearest", "nearest-exact", "area") and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes:"
            f" linear | bilinear | bicubic | trilinear, got mode {mode!r}"
        )
    if antialias and (mode not in ("bilinear", "bicubic") or rank != 2):
        raise ValueError(
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D"
            f" tensor as input, got mode {mode!r} and {rank + 2}D input"
        )
    ranks = _RANKS.get(mode)
    if ranks is None or rank not in (1, 2, 3):
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {rank + 2}D) for the"
            f" modes: {' | '.join(_RANKS)} (got {mode})"
        )
    if rank not in ranks:
        raise NotImplementedError(
            f"Got {rank + 2}D input, but {mode} mode needs {ranks[0] + 2}D input"
        )


def _out_size(
    space: tuple[int, ...], size: Any, scale_factor: Any, recompute: bool | None
) -> tuple[tuple[int, ...], tuple[float | None, ...]]:
    """The size of the output, and the coordinate scale factors, if given."""
    if (size is None) == (scale_factor is None):
        which = "either" if size is None else "only one of"
        raise ValueError(f"{which} size or scale_factor should be defined")
    if size is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        if isinstance(size[0] if isinstance(size, (list, tuple)) and size else size, bool):
            raise TypeError(
                f"interpolate(): argument 'size' must be int or tuple of ints, not {size}"
            )
        out = tuple(map(_length, _per_dimension("output size", size, space)))
        factors: tuple[float | None, ...] = (None,) * len(space)
    else:
        scales = _per_dimension("scale_factor", scale_factor, space)
        out = tuple(int(np.floor(n * f)) for n, f in zip(space, scales, strict=True))
        factors = (None,) * len(space) if recompute else tuple(map(float, scales))
    if not all(isinstance(o, (int, np.integer)) for o in out):
        raise TypeError(f"interpolate(): argument 'size' must be int or tuple of ints, not {size}")
    if min((*space, *out)) <= 0:
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input {list(space)}"
            f" and output {list(out)}"
        )
    return out, factors


def _length(size: Any) -> Any:
    """The number of a tensor that holds one integer, as programs compute sizes; else `size`."""
    if isinstance(size, Tensor) and size.numel() == 1 and size.dtype.np.kind in "iu":
        return int(size.item())
    return size


def _per_dimension(what: str, value: Any, space: tuple[int, ...]) -> tuple[Any, ...]:
    if not isinstance(value, (tuple, list)):
        return (value,) * len(space)
    if len(value) != len(space):
        raise ValueError(
            "Input and output must have the same number of spatial dimensions, but got input"
            f" with spatial dimensions of {list(space)} and {what} of {tuple(value)}"
        )
    return tuple(value)


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:  # fmt: skip
    """The older name of `interpolate`.

    >>> import wengert
    >>> wengert.nn.functional.upsample(wengert.tensor([[[1., 2.]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """The older name of `interpolate` with the nearest neighbour.

    >>> import wengert
    >>> wengert.nn.functional.upsample_nearest(wengert.tensor([[[1., 2.]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """The older name of bilinear `interpolate` with aligned corners.

    >>> import wengert
    >>> wengert.nn.functional.upsample_bilinear(wengert.tensor([[[[0., 2.]]]]), (1, 3))
    tensor([[[[0., 1., 2.]]]])
    """
    return interpolate(input, size, scale_factor, "bilinear", True)


__all__: list[str] = []
FUNCTIONAL = ("interpolate", "upsample", "upsample_bilinear", "upsample_nearest")
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
