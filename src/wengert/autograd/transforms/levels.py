"""The transforms running on this thread, outermost first.

A transform (a vmap, a forward mode, a derivative inside one of them) is a level. Its
tracers wrap values of the levels further out, down to ordinary tensors. An operation on
tracers goes to their innermost level, which carries it out on the values inside its own
tracers: each level knows its own rule and nothing about the others (as in JAX's and
functorch's stacks of interpreters).
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from wengert.core.messages import more
from wengert.core.signals import call_despite_signals, without_entry_signals
from wengert.core.tensor import Tensor, Tracer, new, root_of, thread_states

Shape = tuple[int, ...]


class TransformStack(threading.local):
    """The transforms running on a thread."""

    recordings = 0  # derivatives; the outermost has no level, it records on Tensors

    def __init__(self) -> None:
        self.levels: list[Level] = []


transform_stack = TransformStack()
thread_states.append(transform_stack)


def transforming() -> bool:
    """Whether the current code is, or was called by, a function being transformed."""
    return transform_stack.recordings > 0 or any(
        not level.eager for level in transform_stack.levels
    )


class Level:
    """One running transform."""

    what = "transform"
    kind: type[Tracer]
    depth = 0  # 1 for the outermost; 0 when it has ended
    composite = False  # whether it takes some functions as one call: see `ops.operands.as_one_call`
    memoryless = False  # whether its tensors have no elements, not even further out
    eager = False  # whether it runs code unmodified: then Functions need no `setup_context`

    def __enter__(self) -> Any:
        self.depth = len(transform_stack.levels) + 1
        transform_stack.levels += [self]  # no call here: a signal could arrive after it
        return self

    @without_entry_signals
    def __exit__(self, *exception: object) -> None:
        call_despite_signals(self._end)

    def _end(self) -> None:
        self.depth = 0
        if self in transform_stack.levels:
            transform_stack.levels.remove(self)

    def owns(self, value: Any) -> bool:
        """Whether a value is a tracer of this level."""
        return isinstance(value, Tracer) and value.level is self

    def tracer(self, value: Any) -> Any:
        """A fresh tracer of `value`."""
        result = new(self.kind)
        result.level = self
        result.value = value
        return result

    def lower(self, value: Any) -> Any:
        """The value inside a tracer of this level; other values unchanged."""
        return value.value if isinstance(value, Tracer) and value.level is self else value

    def check_running(self) -> None:
        """Raise RuntimeError for a tracer that has outlived its transform."""
        if not self.depth:
            raise RuntimeError(
                f"a tensor of a {self.what} that has ended is used in an operation: it must not"
                " leave the function that was transformed except as its result (a list or an"
                f" attribute written inside keeps it)\n{more('tensor-outlived-transform')}"
            )

    def apply(self, op: Any, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply an operation to inputs, at least one of which is a tracer of this level."""
        raise NotImplementedError

    def apply_list(self, op: Any, inputs: Sequence[Any], params: tuple[Any, ...]) -> Any:
        """Apply an operation to a list of tensors (see `ops.variadic`)."""
        raise NotImplementedError

    def apply_several(self, op: Any, input: Any, params: tuple[Any, ...]) -> tuple[Any, ...]:
        """Apply an operation with several outputs."""
        raise NotImplementedError

    def apply_function(self, function: Any, args: tuple[Any, ...]) -> Any:
        """Apply a user's Function to arguments whose innermost tracers are of this level."""
        raise NotImplementedError

    def detach(self, value: Any) -> Any:
        """A tracer without its place in any graph."""
        return value.value.detach()

    def cut(self, target: Any) -> None:
        """Take a tracer out of any graph, in place."""
        target.value.detach_()

    def beside(self, value: Any, make: Callable[[Shape], Any], lead: Shape) -> Any:
        """See `beside`, for a tracer of this level."""
        return beside(value.value, make, lead)

    def drawn(self, draw: Callable[[Shape], Any], shape: Shape, numbers: Any) -> Any:
        """Random numbers that ``draw(shape)`` gave, for a level that is `composite`."""
        raise NotImplementedError

    def write(self, target: Any, result: Any, put: Callable[[Any, Any], None]) -> None:
        """Write `result` to `target`, at least one of them being a tracer of this level.

        `put(target, result)` does the same one level further out.
        """
        raise NotImplementedError

    def adopt(self, target: Any, result: Any) -> None:
        """Make a tracer wrap the value of another: the same memory, viewed differently."""
        target.__dict__.update(result.__dict__)

    def take(self, target: Tensor, tangent: Any = None) -> tuple[Any, list[Any]]:
        """Turn a tensor of an outer level, and all views of its memory, into tracers.

        What each was, its tracer stands for; whoever holds one finds the tracer. Returns the
        tensor whose memory it is, and its living views.
        """
        root, views = root_and_views(target)
        olds = [self._taken(tensor) for tensor in (root, *views)]
        for old in olds[1:]:
            old._root = olds[0]
        olds[0]._views = [weakref.ref(old) for old in olds[1:]]
        return root, views

    def _taken(self, tensor: Any) -> Any:
        """Turn one tensor into a tracer; return its old value."""
        old = new(type(tensor))
        for slot in ("_array", "_cut", "_edge", "_grad"):
            # On tracers some of them are computed.
            if getattr(type(tensor), slot) is getattr(Tensor, slot) and hasattr(tensor, slot):
                setattr(old, slot, getattr(tensor, slot))
        old.__dict__.update(tensor.__dict__)
        tensor.__dict__.clear()
        tensor.__class__ = self.kind
        tensor.level, tensor.value = self, old
        return old


def root_and_views(tensor: Any) -> tuple[Any, list[Any]]:
    """The tensor that owns a tensor's memory, and the live views of that memory."""
    root = root_of(tensor)
    return root, [v for r in getattr(root, "_views", ()) if (v := r()) is not None]


def beside(value: Any, make: Callable[[Shape], Any], lead: Shape = ()) -> Any:
    """A fresh tensor to go with `value`: `make(lead)`, with `lead` the batch sizes it is in.

    A tensor made for one sample of a batch is itself batched, since it may be written to.
    """
    if isinstance(value, Tracer):
        return value.level.beside(value, make, lead)
    return make(lead)
