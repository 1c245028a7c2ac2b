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

import numpy as np

from wengert.autograd.engine import anomaly
from wengert.core.dispatching import dispatched
from wengert.core.forks import once
from wengert.core.tensor import Leaf, Site, Tensor, getframe, inferences, new, tick
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
from wengert.kernels.jit.words import slot_of
from wengert.replay.deferred import Deferred
from wengert.replay.looks import Facts, Look
from wengert.replay.meeting import is_new, meet
from wengert.replay.run import Run
from wengert.replay.state import InsideSite
from wengert.replay.trace import Memo, OpEntry

# The numbers of a `Look`, after which its pairs begin.
_PAIRS = len(Look.FIELDS) - 1


@inline
def _is_in_state(facts: Facts, look: Look, run: i64, site: i64) -> i64:
    """Whether the state of the thread is as recorded, and nobody sees its operations."""
    if look.grad == (site == facts.none):
        return 0
    if look.values == 0 and word(run + facts.left) == facts.true:
        return 0
    if truth(facts.inferences) != 0 or truth(facts.dispatched) != 0:
        return 0
    seen = attribute(facts.anomaly, facts.enabled)
    if seen == 0:
        forget_error()
        return 0
    let_go(seen)  # one of two that live for good
    if seen == facts.true:
        return 0
    inner = site
    if site == facts.none:
        inner = entry_of(word(run + facts.state), facts.where)
    kind = word(inner + TYPE)
    if kind == facts.inside_type and word(run + facts.saver) != facts.none:
        kind = facts.site_type  # in a checkpoint that the run knows of
    if kind != facts.site_type:
        return 0
    if look.shares == 1 and word(word(run + facts.updates) + FIRST) != 0:
        return 0
    return 1


@inline
def _are_values(facts: Facts, look: Look, pairs: i64s, run: i64, args: i64) -> i64:
    """Whether the arguments that were values of the run are those again."""
    for n in range(look.values):
        x = word(args + SECOND + 8 * pairs[2 * n])
        if word(x + TYPE) != facts.deferred_type:
            return 0
        pending = word(x + facts.tensor_array)
        if word(pending + TYPE) != facts.tuple_type:
            return 0
        if word(pending + SECOND) != run:
            return 0
        if number_of(word(pending + SECOND + 8)) != pairs[2 * n + 1]:
            return 0
    return 1


@inline
def _frame_is(facts: Facts, depth: i64, code: i64, lasti: i64, end: i64) -> i64:
    """Whether a frame is of some code, at one of two offsets or, if these are negative, at any."""
    number = int_of(depth)
    frame = called_with(facts.getframe, number)
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
def _is_current(facts: Facts, run: i64, slot: i64) -> i64:
    """Whether memory that was copied is as it was: what `Operands._is_current` says."""
    number = int_of(slot)
    given = local(i64, 2)
    given[0] = run
    given[1] = number
    answer = method_called(facts.is_current, given, 2)
    let_go(number)
    if answer == 0:
        forget_error()
        return 0
    let_go(answer)
    return 1 if answer == facts.true else 0


@inline
def _are_inputs(facts: Facts, pairs: i64s, count: i64, run: i64, args: i64) -> i64:
    """Whether the arguments that were inputs of the run are those again, and unchanged."""
    for n in range(count):
        x = word(args + SECOND + 8 * pairs[2 * n])
        slot = pairs[2 * n + 1]
        reference = listed(word(run + facts.tensors), slot)
        if reference == 0 or x == facts.none:  # None is what a reference to nothing gives
            return 0
        if word(reference + FIRST) != x or word(x + TYPE) == facts.deferred_type:
            return 0
        original = listed(word(run + facts.originals), slot)
        if original == 0 or word(x + facts.tensor_array) != original:
            return 0
        if listed(word(run + facts.edges), slot) != word(x + facts.tensor_edge):
            return 0
        current = 1
        if listed(word(run + facts.arrays), slot) != original:
            current = _is_current(facts, run, slot)
        if current == 0:
            return 0
    return 1


@inline
def _are_plain(facts: Facts, look: Look, pairs: i64s, grads: i64s, run: i64, args: i64) -> i64:
    """Whether the other arguments are the objects that never change, and new tensors."""
    for n in range(look.lasting):
        if word(args + SECOND + 8 * pairs[2 * n]) != pairs[2 * n + 1]:
            return 0
    fresh = at(pairs, 2 * look.lasting)
    for n in range(look.fresh):
        x = word(args + SECOND + 8 * fresh[2 * n])
        if is_new(facts, run, x, fresh[2 * n + 1], grads[2 * n]) == 0:
            return 0
        for m in range(n):
            if word(args + SECOND + 8 * fresh[2 * m]) == x:
                return 0
    return look.plain


@inline
def _are_others(
    facts: Facts, look: Look, pairs: i64s, grads: i64s, child: i64, run: i64, args: i64
) -> i64:
    """Whether the other arguments are as recorded, and new inputs are taken in; -1 for an error."""
    if _are_plain(facts, look, pairs, grads, run, args) == 1:
        fresh = at(pairs, 2 * look.lasting)
        for n in range(look.fresh):
            if meet(facts, run, word(args + SECOND + 8 * fresh[2 * n])) == 0:
                return -1
        return 1
    given = local(i64, 3)
    given[0] = run
    given[1] = word(child + facts.others)
    given[2] = args
    answer = method_called(facts.are_as, given, 3)
    if answer == 0:
        return -1
    let_go(answer)
    return 1 if answer == facts.true else 0


@inline
def _result(facts: Facts, look: Look, run: i64, args: i64, index: i64) -> i64:
    """The deferred tensor of the next place: one of an entry's results."""
    result = called_with(facts.new, facts.deferred_type)
    if result == 0:
        return 0
    outputs = word(run + facts.outputs)
    pending = new_tuple(4)
    place = int_of(word(outputs + FIRST))
    put(pending, 0, run)
    put(pending, 1, place)
    let_go(place)
    put(pending, 2, word(look.outlines + SECOND + 8 * index))
    source = facts.none
    if look.shows == 1:
        source = word(args + SECOND)
    put(pending, 3, source)
    array_at(i64, result + facts.tensor_array)[0] = pending
    reference = new_reference(result)
    failed = appended(outputs, reference)
    let_go(reference)
    if failed != 0:
        return 0
    return result


@inline
def _stepped(facts: Facts, run: i64, site: i64) -> i64:
    """Append to a run's steps the state of the thread and the time; 0 for an error."""
    time = called(facts.tick)
    if time == 0:
        return 0
    step = new_tuple(3)
    if step == 0:
        return 0
    put(step, 0, site)
    off = facts.none
    if site == facts.none:
        off = entry_of(word(run + facts.state), facts.off)
    put(step, 1, off)
    put(step, 2, time)
    let_go(time)
    failed = appended(word(run + facts.steps), step)
    let_go(step)
    if failed != 0:
        return 0
    return 1


@inline
def _deferred(facts: Facts, look: Look, run: i64, args: i64, site: i64) -> i64:
    """The deferred result of an entry, or a tuple of several: what `Run._results` gives."""
    if word(word(run + facts.steps) + FIRST) == 0:
        given = local(i64, 1)
        given[0] = run
        done = method_called(facts.watch, given, 1)
        if done == 0:
            return 0
        let_go(done)
    if _stepped(facts, run, site) == 0:
        return 0
    if look.single == 1:
        return _result(facts, look, run, args, 0)
    time = called(facts.tick)  # for the nodes of its results
    if time == 0:
        return 0
    let_go(time)
    results = new_tuple(look.results)
    for k in range(look.results):
        one = _result(facts, look, run, args, k)
        if one == 0:
            let_go(results)
            return 0
        array_at(i64, results + SECOND)[k] = one
    return results


@inline
def _others_first(facts: Facts, look: Look, pairs: i64s, child: i64, run: i64, args: i64) -> i64:
    """Take in what else an entry's arguments bring: 1, 0 if they are not as recorded, or -1."""
    others = at(pairs, 2 * (look.values + look.again))
    floats = at(others, 2 * (look.lasting + look.fresh))
    grads = at(floats, 2 * look.floats)
    right = _are_others(facts, look, others, grads, child, run, args)
    if right != 1:
        return right
    for n in range(look.floats):
        if appended(word(run + facts.numbers), word(args + SECOND + 8 * floats[2 * n])) != 0:
            return -1
    return 1


@inline
def _is_as_recorded(facts: Facts, look: Look, pairs: i64s, run: i64, args: i64) -> i64:
    """Whether a call is on the recorded line, of the recorded values, inputs and floats."""
    if _are_values(facts, look, pairs, run, args) == 0:
        return 0
    if _frame_is(facts, look.depth, look.code, look.lasti, look.end) == 0:
        return 0
    if look.inner != 0 and _frame_is(facts, 1, look.inner, -1, -1) == 0:
        return 0
    if _are_inputs(facts, at(pairs, 2 * look.values), look.again, run, args) == 0:
        return 0
    floats = at(pairs, 2 * (look.values + look.again + look.lasting + look.fresh))
    for n in range(look.floats):
        if word(word(args + SECOND + 8 * floats[2 * n]) + TYPE) != facts.float_type:
            return 0
    return 1


@inline
def _if_settled(facts: Facts, run: i64, result: i64) -> i64:
    """What `Run._if_settled` gives; None counts no reference."""
    given = local(i64, 2)
    given[0] = run
    given[1] = result
    settled = method_called(facts.if_settled, given, 2)
    let_go(result)
    if settled == facts.none:
        let_go(settled)
    return settled


@inline
def follow(facts: Facts, run: i64, op: i64, args: i64) -> i64:
    """What `Run.quickly` gives; 0 for an error. None counts no reference: it is not to be kept."""
    child = word(word(run + facts.entry) + facts.hot)
    if word(child + TYPE) != facts.entry_type:
        return facts.none
    if word(child + facts.quick) != op or word(run + facts.follows) != facts.true:
        return facts.none
    packed = word(child + facts.look)
    look = array_at(Look, packed + BYTES)
    pairs = array_at(i64, packed + BYTES + 8 * _PAIRS)
    if word(args + TYPE) != facts.tuple_type or word(args + FIRST) != look.count:
        return facts.none
    site = entry_of(word(run + facts.state), facts.site)
    if _is_in_state(facts, look, run, site) == 0:
        return facts.none
    if _is_as_recorded(facts, look, pairs, run, args) == 0:
        return facts.none
    hold(child)  # whatever is called
    right = _others_first(facts, look, pairs, child, run, args)
    result = facts.none
    if right == -1:
        result = 0
    if right == 1:
        result = _deferred(facts, look, run, args, site)
        if result != 0:
            before = word(run + facts.entry)
            hold(child)
            array_at(i64, run + facts.entry)[0] = child
            let_go(before)
    let_go(child)
    if right == 1 and result != 0 and word(run + facts.follows) != facts.true:
        result = _if_settled(facts, run, result)
    return result


_ENTRY = """
@wengert_facts = external global i64
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
  %found = call i64 @follow(ptr @wengert_facts, i64 %run, i64 %op, i64 %args)
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


def _facts() -> Facts | None:
    """What the native code is told; None if some slot is not found."""
    objects = {
        "none": None, "true": True, "tuple_type": tuple, "float_type": float, "site_type": Site,
        "inside_type": InsideSite,
        "entry_type": OpEntry, "deferred_type": Deferred, "inferences": inferences,
        "dispatched": dispatched, "anomaly": anomaly, "getframe": getframe, "new": new,
        "tick": tick, "leaf_type": Leaf, "array_type": np.ndarray,
    }  # fmt: skip
    names = {
        "enabled": "enabled", "site": "site", "where": "where", "off": "off", "watch": "_watch",
        "are_as": "_are_as", "is_current": "_is_current", "if_settled": "_if_settled",
    }  # fmt: skip
    slots: dict[str, int] = {}
    for cls, of in (
        (OpEntry, ("hot", "quick", "look", "others")),
        (Run, ("entry", "follows", "left", "state", "steps", "outputs", "numbers", "tensors",
               "originals", "arrays", "edges", "updates", "slots", "holds", "saver")),
    ):  # fmt: skip
        slots |= {name: slot_of(cls, name) for name in of}
    slots |= {f"tensor{name}": slot_of(Tensor, name) for name in ("_array", "_edge")}
    slots |= {f"memo_{name}": slot_of(Memo, name) for name in ("tensor", "array")}
    if not all(slots.values()):
        return None
    addresses = {key: id(x) for key, x in objects.items()}
    return Facts(**addresses, **{key: id(intern(x)) for key, x in names.items()}, **slots)


@once
def install() -> bool:
    """Let `Run.quickly` be native, if this Python's objects are as expected; whether it is."""
    facts = _facts() if knows_objects() else None
    if facts is None:
        return False
    own = b"".join([Path(__file__).with_name(f"{name}.py").read_bytes() for name in _SOURCES])
    digest = hashlib.sha256(own).hexdigest()[:16]
    compiler.define("wengert_facts", facts.ctypes.data)
    _kept.append(facts)
    address = compiler.add(f"follow_{digest}", _text)
    Run.quickly = compiler.method(Run, "quickly", address("follow_call"))  # type: ignore[method-assign]
    return True


# The modules that the text is made of, beside those of kernels.
_SOURCES = ("following", "looks", "meeting", "trace")

# The method that native code takes the place of.
in_python = Run.quickly

# What native code reads for as long as the process lives.
_kept: list[Facts] = []
