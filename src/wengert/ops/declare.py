"""Declaring an operation: a decorator with a rule per input, and a function.

The function is the forward over arrays. A rule is a function of the cotangent `g` and of
whatever else it names: inputs, `out`, `<input>_shape`, parameters. The names determine what
a node saves, and only if an input whose rule reads them needs a gradient. Rules are
written with the library's own operations and with operators, so that arrays compute and
Tensors (under `create_graph`) record.

`ops/README.md` is the guide for authors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, Protocol

from wengert.core.tensor import Tensor
from wengert.ops.op import BatchRule, Jvp, Layout, Op, Rule
from wengert.ops.op import Value as Value
from wengert.ops.publish import TAKEN, publish

P = ParamSpec("P")


class Declare(Protocol):
    """The type of the decorators: takes a forward over arrays, returns the op on Tensors."""

    def __call__(self, forward: Callable[P, Any], /) -> Callable[P, Tensor]: ...


def _check_arguments(forward: Any, aux: tuple[str, ...]) -> None:
    """Raise TypeError for an argument name that the op's function uses itself."""
    code = forward.__code__
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    for name in sorted(TAKEN.intersection((*arguments, *aux))):
        raise TypeError(
            f"{forward.__name__}: an argument is called {name!r}, which the op's function uses"
        )


def _decorator(kind: str, rules: dict[str, Rule | None], options: dict[str, Any]) -> Declare:
    def declare(forward: Callable[P, Any]) -> Callable[P, Tensor]:
        _check_arguments(forward, options.get("aux", ()))
        return publish(Op(forward, kind, rules, **options))

    return declare


def elementwise(
    ufunc: Callable[..., Any] | None = None,
    *,
    floats: bool = False,
    label: str | None = None,
    name: str | None = None,
    tensors: tuple[str, ...] = (),
    numbers: bool = False,
    layout: Layout = "operands",
    older: tuple[str, ...] = (),
    scalar: Callable[..., Any] | None = None,
    halves: Callable[..., Any] | None = None,
    refuses: Callable[[list[Any]], None] | None = None,
    **rules: Rule | None,
) -> Declare:
    """Declare an elementwise operation; inputs broadcast, and rules can ignore that.

    With `ufunc` that is the forward, and the decorated body is only its docstring. `name`,
    here and below, is the public function named in errors, if the op is called differently.
    `tensors` names the inputs that may not be Python numbers, as in PyTorch, `numbers` says that
    all of them may be; `older` names the parameters it once took among the inputs; and `layout`
    the inputs that determine the memory layout of the output, if not all of them in order (a
    forward that does not keep NumPy's order needs it, too).
    Batches and forward-mode derivatives follow from the kind, and kernels for large arrays from
    the forward and the rules; they are made from `scalar` if the forward cannot be traced
    (see `_fuse`). `halves` computes with a tensor of half precision and a Python number that no
    half is equal to. `refuses` raises for dtypes of tensors that may not be mixed.
    """
    options = {
        "ufunc": ufunc, "floats": floats, "label": label, "name": name, "tensors": tensors,
        "numbers": numbers, "layout": layout, "older": older, "scalar": scalar, "halves": halves,
        "refuses": refuses,
    }  # fmt: skip
    return _decorator("elementwise", rules, options)


def multilinear(
    *,
    view: bool = False,
    layout: Layout = None,
    mixed: bool = True,
    batch: BatchRule | None = None,
    label: str | None = None,
    name: str | None = None,
    scalar: Callable[..., Any] | None = None,
    accumulate: dict[str, Callable[..., bool]] | None = None,
    **rules: Rule | None,
) -> Declare:
    """Declare an operation that is linear in each input that has a rule.

    `view` says that the output may share memory with the first input; `mixed=False` leaves
    the inputs' dtypes alone (an index next to a float). The forward-mode derivative follows
    from the kind; `batch` is the batching rule, `scalar` what is done to each element if it is
    the same for all (see `_fuse`), `accumulate` as for `primitive`.
    """
    options = {
        "view": view, "layout": layout, "mixed": mixed, "batch": batch, "label": label,
        "name": name, "scalar": scalar, "accumulate": accumulate,
    }  # fmt: skip
    return _decorator("multilinear", rules, options)


def primitive(
    *,
    aux: tuple[str, ...] = (),
    layout: Layout = None,
    floats: bool = False,
    mixed: bool = True,
    batch: BatchRule | None = None,
    jvp: Jvp | None = None,
    reference: Callable[..., Any] | None = None,
    shared: Rule | None = None,
    label: str | None = None,
    name: str | None = None,
    older: tuple[str, ...] = (),
    scalar: Callable[..., Any] | None = None,
    accumulate: dict[str, Callable[..., bool]] | None = None,
    updates: dict[str, Callable[..., Any]] | None = None,
    **rules: Rule | None,
) -> Declare:
    """Declare any other operation with a rule per input.

    `aux` names the extra results of the forward: piecewise constant values (indices, masks)
    that rules may read. An op with `aux` also needs a `reference`, a function of the same
    arguments made of ordinary operations. `jvp`, given a tangent (or None) for each input and
    whatever else it names, returns the tangent of the output; without it the rules are
    transposed. `shared` is a rule whose result other rules may read by that name: it is computed
    once for all of them. A rule that gives `shared` a default (None) saves nothing for it, and
    gets it only if another rule needs it. An op with `shared` also needs a `reference`.
    `older` as for `elementwise`, `scalar` as for `multilinear`. `accumulate` has, by input, what
    adds the gradient that a rule would return to a sum of gradients, in place, and `updates` what
    inputs hold that the forward writes to (see `Op`).
    """
    options = {
        "aux": aux, "layout": layout, "floats": floats, "mixed": mixed, "batch": batch, "jvp": jvp,
        "reference": reference, "shared": shared, "label": label, "name": name, "older": older,
        "scalar": scalar, "accumulate": accumulate, "updates": updates,
    }  # fmt: skip
    return _decorator("primitive", rules, options)
