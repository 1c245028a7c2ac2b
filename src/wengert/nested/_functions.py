"""What handles functions of nested tensors: a table by their names.

Functions that treat every element, or every vector of the last dimension, on its own run on the
packed elements. The rest says here what becomes of the irregular dimension. What is in no table is
refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from wengert.core.tensor import Tensor
from wengert.nested._tensor import NestedTensor, RaggedLength, unsupported
from wengert.nested.elementwise import ELEMENTWISE

Implementation = Callable[..., Any]

TABLE: dict[str, Implementation] = {}

# What asks about the elements alone.
_OF_ELEMENTS = (
    "numel nelement element_size is_complex is_floating_point is_signed item retain_grad"
    " register_hook output_nr get_device"
)
OF_ELEMENTS = frozenset(_OF_ELEMENTS.split())


def handles(*names: str) -> Callable[[Implementation], Implementation]:
    """Have a function compute those of these names where an argument is nested."""

    def add(function: Implementation) -> Implementation:
        TABLE.update(dict.fromkeys(names, function))
        return function

    return add


def compute(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function of which an argument is nested; NotImplementedError where there is none."""
    name: str = getattr(func, "__name__", str(func))
    implementation = TABLE.get(name)
    if implementation is not None:
        return implementation(*args, **kwargs)
    plain = name.strip("_")
    if plain in ELEMENTWISE:
        return _of_elements(func, plain, args, kwargs)
    if name in OF_ELEMENTS:
        return func(args[0]._stored, *args[1:], **kwargs)
    if name in ("grad", "backward"):
        return _gradients(func, args, kwargs)
    raise unsupported(plain, next(nested_among((*args, *kwargs.values()))))


def nested_among(values: Iterable[Any]) -> Any:
    """The nested tensors among values, and in lists among them."""
    for value in values:
        if isinstance(value, NestedTensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from nested_among(value)


def check_alike(name: str, first: NestedTensor, other: NestedTensor) -> None:
    """RuntimeError for nested tensors whose components do not go together."""
    alike = first._partition == other._partition and first._ragged == other._ragged
    if not alike or first._strided != other._strided:
        raise RuntimeError(
            f"cannot call {name}() with nested tensors of different components: lengths"
            f" {list(first._partition.lengths)} in dimension {first._ragged} ({first.layout}), and"
            f" {list(other._partition.lengths)} in dimension {other._ragged} ({other.layout})"
        )


def _of_elements(func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function of the packed elements."""
    first = next(nested_among((*args, *kwargs.values())))

    def elements(x: Any) -> Any:
        if isinstance(x, NestedTensor):
            check_alike(name, first, x)
            return x._stored
        return beside(first, name, x) if isinstance(x, Tensor) and x.ndim else x

    plain = {key: elements(x) for key, x in kwargs.items()}
    result = func(*map(elements, args), **plain)
    return first if result is first._stored else first.like(result)


def beside(nt: NestedTensor, name: str, x: Tensor) -> Tensor:
    """An ordinary tensor as it broadcasts to the packed elements."""
    ragged, size = nt._ragged, len(nt)
    if nt._strided:
        raise RuntimeError(
            f"{name}(): Expected both self and other to be nested, but got a nested self and"
            " non-nested other: tensors of layout torch.jagged take ordinary ones beside them"
        )
    at_ragged = x.ndim - (nt.ndim - ragged)  # the dimension of `x` that meets the irregular one
    fits = x.ndim <= nt.ndim and (at_ragged < 0 or x.shape[at_ragged] == 1)
    if fits and x.ndim < nt.ndim:
        return x
    if not fits or x.shape[0] not in (1, size):
        raise RuntimeError(
            f"cannot call binary pointwise function {name} with inputs of shapes {nt.shape} and"
            f" {tuple(x.shape)}: beside the irregular dimension there is 1, or nothing"
        )
    if x.shape[0] == 1:
        return x.squeeze(0)
    return x[nt._partition.component].squeeze(ragged).movedim(0, ragged - 1)


def _gradients(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`backward` and `grad`, of the elements."""

    def elements(x: Any) -> Any:
        if isinstance(x, list | tuple):
            return [elements(item) for item in x]
        return x._stored if isinstance(x, NestedTensor) else x

    result = func(*map(elements, args), **{k: elements(x) for k, x in kwargs.items()})
    if result is None:
        return None
    inputs = args[1] if len(args) > 1 else kwargs["inputs"]
    inputs = [*inputs] if isinstance(inputs, list | tuple) else [inputs]
    return tuple(
        x.like(g) if isinstance(x, NestedTensor) and g is not None else g
        for x, g in zip(inputs, result, strict=True)
    )


def regular_dim(name: str, x: NestedTensor, dim: int) -> int:
    """A dimension that is neither that of the batch nor irregular, counted from the front."""
    if not -x.ndim <= dim < x.ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-x.ndim}, {x.ndim - 1}], but got"
            f" {dim})"
        )
    place = dim % x.ndim
    if not x._ragged:
        raise unsupported(name, x)
    if place == 0:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on dim=0")
    if place == x._ragged:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on ragged dim")
    return place


@handles("size")
def _size(x: NestedTensor, dim: int | None = None) -> Any:
    if dim is None:
        return x.shape
    place = dim % x.ndim
    if place == 0:
        return len(x)
    if place == x._ragged and not x._strided:
        return RaggedLength(x._partition)
    lengths = {component.shape[place - 1] for component in x.components()}
    if len(lengths) != 1:
        raise RuntimeError(f"Given dimension {dim} is irregular and does not have a size.")
    return lengths.pop()


@handles("dim", "ndimension")
def _dim(x: NestedTensor) -> int:
    return x.ndim


@handles("is_contiguous")
def _is_contiguous(x: NestedTensor, memory_format: Any = None) -> bool:
    return x._ragged < 2 and x._stored.is_contiguous()


@handles("values")
def _values(x: NestedTensor) -> Tensor:
    return x._stored.reshape(-1) if x._strided else x._stored


@handles("unbind")
def _unbind(x: NestedTensor, dim: int = 0) -> tuple[Tensor, ...]:
    if dim:
        raise RuntimeError(
            f"NestedTensor can only be unbound along dimension 0, got {dim} instead."
        )
    return tuple(x.components())


@handles("__getitem__")
def _item(x: NestedTensor, key: Any) -> Any:
    keys = key if isinstance(key, tuple) else (key,)
    if isinstance(keys[0], int):
        component = x.components()[keys[0]]
        return component[keys[1:]] if len(keys) > 1 else component
    if ... in keys:
        at = keys.index(...)
        missing = x.ndim - (len(keys) - 1 - sum(k is None for k in keys))
        keys = (*keys[:at], *[slice(None)] * missing, *keys[at + 1 :])
    keys = (*keys, *[slice(None)] * (x.ndim - len(keys)))
    plain = all(isinstance(k, int | slice) for k in keys)
    if not plain or not x._ragged or any(keys[d] != slice(None) for d in (0, x._ragged)):
        raise RuntimeError(
            f"x[{key!r}]: a nested tensor takes the number of a component, or indices and slices of"
            " regular dimensions behind full slices"
        )
    before = sum(isinstance(k, int) for k in keys[: x._ragged])
    result = x.like(x._stored[keys[1:]])
    result._ragged -= before
    return result


@handles("tolist", "numpy", "__array__")
def _as_numbers(x: NestedTensor, *args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("a nested tensor is no array: take the components, x.unbind()")


@handles("__bool__")
def _truth(x: NestedTensor) -> bool:
    if x._stored.numel() != 1:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    return bool(x._stored)


@handles("type_as")
def _type_as(x: Any, other: Any) -> Any:
    return x.to(other.dtype)
