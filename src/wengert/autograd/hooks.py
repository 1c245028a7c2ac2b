"""Hooks: their handles, node hooks, and checks of what hooks return."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

from wengert.core.messages import more
from wengert.core.signals import call_despite_signals, without_entry_signals
from wengert.core.tensor import Hooks, Node, NodeState, Tensor, concrete, state_of, wrap
from wengert.kernels.layout import writable
from wengert.ops.subscript import Deferred
from wengert.ops.variadic import Partial

Grads = tuple[Any, ...]

Flags = OrderedDict[int, bool]  # ids of hooks

_ids = itertools.count()


class RemovableHandle:
    """The handle returned when a hook is registered; `remove()` unregisters the hook.

    Also a context manager that removes the hook on exit. It keeps alive neither the hook nor
    the object it is registered with: a hook may hold its own handle.

    >>> import wengert
    >>> x = wengert.ones(2, requires_grad=True)
    >>> with x.register_hook(lambda g: g * 10):
    ...     x.sum().backward()
    >>> x.grad
    tensor([10., 10.])
    """

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.id = next(_ids)  # the hook's key in the dictionaries
        more = extra_dict if isinstance(extra_dict, list) else [extra_dict]
        self._tables = [ref(table) for table in (hooks_dict, *more) if table is not None]

    def remove(self) -> None:
        """Remove the hook; a second call does nothing."""
        for table in self._living():
            table.pop(self.id, None)

    def _living(self) -> list[Any]:
        """The dictionaries that still exist."""
        return [table for reference in self._tables if (table := reference()) is not None]

    def __getstate__(self) -> Any:
        return self.id, self._living()

    def __setstate__(self, state: Any) -> None:
        self.id, tables = state
        self._tables = [ref(table) for table in tables]

    def __enter__(self) -> RemovableHandle:
        return self

    @without_entry_signals
    def __exit__(self, *exception: object) -> None:
        call_despite_signals(self.remove)


def add_hook(
    hooks: Hooks, hook: Any, prepend: bool = False, options: Sequence[Flags] = ()
) -> RemovableHandle:
    """Add a hook to a table, at its end or at its front; return the handle.

    `options` are the tables of ids of hooks with a different calling convention; the hook's
    id is removed from them with the hook.
    """
    handle = RemovableHandle(hooks, extra_dict=list(options))
    while handle.id in hooks:  # a hook of an unpickled module
        handle.id = next(_ids)
    for table in options:
        table[handle.id] = True
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_prehook(self: Node, fn: Callable[[Grads], Grads | None]) -> RemovableHandle:
    """Call `fn(grad_outputs)` before the derivative of this node is computed.

    It may return a tuple that replaces the gradients of the outputs.

    >>> import wengert
    >>> x = wengert.ones(2, requires_grad=True)
    >>> y = x * 2
    >>> handle = y.grad_fn.register_prehook(lambda grads: (grads[0] * 10,))
    >>> y.sum().backward()
    >>> x.grad
    tensor([20., 20.])
    """
    state = state_of(self.output()[0])
    if state.node_prehooks is None:
        state.node_prehooks = OrderedDict()
    return add_hook(state.node_prehooks, fn)


def register_hook(self: Node, fn: Callable[[Grads, Grads], Grads | None]) -> RemovableHandle:
    """Call `fn(grad_inputs, grad_outputs)` after the derivative of this node is computed.

    It may return a tuple that replaces the gradients of the inputs.

    >>> import wengert
    >>> x = wengert.ones(2, requires_grad=True)
    >>> y = x.exp()
    >>> handle = y.grad_fn.register_hook(lambda inputs, outputs: (outputs[0],))
    >>> y.sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """
    state = state_of(self.output()[0])
    if state.node_hooks is None:
        state.node_hooks = OrderedDict()
    return add_hook(state.node_hooks, fn)


Node.register_prehook = register_prehook
Node.register_hook = register_hook


def as_hook_argument(g: Any) -> Any:
    """A gradient as passed to hooks: a Tensor, or None if none arrived."""
    if isinstance(g, Deferred):
        g = g.dense()
    return g if g is None or isinstance(g, Tensor) else wrap(writable(g))


def _as_carried(value: Any, before: Any) -> Any:
    """A hook's Tensor in the walk's form: an array, unless the walk carries Tensors."""
    if type(value) in concrete and not isinstance(before, Tensor):
        return value._array
    return value


def run_tensor_hooks(state: NodeState, g: Any) -> Any:
    """Run the hooks of a tensor on its gradient; return the result."""
    value = as_hook_argument(g)
    for hook in list(state.hooks.values() if state.hooks else ()):
        answer = hook(value)
        if answer is not None:
            value = _checked_gradient(answer, value, hook)
    return _as_carried(value, g)


def run_prehooks(node: Node, state: NodeState, g: Any) -> Any:
    """Run the prehooks of a node on the gradients of its outputs; return the result."""
    before = outputs_of(node, g)
    values = tuple([as_hook_argument(v) for v in before])
    for hook in list(state.node_prehooks.values() if state.node_prehooks else ()):
        values = _checked_gradients(hook, hook(values), values)
    after = [_as_carried(v, b) for v, b in zip(values, before, strict=True)]
    if type(g) is not Partial:
        return after[0] if len(after) == 1 else g
    gradients = {k: v for k, v in enumerate(after) if v is not None}
    if not gradients:
        return None
    partial = Partial(0, None)
    partial.parts = gradients
    return partial


def run_posthooks(state: NodeState, grads: Grads, outputs: Grads) -> Grads:
    """Run the hooks of a node on the gradients of its inputs; return the result."""
    values = tuple([as_hook_argument(g) for g in grads])
    outputs = tuple([as_hook_argument(g) for g in outputs])
    for hook in list(state.node_hooks.values() if state.node_hooks else ()):
        values = _checked_gradients(hook, hook(values, outputs), values)
    return tuple([_as_carried(v, g) for v, g in zip(values, grads, strict=True)])


def outputs_of(node: Node, g: Any) -> Grads:
    """The gradient of each output of a node, None where none arrived."""
    if type(g) is not Partial:
        # Only operations with several outputs store their shapes.
        return (g,) if g is not None else (None,) * len(getattr(node, "shapes", (0,)))
    count = len(getattr(node, "shapes", ())) or max(g.parts) + 1
    return tuple([g.parts.get(k) for k in range(count)])


def _checked_gradients(hook: Any, answer: Any, values: Grads) -> Grads:
    """The tuple that a node's hook returned, checked as a replacement for `values`."""
    if answer is None:
        return values
    if not isinstance(answer, tuple):
        raise TypeError(
            f"expected tuple, but hook returned '{type(answer).__name__}': {_name(hook)} must"
            f" return a tuple with a gradient for each, or None\n{more('hook-result')}"
        )
    if len(answer) != len(values):
        raise RuntimeError(
            f"hook '{_name(hook)}' has returned an incorrect number of values (got"
            f" {len(answer)}, but expected {len(values)})\n{more('hook-result')}"
        )
    return tuple(
        [
            None if a is None else _checked_gradient(a, v, hook)
            for a, v in zip(answer, values, strict=True)
        ]
    )


def _checked_gradient(answer: Any, before: Any, hook: Any) -> Any:
    """The Tensor that a hook returned, checked as a replacement for the gradient it got."""
    if not isinstance(answer, Tensor):
        raise TypeError(
            f"expected Variable, but hook returned '{type(answer).__name__}': {_name(hook)} must"
            f" return a Tensor or None\n{more('hook-result')}"
        )
    if before is None:
        raise RuntimeError(
            f"can't replace a None gradient with a non-None value, as hook '{_name(hook)}' did\n"
            + more("hook-result")
        )
    now, was = answer._array, before._array
    if now.shape != was.shape:
        raise RuntimeError(
            f"hook '{_name(hook)}' has changed the size of value: expected shape"
            f" {list(was.shape)}, got {list(now.shape)}\n{more('hook-result')}"
        )
    if now.dtype != was.dtype:
        raise RuntimeError(
            f"hook '{_name(hook)}' has changed the type of value (was {before.type()} got"
            f" {answer.type()})\n{more('hook-result')}"
        )
    return answer


def _name(hook: Any) -> str:
    return getattr(hook, "__name__", None) or type(hook).__name__
