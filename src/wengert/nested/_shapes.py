"""Shapes of nested tensors: what happens to the irregular dimension, and to padding."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from wengert.core.tensor import Tensor
from wengert.nested._functions import check_alike, handles, regular_dim
from wengert.nested._tensor import NestedTensor, Partition, RaggedLength, nested, unsupported
from wengert.ops.joining import cat, stack
from wengert.ops.padding import pad
from wengert.tensor.creation import full, zeros


def _moved(x: NestedTensor, values: Tensor, ragged: int) -> NestedTensor:
    return nested(values, x._partition, ragged, x._strided)


@handles("transpose", "swapaxes", "swapdims")
def _transpose(x: NestedTensor, dim0: int, dim1: int) -> NestedTensor:
    a, b = dim0 % x.ndim, dim1 % x.ndim
    if not x._ragged:
        raise unsupported("transpose", x)
    if 0 in (a, b):
        raise RuntimeError("transpose(): Permute is not supported on the batch dimension")
    ragged = {a: b, b: a}.get(x._ragged, x._ragged)
    return _moved(x, x._stored.transpose(a - 1, b - 1), ragged)


@handles("permute")
def _permute(x: NestedTensor, *dims: Any) -> NestedTensor:
    order = [d % x.ndim for d in (dims[0] if isinstance(dims[0], Sequence) else dims)]
    if not x._ragged:
        raise unsupported("permute", x)
    if order[0] != 0:
        raise ValueError("Permute is not supported on the batch dimension for jagged NT")
    return _moved(x, x._stored.permute([d - 1 for d in order[1:]]), order.index(x._ragged))


@handles("view", "reshape")
def _reshape(x: NestedTensor, *shape: Any) -> NestedTensor:
    target = [*shape[0]] if isinstance(shape[0], Sequence) else [*shape]
    names = [k for k, n in enumerate(target) if isinstance(n, RaggedLength)]
    names = names or [k for k, n in enumerate(target) if k and n == -1]
    ragged = names[0] if names else 0
    before = prod(x._stored.shape[: x._ragged - 1])
    fits = ragged and x._ragged and target[0] in (-1, len(x)) and prod(target[1:ragged]) == before
    if not fits:
        raise RuntimeError(
            f"view(): cannot view a nested tensor of shape {_text(x)} as {target}: the size of the"
            " batch and the irregular dimension, which -1 stands for, stay where they are"
        )
    target[ragged] = x._stored.shape[x._ragged - 1]
    return _moved(x, x._stored.reshape(target[1:]), ragged)


def _text(x: NestedTensor) -> str:
    return f"with components of {[tuple(c.shape) for c in x.components()]}"


@handles("unflatten")
def _unflatten(x: NestedTensor, dim: int, sizes: Any) -> NestedTensor:
    place = regular_dim("unflatten", x, dim)
    ragged = x._ragged + (len(sizes) - 1 if place < x._ragged else 0)
    return _moved(x, x._stored.unflatten(place - 1, sizes), ragged)


@handles("flatten")
def _flatten(x: NestedTensor, start_dim: int = 0, end_dim: int = -1) -> NestedTensor:
    first = regular_dim("flatten", x, start_dim)
    last = regular_dim("flatten", x, end_dim)
    if first < x._ragged < last:
        raise RuntimeError("flatten(): not supported for NestedTensor on ragged dim")
    ragged = x._ragged - (last - first if first < x._ragged else 0)
    return _moved(x, x._stored.flatten(first - 1, last - 1), ragged)


@handles("unsqueeze")
def _unsqueeze(x: NestedTensor, dim: int) -> NestedTensor:
    place = dim % (x.ndim + 1)
    if not place or not x._ragged:
        raise RuntimeError(f"unsqueeze(): not supported for NestedTensor on dim={dim}")
    return _moved(x, x._stored.unsqueeze(place - 1), x._ragged + (place <= x._ragged))


@handles("squeeze")
def _squeeze(x: NestedTensor, dim: int) -> NestedTensor:
    place = regular_dim("squeeze", x, dim)
    gone = x._stored.shape[place - 1] == 1
    return _moved(x, x._stored.squeeze(place - 1), x._ragged - (gone and place < x._ragged))


@handles("select")
def _select(x: NestedTensor, dim: int, index: int) -> Tensor:
    if dim in (0, -x.ndim):
        return x.components()[index]
    place = regular_dim("select", x, dim)
    return _moved(x, x._stored.select(place - 1, index), x._ragged - (place < x._ragged))


@handles("chunk")
def _chunk(x: NestedTensor, chunks: int, dim: int = 0) -> tuple[NestedTensor, ...]:
    return tuple(map(x.like, x._stored.chunk(chunks, regular_dim("chunk", x, dim) - 1)))


@handles("split")
def _split(x: NestedTensor, split_size_or_sections: Any, dim: int = 0) -> tuple[NestedTensor, ...]:
    place = regular_dim("split", x, dim)
    return tuple(map(x.like, x._stored.split(split_size_or_sections, place - 1)))


@handles("narrow")
def _narrow(x: NestedTensor, dim: int, start: int, length: int) -> NestedTensor:
    return x.like(x._stored.narrow(regular_dim("narrow", x, dim) - 1, start, length))


@handles("cat", "concat", "concatenate")
def _cat(tensors: Sequence[Any], dim: int = 0) -> NestedTensor:
    first = next(x for x in tensors if isinstance(x, NestedTensor))
    for x in tensors:
        if not isinstance(x, NestedTensor):
            raise RuntimeError("cat(): expected nested tensors alone, but got an ordinary one")
        check_alike("cat", first, x)
    place = regular_dim("cat", first, dim)
    return first.like(cat([x._stored for x in tensors], place - 1))


@handles("to_padded_tensor")
def padded(x: NestedTensor, padding: float, output_size: Any = None) -> Tensor:
    components = x.components()
    longest = [max(c.shape[d] for c in components) for d in range(x.ndim - 1)] if components else []
    target = [len(x), *longest] if output_size is None else list(output_size)
    if len(target) != x.ndim or any(a < b for a, b in zip(target, [len(x), *longest], strict=True)):
        raise RuntimeError(
            f"to_padded_tensor(output_size={output_size}): expected at least"
            f" {[len(x), *longest]}: Value in output_size is less than NestedTensor padded size."
        )
    if not x._ragged:
        return stack([_padded(c, target[1:], padding) for c in components])
    values = x._stored.movedim(x._ragged - 1, 0)
    lengths = (len(x), target[x._ragged])
    blank = full((*lengths, *values.shape[1:]), padding, dtype=x.dtype)
    places = (x._partition.component, x._partition.position)
    result = blank.index_put(places, values).movedim(1, x._ragged)
    return _padded(result, target, padding)


def _padded(x: Tensor, target: Sequence[int], padding: float) -> Tensor:
    """A tensor made larger at the ends of its dimensions."""
    behind = [n - own for n, own in zip(target, x.shape, strict=True)]
    if not any(behind):
        return x
    return pad(x, [n for length in reversed(behind) for n in (0, length)], value=padding)


def packed_again(x: NestedTensor, padded: Tensor) -> NestedTensor:
    """The elements of a padded tensor that are those of a nested one."""
    rows = padded.movedim(x._ragged, 1)[x._partition.component, x._partition.position]
    return x.like(rows.movedim(0, x._ragged - 1))


def joined(components: list[Tensor], strided: bool) -> NestedTensor:
    """Components as a nested tensor; RuntimeError if the layout has no room for them."""
    if not components:
        return nested(zeros(0), Partition(()), 1, strided)
    shapes = [tuple(x.shape) for x in components]
    differing = [d for d in range(len(shapes[0])) if len({shape[d] for shape in shapes}) > 1]
    if len(differing) > 1:
        if not strided:
            raise RuntimeError(
                "Cannot represent given tensor list as a nested tensor with the jagged layout. Note"
                " that the jagged layout only allows for a single ragged dimension, but the"
                f" components have shapes {shapes}"
            )
        flat = [x.reshape(-1) for x in components]
        return nested(cat(flat), Partition(tuple(map(len, flat)), tuple(shapes)), 0, strided)
    dim = differing[0] if differing else 0
    lengths = tuple(shape[dim] for shape in shapes)
    return nested(cat(components, dim), Partition(lengths), dim + 1, strided)
