"""Checkpoints of a run: what they save waits for their functions to run again.

While a run follows its record, a `Frame` has no nodes: the run holds it. Its function runs again
right before the backward that needs this is deferred, and what it calls then is compared with the
record like all else. Where the run ends, or leaves the record, frames and nodes become what they
would be in eager mode.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wengert.autograd.saved.packing import SaverSite
from wengert.autograd.saved.programs import EnoughError
from wengert.core.signals import contextmanager
from wengert.core.tensor import Tensor, caller, getframe, mode, new, tick
from wengert.replay.deferred import Deferred, Outline
from wengert.replay.operands import UnseenError
from wengert.replay.recomputing import Called, Checkpoints
from wengert.replay.state import InsideSite, active
from wengert.replay.trace import CheckpointEntry, OpEntry, nobody

if TYPE_CHECKING:
    from wengert.replay.plans import Plan
    from wengert.replay.run import Run
    from wengert.replay.walks import Asked

Key = tuple[Any, ...]


class Checkpoint:
    """One checkpoint of a run.

    Attributes:
        frame: a reference to its frame, which nodes hold where there are some, else this.
        given: the places of the values of the run among the tensors that are its arguments, by
            their number, and `outlines` what they are like.
        known: whether its beginning is on record.
    """

    def __init__(self, run: Run) -> None:
        self._run, self.number = weakref.ref(run), len(run.checkpoints)
        self.frame: Any = None
        self.given: dict[int, int] = {}
        self.outlines: dict[int, Outline] = {}
        self.line: Any = None
        self.known = False

    # The first time

    def meet(self, tensors: Sequence[Any]) -> list[bool]:
        """Note the tensors among the arguments; which of them have no memory as yet."""
        run = self._run()
        assert run is not None  # the thread has it
        keys, fresh = list[Any](), list[Any]()
        for k, x in enumerate(tensors):
            place = run.place_of(x)
            if place is None and type(x) is Deferred:
                return [False] * len(tensors)  # a leaf, whose memory is asked for
            if place is not None and place not in run.updates:
                self.given[k], self.outlines[k] = place, x._outline
            try:
                keys.append(run._operand(x, fresh))
            except UnseenError:
                keys.append(None)
        if run.settled:
            return [False] * len(tensors)
        self.line = caller(getframe(1))
        key = "begins", self.number, ((*self.given.items(),), (*keys,))
        self.known = mark(run, key, self.line)
        if self.known:
            with run.lock:
                run._bind(fresh, ())
        return [k in self.given and type(x) is Deferred for k, x in enumerate(tensors)]

    @contextmanager
    def first(self, frame: Any) -> Iterator[None]:
        """Around the call of the function."""
        run = self._run()
        if run is None or not self.known:
            yield
            return
        held = run.settled or run.recording
        self.frame = weakref.ref(frame) if held else _holding(frame)
        run.checkpoints.append(self)
        run.saver, whole = frame, False
        _go_inside()
        try:
            yield
            whole = True
        finally:
            self._return(run, frame, whole)

    def _return(self, run: Run, frame: Any, whole: bool) -> None:
        """The function has returned."""
        if not run.settled and not run.recording:
            key = "returns", self.number, True
            if not whole or key not in run.entry.children:
                run._leave_record()
        if not run.settled:
            whole = whole and (not run.recording or self._is_whole(run, frame))
            mark(run, ("returns", self.number, whole), self.line)
        run.saver = None

    def _is_whole(self, run: Run, frame: Any) -> bool:
        """Whether all that the function has saved is on record."""
        called = Checkpoints(run.entry.path()).first[self.number]
        return sum(e.saves is not None for e in called.entries) == len(frame.steps)

    # And again

    def run_again(self, run: Run, most: int | None) -> None:
        """Let the function run again, whose calls are as they were when it last did."""
        frame = self.frame()
        again = frame.second_run(most)
        args = frame.arguments.restore({k: self._revived(run, k) for k in self.given})
        run.again.append((self, again))
        run.running = again
        if not mark(run, ("again", self.number, most), self.line):
            run.running = None
        frame.call_again(again, *args)
        if run.running is again:
            self._finish(run)
            run.running = None
        if run.settled or run.recording:
            frame.take(again)

    def _finish(self, run: Run) -> None:
        if run.settled:
            return
        if not run.recording and ("done", self.number, True) not in run.entry.children:
            run._leave_record()
        mark(run, ("done", self.number, not run.recording), self.line)

    def _revived(self, run: Run, k: int) -> Tensor:
        """An argument that is a value of the run, as it was."""
        frame, place = self.frame(), self.given[k]
        tensor: Any = frame.arguments.refs[k]()
        pending = tensor._pending if type(tensor) is Deferred else None
        if type(pending) is tuple and pending[0] is run and pending[1] == place:
            return tensor
        tensor = new(Deferred)
        tensor._pending = run, place, self.outlines[k], None
        run.outputs[place] = weakref.ref(tensor)
        if place < run.spare:
            run.held.append(place)
        return tensor

    def begin_again(self, run: Run, frame: Any, again: Any, values: Sequence[Any]) -> None:
        """Note that the function runs again."""
        for k, place in self.given.items():
            tensor = values[frame.arguments.at[k]]
            run.outputs[place] = weakref.ref(tensor)
            run.recorded[id(tensor)] = run.outputs[place], place
        if mark(run, ("again", self.number, again.most), self.line):
            run.running = again
        else:
            run.expected = None

    def is_done(self, again: Any) -> None:
        """Note that the function has run again, and has brought what it saved before."""
        run = self._run()
        if run is None or run.settled or run.running is not again:
            return
        run.running = None
        calls = Checkpoints(run.entry.path())
        whole = _is_like(calls.first[self.number], calls.again[-1], again)
        mark(run, ("done", self.number, whole), self.line)
        if not whole:
            run.expected = None


def _go_inside() -> None:
    """Let operations be those of a run: its checkpoint is all that sees them."""
    outer: Any = mode.where
    site = InsideSite(outer.parent, plain=outer.plain)
    site.module = outer.module
    mode.where = site
    if mode.site is not None:
        mode.site = site


def _is_like(first: Called, second: Called, again: Any) -> bool:
    """Whether the operations of a second call save what those of the first one did."""
    if sum(e.saves is not None for e in second.entries) != len(again.steps):
        return False
    one, other = first.saving(again.most), second.saving()
    return len(one) == len(other) and all(
        a.op is b.op and a.saves.slots == b.saves.slots and a.saves.saved == b.saves.saved
        for a, b in zip(one, other, strict=True)
    )


def _holding(frame: Any) -> Any:
    return lambda: frame


def mark(run: Run, key: Key, line: Any) -> bool:
    """Let a run go on to where a function begins or ends; False if that cannot be on record."""
    child = None if run.recording else run.entry.children.get(key)
    if child is None:
        run._leave_record()
        if not run.has_room():
            return False
        run.grow(CheckpointEntry(run.entry, line, key), key)
        return True
    with run.lock:
        if run.settled:
            return False
        if not run.steps:
            run._watch()
        run.entry.hot = child
        run.entry = child
        run.steps.append((mode.site, None, tick()))
    return True


def recompute(run: Any, asked: Asked) -> bool:
    """Let functions run again that a walk needs; False if it is to be done at once."""
    run.expected = []
    if not run.checkpoints:
        return True
    needed = _needed(run, asked)
    if needed is None:
        return False
    if run.recording:
        run.expected = needed
        return True
    for number, most in needed:
        run.checkpoints[number].run_again(run, most)
        if run.settled or run.recording:
            return False
    return True


def has_recomputed(run: Any) -> bool:
    """Whether a walk, which was computed, has let run again what it was expected to."""
    return bool(run.expected == [])


def _needed(run: Run, asked: Asked) -> list[tuple[int, int | None]] | None:
    """Which functions a walk lets run again, and how many values they are to bring."""
    alive = tuple([k for k, t in run._living() if t.requires_grad])
    known, key = run.record.recomputed, (run.entry, asked.roots, asked.targets, alive)
    if key not in known:
        if len(known) >= _MOST:
            known.clear()
        path = run.entry.path()
        walked = {*asked.reach.places}
        if asked.passed is not None:
            walked &= {ref.index for ref in asked.passed if ref.kind == "value"}
        known[key] = Checkpoints(path).needed(path, walked, alive)
    found: list[tuple[int, int | None]] | None = known[key]
    if found is None:
        return None
    early = [run.checkpoints[number].frame().early_stop for number, _ in found]
    return [(n, most if stops else None) for (n, most), stops in zip(found, early, strict=True)]


# So many walks of a record are known.
_MOST = 256


def caught_up(
    run: Run, plan: Plan, results: Sequence[Any], instead: Mapping[int, Any],
    nodes: Mapping[int, Any],
) -> None:  # fmt: skip
    """Let frames and functions that run again be what they would be by now in eager mode."""
    for number, k, place, at in plan.arguments:
        node = run.checkpoints[number].frame().arguments.node
        node.s_tensors[k] = instead.get(id(results[at]), results[at])
        node.inner[k] = nodes.get(place)
    for checkpoint in run.checkpoints:
        frame = checkpoint.frame()
        if frame is not None and checkpoint.number in plan.recomputed:
            _record_first(run, plan, checkpoint.number, nodes)
        checkpoint.frame = nobody if frame is None else weakref.ref(frame)
    for k, (checkpoint, again) in enumerate(run.again):
        frame = checkpoint.frame()
        again.needed = frame.needed()
        again.expect(frame.steps)
        for entry, saved in plan.brought[k] if k < len(plan.brought) else ():
            again.steps.append(_step(run, plan, entry))
            found = [saved[slot] for slot, _ in entry.saves.slots]
            values = [constant if at is None else results[at] for at, constant in found]
            time = run.steps[plan.step_of[entry.first]][2]
            kept = [_Kept(instead.get(id(value), value), time) for value in values]
            again.saved += [(one, ("array", None)) for one in kept]
        if again is not run.running:
            frame.take(again)
    run.again = []


def _record_first(run: Run, plan: Plan, number: int, nodes: Mapping[int, Any]) -> None:
    """Let a frame have recorded what its function has called."""
    frame = run.checkpoints[number].frame()
    for entry in plan.lowering.again.calls.first[number].entries:
        if entry.saves is not None:
            released = entry.first in plan.lowering.released
            frame.record(_step(run, plan, entry), None if released else nodes.get(entry.first))


class _Kept:
    """What a node would have saved that nobody has."""

    __slots__ = ("array", "seq")

    def __init__(self, array: Any, seq: int) -> None:
        self.array, self.seq = array, seq


def _step(run: Run, plan: Plan, entry: OpEntry) -> Any:
    site = run.steps[plan.step_of[entry.first]][0]
    return entry.saves._replace(site=plain_site(site))


def plain_site(site: Any) -> Any:
    """The site that nodes hold."""
    return site.plain if isinstance(site, SaverSite) else site


def computed(
    run: Run, impl: Any, args: Any, kwargs: Any, known: tuple[Any, ...]
) -> tuple[Any, Sequence[Any] | None]:
    """What a call gives, and what its node has saved in a checkpoint.

    That is None if a record cannot hold it. What is `known` of the call is noted if it ends the
    function of a checkpoint, which has run again.
    """
    saver = run.saver
    before = 0 if saver is None else len(saver.steps)
    active.set_busy(True)
    try:
        result = impl(*args, **kwargs)
    except EnoughError as error:
        if error.run is saver:
            _end(run, *known)
        raise
    finally:
        active.set_busy(False)
    saves = () if saver is None else saver.steps[before:]
    return result, saves if _is_describable(saves) else None


def _is_describable(steps: Sequence[Any]) -> bool:
    """Whether the record can hold what an operation has saved in a checkpoint.

    Nobody is told of those on lists and of those with several outputs, which save nothing.
    """
    return len(steps) <= 1 and all(k is None for step in steps for _, k in step.slots)


def _end(
    run: Run, signature: Any, key: Key, where: Any, every: Sequence[Any],
    operands: tuple[list[Any], list[float]],
) -> None:  # fmt: skip
    """Note the operation whose node has saved the last value that was needed."""
    calls = Checkpoints(run.entry.path())
    called = calls.again[-1]
    first, known = calls.first[called.number].saving(), len(called.saving())
    like = first[known] if known < len(first) else None
    step = run.saver.steps[-1]
    if like is None or like.op is not key[0] or not _is_describable([step]) or signature.buffers:
        return
    run.enter(signature, key, where, every, (like.single, True, [*like.outlines]))
    entry: Any = run.entry
    entry.saves, entry.ends, entry.quick = step, True, None
    run._bind(*operands)
    run.outputs += [nobody] * len(like.outlines)


@contextmanager
def inside(run: Run, again: Any) -> Iterator[None]:
    """Around a function that runs again, whose operations are those of a run.

    They are as if the compiled function had not returned.
    """
    busy, run.saver = active.set_busy(False), again
    level, left, before = active.inside, run.left, active.run
    active.inside, run.left = level or 1, False
    active.set_run(run)
    _go_inside()
    try:
        yield
    except BaseException as error:
        if not (isinstance(error, EnoughError) and error.run is again) and not run.settled:
            run._leave_record()
            called = Checkpoints(run.entry.path()).again[-1]
            line = called.begin.code, called.begin.lasti
            mark(run, ("done", called.number, False), line)
            run.expected, run.running = None, None
        raise
    finally:
        run.saver = None
        active.inside, run.left = level, left
        if not level:
            active.set_run(run if run.recording else before)
        active.set_busy(busy)
