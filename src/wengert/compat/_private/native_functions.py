"""Functions of ``torch`` that have no place in its documentation, and that programs call."""

from __future__ import annotations

from wengert import grid_sampler as grid_sampler_2d
from wengert.core.dtypes import int32, int64
from wengert.core.tensor import Tensor
from wengert.ops.joining import cat
from wengert.ops.sort import searchsorted
from wengert.tensor import arange, full

grid_sampler_3d = grid_sampler_2d

# The result of an empty segment, and which reduction of `scatter_reduce` it is.
_SEGMENTS = {
    "sum": (0.0, "sum"),
    "prod": (1.0, "prod"),
    "mean": (float("nan"), "sum"),
    "max": (float("-inf"), "amax"),
    "min": (float("inf"), "amin"),
}


def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Tensor:
    """Reduce pieces of a tensor that follow each other along a dimension.

    Args:
        data: the tensor.
        reduce: "sum", "mean", "max", "min" or "prod".
        lengths: of the pieces, in the last dimension; dimensions before it are those of `data`.
        indices: not supported, as in PyTorch.
        offsets: where the pieces begin, and the last one ends; instead of `lengths`.
        axis: the dimension, which is the last one of `lengths`.
        unsafe: lengths are not checked for their sum.
        initial: what reductions begin with.
    """
    if reduce not in _SEGMENTS:
        raise RuntimeError(
            f"segment_reduce(): reduce argument must be either sum, prod, mean, max or min, got"
            f" {reduce}"
        )
    axis = axis % data.ndim if -data.ndim <= axis < 0 else axis
    ends, begin = _ends(data, lengths, indices, offsets, axis, unsafe)
    count, n = ends.shape[-1], data.shape[axis]
    places = arange(n, dtype=ends.dtype).expand(*ends.shape[:-1], n).contiguous()
    segment = searchsorted(ends.contiguous(), places, right=True)
    segment = segment.masked_fill(places < begin, count)  # in no segment: dropped below
    shape = [*data.shape]
    shape[axis] = count + 1
    empty, scattered = _SEGMENTS[reduce]
    extreme = reduce in ("max", "min")
    begun = initial is not None and not extreme
    start = full(shape, initial if begun else empty, dtype=data.dtype)
    index = segment.reshape(segment.shape + (1,) * (data.ndim - axis - 1)).expand(data.shape)
    out: Tensor = start.scatter_reduce(axis, index, data, scattered, include_self=begun)
    out = out.narrow(axis, 0, count)
    if extreme and initial is not None:  # which has no part in the gradient of equal elements
        out = out.where(out >= initial if reduce == "max" else out <= initial, initial)
    if reduce == "mean":
        sizes = ends - cat([begin, ends[..., :-1]], -1)
        divisor = sizes.clamp(min=1).to(data.dtype)
        out = out / divisor.reshape(divisor.shape + (1,) * (data.ndim - axis - 1))
    return out


def _ends(
    data: Tensor,
    lengths: Tensor | None,
    indices: Tensor | None,
    offsets: Tensor | None,
    axis: int,
    unsafe: bool,
) -> tuple[Tensor, Tensor]:
    """Where segments end, and where the first one begins; RuntimeError if there are none."""
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    name, given = ("lengths", lengths) if offsets is None else ("offsets", offsets)
    if given is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if given.dtype not in (int32, int64):
        raise NotImplementedError(
            f"segment_reduce(): not implemented for {name} of {given.dtype}: int32 or int64"
        )
    if given.ndim == 0 or axis != given.ndim - 1:
        raise RuntimeError(
            f"segment_reduce(): Expected axis to be the last dimension of {name} but got {axis}."
        )
    if given.shape[:-1] != data.shape[: given.ndim - 1]:
        raise RuntimeError(
            f"segment_reduce(): {name} of shape {list(given.shape)} must begin as the data's shape"
            f" {list(data.shape)} does"
        )
    if name == "offsets":
        return given[..., 1:], given[..., :1]
    if not unsafe:
        if (given < 0).any().item():
            raise RuntimeError("lengths contains negative value!")
        if (given.sum(-1) != data.shape[axis]).any().item():
            raise RuntimeError(
                "segment_reduce(): Expected all rows of lengths along axis to sum to"
                " data.size(lengths.dim()-1) when !unsafe."
            )
    return given.cumsum(-1), given[..., :1] * 0


__all__ = ["grid_sampler_2d", "grid_sampler_3d", "segment_reduce"]
