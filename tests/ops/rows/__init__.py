"""Rows of samples: one or more for every operation, collected by family."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Rng = np.random.Generator


@dataclass(frozen=True)
class Row:
    """One way to call one operation.

    Attributes:
        name: dotted name below `torch` and below `wengert` alike, such as
            ``"nn.functional.relu"`` or ``"Tensor.add_"``.
        make: gives positional arguments; NumPy arrays (also inside lists) become tensors, and
            floating-point ones require grad.
        kwargs: keyword arguments.
        tag: tells rows of one op apart.
        second: whether the second derivative is checked as well.
        grad: whether derivatives are checked at all.
        dtypes: further dtypes whose forward is compared; the float64 arrays that `make`
            gave are converted to them.
        through: what is called is this function of the function, the same in both libraries:
            where inputs have to be made symmetric, or some results compare up to a sign only.
        twin: for an op that PyTorch does not have: takes the library, and returns a function of
            the same arguments, made of its operations, to compare with.
        rtol, atol: tolerance of the forward in float64, for functions that approximate.
    """

    name: str
    make: Callable[[Rng], tuple[Any, ...]]
    kwargs: dict[str, Any] = field(default_factory=dict)
    tag: str = ""
    second: bool = True
    grad: bool = True
    dtypes: tuple[str, ...] = ("float32",)
    through: Callable[[Any], Any] | None = None
    twin: Callable[[Any], Callable[..., Any]] | None = None
    rtol: float = 1e-10
    atol: float = 1e-12

    def __str__(self) -> str:
        return f"{self.name}{'-' + self.tag if self.tag else ''}"


@dataclass(frozen=True)
class ErrorRow:
    """A call that must fail as it does in torch: same exception class, and our message.

    One with a `twin` is of an op that PyTorch does not have, as in `Row`.
    """

    name: str
    make: Callable[[Rng], tuple[Any, ...]]
    kind: type[Exception]
    match: str
    kwargs: dict[str, Any] = field(default_factory=dict)
    tag: str = ""
    twin: Callable[[Any], Callable[..., Any]] | None = None

    def __str__(self) -> str:
        return f"{self.name}-{self.kind.__name__}{'-' + self.tag if self.tag else ''}"


def normal(*shape: int) -> Callable[[Rng], np.ndarray]:
    """A maker of one standard normal array."""
    return lambda rng: rng.standard_normal(shape)


def inputs(*shapes: tuple[int, ...], low: float | None = None, high: float = 1.0) -> Any:
    """A `make` of arrays of these shapes: normal, or uniform in [low, high)."""

    def make(rng: Rng) -> tuple[np.ndarray, ...]:
        if low is None:
            return tuple(np.asarray(rng.standard_normal(s)) for s in shapes)
        return tuple(np.asarray(rng.uniform(low, high, s)) for s in shapes)

    return make


def _collect(kind: str) -> list[Any]:
    rows: list[Any] = []
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
        rows += getattr(importlib.import_module(f"{__name__}.{module}"), kind, [])
    return rows


def all_rows() -> list[Row]:
    """The rows of every family."""
    return _collect("ROWS")


def all_errors() -> list[ErrorRow]:
    """The error rows of every family."""
    return _collect("ERRORS")
