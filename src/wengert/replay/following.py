"""`Run.quickly` as native code: a call of a compiled function compares itself with the record.

It does what that method does, step by step, on the objects' memory: where it takes more than a
look, such as at memory that NumPy shares, it calls the run's methods, and where a call is another
than recorded, it returns None as that method does. It takes the method's place once the compiler is
in use anyway; where Python's objects are not as expected, the method stays.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from sys import intern

from wengert.autograd.engine import anomaly
from wengert.core.dispatching import dispatched
from wengert.core.forks import once
from wengert.core.tensor import Site, Tensor, getframe, inferences, new, tick
from wengert.kernels.jit import compiler
from wengert.kernels.jit.builtins import array_at, at, i64, i64s, inline, local
from wengert.kernels.jit.language import Unit
from wengert.kernels.jit.objects import (
    BYTES,
    FIRST,
    SECOND,
    TYPE,
    appended,
    attribute,
    called,
    called_with,
    code_of,
    entry_of,
    forget_error,
    hold,
    int_of,
    knows_objects,
    let_go,
    listed,
    method_called,
    new_reference,
    new_tuple,
    number_of,
    offset_of,
    put,
    truth,
    word,
)
from wengert.kernels.jit.records import Record
from wengert.kernels.jit.words import slot_of
from wengert.replay.deferred import Deferred
from wengert.replay.looks import Look
from wengert.replay.run import Run
from wengert.replay.trace import OpEntry

# The numbers of a `Look`, after which its pairs begin.
_PAIRS = len(Look.FIELDS) - 1


class Known(Record):
    """The addresses of objects, and how far slots are from those that have them."""

    none: i64
    true: i64
    tuple_type: i64
    float_type: i64
    site_type: i64
    entry_type: i64
    deferred_type: i64
    inferences: i64
    dispatched: i64
    anomaly: i64
    getframe: i64
    new: i64
    tick: i64
    # Names.
    enabled: i64
    site: i64
    where: i64
    off: i64
    watch: i64
    are_as: i64
    is_current: i64
    if_settled: i64
    # Slots of an entry.
    hot: i64
    quick: i64
    look: i64
    others: i64
    # Slots of a run.
    entry: i64
    follows: i64
    state: i64
    steps: i64
    outputs: i64
    numbers: i64
    tensors: i64
    originals: i64
    arrays: i64
    edges: i64
    updates: i64
    # Slots of a tensor.
    tensor_array: i64
    tensor_edge: i64


@inline
def _is_in_state(known: Known, look: Look, run: i64, site: i64) -> i64:
    """Whether the state of the thread is as recorded, and nobody sees its operations."""
    if look.grad == (site == known.none):
        return 0
    if truth(known.inferences) != 0 or truth(known.dispatched) != 0:
        return 0
    seen = attribute(known.anomaly, known.enabled)
    if seen == 0:
        forget_error()
        return 0
    let_go(seen)  # one of two that live for good
    if seen == known.true:
        return 0
    inner = site
    if site == known.none:
        inner = entry_of(word(run + known.state), known.where)
    if word(inner + TYPE) != known.site_type:
        return 0
    if look.shares == 1 and word(word(run + known.updates) + FIRST) != 0:
        return 0
    return 1


@inline
def _are_values(known: Known, look: Look, pairs: i64s, run: i64, args: i64) -> i64:
    """Whether the arguments that were values of the run are those again."""
    for n in range(look.values):
        x = word(args + SECOND + 8 * pairs[2 * n])
        if word(x + TYPE) != known.deferred_type:
            return 0
        pending = word(x + known.tensor_array)
        if word(pending + TYPE) != known.tuple_type:
            return 0
        if word(pending + SECOND) != run:
            return 0
        if number_of(word(pending + SECOND + 8)) != pairs[2 * n + 1]:
            return 0
    return 1


@inline
def _frame_is(known: Known, depth: i64, code: i64, lasti: i64, end: i64) -> i64:
    """Whether a frame is of some code, at one of two offsets or, if these are negative, at any."""
    number = int_of(depth)
    frame = called_with(known.getframe, number)
    let_go(number)
    if frame == 0:  # there are fewer
        forget_error()
        return 0
    own = code_of(frame)
    now = offset_of(frame)
    let_go(own)
    let_go(frame)
    if own != code:
        return 0
    if lasti >= 0 and now != lasti and now != end:
        return 0
    return 1


@inline
def _is_current(known: Known, run: i64, slot: i64) -> i64:
    """Whether memory that was copied is as it was: what `Operands._is_current` says."""
    number = int_of(slot)
    given = local(i64, 2)
    given[0] = run
    given[1] = number
    answer = method_called(known.is_current, given, 2)
    let_go(number)
    if answer == 0:
        forget_error()
        return 0
    let_go(answer)
    return 1 if answer == known.true else 0


@inline
def _are_inputs(known: Known, pairs: i64s, count: i64, run: i64, args: i64) -> i64:
    """Whether the arguments that were inputs of the run are those again, and unchanged."""
    for n in range(count):
        x = word(args + SECOND + 8 * pairs[2 * n])
        slot = pairs[2 * n + 1]
        reference = listed(word(run + known.tensors), slot)
        if reference == 0 or x == known.none:  # None is what a reference to nothing gives
            return 0
        if word(reference + FIRST) != x or word(x + TYPE) == known.deferred_type:
            return 0
        original = listed(word(run + known.originals), slot)
        if original == 0 or word(x + known.tensor_array) != original:
            return 0
        if listed(word(run + known.edges), slot) != word(x + known.tensor_edge):
            return 0
        current = 1
        if listed(word(run + known.arrays), slot) != original:
            current = _is_current(known, run, slot)
        if current == 0:
            return 0
    return 1


@inline
def _are_others(known: Known, look: Look, pairs: i64s, child: i64, run: i64, args: i64) -> i64:
    """Whether the other arguments are as recorded; new inputs are taken in."""
    same = look.lasting
    for n in range(look.others):
        if word(args + SECOND + 8 * pairs[2 * n]) != pairs[2 * n + 1]:
            same = 0
    if same == 1:
        return 1
    given = local(i64, 3)
    given[0] = run
    given[1] = word(child + known.others)
    given[2] = args
    answer = method_called(known.are_as, given, 3)
    if answer == 0:
        return -1
    let_go(answer)
    return 1 if answer == known.true else 0


@inline
def _result(known: Known, look: Look, run: i64, args: i64, index: i64) -> i64:
    """The deferred tensor of the next place: one of an entry's results."""
    result = called_with(known.new, known.deferred_type)
    if result == 0:
        return 0
    outputs = word(run + known.outputs)
    pending = new_tuple(4)
    place = int_of(word(outputs + FIRST))
    put(pending, 0, run)
    put(pending, 1, place)
    let_go(place)
    put(pending, 2, word(look.outlines + SECOND + 8 * index))
    source = known.none
    if look.shows == 1:
        source = word(args + SECOND)
    put(pending, 3, source)
    array_at(i64, result + known.tensor_array)[0] = pending
    reference = new_reference(result)
    failed = appended(outputs, reference)
    let_go(reference)
    if failed != 0:
        return 0
    return result


@inline
def _stepped(known: Known, run: i64, site: i64) -> i64:
    """Append to a run's steps the state of the thread and the time; 0 for an error."""
    time = called(known.tick)
    if time == 0:
        return 0
    step = new_tuple(3)
    if step == 0:
        return 0
    put(step, 0, site)
    off = known.none
    if site == known.none:
        off = entry_of(word(run + known.state), known.off)
    put(step, 1, off)
    put(step, 2, time)
    let_go(time)
    failed = appended(word(run + known.steps), step)
    let_go(step)
    if failed != 0:
        return 0
    return 1


@inline
def _deferred(known: Known, look: Look, run: i64, args: i64, site: i64) -> i64:
    """The deferred result of an entry, or a tuple of several: what `Run._results` gives."""
    if word(word(run + known.steps) + FIRST) == 0:
        given = local(i64, 1)
        given[0] = run
        done = method_called(known.watch, given, 1)
        if done == 0:
            return 0
        let_go(done)
    if _stepped(known, run, site) == 0:
        return 0
    if look.single == 1:
        return _result(known, look, run, args, 0)
    time = called(known.tick)  # for the nodes of its results
    if time == 0:
        return 0
    let_go(time)
    results = new_tuple(look.results)
    for k in range(look.results):
        one = _result(known, look, run, args, k)
        if one == 0:
            let_go(results)
            return 0
        array_at(i64, results + SECOND)[k] = one
    return results


@inline
def _others_first(known: Known, look: Look, pairs: i64s, child: i64, run: i64, args: i64) -> i64:
    """Take in what else an entry's arguments bring: 1, 0 if they are not as recorded, or -1."""
    first = look.values + look.again
    if look.lasting == 0 or look.others != 0:
        right = _are_others(known, look, at(pairs, 2 * first), child, run, args)
        if right != 1:
            return right
    numbers = at(pairs, 2 * (first + look.others))
    for n in range(look.floats):
        if appended(word(run + known.numbers), word(args + SECOND + 8 * numbers[2 * n])) != 0:
            return -1
    return 1


@inline
def _is_as_recorded(known: Known, look: Look, pairs: i64s, run: i64, args: i64) -> i64:
    """Whether a call is on the recorded line, of the recorded values, inputs and floats."""
    if _are_values(known, look, pairs, run, args) == 0:
        return 0
    if _frame_is(known, look.depth, look.code, look.lasti, look.end) == 0:
        return 0
    if look.inner != 0 and _frame_is(known, 1, look.inner, -1, -1) == 0:
        return 0
    if _are_inputs(known, at(pairs, 2 * look.values), look.again, run, args) == 0:
        return 0
    floats = at(pairs, 2 * (look.values + look.again + look.others))
    for n in range(look.floats):
        if word(word(args + SECOND + 8 * floats[2 * n]) + TYPE) != known.float_type:
            return 0
    return 1


@inline
def _if_settled(known: Known, run: i64, result: i64) -> i64:
    """What `Run._if_settled` gives; None counts no reference."""
    given = local(i64, 2)
    given[0] = run
    given[1] = result
    settled = method_called(known.if_settled, given, 2)
    let_go(result)
    if settled == known.none:
        let_go(settled)
    return settled


@inline
def follow(known: Known, run: i64, op: i64, args: i64) -> i64:
    """What `Run.quickly` gives; 0 for an error. None counts no reference: it is not to be kept."""
    child = word(word(run + known.entry) + known.hot)
    if word(child + TYPE) != known.entry_type:
        return known.none
    if word(child + known.quick) != op or word(run + known.follows) != known.true:
        return known.none
    packed = word(child + known.look)
    look = array_at(Look, packed + BYTES)
    pairs = array_at(i64, packed + BYTES + 8 * _PAIRS)
    if word(args + TYPE) != known.tuple_type or word(args + FIRST) != look.count:
        return known.none
    site = entry_of(word(run + known.state), known.site)
    if _is_in_state(known, look, run, site) == 0:
        return known.none
    if _is_as_recorded(known, look, pairs, run, args) == 0:
        return known.none
    hold(child)  # whatever is called
    right = _others_first(known, look, pairs, child, run, args)
    result = known.none
    if right == -1:
        result = 0
    if right == 1:
        result = _deferred(known, look, run, args, site)
        if result != 0:
            before = word(run + known.entry)
            hold(child)
            array_at(i64, run + known.entry)[0] = child
            let_go(before)
    let_go(child)
    if right == 1 and result != 0 and word(run + known.follows) != known.true:
        result = _if_settled(known, run, result)
    return result


_ENTRY = """
@wengert_known = external global i64
@_Py_NoneStruct = external global i8

define ptr @follow_call(ptr %self, ptr %arguments, i64 %given) {
entry:
  %enough = icmp sge i64 %given, 2
  br i1 %enough, label %go, label %none
go:
  %args_at = getelementptr i64, ptr %arguments, i64 1
  %op = load i64, ptr %arguments
  %args = load i64, ptr %args_at
  %run = ptrtoint ptr %self to i64
  %found = call i64 @follow(ptr @wengert_known, i64 %run, i64 %op, i64 %args)
  %result = inttoptr i64 %found to ptr
  %is_none = icmp eq ptr %result, @_Py_NoneStruct
  br i1 %is_none, label %none, label %done
none:
  call void @Py_IncRef(i64 ptrtoint (ptr @_Py_NoneStruct to i64))
  ret ptr @_Py_NoneStruct
done:
  ret ptr %result
}
"""


def _text() -> str:
    unit = Unit("f32")
    unit.add(follow, inline=True)
    return unit.text() + _ENTRY


def _known() -> Known | None:
    """What the native code is told; None if some slot is not found."""
    objects = {
        "none": None, "true": True, "tuple_type": tuple, "float_type": float, "site_type": Site,
        "entry_type": OpEntry, "deferred_type": Deferred, "inferences": inferences,
        "dispatched": dispatched, "anomaly": anomaly, "getframe": getframe, "new": new,
        "tick": tick,
    }  # fmt: skip
    names = {
        "enabled": "enabled", "site": "site", "where": "where", "off": "off", "watch": "_watch",
        "are_as": "_are_as", "is_current": "_is_current", "if_settled": "_if_settled",
    }  # fmt: skip
    slots: dict[str, int] = {}
    for cls, of in (
        (OpEntry, ("hot", "quick", "look", "others")),
        (Run, ("entry", "follows", "state", "steps", "outputs", "numbers", "tensors", "originals",
               "arrays", "edges", "updates")),
    ):  # fmt: skip
        slots |= {name: slot_of(cls, name) for name in of}
    slots |= {f"tensor{name}": slot_of(Tensor, name) for name in ("_array", "_edge")}
    if not all(slots.values()):
        return None
    addresses = {key: id(x) for key, x in objects.items()}
    return Known(**addresses, **{key: id(intern(x)) for key, x in names.items()}, **slots)


@once
def install() -> bool:
    """Let `Run.quickly` be native, if this Python's objects are as expected; whether it is."""
    known = _known() if knows_objects() else None
    if known is None:
        return False
    digest = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:16]
    compiler.define("wengert_known", known.ctypes.data)
    _kept.append(known)
    address = compiler.add(f"follow_{digest}", _text)
    Run.quickly = compiler.method(Run, "quickly", address("follow_call"))  # type: ignore[method-assign]
    return True


# The method that native code takes the place of.
in_python = Run.quickly

# What native code reads for as long as the process lives.
_kept: list[Known] = []
