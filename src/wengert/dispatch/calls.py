"""What becomes of an operation while a mode sees it: one call, from the mode to the kernel.

A mode is given an operation below autograd: nothing is recorded while it answers. The operation
records when the mode calls it, and its results lose their place in the graph until the mode has
answered. So the graph is the one that there would be without a mode, whatever the mode returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.core.dispatching import dispatching
from wengert.core.overriding import DisableTorchFunctionSubclass
from wengert.core.tensor import Node, Site, Tensor, mode
from wengert.tensor.wrappers import WrapperOutline, dispatches

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


def leaves(value: Any) -> Iterator[Any]:
    """What is in lists, tuples and dictionaries, as deep as they go."""
    if isinstance(value, (list, tuple)):
        for element in value:
            yield from leaves(element)
    elif isinstance(value, dict):
        for element in value.values():
            yield from leaves(element)
    else:
        yield value


def tensors_in(value: Any) -> list[Tensor]:
    """The tensors among the leaves."""
    return [x for x in leaves(value) if isinstance(x, Tensor)]


class Call:
    """An operation that a mode answers.

    Attributes:
        func: what the mode is given.
        compute: what the operation does.
        site: where it records; None where it does not.
        edges: the places in the graph of what it computed.
        of_class: whether the class of an argument answers, and not a mode.
    """

    __slots__ = ("args", "compute", "edges", "func", "inputs", "kwargs", "of_class", "site")

    def __init__(self, func: Any, args: Args, kwargs: Kwargs, compute: Callable[[], Any]) -> None:
        self.func, self.args, self.kwargs, self.compute = func, args, kwargs, compute
        self.inputs = list(leaves((args, kwargs)))
        self.site: Site | None = mode.site
        self.edges: list[tuple[Tensor, Node | None]] = []
        self.of_class = False

    def has(self, func: Any, args: Args, kwargs: Kwargs) -> bool:
        """Whether a call of an operation is this one."""
        if func is not self.func:
            return False
        inputs = list(leaves((args, kwargs)))
        return len(inputs) == len(self.inputs) and all(map(_same, inputs, self.inputs))

    def run(self) -> Any:
        """The results, by the modes further out, as constants."""
        site, mode.site = mode.site, self.site
        outer, dispatching.call = dispatching.call, None
        try:
            if self.of_class:
                with DisableTorchFunctionSubclass():
                    result = _computed(self.compute)
            else:
                result = dispatch(self.func, self.args, self.kwargs, self.compute)
        finally:
            mode.site, dispatching.call = site, outer
        self.edges = [(t, t._edge) for t in tensors_in(result) if not self._is_input(t)]
        for t, edge in self.edges:
            if edge is not None:
                t._edge, t._cut = None, None
        return result

    def _is_input(self, tensor: Tensor) -> bool:
        return any(tensor is x for x in self.inputs)

    def answered(self, who: Any, kinds: tuple[type, ...]) -> Any:
        """What a mode or a class returns, in the place of the results."""
        outer, site = dispatching.call, mode.site
        dispatching.call, mode.site = self, None
        try:
            result = who.__torch_dispatch__(self.func, kinds, self.args, self.kwargs)
        finally:
            dispatching.call, mode.site = outer, site
        if result is NotImplemented:
            raise TypeError(
                f"Multiple dispatch failed for '{self.func}'; all __torch_dispatch__ handlers"
                f" returned NotImplemented: {getattr(who, '__name__', type(who).__name__)}"
            )
        return self.recorded(result)

    def check_recordable(self) -> None:
        """Raise NotImplementedError for a wrapper whose gradient would be recorded."""
        if self.site is None:
            return
        for x in self.inputs:
            if (
                isinstance(x, Tensor)
                and x._edge is not None
                and isinstance(x._array, WrapperOutline)
            ):
                raise NotImplementedError(
                    f"{self.func} of a {type(x).__name__} that requires grad: a wrapper has no data"
                    " that a graph could save; have the tensors inside require grad instead"
                )

    def recorded(self, result: Any) -> Any:
        """What the mode returned, with the place in the graph that the results have."""
        if self.site is None or not any(isinstance(x, Tensor) and x._edge for x in self.inputs):
            return result
        outputs = [t for t in tensors_in(result) if not self._is_input(t)]
        if not self.edges and outputs and not self.func._schema.is_mutable:
            self.run()  # for its node
        if len(outputs) == len(self.edges):
            for output, (computed, edge) in zip(outputs, self.edges, strict=True):
                self._give(output, computed, edge)
        return result

    def _give(self, output: Tensor, computed: Tensor, edge: Node | None) -> None:
        """Put an output in the place of what was computed."""
        if edge is None or output._edge is not None:
            return
        if output is not computed:
            if output._array.shape != computed._array.shape:
                raise RuntimeError(
                    f"__torch_dispatch__ returned a tensor of shape {list(output._array.shape)} for"
                    f" {self.func}, whose result has shape {list(computed._array.shape)}: its"
                    " gradient is that of the operation"
                )
            for slot, _ in edge.saved:
                if getattr(edge, slot) is computed._array:
                    setattr(edge, slot, output._array)
        output._edge = edge


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    constants = not isinstance(a, (Tensor, np.ndarray)) and type(a) is type(b)
    return constants and bool(a == b)


def dispatch(func: Any, args: Args, kwargs: Kwargs, compute: Callable[[], Any]) -> Any:
    """The answer of the innermost mode or of an argument's class; else what is computed."""
    if dispatching.computing:
        return compute()
    call = Call(func, args, kwargs, compute)
    kinds = _types(call.inputs)
    if dispatching.modes:
        innermost = dispatching.modes.pop()
        try:
            return call.answered(innermost, kinds)
        finally:
            dispatching.modes.append(innermost)
    if not kinds:
        return _computed(compute)
    call.of_class = True
    call.check_recordable()
    return call.answered(min(kinds, key=lambda kind: -len(kind.__mro__)), kinds)


def _computed(compute: Callable[[], Any]) -> Any:
    computing, dispatching.computing = dispatching.computing, True
    try:
        return compute()
    finally:
        dispatching.computing = computing


def _types(inputs: list[Any]) -> tuple[type, ...]:
    """The classes among the arguments that define a `__torch_dispatch__`."""
    kinds = (type(x) for x in inputs if isinstance(x, Tensor))
    return tuple(dict.fromkeys(kind for kind in kinds if kind is not Tensor and dispatches(kind)))


def call_overload(func: Any, args: Args, kwargs: Kwargs) -> Any:
    """`func(*args, **kwargs)`: the operation that a mode is asked about, or another."""
    call = dispatching.call
    if call is not None and call.has(func, args, kwargs):
        return call.run()
    return dispatch(func, args, kwargs, lambda: func.run(args, kwargs))
