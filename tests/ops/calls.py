"""Running a row in wengert and in torch, and comparing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert
from tests.ops.rows import ErrorRow, Row


def rng_of(row: Row | ErrorRow) -> np.random.Generator:
    """The same numbers for the same row in every run."""
    return np.random.default_rng(sum(map(ord, str(row))))


def lookup(library: Any, name: str) -> Any:
    """The function of a dotted name."""
    for part in name.split("."):
        library = getattr(library, part)
    return library


def oracle_or_own(library: Any, row: Row | ErrorRow) -> Any:
    """The function that a row names; in torch its twin, where torch does not have it."""
    if row.twin is not None and library is not wengert:
        return row.twin(library)
    return lookup(library, row.name)


def function_of(library: Any, row: Row) -> Any:
    """What a row calls."""
    function = oracle_or_own(library, row)
    return function if row.through is None else row.through(function)


def convert(value: Any, leaf: Callable[[np.ndarray], Any]) -> Any:
    """Arguments with every array, also in lists and tuples, made a tensor."""
    if isinstance(value, np.ndarray):
        return leaf(value)
    if type(value) in (list, tuple):
        return type(value)(convert(v, leaf) for v in value)
    return value


def arrays_of(value: Any) -> list[np.ndarray]:
    """The floating-point arrays among the arguments, in order."""
    if isinstance(value, np.ndarray):
        return [value] if value.dtype.kind in "fc" else []
    if type(value) in (list, tuple):
        return [a for v in value for a in arrays_of(v)]
    return []


def call(
    library: Any, row: Row, args: tuple[Any, ...], grad: bool, copied: bool = True
) -> tuple[Any, list[Any]]:
    """The result and the leaves. In-place rows (``Tensor.add_``) write to a copy of the leaf."""
    leaves: list[Any] = []

    def leaf(array: np.ndarray) -> Any:
        t = library.from_numpy(array.copy() if copied else array)
        if grad and array.dtype.kind in "fc":
            leaves.append(t.requires_grad_())
        return t

    converted = convert(args, leaf)
    kwargs = {k: convert(v, leaf) if not isinstance(v, np.dtype) else v
              for k, v in row.kwargs.items()}  # fmt: skip
    kwargs = {k: getattr(library, v[6:]) if isinstance(v, str) and v.startswith("torch.") else v
              for k, v in kwargs.items()}  # fmt: skip
    function = function_of(library, row)
    if row.name.endswith("_") and not row.name.endswith("__"):
        converted = (converted[0].clone(), *converted[1:])
    return function(*converted, **kwargs), leaves


def outputs(result: Any) -> list[Any]:
    """The tensors of a result: itself, or those of a tuple."""
    if isinstance(result, (tuple, list)):
        return [t for r in result for t in outputs(r)]
    return [result]


def to_numpy(value: Any) -> Any:
    """A tensor's values; other results as they are."""
    if hasattr(value, "detach"):
        value = value.detach().resolve_conj()
        if str(value.dtype) == "torch.bfloat16":
            value = value.float()
        return value.resolve_conj().numpy()  # torch puts conjugations off
    return value


def scalar(library: Any, result: Any) -> Any:
    """A weighted sum of all differentiable outputs, the same in both libraries."""
    total = None
    for k, out in enumerate(outputs(result)):
        if not getattr(out, "requires_grad", False):
            continue
        shape = tuple(out.shape)
        weight = np.cos(np.arange(int(np.prod(shape))) + k).reshape(shape)
        if str(out.dtype).startswith("torch.complex"):
            out = library.view_as_real(library.resolve_conj(out))
            weight = np.stack([weight, weight + 0.5], -1)
        w = library.from_numpy(np.asarray(weight)).to(out.dtype)
        term = (out * w).sum()
        total = term if total is None else total + term
    return total


def gradients(library: Any, loss: Any, leaves: list[Any], **options: Any) -> list[Any]:
    """The gradient of each leaf, zeros for those that the loss does not depend on."""
    found = library.autograd.grad(loss, leaves, allow_unused=True, **options)
    return [library.zeros_like(x) if g is None else g for x, g in zip(leaves, found, strict=True)]


def numeric(function: Callable[[list[np.ndarray]], float], arrays: list[np.ndarray],
            directions: list[np.ndarray], step: float = 1e-6) -> float:  # fmt: skip
    """Central difference of a scalar function along one direction."""
    above = function([np.asarray(a + step * d) for a, d in zip(arrays, directions, strict=True)])
    below = function([np.asarray(a - step * d) for a, d in zip(arrays, directions, strict=True)])
    return (above - below) / (2 * step)


def row_loss(row: Row, args: tuple[Any, ...]) -> tuple[Any, list[Any]]:
    """wengert's scalar of a row, and its leaves."""
    result, leaves = call(wengert, row, args, grad=True)
    return scalar(wengert, result), leaves
