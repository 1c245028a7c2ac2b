"""Native code for the tensors that a run meets: as `Memo.fits` and `Operands._bind` have it.

It knows the most frequent case, a tensor that was there when the run was here last, such as a
parameter, whose memory nobody else has. Of others Python takes care.
"""

from __future__ import annotations

from wengert.kernels.jit.builtins import i64, inline
from wengert.kernels.jit.heads import HEAD
from wengert.kernels.jit.objects import (
    FIRST,
    TYPE,
    appended,
    entered,
    entry_of,
    int_of,
    let_go,
    listed,
    new_list,
    new_reference,
    number_of,
    references,
    word,
)
from wengert.replay.looks import Facts
from wengert.replay.trace import INNER, LEAF

# Where an array has the object whose memory it shows.
_BASE = HEAD + 32


@inline
def _has_met(facts: Facts, run: i64, x: i64) -> i64:
    """Whether a tensor is an input: others may have been where it is, and are gone."""
    key = int_of(x)
    found = entry_of(word(run + facts.slots), key)
    let_go(key)
    if found == 0:
        return 0
    reference = listed(word(run + facts.tensors), number_of(found))
    if reference == 0:
        return 0
    return 1 if word(reference + FIRST) == x else 0


@inline
def _is_exposed(facts: Facts, array: i64) -> i64:
    """Whether others than one tensor refer to an array, or to the memory that it shows."""
    if references(array) != 1:
        return 1
    base = word(array + _BASE)
    if base == 0:
        return 0
    if word(base + TYPE) != facts.array_type or references(base) != 1:
        return 1
    return 1 if word(base + _BASE) != 0 else 0


@inline
def is_new(facts: Facts, run: i64, x: i64, memo: i64, grad: i64) -> i64:
    """Whether an argument is the tensor of the last time with its array, and new to the run."""
    tensor = word(memo + facts.memo_tensor)
    if x == facts.none or word(tensor + FIRST) != x or word(x + TYPE) == facts.deferred_type:
        return 0  # None is what a reference to nothing gives
    array = word(x + facts.tensor_array)
    if word(word(memo + facts.memo_array) + FIRST) != array:
        return 0
    if _is_exposed(facts, array) == 1:
        return 0
    edge = word(x + facts.tensor_edge)
    if edge == 0:
        return 0
    kind = INNER
    if word(edge + TYPE) == facts.leaf_type:
        kind = LEAF
    if edge == facts.none:
        kind = 0
    if kind != grad:
        return 0
    return 1 if _has_met(facts, run, x) == 0 else 0


@inline
def _numbered(dictionary: i64, address: i64, number: i64) -> i64:
    """Let a dictionary have a number by another: 0, or -1 for an error."""
    key = int_of(address)
    value = int_of(number)
    failed = entered(dictionary, key, value)
    let_go(key)
    let_go(value)
    return failed


@inline
def _held(holds: i64, array: i64, slot: i64) -> i64:
    """Note that an array is that of an input: 0, or -1 for an error."""
    key = int_of(array)
    slots = entry_of(holds, key)
    failed = 0
    if slots == 0:
        new = new_list(0)
        failed = entered(holds, key, new)
        let_go(new)  # the dictionary has it
        slots = new
    let_go(key)
    if failed == 0:
        number = int_of(slot)
        failed = appended(slots, number)
        let_go(number)
    return failed


@inline
def meet(facts: Facts, run: i64, x: i64) -> i64:
    """Take a tensor in as the next input; 0 for an error."""
    tensors = word(run + facts.tensors)
    slot = word(tensors + FIRST)
    array = word(x + facts.tensor_array)
    reference = new_reference(x)
    if reference == 0:
        return 0
    failed = appended(tensors, reference)
    let_go(reference)
    failed += _numbered(word(run + facts.slots), x, slot)
    failed += appended(word(run + facts.arrays), array)
    failed += appended(word(run + facts.originals), array)
    failed += _held(word(run + facts.holds), array, slot)
    failed += appended(word(run + facts.edges), word(x + facts.tensor_edge))
    return 1 if failed == 0 else 0
