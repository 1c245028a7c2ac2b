"""Which dimensions of the inputs are dynamic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from wengert.autograd.transforms.tree import registry
from wengert.core.tensor import Tensor
from wengert.fx.experimental.sizes import Symbol
from wengert.replay.failures import UserError, UserErrorType


class _Hint:
    """`Dim.AUTO`, `Dim.DYNAMIC`, `Dim.STATIC`: what a dimension is, without a name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"Dim.{self.name}"


class Dim:
    """A dynamic dimension: all that have it are of the same size.

    Args:
        name: its name, an identifier.
        min: the least size that it has.
        max: the greatest; None for no bound.

    >>> import wengert
    >>> wengert.export.Dim("batch", min=1, max=64)
    Dim('batch', min=1, max=64)
    """

    AUTO = _Hint("AUTO")
    DYNAMIC = _Hint("DYNAMIC")
    STATIC = _Hint("STATIC")

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise AssertionError(f"Dim(name): expected an identifier, got {name!r}")
        low = 0 if min is None else min
        if max is not None and max <= low:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        self.__name__, self.min, self.max = name, low, max

    def __repr__(self) -> str:
        bounds = f", min={self.min}" if self.min else ""
        return f"Dim({self.__name__!r}{bounds}{'' if self.max is None else f', max={self.max}'})"


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Several `Dim` with the same bounds.

    >>> import wengert
    >>> wengert.export.dims("height", "width")
    (Dim('height'), Dim('width'))
    """
    return tuple([Dim(name, min=min, max=max) for name in names])


def specs_of(dynamic_shapes: Any, args: Any, names: Sequence[str]) -> list[Any]:
    """What `dynamic_shapes` says of each leaf of the arguments.

    Args:
        dynamic_shapes: nested as the arguments are, or a dictionary by their names.
        args: the arguments, by position and by name, in the order of the leaves.
        names: of these arguments.
    """
    if dynamic_shapes is None:
        given: list[Any] = [None] * len(args)
    elif isinstance(dynamic_shapes, dict):
        unknown = sorted(map(str, dynamic_shapes.keys() - set(names)))
        if unknown:
            raise UserError(
                UserErrorType.INVALID_INPUT,
                f"dynamic_shapes: there is no argument {unknown[0]!r}; the arguments are"
                f" {list(names)}",
            )
        given = [dynamic_shapes.get(name) for name in names]
    elif isinstance(dynamic_shapes, tuple | list):
        if len(dynamic_shapes) != len(args):
            raise UserError(
                UserErrorType.INVALID_INPUT,
                f"dynamic_shapes: expected an entry for each of {len(args)} arguments, got"
                f" {len(dynamic_shapes)}",
            )
        given = list(dynamic_shapes)
    else:
        raise TypeError(
            f"dynamic_shapes: expected a dict, tuple or list, got {type(dynamic_shapes).__name__}"
        )
    return [spec for entry, arg in zip(given, args, strict=True) for spec in _leaves(entry, arg)]


def _leaves(entry: Any, arg: Any) -> Iterator[Any]:
    """The parts of an entry for the leaves of an argument."""
    if type(arg) in registry:
        yield from _leaves(entry, list(registry[type(arg)].flatten(arg)[0]))
    elif isinstance(arg, dict):
        for key, value in arg.items():
            yield from _leaves(None if entry is None else entry.get(key), value)
    elif isinstance(arg, tuple | list):
        if entry is not None and (not isinstance(entry, tuple | list) or len(entry) != len(arg)):
            raise UserError(
                UserErrorType.INVALID_INPUT,
                f"dynamic_shapes: expected {len(arg)} entries for a {type(arg).__name__} of"
                f" {len(arg)}, got {entry!r}",
            )
        for k, value in enumerate(arg):
            yield from _leaves(None if entry is None else entry[k], value)
    else:
        yield entry


def symbols_of(specs: Sequence[Any], leaves: Sequence[Any]) -> list[Symbol]:
    """The dynamic dimensions of the leaves of the arguments."""
    symbols: dict[str, Symbol] = {}
    for k, (spec, leaf) in enumerate(zip(specs, leaves, strict=True)):
        if spec is None:
            continue
        if not isinstance(leaf, Tensor):
            raise UserError(
                UserErrorType.INVALID_INPUT,
                f"dynamic_shapes: {spec!r} stands for an argument that is no tensor but a"
                f" {type(leaf).__name__}",
            )
        for d, dim in _entries(spec, leaf):
            _add(symbols, dim, k, d, leaf.shape[d])
    return list(symbols.values())


def _entries(spec: Any, leaf: Tensor) -> Iterator[tuple[int, Any]]:
    items = spec.items() if isinstance(spec, dict) else enumerate(spec)
    for d, dim in items:
        if not -leaf.ndim <= d < leaf.ndim:
            raise UserError(
                UserErrorType.INVALID_INPUT,
                f"dynamic_shapes: dimension {d} of a tensor of shape {list(leaf.shape)}",
            )
        if isinstance(dim, int) and dim != leaf.shape[d]:
            raise UserError(
                UserErrorType.CONSTRAINT_VIOLATION,
                f"dynamic_shapes: dimension {d} is to be {dim}, and is {leaf.shape[d]} in the"
                " example",
            )
        if dim is not None and dim is not Dim.STATIC and not isinstance(dim, int):
            yield d % leaf.ndim, dim


def _add(symbols: dict[str, Symbol], dim: Any, leaf: int, place: int, size: int) -> None:
    low, high = 0, None
    if isinstance(dim, Dim):
        name, low, high = dim.__name__, dim.min, dim.max
    elif isinstance(dim, str):
        name = dim
    elif isinstance(dim, _Hint):
        name = f"s{leaf}_{place}"
    else:
        raise UserError(
            UserErrorType.INVALID_INPUT,
            f"dynamic_shapes: expected Dim, a hint such as Dim.AUTO, an int or None, got {dim!r}",
        )
    if size < low or (high is not None and size > high):
        raise UserError(
            UserErrorType.INVALID_INPUT,
            f"dynamic_shapes: {dim!r} does not allow the example's size {size} of dimension"
            f" {place}",
        )
    before = symbols.get(name)
    if before is None:
        symbols[name] = Symbol(name, size, low, high, ((leaf, place),))
    elif before.size != size:
        raise UserError(
            UserErrorType.INVALID_INPUT,
            f"dynamic_shapes: {name!r} stands for dimensions of the sizes {before.size} and {size}",
        )
    else:
        symbols[name] = before._replace(places=(*before.places, (leaf, place)))
