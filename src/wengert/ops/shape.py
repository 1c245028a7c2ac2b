"""Operations that change the shape or the order of dimensions.

Where PyTorch returns a view these do too: the output shares the input's memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import index
from typing import Any

import numpy as np

from wengert import kernels
from wengert.core.dtypes import dtype as DType
from wengert.core.dtypes import of_numpy
from wengert.core.float8 import in_use, is_float8
from wengert.core.layout import contiguous_format, preserve_format
from wengert.core.storage import address_of, owner
from wengert.core.tensor import Tensor, Tracer, memory_of
from wengert.kernels.axes import axis_of
from wengert.kernels.layout import element_strides, order_of, reshaped
from wengert.ops import formats
from wengert.ops.batching import Batch, batch_along
from wengert.ops.checks import typed_ints
from wengert.ops.declare import Value, multilinear
from wengert.ops.numpy_names import MISSING, either, require_arguments
from wengert.ops.variadic import require_tensor

# Elements from which a copy in another shape may be worth a kernel.
_MANY = 1 << 12


@multilinear(
    input=lambda g, input_shape: reshape(g, input_shape),
    view=True,
    batch=lambda b: b(shape=(b.size, *_inferred(b.params["shape"], b.shape("input")))),
    label="ViewBackward0",
)
def reshape(input: Value, shape: Sequence[int]) -> Value:
    """The elements in another shape: a view where the memory allows it, else a copy.

    One length may be -1; it is inferred from the others. RuntimeError if the number of elements
    differs.

    >>> import wengert
    >>> wengert.reshape(wengert.tensor([1, 2, 3, 4]), (2, -1))
    tensor([[1, 2],
            [3, 4]])
    """
    return _reshaped(input, shape)


def _reshaped(array: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    try:
        out = array.reshape(shape) if array.size < _MANY else reshaped(array, shape)
    except ValueError:
        raise _reshape_error(array, tuple(shape)) from None
    except TypeError:  # a bool behind the first length
        return _reshaped(array, typed_ints("reshape", "shape", shape))
    if shape:
        if min(shape) < -1:  # NumPy infers these as well
            raise _reshape_error(array, tuple(shape))
    else:  # NumPy takes None
        typed_ints("reshape", "shape", shape)
    return out


def _inferred(shape: Sequence[int], source: tuple[int, ...]) -> tuple[int, ...]:
    """The shape with its -1 replaced by the inferred length."""
    product = prod(n for n in shape if n != -1)
    if -1 not in shape or product == 0:
        return tuple(shape)
    return tuple([prod(source) // product if n == -1 else n for n in shape])


def padded(batch: Value, rank: int) -> Value:
    """A batch whose samples have `rank` dimensions: missing ones are inserted first."""
    size, *shape = batch.shape
    missing = rank - len(shape)
    return reshape(batch, (size, *(1,) * missing, *shape)) if missing else batch


def dtype_of(value: Value) -> np.dtype[Any]:
    """The NumPy dtype of a Tensor or an array."""
    dtype: np.dtype[Any] = (value._outline if isinstance(value, Tensor) else value).dtype
    return dtype


def _reshape_error(array: np.ndarray, shape: tuple[int, ...]) -> RuntimeError:
    for k, n in enumerate(shape):
        if n < -1:
            return RuntimeError(f"invalid shape dimension {n} at index {k} of shape {list(shape)}")
    if shape.count(-1) > 1:
        return RuntimeError(f"only one dimension can be inferred, and shape is {list(shape)}")
    if not array.size and -1 in shape and 0 in shape:
        return RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the"
            " unspecified dimension size -1 can be any value and is ambiguous"
        )
    return RuntimeError(f"shape '{list(shape)}' is invalid for input of size {array.size}")


@multilinear(
    input=lambda g, input_shape: reshape(g, input_shape),
    view=True,
    batch=lambda b: b(size=(b.size, *_inferred(b.params["size"], b.shape("input")))),
    label="ViewBackward0",
)
def view(input: Value, size: Sequence[int]) -> Value:
    """As `reshape`, but never a copy: RuntimeError if the strides do not allow a view."""
    out = _reshaped(input, size)
    if not input.flags.c_contiguous and out.size and not np.may_share_memory(out, input):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one"
            " dimension spans across two contiguous subspaces). Use .reshape(...) instead."
            f" view() got size {list(size)} for shape {list(input.shape)}"
        )
    return out


def _reinterpreted_batch(b: Batch) -> Value:
    if not b.rank("input"):  # the batch dimension must not shrink or grow
        reinterpreted(np.empty((), dtype_of(b.values["input"])), b.params["dtype"])
    return b()


@multilinear(input=None, batch=_reinterpreted_batch, name="view")
def reinterpreted(input: Value, dtype: DType) -> Value:
    """The memory of `input` as elements of another dtype; no gradient passes.

    If the element sizes differ, the last dimension grows or shrinks.
    """
    if is_float8(dtype.np):
        in_use.note()
    a, b = of_numpy[input.dtype], dtype
    if a.itemsize != b.itemsize:
        sizes = f"to view {a.short} as {b.short} (different element sizes)"
        if not input.ndim:
            raise RuntimeError(f"self.dim() cannot be 0 {sizes}")
        *strides, last = element_strides(input)
        if last != 1:
            raise RuntimeError(f"self.stride(-1) must be 1 {sizes}, but got {last}")
        ratio = b.itemsize // a.itemsize
        offset = (address_of(input) - address_of(owner(input))) // a.itemsize
        divided = {"size(-1)": input.shape[-1], "storage_offset()": offset}
        divided |= {f"stride({d})": s for d, s in enumerate(strides)}
        for name, n in divided.items():
            if ratio > 1 and n % ratio:
                raise RuntimeError(f"self.{name} must be divisible by {ratio} {sizes}, but got {n}")
        if input.size and not input.strides[-1]:  # new dimensions: not dense to NumPy
            input = input[..., 0].reshape(input.shape)
    return input.view(b.np)


def view_as(input: Tensor, other: Tensor) -> Tensor:
    """The input viewed in the shape of `other`.

    >>> import wengert
    >>> wengert.tensor([1, 2]).view_as(wengert.zeros(2, 1))
    tensor([[1],
            [2]])
    """
    require_tensor("view_as", "other", other, 2)
    return view(input, other._outline.shape)


def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """The input reshaped to the shape of `other`.

    >>> import wengert
    >>> wengert.tensor([1, 2]).reshape_as(wengert.zeros(2, 1))
    tensor([[1],
            [2]])
    """
    require_tensor("reshape_as", "other", other, 2)
    return reshape(input, other._outline.shape)


def _flatten_batch(b: Batch) -> Value:
    rank = b.rank("input")
    first, last = (axis_of(b.params[name], rank) + 1 for name in ("start_dim", "end_dim"))
    return b(start_dim=first, end_dim=last) if rank else padded(b.values["input"], 1)


@multilinear(
    input=lambda g, input_shape: reshape(g, input_shape),
    view=True,
    batch=_flatten_batch,
    label="ViewBackward0",
)
def flatten(input: Value, start_dim: int = 0, end_dim: int = -1) -> Value:
    """The dimensions from `start_dim` to `end_dim`, both included, merged into one.

    >>> import wengert
    >>> wengert.flatten(wengert.zeros(2, 3, 4), start_dim=1).shape
    torch.Size([2, 12])
    """
    shape = input.shape or (1,)
    if start_dim == 0 and end_dim == -1 and type(start_dim) is type(end_dim) is int:
        size = input.size
        return input.reshape(size) if size < _MANY else reshaped(input, size)
    first, last = axis_of(start_dim, input.ndim), axis_of(end_dim, input.ndim)
    if first > last:
        raise RuntimeError(
            "flatten() has invalid args: start_dim cannot come after end_dim, got start_dim ="
            f" {start_dim} and end_dim = {end_dim}"
        )
    merged = prod(shape[first : last + 1])
    return reshaped(input, (*shape[:first], merged, *shape[last + 1 :]))


def ravel(input: Tensor) -> Tensor:
    """The elements in one contiguous dimension: a view if the input is contiguous, else a copy.

    >>> import wengert
    >>> wengert.ravel(wengert.tensor([[1, 2], [3, 4]]))
    tensor([1, 2, 3, 4])
    """
    return reshape(contiguous(input), (-1,))


def unflatten(
    input: Tensor, dim: int = MISSING, sizes: Sequence[int] = MISSING, *, axis: int | None = None
) -> Tensor:
    """Dimension `dim` split into several of the given sizes, one of which may be -1.

    >>> import wengert
    >>> wengert.unflatten(wengert.zeros(2, 6), 1, (3, -1)).shape
    torch.Size([2, 3, 2])
    """
    if axis is not None or dim is MISSING or sizes is MISSING:
        dim = either("unflatten", "dim", dim, axis, MISSING)
        require_arguments("unflatten", dim=dim, sizes=sizes)
    require_tensor("unflatten", "input", input)
    shape = input._outline.shape if type(input) is Tensor else tuple(input.shape)
    if not shape:
        raise RuntimeError("unflatten(): the tensor has no dimension to split")
    d, sizes = axis_of(dim, len(shape)), tuple(sizes)
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    length = shape[d]
    if sizes.count(-1) > 1:
        raise RuntimeError(f"unflatten(): only one dimension can be inferred, got {list(sizes)}")
    if -1 in sizes:
        product = prod([n for n in sizes if n != -1])
        inferred = length // product if product else 0
        sizes = tuple([inferred if n == -1 else n for n in sizes])
    if prod(sizes) != length:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d}"
            f" ({length}) in the input tensor"
        )
    return view(input, (*shape[:d], *sizes, *shape[d + 1 :]))


def _squeezed(dim: int | Sequence[int] | None, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The dimensions of a batch to squeeze when `dim` names those of a sample."""
    if dim is None:
        return tuple([d + 1 for d, n in enumerate(shape) if n == 1])
    axes = [axis_of(d, len(shape)) + 1 for d in ((dim,) if isinstance(dim, int) else dim)]
    return tuple(axes) if shape else ()


@multilinear(
    input=lambda g, input_shape: reshape(g, input_shape),
    view=True,
    batch=lambda b: b(dim=_squeezed(b.params["dim"], b.shape("input"))),
)
def squeeze(input: Value, dim: int | Sequence[int] | None = None) -> Value:
    """The input without its dimensions of length 1, or without those of them named by `dim`.

    >>> import wengert
    >>> wengert.squeeze(wengert.zeros(1, 3, 1), 0).shape
    torch.Size([3, 1])
    """
    shape = input.shape
    if dim is None:
        return input.reshape([n for n in shape if n != 1])
    if isinstance(dim, (tuple, list)):
        squeezed = [axis_of(d, input.ndim) for d in dim]
        if len(set(squeezed)) < len(squeezed):
            twice = next(d for d in squeezed if squeezed.count(d) > 1)
            raise RuntimeError(f"dim {twice} appears multiple times in the list of dims")
    else:
        d = axis_of(dim, input.ndim)
        once = shape[d : d + 1] == (1,)
        return input.reshape((*shape[:d], *shape[d + 1 :]) if once else shape)
    return input.reshape([n for d, n in enumerate(shape) if n != 1 or d not in squeezed])


@multilinear(
    input=lambda g, input_shape: reshape(g, input_shape),
    view=True,
    batch=lambda b: b(dim=axis_of(b.params["dim"], b.rank("input") + 1) + 1),
)
def unsqueeze(input: Value, dim: int) -> Value:
    """The input with a dimension of length 1 inserted before position `dim`.

    >>> import wengert
    >>> wengert.unsqueeze(wengert.tensor([1, 2]), 1)
    tensor([[1],
            [2]])
    """
    shape, d = input.shape, dim
    n = len(shape) + 1
    if type(d) is not int or not 0 <= d < n:
        d = axis_of(d, n)
    return input.reshape((*shape[:d], 1, *shape[d:]))


def _in_c_order(g: Value) -> Value:
    """The cotangent of a transpose's input, moved in memory where that is cheaper than adding to it
    or copying it as it lies."""
    if type(g) is np.ndarray and g.size >= _WORTH_MOVING:
        return kernels.transposition.in_c_order(g)
    return g


# Elements from which on that is so.
_WORTH_MOVING = 1 << 14


@multilinear(
    input=lambda g, dim0, dim1: _in_c_order(transpose(g, dim0, dim1)),
    view=True,
    batch=batch_along("dim0", "dim1"),
)
def transpose(input: Value, dim0: int, dim1: int) -> Value:
    """The input with two dimensions swapped.

    >>> import wengert
    >>> wengert.transpose(wengert.tensor([[1, 2], [3, 4]]), 0, 1)
    tensor([[1, 3],
            [2, 4]])
    """
    if not input.ndim:
        axis_of(dim0, 0), axis_of(dim1, 0)
        return input[...]
    return input.swapaxes(dim0, dim1)


def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """As `transpose`.

    >>> import wengert
    >>> wengert.swapaxes(wengert.zeros(2, 3), 0, 1).shape
    torch.Size([3, 2])
    """
    return transpose(input, axis0, axis1)


def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """As `transpose`.

    >>> import wengert
    >>> wengert.swapdims(wengert.zeros(2, 3), 0, 1).shape
    torch.Size([3, 2])
    """
    return transpose(input, dim0, dim1)


def _t_batch(b: Batch) -> Value:
    rank = b.rank("input")
    _check_at_most_matrix(rank)
    return permute(b.values["input"], (0, 2, 1) if rank == 2 else range(rank + 1))


def _check_at_most_matrix(rank: int) -> None:
    if rank > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {rank}D")


@multilinear(input=lambda g: _in_c_order(t(g)), view=True, batch=_t_batch)
def t(input: Value) -> Value:
    """The transpose of a matrix; a vector or scalar is returned unchanged.

    >>> import wengert
    >>> wengert.t(wengert.tensor([[1, 2], [3, 4]]))
    tensor([[1, 3],
            [2, 4]])
    """
    _check_at_most_matrix(input.ndim)
    return input.T


@multilinear(
    input=lambda g, dims: _in_c_order(permute(g, inverse_of(dims))),
    view=True,
    batch=lambda b: b(dims=(0, *_shifted_order(b.params["dims"]))),
)
def permute(input: Value, dims: Sequence[int]) -> Value:
    """The input with its dimensions in the order `dims`.

    >>> import wengert
    >>> wengert.permute(wengert.zeros(2, 3, 4), (2, 0, 1)).shape
    torch.Size([4, 2, 3])
    """
    if len(dims) != input.ndim:
        raise RuntimeError(
            "permute(): number of dimensions in the tensor input does not match the length of the"
            f" desired ordering of dimensions i.e. input.dim() = {input.ndim} is not equal to"
            f" len(dims) = {len(dims)}"
        )
    try:
        return input.transpose(dims)
    except ValueError:
        for d in dims:
            axis_of(d, input.ndim)
        raise RuntimeError(f"permute(): duplicate dims are not allowed, got {list(dims)}") from None


def _shifted_order(dims: Sequence[int]) -> list[int]:
    return [axis_of(d, len(dims)) + 1 for d in dims]


def inverse_of(dims: Sequence[int]) -> tuple[int, ...]:
    """The permutation that undoes `dims`."""
    n = len(dims)
    positions = {d % n: k for k, d in enumerate(dims)}
    return tuple([positions[d] for d in range(n)])


def movedim(input: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """Move the dimensions `source` to the positions `destination`; the others stay in order.

    >>> import wengert
    >>> wengert.movedim(wengert.zeros(2, 3, 4), 0, -1).shape
    torch.Size([3, 4, 2])
    """
    require_tensor("movedim", "input", input)
    ndim = input.ndim
    if type(source) is int and type(destination) is int and ndim:
        order = list(range(ndim))
        order.insert(axis_of(destination, ndim), order.pop(axis_of(source, ndim)))
        return permute(input, order)
    come = [source] if isinstance(source, int) else list(source)
    go = [destination] if isinstance(destination, int) else list(destination)
    if len(come) != len(go):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({come} dims) should contain"
            f" the same number of dims as destination ({go} dims)"
        )
    axes = [[axis_of(d, ndim) for d in dims] for dims in (come, go)]
    for name, dims, argument in zip(("source", "destination"), axes, (come, go), strict=True):
        if len(set(dims)) < len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({argument})")
    if not ndim:
        return permute(input, ())
    others = iter(d for d in range(ndim) if d not in axes[0])
    moved = dict(zip(axes[1], axes[0], strict=True))
    return permute(input, [moved[d] if d in moved else next(others) for d in range(ndim)])


def moveaxis(
    input: Tensor, source: int | Sequence[int], destination: int | Sequence[int]
) -> Tensor:
    """As `movedim`.

    >>> import wengert
    >>> wengert.moveaxis(wengert.zeros(2, 3), 0, 1).shape
    torch.Size([3, 2])
    """
    return movedim(input, source, destination)


def matrix_transpose(input: Tensor, name: str) -> Tensor:
    """The last two dimensions swapped; RuntimeError for a vector."""
    if input.ndim == 1:
        raise RuntimeError(
            f"tensor.{name} is only supported on matrices or batches of matrices. Got 1-D tensor."
        )
    return transpose(input, -2, -1) if input.ndim else input


def reversed_dims(input: Tensor) -> Tensor:
    """`x.T`: all dimensions in reverse order."""
    return t(input) if input.ndim == 2 else permute(input, tuple(range(input.ndim))[::-1])


def _cloned_batch(b: Batch) -> Value:
    """Clone a batch, which has one dimension too many for the other formats."""
    format = b.params["memory_format"]
    return b(memory_format=format if format is contiguous_format else None)


@multilinear(input=lambda g: g, batch=_cloned_batch)
def clone(input: Value, *, memory_format: Any = None) -> Value:
    """A copy of the input; gradients pass through it.

    The copy keeps the input's strides where they are dense, or takes `memory_format`.

    >>> import wengert
    >>> x = wengert.tensor([1.0, 2.0])
    >>> y = x.clone().add_(1)
    >>> x
    tensor([1., 2.])
    """
    return formats.copied(input, formats.check_format("clone", memory_format))


def in_order_of(input: Tensor, like: Tensor) -> Tensor:
    """The contiguous input, or a copy in the memory order of `like`."""
    array = like._array
    if isinstance(like, Tracer) or array.flags.c_contiguous:
        return input
    order = order_of(array.shape, ((array.shape, array.strides),))
    return permute(clone(permute(input, order), memory_format=contiguous_format), inverse_of(order))


def contiguous(input: Tensor, memory_format: Any = None) -> Tensor:
    """The input itself if it is contiguous, otherwise a contiguous copy.

    >>> import wengert
    >>> wengert.zeros(2, 3).t().contiguous().shape
    torch.Size([3, 2])
    """
    format = formats.check_format("contiguous", memory_format, contiguous_format)
    array = memory_of(input) if isinstance(input, Tracer) else input._outline
    plain = format is contiguous_format
    if array.flags.c_contiguous if plain else formats.lies_in(input._outline, format):
        return input
    if format is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return clone(input, memory_format=format)


def _at_least(inputs: tuple[Any, ...], shaped: Any) -> Any:
    if len(inputs) == 1 and isinstance(inputs[0], Tensor):
        return shaped(inputs[0])
    many = inputs[0] if len(inputs) == 1 else inputs
    return tuple(shaped(x) for x in many)


def atleast_1d(*tensors: Any) -> Any:
    """Each tensor with at least one dimension; one tensor, or a tuple for several.

    >>> import wengert
    >>> wengert.atleast_1d(wengert.tensor(3))
    tensor([3])
    """
    return _at_least(tensors, lambda x: x if x.ndim else reshape(x, (1,)))


def atleast_2d(*tensors: Any) -> Any:
    """Each tensor with at least two dimensions; new ones come first.

    >>> import wengert
    >>> wengert.atleast_2d(wengert.tensor([1, 2]))
    tensor([[1, 2]])
    """

    def shaped(x: Tensor) -> Tensor:
        return x if x.ndim > 1 else unsqueeze(x, 0) if x.ndim else reshape(x, (1, 1))

    return _at_least(tensors, shaped)


def atleast_3d(*tensors: Any) -> Any:
    """Each tensor with at least three dimensions: a vector of n gives (1, n, 1).

    >>> import wengert
    >>> wengert.atleast_3d(wengert.tensor([1, 2])).shape
    torch.Size([1, 2, 1])
    """

    def shaped(x: Tensor) -> Tensor:
        if x.ndim > 2:
            return x
        return unsqueeze(x, -1) if x.ndim == 2 else reshape(x, (1, x._outline.size, 1))

    return _at_least(tensors, shaped)


def sizes_of(arguments: tuple[Any, ...]) -> Any:
    """The sizes of a call such as ``x.view(2, 3)`` or ``x.view((2, 3))``."""
    if len(arguments) == 1 and not hasattr(arguments[0], "__index__"):
        return arguments[0]
    return [n if type(n) is int else index(n) for n in arguments]


__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "clone", "flatten", "moveaxis",
    "movedim", "permute", "ravel", "reshape", "squeeze", "swapaxes", "swapdims", "t",
    "transpose", "unflatten", "unsqueeze",
]  # fmt: skip
FUNCTIONAL: tuple[str, ...] = ()
METHODS = (
    "clone", "contiguous", "flatten", "moveaxis", "movedim", "ravel", "reshape_as",
    "squeeze", "swapaxes", "swapdims", "t", "transpose", "unflatten", "unsqueeze", "view_as",
)  # fmt: skip
INPLACE: tuple[str, ...] = ()
