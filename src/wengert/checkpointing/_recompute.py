"""Non-reentrant checkpoints: saved values that are recomputed on demand.

The forward records as usual, but the values its nodes would save go to a `Frame`, which drops
them; nodes store a `Packed` value instead, as with saved-tensor hooks. When a walk requests
the first of these values, the frame reruns the function and collects the values saved by the
nodes of that second graph, in the same order; each is dropped as soon as it is handed out.

References go one way here too: nodes hold the frame, the frame holds the function and its
arguments, and tracks by weak references which values are still needed.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from wengert.autograd import errors, naming
from wengert.autograd.grad_mode import inference_mode
from wengert.autograd.saved.packing import (
    Absent,
    Hooks,
    Packed,
    enter_saver,
    leave_saver,
    observers,
    pack_array,
    tensor_of_saved,
    unpacking_class,
)
from wengert.autograd.saved.programs import EnoughError, Part, programs
from wengert.checkpointing._mismatch import (
    CheckpointError,
    MismatchReport,
    Outline,
    RecordedOp,
    SavedSlot,
    agree,
)
from wengert.checkpointing._states import as_before, autocast_settings, random_state
from wengert.core import storage
from wengert.core.messages import more
from wengert.core.signals import call_despite_signals, contextmanager
from wengert.core.storage import Write
from wengert.core.tensor import (
    Call,
    Leaf,
    Node,
    Site,
    Tensor,
    caller,
    concrete,
    getframe,
    mode,
    new,
    thread_states,
    wrap,
)
from wengert.ops.op import Op
from wengert.ops.publish import recorded
from wengert.ops.variadic import record


def _saved_slots(node: Node) -> list[SavedSlot]:
    """The slots of arrays that cost memory: not those of leaves, nor single numbers."""
    slots: list[SavedSlot] = []
    for slot, owner in node.saved:
        value = getattr(node, slot)
        if type(value) is np.ndarray:
            leaf = owner is not None and owner >= 0 and type(node.edges[owner]) is Leaf
            if not leaf and (value.ndim or value.base is not None):
                slots.append((slot, None))
        elif type(value) is list:
            slots += [(slot, k) for k, item in enumerate(value) if type(item) is np.ndarray]
    return slots


def _get(node: Node, location: SavedSlot) -> Any:
    slot, k = location
    value = getattr(node, slot)
    return value if k is None or value is None else value[k]


def _set(node: Node, location: SavedSlot, value: Any) -> None:
    slot, k = location
    if k is None:
        setattr(node, slot, value)
    else:
        getattr(node, slot)[k] = value


def _step(node: Node, slots: list[SavedSlot]) -> RecordedOp:
    arrays = [_get(node, location) for location in slots]
    outlines = tuple([(a.shape, a.dtype) for a in arrays])
    return RecordedOp(
        type(node), node.code, node.lasti, node.site, node.shape, outlines, tuple(slots)
    )


class RecomputedArray(Absent):
    """Placeholder for an array that a frame can recompute; alive while a node may request it."""

    __slots__ = ("__weakref__", "frame", "index")

    def __init__(self, frame: Frame, index: int) -> None:
        self.frame, self.index = frame, index

    def present(self) -> np.ndarray | None:
        """The array, after recomputation and before a walk uses it."""
        value = self.frame.recomputed.get(self.index)
        return None if isinstance(value, Exception) else value


def _unpack(value: tuple[RecomputedArray, list[Any]]) -> Tensor:
    handle, _ = value
    return wrap(handle.frame.array(handle.index))


def _pack(handle: RecomputedArray, outline: Outline) -> Packed:
    result = new(Packed)
    # The frame's arguments are there for `graph.held_by`, which counts what is packed.
    result.value = handle, handle.frame.arguments.node.s_tensors
    result.unpack, result.same = _unpack, False
    result.shape, result.dtype = outline
    return result


class Inputs(Node):
    """The tensor arguments of a checkpointed function, saved like an operation's inputs."""

    __slots__ = ("inner", "s_tensors")

    public_name = "checkpoint"
    saved = (("s_tensors", None),)
    inner: list[Node | None]
    s_tensors: list[Any]

    @staticmethod
    def packing(node: Inputs, hooks: Hooks) -> None:
        """Pack each tensor; called where hooks surround the checkpoint."""
        node.s_tensors = [
            pack_array(node, array, tensor_of_saved(array, edge), hooks)
            for array, edge in zip(node.s_tensors, node.inner, strict=True)
        ]

    def arrays(self) -> list[np.ndarray]:
        """The tensors' arrays, unpacked if necessary."""
        return [a.restored(self, "s_tensors") if type(a) is Packed else a for a in self.s_tensors]


Inputs.__name__ = Inputs.__qualname__ = "Checkpoint"


_NO_TENSORS: Mapping[int, Tensor] = {}


class Arguments:
    """The arguments of a call, the tensors among them kept as arrays and edges.

    A tensor that is still alive and unchanged is passed itself. Holding it would create a cycle
    if the function's result is written into it. Values of the program that the call is a `part`
    of may have no arrays as yet.
    """

    def __init__(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], part: Part | None = None
    ) -> None:
        self.count, self.names = len(args), list(kwargs)
        self.values: list[Any] = [*args, *kwargs.values()]
        self.at = [i for i, v in enumerate(self.values) if type(v) in concrete]
        arguments = [self.values[i] for i in self.at]
        for i in self.at:
            self.values[i] = None
        self.refs = [weakref.ref(t) for t in arguments]
        self.node: Inputs = record(Inputs, (), (), mode.where)
        late = [False] * len(arguments) if part is None else part.meet(arguments)
        kept = zip(arguments, late, strict=True)
        pairs = [(None, None) if later else (t._edge, t._array) for t, later in kept]
        self.node.inner, self.node.s_tensors = [e for e, _ in pairs], [a for _, a in pairs]
        site: Any = mode.where
        if type(site) is not Site:
            site.recorded(self.node)

    def restore(self, late: Mapping[int, Tensor] = _NO_TENSORS) -> tuple[list[Any], dict[str, Any]]:
        """Restore the arguments. SavedTensorOverwrittenError if one was written to since.

        Those that have no arrays as yet are given.
        """
        values, node = list(self.values), self.node
        saved = zip(self.at, node.arrays(), node.inner, self.refs, strict=True)
        for k, (i, array, edge, ref) in enumerate(saved):
            if k in late:
                values[i] = late[k]
                continue
            if storage.clock.newest > node.seq and array is node.s_tensors[k]:
                self._check(i, array)
            same = ref()
            if same is None or same._array is not array or same._edge is not edge:
                same = wrap(array, edge)
            values[i] = same
        return values[: self.count], dict(zip(self.names, values[self.count :], strict=True))

    def _check(self, i: int, array: np.ndarray) -> None:
        write = storage.write_after(array, self.node.seq)
        if write is not None:
            name = i if i < self.count else self.names[i - self.count]
            raise _overwritten(self.node, f"argument {name}", array, write)


def _overwritten(node: Node, slot: str, array: np.ndarray, write: Write) -> errors.GraphError:
    again = Call("running a checkpointed function again", *caller(getframe(1)))
    return errors.saved_tensor_overwritten(again, node, slot, array, write)


class _Group(threading.local):
    """The `GraphExecGroup` that is entered on a thread, if there is one."""

    current: Any = None


group = _Group()
thread_states.append(group)


class Frame:
    """One call of a checkpointed function: how to rerun it, and which values are needed."""

    def __init__(
        self,
        function: Callable[..., Any],
        arguments: Arguments,
        state: Any,
        context: AbstractContextManager[Any],
        *,
        check: bool,
        early_stop: bool,
        debug: bool,
    ) -> None:
        self.function, self.arguments = function, arguments
        self.state, self.context, self.autocast = state, context, autocast_settings()
        self.check, self.early_stop, self.debug = check, early_stop, debug
        self.site = mode.where
        self.call = Call("checkpoint()", *caller(getframe(1)))
        self.complete = False
        self.steps: list[RecordedOp] = []
        self.handles: list[weakref.ref[RecomputedArray]] = []
        self.recomputed: dict[int, Any] = {}  # from the latest run: arrays, or an error
        self.group: Any = None

    def recorded(self, node: Node) -> Node:
        """Drop what a node of the first run saved."""
        programs.catch_up(self)
        self.record(_step(node, _saved_slots(node)), node)
        return node

    def record(self, step: RecordedOp, node: Node | None) -> None:
        """Note a step of the first run, whose node is to ask for what it saved, if it is alive."""
        self.steps.append(step)
        for location, outline in zip(step.slots, step.saved, strict=True):
            handle = RecomputedArray(self, len(self.handles))
            self.handles.append(weakref.ref(handle))
            if node is None:
                continue
            _set(node, location, _pack(handle, outline))
            if location[1] is None:
                node.__class__ = unpacking_class(type(node))

    def instead(self, op: Op, inputs: Sequence[Any], params: dict[str, Any]) -> None:
        """Operations of the first run are computed."""

    def array(self, index: int) -> np.ndarray:
        """A value that a node saved; handed out once, so that it is freed as the walk proceeds."""
        if index not in self.recomputed:
            self._enter_group()
            self._run_again()
        if isinstance(self.recomputed[index], Exception):
            # In no variable: the traceback would hold this frame, and the frame the error.
            raise self.recomputed.pop(index)
        array: np.ndarray = self.recomputed.pop(index)
        return array

    def _enter_group(self) -> None:
        if group.current is not None and self.group is group.current:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already"
                " unpacked once. Performing two backward calls that overlap (i.e. require the same"
                " saved activation in order to compute gradients) is not allowed while under the"
                f" torch.utils.checkpoint.GraphExecGroup context: {naming.describe_call(self.call)}"
            )
        self.group = group.current

    def _run_again(self) -> None:
        """Rerun the function up to the last value needed, and collect the values."""
        given = self.arguments.restore()
        run = SecondRun(self.needed(), self.early_stop)
        run.expect(self.steps)
        part = programs.again(self, run, [*given[0], *given[1].values()])
        self.call_again(run, *given)
        self.take(run)
        if part is not None:
            part.is_done(run)

    def needed(self) -> list[int]:
        """Which values nodes may still ask for."""
        return [i for i, handle in enumerate(self.handles) if handle() is not None]

    def second_run(self, most: int | None) -> SecondRun:
        """What collects so many values, or all, when the function runs again."""
        return SecondRun([] if most is None else [most - 1], most is not None)

    def call_again(self, run: SecondRun, args: list[Any], kwargs: dict[str, Any]) -> None:
        """Call the function once more, until everything needed is there."""
        try:
            with self._surroundings(run), programs.inside(run):
                self.function(*args, **kwargs)
        except EnoughError as enough:
            if enough.run is not run:
                raise

    def take(self, run: SecondRun) -> None:
        """Have the values of a second run ready. CheckpointError if it went another way."""
        if self.complete or run.most is not None:  # or a backward inside of the function asks
            self._compare(run.first(self.steps), run.steps)
        self.recomputed = {i: run.saved_array(i) for i in run.needed if i < len(run.saved)}
        for observe in observers:
            observe(None)

    @contextmanager
    def _surroundings(self, run: SecondRun) -> Iterator[None]:
        """The modes, site and random state of the first run, and its recompute context."""
        before = mode.site, mode.where
        mode.where = self.site
        try:
            with (
                inference_mode(False), as_before(self.autocast), _saver(run),
                random_state(self.state), self.context,
            ):  # fmt: skip
                yield
        finally:
            mode.site, mode.where = before

    def _compare(self, first: Sequence[RecordedOp], second: Sequence[RecordedOp]) -> None:
        """Raise CheckpointError unless the second run brought what the first one saved."""
        if not agree(first, second, self.check):
            name = getattr(self.function, "__qualname__", type(self.function).__name__)
            raise MismatchReport(
                name, naming.describe_call(self.call), first, second, self.debug
            ).error()


def _steps_until(steps: list[RecordedOp], count: int) -> int:
    """The number of steps up to the one that saved the last of `count` values."""
    for k, step in enumerate(steps):
        count -= len(step.saved)
        if count <= 0 and step.saved:
            return k + 1
    return len(steps)


def uncomputed_node(
    op: Op,
    inputs: Sequence[Any],
    params: dict[str, Any],
    out: Tensor | None,
    aux: Mapping[str, Any],
    shape: tuple[int, ...],
) -> Node:
    """The node of an operation that is not computed: its result is known, or not needed."""
    edges = {
        i: x._edge for i, x in zip(op.inputs, inputs, strict=True)
        if type(x) in concrete and op.rules[i] is not None and x._edge is not None
    }  # fmt: skip
    read = {name for i in edges for name in op.wants[i]}
    saves = []
    for name in op.keeps:
        value: Any = None
        if name in read:
            value = aux[name] if name in aux else op.read(name, inputs, params, out)
        saves.append(value._array if type(value) in concrete else value)
    return recorded(op, mode.where, [edges.get(i) for i in op.differentiable], saves, shape)


class SecondRun:
    """Collects what nodes save while a function runs again.

    Attributes:
        needed: the values that are asked for; `most` is how many there are up to the last one,
            None if the function is to run to its end.
    """

    def __init__(self, needed: Sequence[int], early_stop: bool) -> None:
        self.needed = needed
        self.most = needed[-1] + 1 if early_stop else None
        self.last: RecordedOp | None = None  # what saved the last of them, the first time
        self.before = 0  # how many operations come before that one
        self.steps: list[RecordedOp] = []
        self.saved: list[tuple[Any, SavedSlot]] = []

    def first(self, steps: list[RecordedOp]) -> list[RecordedOp]:
        """Those of the first run's steps that are to come again."""
        return steps[: None if self.most is None else _steps_until(steps, self.most)]

    def expect(self, steps: list[RecordedOp]) -> None:
        """Note when to end, from the steps of the first run."""
        if self.most is not None:
            first = self.first(steps)
            self.last, self.before = first[-1], len(first) - 1

    def instead(self, op: Op, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
        """End here if only an operation's inputs are needed; None: compute it."""
        programs.catch_up(self)
        last = self.last
        if last is None or len(self.steps) != self.before or op.node is not last.kind:
            return None
        tensors_only = all(x is None or type(x) in concrete for x in inputs)
        if tensors_only and not {"out", *op.aux}.intersection(op.keeps):
            self.recorded(uncomputed_node(op, inputs, params, None, {}, last.shape))
        return None

    def recorded(self, node: Node) -> Node:
        """Note what a node saved. EnoughError when that is all."""
        programs.catch_up(self)
        if self.most is None or len(self.saved) < self.most:
            slots = _saved_slots(node)
            self.steps.append(_step(node, slots))
            self.saved += [(node, location) for location in slots]
        if self.most is not None and len(self.saved) >= self.most:
            raise EnoughError(self)
        return node

    def saved_array(self, index: int) -> Any:
        """A saved array; an error where the function released or overwrote it."""
        node, location = self.saved[index]
        array = _get(node, location)
        if array is None:
            return CheckpointError(
                "torch.utils.checkpoint: a backward inside of the checkpointed function released"
                f" what {naming.describe_node(node)} saved, and the first time it did not\n"
                + more("checkpoint-backward-inside")
            )
        write = storage.write_after(array, node.seq) if storage.clock.newest > node.seq else None
        if write is not None:
            return _overwritten(node, location[0], array, write)
        return array


@contextmanager
def _saver(saver: Frame | SecondRun) -> Iterator[None]:
    enter_saver(saver)
    try:
        yield
    finally:
        call_despite_signals(leave_saver, saver)


def first_run(
    frame: Frame,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    context: AbstractContextManager[Any],
    part: Part | None,
) -> Any:
    """Call a checkpointed function, whose saved values go to the frame."""
    with _saver(frame), context, nullcontext() if part is None else part.first(frame):
        result = frame.function(*args, **kwargs)
        frame.complete = True
    if not frame.complete:
        raise RuntimeError(
            "torch.utils.checkpoint: the forward context provided by context_fn suppressed an"
            " exception raised during the checkpointed forward. This is not supported because"
            " checkpoint cannot return a value for a failed forward."
        )
    return result
