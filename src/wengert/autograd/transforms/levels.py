"""The transforms that are running on this thread, outermost first.

A transform (a vmap, a forward mode, a derivative inside of one of them) is a level. Its
tracers stand for values of the levels further out, down to ordinary tensors. An operation on
tracers goes to the innermost level among them, which answers with operations on what its own
tracers stand for: each level knows its own rule and nothing of the others (as in JAX's and
functorch's stacks of interpreters).
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from wengert.core.messages import more
from wengert.core.signals import call_despite_signals, without_entry_signals
from wengert.core.tensor import Tensor, Tracer, new, thread_states

Shape = tuple[int, ...]


class TransformStack(threading.local):
    """The transforms that are running on a thread."""

    recordings = 0  # derivatives; the outermost has no level, it records on Tensors

    def __init__(self) -> None:
        self.levels: list[Level] = []


transform_stack = TransformStack()
thread_states.append(transform_stack)


def transforming() -> bool:
    """Whether what runs is, or was called by, a function that is being transformed."""
    return transform_stack.recordings > 0 or any(
        not level.eager for level in transform_stack.levels
    )


class Level:
    """One running transform."""

    what = "transform"
    kind: type[Tracer]
    depth = 0  # 1 for the outermost; 0 when it has ended
    composite = False  # whether it takes some functions as one call: see `ops.operands.as_one_call`
    eager = False  # whether it follows code as it stands: Functions need no `setup_context` then

    def __enter__(self) -> Any:
        self.depth = len(transform_stack.levels) + 1
        transform_stack.levels += [self]  # no call: a signal would come after it
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
        """A fresh tracer that stands for `value`."""
        result = new(self.kind)
        result.level = self
        result.value = value
        return result

    def lower(self, value: Any) -> Any:
        """What a tracer of this level stands for; other values as they are."""
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
        """An operation on inputs, at least one of which is a tracer of this level."""
        raise NotImplementedError

    def apply_list(self, op: Any, inputs: Sequence[Any], params: tuple[Any, ...]) -> Any:
        """An operation on a list of tensors (see `ops.variadic`)."""
        raise NotImplementedError

    def apply_several(self, op: Any, input: Any, params: tuple[Any, ...]) -> tuple[Any, ...]:
        """An operation with several outputs."""
        raise NotImplementedError

    def apply_function(self, function: Any, args: tuple[Any, ...]) -> Any:
        """A user's Function with a tracer of this level among its arguments, none further in."""
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
        """Put `result` where `target` is; one of them at least is a tracer of this level.

        `put(target, result)` does the same one level further out.
        """
        raise NotImplementedError

    def adopt(self, target: Any, result: Any) -> None:
        """Let a tracer stand for what another stands for: the same memory, seen in another way."""
        target.__dict__.update(result.__dict__)

    def take(self, target: Tensor, tangent: Any = None) -> tuple[Any, list[Any]]:
        """Turn a tensor of a level further out, and all that shows its memory, into tracers.

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
        """Turn one tensor into a tracer; returns what it was."""
        old = new(type(tensor))
        for slot in ("_array", "_cut", "_edge", "_grad"):
            # Tracers compute some of them.
            if getattr(type(tensor), slot) is getattr(Tensor, slot) and hasattr(tensor, slot):
                setattr(old, slot, getattr(tensor, slot))
        old.__dict__.update(tensor.__dict__)
        tensor.__dict__.clear()
        tensor.__class__ = self.kind
        tensor.level, tensor.value = self, old
        return old


def root_and_views(tensor: Any) -> tuple[Any, list[Any]]:
    """The tensor whose memory a tensor shows, and the living views of that memory."""
    root = getattr(tensor, "_root", tensor)
    return root, [v for r in getattr(root, "_views", ()) if (v := r()) is not None]


def beside(value: Any, make: Callable[[Shape], Any], lead: Shape = ()) -> Any:
    """A fresh tensor to go with `value`: `make(lead)`, with `lead` the batches that it is in.

    A tensor made for one sample of a batch is one of a batch: it may be written to.
    """
    if isinstance(value, Tracer):
        return value.level.beside(value, make, lead)
    return make(lead)
