"""Native programs: what kernels can compute is in segments, each of them one call from Python."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from wengert.kernels.jit.pace import pace
from wengert.replay.emitting import ELEMENTS, F32, I64, Call, Emitter, View, views_of
from wengert.replay.ends import FusedEnds, is_in_order
from wengert.replay.ir import Instruction, Program, Type
from wengert.replay.layout_forms import is_view
from wengert.replay.lowering import Lowering
from wengert.replay.native_forms import lower
from wengert.replay.segments import Segment


class Lowered:
    """An instruction that kernels compute: its calls, and what they read and write.

    Attributes:
        shows: whether its results are views of its operand, and nothing is computed.
    """

    def __init__(self, instruction: Instruction, calls: list[Call], emitter: Emitter) -> None:
        self.instruction, self.calls = instruction, calls
        views = [v for call in calls for v in views_of(call)]
        ends = instruction.compute
        inside = ends.members if isinstance(ends, FusedEnds) else (instruction,)
        own = {v for member in inside for v in member.outputs}
        self.defined = {v for v in own if v in emitter.views and emitter.views[v].root == v}
        self.shows = is_view(instruction) and not self.defined
        self.read = {v.root for v in views if v.root >= 0} - self.defined


def natively(program: Program, views: dict[int, View], threads: int) -> Program | None:
    """The program with native segments; None if kernels compute too little of it.

    `views` says how the inputs lie in memory, `threads` how many of them kernels may use.
    Instructions of the given program that no kernel computes at once are taken apart there.
    """
    whole, program = program, _with_numbers_together(program)
    refused = set[Instruction]()
    while True:
        emitter = Emitter(program, {**views}, threads)
        lowered = _lowered(emitter, refused)
        apart = {
            i: i.compute.members
            for i in program.instructions
            if i not in lowered and isinstance(i.compute, FusedEnds)
        }
        if apart:
            whole.instructions = [m for i in whole.instructions for m in apart.get(i, (i,))]
            program = _with_numbers_together(whole)
            continue
        phases = _phases(program, lowered)
        needed = _needed(program, phases, lowered, emitter)
        odd = {i for i in lowered if not needed.isdisjoint(i.outputs) and not is_in_order(i)}
        if not odd:
            break
        refused |= odd
    if sum(len(i.members) or len(one.calls) for i, one in lowered.items()) < 2:
        return None
    instructions: list[Instruction] = []
    for native, members in phases:
        if not native:
            instructions += members
            continue
        calls = [call for i in members for call in lowered[i].calls]
        defined = {v for i in members for v in lowered[i].defined}
        if calls:
            read = {v for i in members for v in lowered[i].read} - defined
            segment = Segment(program, emitter, calls, sorted(read), sorted(defined & needed))
            outputs = tuple(segment.outputs)
            segment.members = one_by_one = _with_views(program, segment, members, lowered)
            instructions.append(
                Instruction(
                    "native", segment, tuple(segment.inputs), outputs, members[0].entry,
                    unpacked=True, members=tuple(one_by_one),
                )
            )  # fmt: skip
        # Views of what the segment has computed: nothing but a look at its memory.
        instructions += [i for i in members if lowered[i].shows and _is_seen(i, needed)]
    native_program = replace(program, instructions=instructions)
    native_program.check()
    return native_program


def _with_views(
    program: Program, segment: Segment, members: list[Instruction],
    lowered: dict[Instruction, Lowered],
) -> list[Instruction]:  # fmt: skip
    """The members of a segment in the order of the program, and the views that they read.

    Those of other segments' values are among them, but not those that nobody reads here.
    """
    own, known, found = {*members}, {*segment.inputs, *program.constants}, list[Instruction]()
    for i in program.instructions:
        if (i in own or (i in lowered and lowered[i].shows)) and known.issuperset(i.inputs):
            found.append(i)
            known.update(i.outputs)
    return found


def _lowered(emitter: Emitter, refused: set[Instruction]) -> dict[Instruction, Lowered]:
    """The instructions that kernels compute."""
    lowered: dict[Instruction, Lowered] = {}
    for instruction in emitter.program.instructions:
        pace.breathe()
        before = len(emitter.calls)
        if instruction not in refused and lower(emitter, instruction):
            lowered[instruction] = Lowered(instruction, emitter.calls[before:], emitter)
    return lowered


def _with_numbers_together(program: Program) -> Program:
    """The program with one array for its numbers of float32: each would be a call from Python."""
    of_float32 = [
        i for i in program.instructions
        if i.name == "number" and program.types[i.outputs[0]].dtype == F32
    ]  # fmt: skip
    if len(of_float32) < 2:
        return program
    program = replace(program, types=[*program.types])
    array = program.value(Type((len(of_float32),), F32))
    inputs = tuple([i.inputs[0] for i in of_float32])
    elements = {
        i: Instruction("element", partial(_element, k), (array,), i.outputs, i.entry)
        for k, i in enumerate(of_float32)
    }
    first = Instruction("numbers", _as_array, inputs, (array,))
    program.instructions = [first, *[elements.get(i, i) for i in program.instructions]]
    return program


def _as_array(*numbers: float) -> np.ndarray:
    return np.array(numbers, F32)


def _element(k: int, array: np.ndarray) -> np.ndarray:
    return array[k : k + 1].reshape(())


def _is_seen(instruction: Instruction, needed: set[int]) -> bool:
    return not needed.isdisjoint(instruction.outputs)


def _phases(
    program: Program, lowered: dict[Instruction, Lowered]
) -> list[tuple[bool, list[Instruction]]]:
    """The instructions in an order that changes between kernels and Python as rarely as can be."""
    makers = program.makers()
    before = {i: {makers[v] for v in i.inputs if v in makers} for i in program.instructions}
    phases: list[tuple[bool, list[Instruction]]] = []
    done: set[Instruction] = set()
    waiting = program.instructions
    native = False
    while waiting:
        now, later = list[Instruction](), list[Instruction]()
        for instruction in pace.over(waiting):
            if (instruction in lowered) is native and before[instruction] <= done:
                now.append(instruction)
                done.add(instruction)
            else:
                later.append(instruction)
        if now:
            phases.append((native, now))
        waiting, native = later, not native
    return phases


def _needed(
    program: Program, phases: list[tuple[bool, list[Instruction]]],
    lowered: dict[Instruction, Lowered], emitter: Emitter,
) -> set[int]:  # fmt: skip
    """The values that have to be arrays: results, and what is read outside of their segment."""
    needed = set(program.results)
    for native, members in phases:
        if not native:
            needed.update(v for i in members for v in i.inputs)
            continue
        defined = {v for i in members for v in lowered[i].defined}
        needed.update({v for i in members for v in lowered[i].read} - defined)
    for instruction in pace.over(reversed(program.instructions)):
        one = lowered.get(instruction)
        if one is not None and one.shows and _is_seen(instruction, needed):
            needed.update(instruction.inputs)
    return needed


def views_of_inputs(lowering: Lowering) -> dict[int, View]:
    """How the inputs of a run lie in memory."""
    views: dict[int, View] = {}
    for value, one in zip(lowering.program.inputs, lowering.inputs, strict=False):
        view = view_of_input(value, one.shape, one.strides, one.dtype)
        if view is not None:
            views[value] = view
    return views


def view_of_input(
    value: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any]
) -> View | None:
    """How an input lies in memory; None where kernels cannot read it."""
    if dtype not in ELEMENTS | {I64} or any(s < 0 or s % dtype.itemsize for s in strides):
        return None
    return View(value, 0, shape, tuple([s // dtype.itemsize for s in strides]), dtype)
