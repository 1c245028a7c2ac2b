"""Full backward hooks: nodes around a module that see all its gradients at once.

A tensor has one node and a node one gradient, but a hook wants those of all inputs
together. So all watched tensors become outputs of one `_Join`; when the walk reaches
it, all their gradients have arrived.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core.messages import more
from wengert.core.tensor import Node, NodeState, Tensor, mode, wrap
from wengert.ops.variadic import Output, Partial, output_of, record

Grads = tuple[Any, ...]
# Shape and dtype of a tensor, None for anything else. As in PyTorch, a gradient that never arrived
# is passed on as zeros, so that hooks on both sides of a module run whichever output was used.
Kind = tuple[tuple[int, ...], np.dtype[Any]] | None


class _Join(Node):
    """All watched tensors of one side of a module."""

    __slots__ = ("arrived", "kinds", "positions")

    public_name = "backward_hook"
    arrived: Callable[[list[Any]], list[Any]] | None
    kinds: list[Kind]  # of every value of that side
    positions: tuple[int, ...]  # the value each edge belongs to

    def pullback(self, g: Partial) -> Grads:
        assert self.arrived is not None
        plain = not any(isinstance(value, Tensor) for value in g.parts.values())
        grads = self.arrived([_lift(g.parts.get(i)) for i in range(len(self.kinds))])
        values = (_or_zeros(grads[i], self.kinds[i]) for i in self.positions)
        return tuple(v._array if plain and v is not None else v for v in values)

    def pullback_to(self, g: Any, needed: Any, lift: Any) -> Grads:
        grads = self.pullback(g)
        pairs = zip(grads, self.edges, strict=True)
        return tuple(v if edge in needed else None for v, edge in pairs)

    def clear(self) -> None:
        self.arrived = None


class _Watched(Output):
    """One watched tensor: an output of its `_Join`."""

    __slots__ = ()

    public_name = "backward_hook"


for _kind in (_Join, _Watched):
    _kind.__name__ = _kind.__qualname__ = "BackwardHookFunctionBackward"  # the name PyTorch shows


def _lift(g: Any) -> Any:
    return g if g is None or isinstance(g, Tensor) else wrap(g)


def _or_zeros(g: Any, kind: Kind) -> Any:
    return wrap(np.zeros(*kind)) if g is None and kind is not None else g


def _kinds(values: Grads) -> list[Kind]:
    return [(v._outline.shape, v._outline.dtype) if isinstance(v, Tensor) else None for v in values]


def _watch(values: Grads, arrived: Callable[[list[Any]], list[Any]]) -> Grads:
    """The values, watching those that require grad; `arrived` receives all their gradients."""
    positions = [i for i, v in enumerate(values) if isinstance(v, Tensor) and v._edge is not None]
    if not positions or mode.site is None:
        return values
    join = record(_Join, tuple(values[i]._edge for i in positions), (), mode.where)
    join.state = NodeState()
    join.state.user = True
    join.arrived, join.kinds, join.positions = arrived, _kinds(values), tuple(positions)
    watched = list(values)
    for i in positions:
        array = values[i]._array
        watched[i] = wrap(array, output_of(_Watched, join, i, array.shape))
    return tuple(watched)


class HookedCall:
    """One call of a module with full backward hooks."""

    def __init__(self, module: Any, hooks: list[Any], pre_hooks: list[Any]) -> None:
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.inputs = 0
        self.input_kinds: list[Kind] = []
        self.watching_inputs = False
        self.grad_output: Grads | None = None

    def watch_inputs(self, args: Grads) -> Grads:
        """The arguments, watched so that the hooks see the gradients leaving the module."""
        self.inputs = len(args)
        if not self.hooks:
            return args
        self.input_kinds = _kinds(args)
        watched = _watch(args, self._on_grad_input)
        self.watching_inputs = watched is not args
        return watched

    def watch_outputs(self, result: Any) -> Any:
        """The result, watched so that the hooks see the gradients entering the module."""
        if isinstance(result, Tensor):
            return _watch((result,), self._on_grad_output)[0]
        watched = _watch(tuple(result), self._on_grad_output)
        if hasattr(result, "_fields"):
            return type(result)(*watched)
        return watched

    def _on_grad_output(self, grads: list[Any]) -> list[Any]:
        grad_output = tuple(grads)
        for hook in self.pre_hooks:
            answer = hook(self.module, grad_output)
            if answer is not None:
                grad_output = _as_many(answer, len(grads), "grad_output")
        self.grad_output = grad_output
        if not self.watching_inputs:
            self._run_without_inputs(grad_output)
        return list(grad_output)

    def _run_without_inputs(self, grad_output: Grads) -> None:
        nothing = (None,) * self.inputs
        if self.hooks:
            warnings.warn(
                "Full backward hook is firing when gradients are computed with respect to module"
                f" outputs since no inputs of {type(self.module).__name__} require gradients.",
                UserWarning,
                stacklevel=2,
            )
        for hook in self.hooks:
            answer = hook(self.module, nothing, grad_output)
            if answer is not None and any(g is not None for g in answer):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always"
                    f" return None or None for all gradients.\n{more('hook-result')}"
                )

    def _on_grad_input(self, grads: list[Any]) -> list[Any]:
        if self.grad_output is None:
            return grads  # of a second derivative, which has not passed the output
        grad_input = tuple(map(_or_zeros, grads, self.input_kinds))
        for hook in self.hooks:
            answer = hook(self.module, grad_input, self.grad_output)
            if answer is not None:
                grad_input = _as_many(answer, self.inputs, "grad_input")
        self.grad_output = None
        return list(grad_input)


def _as_many(answer: Any, count: int, what: str) -> Grads:
    values: Grads = (answer,) if isinstance(answer, Tensor) else tuple(answer)
    if len(values) != count:
        raise RuntimeError(
            f"Backward hook returned an invalid number of {what}, got {len(values)}, but expected"
            f" {count}\n{more('hook-result')}"
        )
    return values
