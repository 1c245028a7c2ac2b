"""Making nested tensors, of components or of packed elements."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from wengert.core.device import check_cpu
from wengert.core.layout import jagged, strided
from wengert.core.layout import layout as layout_type
from wengert.core.tensor import Tensor
from wengert.nested import _functions, _shapes
from wengert.nested import _layers as _layers  # fills the table
from wengert.nested._shapes import joined
from wengert.nested._tensor import NestedTensor, Partition, nested
from wengert.ops.joining import cat
from wengert.tensor.creation import as_tensor, tensor


def nested_tensor(
    tensor_list: Sequence[Any],
    *,
    dtype: Any = None,
    layout: layout_type | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A nested tensor with copies of components: tensors, or lists of numbers.

    With `layout=torch.jagged` the components may differ in one dimension, with the default
    (`torch.strided`) in all. RuntimeError where they do not fit.

    >>> import wengert
    >>> x = wengert.nested.nested_tensor([[1.0, 2.0], [3.0]], layout=wengert.jagged)
    >>> x.offsets(), x.values()
    (tensor([0, 2, 3]), tensor([1., 2., 3.]))
    """
    _check_list("nested_tensor", tensor_list)
    components = [
        (x.detach() if dtype is None else x.detach().to(dtype)) if isinstance(x, Tensor)
        else tensor(x, dtype=dtype)
        for x in tensor_list
    ]  # fmt: skip
    result = _checked("nested_tensor", components, layout, device)
    result._stored = result._stored.detach().clone()
    result._stored.requires_grad_(requires_grad)
    return result


def as_nested_tensor(
    ts: Any, dtype: Any = None, device: Any = None, layout: layout_type | None = None
) -> Tensor:
    """A nested tensor of components, through which gradients reach them.

    A tensor's rows are components of one length; a nested tensor is returned as it is.

    >>> import wengert
    >>> a, b = wengert.ones(1, 2, requires_grad=True), wengert.ones(3, 2)
    >>> x = wengert.nested.as_nested_tensor([a, b], layout=wengert.jagged)
    >>> (x * 2).values().sum().backward()
    >>> a.grad
    tensor([[2., 2.]])
    """
    if isinstance(ts, NestedTensor):
        if layout is not None and layout is not ts.layout:
            raise RuntimeError(
                "Converting between nested tensor layouts is not supported: the tensor has"
                f" {ts.layout}, layout={layout}"
            )
        return ts if dtype is None else ts.to(dtype)
    if isinstance(ts, Tensor):
        ts = list(ts.unbind())
    _check_list("as_nested_tensor", ts)
    components = [x if isinstance(x, Tensor) else as_tensor(x) for x in ts]
    result = _checked("as_nested_tensor", components, layout, device)
    return result if dtype is None else result.to(dtype)


def nested_tensor_from_jagged(
    values: Tensor,
    offsets: Tensor | None = None,
    lengths: Tensor | None = None,
    jagged_dim: int | None = None,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> Tensor:
    """A nested tensor of packed elements: component `i` is ``values[offsets[i] : offsets[i+1]]``.

    `jagged_dim` is the irregular dimension of the result, 1 by default. With `lengths` alone the
    components lie side by side; with both, each is the first `lengths[i]` from its offset, copied.

    >>> import wengert
    >>> offsets = wengert.tensor([0, 1, 3])
    >>> x = wengert.nested.nested_tensor_from_jagged(wengert.arange(6.0).view(3, 2), offsets)
    >>> x.to_padded_tensor(0.0).shape
    torch.Size([2, 2, 2])
    """
    if offsets is None and lengths is None:
        raise RuntimeError(
            "nested_tensor_from_jagged(): At least one of offsets or lengths is required."
        )
    ragged = 1 if jagged_dim is None else jagged_dim % (values.ndim + 1)
    if not ragged:
        raise ValueError(
            f"nested_tensor_from_jagged(jagged_dim={jagged_dim}): dimension 0 is the batch"
        )
    counts = None if lengths is None else [int(n) for n in lengths]
    if offsets is None:
        assert counts is not None
        bounds = [0, *np.cumsum(counts, dtype=np.int64).tolist()]
    else:
        bounds = [int(n) for n in offsets]
    total = values.shape[ragged - 1]
    widths = [b - a for a, b in pairwise(bounds)]
    if bounds[0] or min(widths, default=0) < 0 or bounds[-1] > total:
        raise RuntimeError(
            f"nested_tensor_from_jagged(): offsets or lengths do not cut {total} elements into"
            f" components: they begin and end at {bounds}"
        )
    if counts is not None and (len(counts) != len(widths) or any(
        n > width for n, width in zip(counts, widths, strict=True)
    )):  # fmt: skip
        raise RuntimeError(
            f"nested_tensor_from_jagged(): lengths {counts} do not fit between offsets {bounds}"
        )
    if counts in (None, widths) and bounds[-1] == total:
        return nested(values, Partition(tuple(widths)), ragged)
    pairs = zip(bounds, counts or widths, strict=False)
    components = [values.narrow(ragged - 1, start, n) for start, n in pairs]
    packed = cat(components, ragged - 1)
    return nested(packed, Partition(tuple(c.shape[ragged - 1] for c in components)), ragged)


def to_padded_tensor(
    input: Tensor, padding: float, output_size: Sequence[int] | None = None,
    out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The components in an ordinary tensor, filled up to the longest, or to `output_size`.

    >>> import wengert
    >>> x = wengert.nested.nested_tensor([[1.0, 2.0], [3.0]])
    >>> wengert.nested.to_padded_tensor(x, -1.0)
    tensor([[ 1.,  2.],
            [ 3., -1.]])
    """
    if not isinstance(input, NestedTensor):
        raise RuntimeError(
            "to_padded_tensor(input): expected a nested tensor, but got one of layout"
            f" {input.layout}"
        )
    result = _shapes.padded(input, padding, output_size)
    return result if out is None else out.copy_(result)


def narrow(tensor: Tensor, dim: int, start: Any, length: Any, layout: Any = strided) -> Tensor:
    """Of row `i` of a tensor, the `length[i]` elements of dimension 1 from `start[i]`, copied.

    >>> import wengert
    >>> x = wengert.arange(6).view(2, 3)
    >>> start, length = wengert.tensor([0, 1]), wengert.tensor([1, 2])
    >>> wengert.nested.narrow(x, 1, start, length, layout=wengert.jagged).values()
    tensor([0, 4, 5])
    """
    if layout is not jagged:
        raise RuntimeError("Expected layout=torch.jagged for nested narrow")
    if dim != 1:
        raise ValueError(f"Nested narrow: dim={dim} expected to be 1")
    size = len(tensor)
    starts, lengths = [
        [int(n) for n in x] if isinstance(x, Tensor) and x.ndim else [int(x)] * size
        for x in (start, length)
    ]
    if not size == len(starts) == len(lengths):
        raise RuntimeError(
            f"narrow(): expected {size} starts and lengths, but got {len(starts)} and"
            f" {len(lengths)}"
        )
    components = [x.narrow(0, a, n) for x, a, n in zip(tensor, starts, lengths, strict=True)]
    return nested(cat(components), Partition(tuple(lengths)))


def masked_select(tensor: Tensor, mask: Tensor) -> Tensor:
    """The elements of each row where the mask is true; both have two dimensions.

    >>> import wengert
    >>> x, mask = wengert.ones(2, 2), wengert.tensor([[True, False], [True, True]])
    >>> wengert.nested.masked_select(x, mask).offsets()
    tensor([0, 1, 3])
    """
    if tensor.layout is not strided or isinstance(tensor, NestedTensor):
        raise RuntimeError("torch.nested.masked_select requires a strided tensor")
    rows = mask.expand(tensor.shape)
    if tensor.ndim != 2:
        raise RuntimeError(f"masked_select(): expected 2 dimensions, but got {tensor.ndim}")
    return nested(tensor[rows], Partition(tuple(rows.sum(1).tolist())))


def _check_list(name: str, components: Any) -> None:
    if not isinstance(components, list | tuple):
        raise TypeError(
            f"{name}(): Only lists (List[Tensor] and List[List...[Scalar]]) are accepted in"
            f" nested_tensor, got {type(components).__name__}"
        )


def _checked(name: str, components: list[Tensor], layout: Any, device: Any) -> NestedTensor:
    """Components that fit, as a nested tensor; RuntimeError where they do not."""
    check_cpu(device)
    if layout not in (None, strided, jagged):
        raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout}")
    for i, x in enumerate(components):
        if x.ndim != components[0].ndim:
            raise RuntimeError(
                f"{name}(): All Tensors given to nested_tensor must have the same dimension. Found"
                f" dimension {x.ndim} for Tensor at index {i} and dimension {components[0].ndim}"
                " for Tensor at index 0."
            )
        if x.dtype is not components[0].dtype:
            raise RuntimeError(
                f"{name}(): When constructing a nested tensor, all tensors in list must have the"
                f" same dtype: {components[0].dtype} and, at index {i}, {x.dtype}"
            )
        if not x.ndim:
            raise RuntimeError(
                f"{name}(): expected tensors with dimensions, but index {i} has none"
            )
    return joined(components, layout is not jagged)


NestedTensor.compute = _functions.compute
NestedTensor.to_padded_tensor = _shapes.padded  # type: ignore[attr-defined]
