"""Control flow that depends on values, for programs that write it as functions.

Elsewhere these keep both ways in an exported program. Here Python runs, so they call what an `if`
or a `while` would: gradients flow through the way that was taken. Where a condition has no value
yet, or several, `cond` computes both ways and selects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.autograd.transforms.tree import flatten_tree, unflatten_tree
from wengert.core.tensor import Tensor
from wengert.ops.masking import where


def cond(
    pred: bool | Tensor, true_fn: Callable[..., Any], false_fn: Callable[..., Any],
    operands: tuple[Any, ...] | list[Any] = (),
) -> Any:  # fmt: skip
    """Return ``true_fn(*operands)`` if `pred` holds, else ``false_fn(*operands)``.

    Where `pred` differs within a batch of `vmap`, or is recorded by `export`, both are computed,
    and `where` selects: their results must have the same shapes and dtypes.

    Args:
        pred: a bool, or a boolean tensor of one element.
        true_fn: a function of tensors.
        false_fn: another, of the same.
        operands: what both take: a tuple or list.

    RuntimeError for other arguments.

    >>> import wengert
    >>> x = wengert.tensor([1.0, -2.0])
    >>> wengert.cond(x.sum() > 0, lambda x: x, lambda x: -x, (x,))
    tensor([-1.,  2.])
    """
    if not isinstance(pred, bool | int | Tensor):
        raise RuntimeError(f"cond(): expected pred to be bool or tensor, but got {pred!r}")
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(
            "cond(): expected pred to be bool or a tensor of one element, but got one of shape"
            f" {tuple(pred.shape)}"
        )
    _check("cond", {"true_fn": true_fn, "false_fn": false_fn}, "operands", operands)
    try:
        holds = bool(pred)
    except RuntimeError:  # a tensor of one element that cannot be read
        return _selected(pred, true_fn(*operands), false_fn(*operands))
    return true_fn(*operands) if holds else false_fn(*operands)


def _selected(pred: Any, yes: Any, no: Any) -> Any:
    """The results of one way or the other, by a condition that nobody knows yet."""
    (ours, spec), (others, other_spec) = flatten_tree(yes), flatten_tree(no)
    if spec != other_spec:
        raise RuntimeError(f"cond(): true_fn gives {spec}, and false_fn {other_spec}")
    results = []
    for a, b in zip(ours, others, strict=True):
        if not (isinstance(a, Tensor) and isinstance(b, Tensor)):
            raise RuntimeError(f"cond(): expected both functions to give tensors, got {a!r}, {b!r}")
        if a.shape != b.shape or a.dtype is not b.dtype:
            raise RuntimeError(
                "cond(): expected both functions to give tensors of the same shape and dtype, got"
                f" {a.dtype} {list(a.shape)} and {b.dtype} {list(b.shape)}"
            )
        results.append(where(pred.reshape(()), a, b))
    return unflatten_tree(results, spec)


def while_loop(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any],
    carried_inputs: tuple[Any, ...] | list[Any],
) -> tuple[Any, ...]:  # fmt: skip
    """Replace the carried values by ``body_fn(*values)`` while ``cond_fn(*values)`` holds.

    Args:
        cond_fn: gives a bool, or a boolean tensor of one element.
        body_fn: gives as many values as it takes, as a tuple or list.
        carried_inputs: the first values: a tuple or list of tensors and numbers.

    RuntimeError for other arguments, or if the functions give something else.

    >>> import wengert
    >>> n, x = wengert.while_loop(
    ...     lambda n, x: n < 3, lambda n, x: (n + 1, x * 2), (wengert.tensor(0), wengert.ones(2))
    ... )
    >>> x
    tensor([8., 8.])
    """
    functions = {"cond_fn": cond_fn, "body_fn": body_fn}
    _check("while_loop", functions, "carried_inputs", carried_inputs)
    values = tuple(carried_inputs)
    while _holds(cond_fn(*values)):
        found = body_fn(*values)
        if not isinstance(found, tuple | list) or len(found) != len(values):
            raise RuntimeError(
                f"while_loop(): expected body_fn to return a tuple of {len(values)}, as"
                f" carried_inputs, but got {found!r}"
            )
        values = tuple(found)
    return values


def _check(name: str, functions: dict[str, Any], argument: str, values: Any) -> None:
    """RuntimeError unless all functions can be called, and the values are a tuple or list."""
    if not all(map(callable, functions.values())):
        raise RuntimeError(
            f"{name}(): expected {' and '.join(functions)} to be callable, but got"
            f" {' and '.join(map(repr, functions.values()))}"
        )
    if not isinstance(values, tuple | list):
        raise RuntimeError(
            f"{name}(): expected {argument} to be a tuple or list, but got {type(values).__name__}"
        )


def _holds(found: Any) -> bool:
    if isinstance(found, bool) or (isinstance(found, Tensor) and found.numel() == 1):
        return bool(found)
    raise RuntimeError(
        "while_loop(): expected cond_fn to return a bool or a tensor of one element, but got"
        f" {found!r}"
    )
