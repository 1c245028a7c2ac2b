"""Native segments: instructions of a program that are one call from Python.

A segment's memory is planned when it is made, and is there phase by phase: see `blocks`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from threading import Lock
from typing import Any

import numpy as np

from wengert.kernels import jit
from wengert.kernels.jit.heads import Layouts
from wengert.kernels.jit.pace import pace
from wengert.kernels.layout import with_strides
from wengert.replay.blocks import phases_of, planned, size_of, spans_of
from wengert.replay.emitting import Call, Emitter, Scalar, View
from wengert.replay.ir import Instruction, Program
from wengert.replay.packing import packed_once
from wengert.replay.placing import placed

_BYTE = np.dtype(np.uint8)


class Segment:
    """Calls of kernels, as one function of arrays.

    Attributes:
        inputs: the values that it reads, `outputs` those that it gives.
        members: the instructions, which run one by one where arrays lie in other ways than planned.
        phases: its calls, and the memory that they need.
        room: the most bytes that are there at once, without those of the outputs.
    """

    members: Sequence[Instruction] = ()

    def __init__(
        self, program: Program, emitter: Emitter, calls: list[Call], inputs: list[int],
        outputs: list[int],
    ) -> None:  # fmt: skip
        from wengert.kernels.jit.sequence import runner

        self.constants = program.constants
        given = [v for v in inputs if v not in program.constants]
        self.inputs, self.outputs, self.threads = given, outputs, emitter.threads
        views = [emitter.views[v] for v in (*given, *outputs)]
        self.wanted = [
            (v.shape, tuple([s * v.dtype.itemsize for s in v.strides]), v.dtype)
            for v in views[: len(given)]
        ]
        self.layouts = Layouts(self.wanted, reading=True)
        self.made = [(v.shape, v.dtype) for v in views[len(given) :]]
        self.lock, self.run = Lock(), runner()
        self.kept: list[Any] = []
        passed = {id(a) for call in calls for a in call.arguments}
        self.refusals = [r for r in emitter.refusals if id(r.wrong) in passed]
        self._plan(emitter, calls)

    def _plan(self, emitter: Emitter, calls: list[Call]) -> None:
        """Write the table of calls, and their arguments."""
        from wengert.kernels.jit import compiler

        outside = {*self.inputs, *self.outputs, *self.constants}
        calls = placed(calls, partial(size_of, emitter=emitter), outside, emitter.changed)
        calls = packed_once(calls, emitter)
        calls = _with_scalars(calls)
        places, blocks = planned(calls, emitter, outside)
        first = len(self.inputs) + len(self.outputs)
        order = {v: k for k, v in enumerate((*self.inputs, *self.outputs))}
        starts: list[int] = []
        size = 0
        for call in pace.over(calls):
            starts.append(size)
            size += len(call.arguments)
        self.words = words = np.zeros(max(1, size), np.int64)
        filled: list[tuple[int, int, int]] = []
        table: list[tuple[int, int, int, int]] = []
        for call, start in pace.over(zip(calls, starts, strict=True)):
            task, kinds = compiler.task(call.kernel)
            table.append((task, start, call.total, call.chunk))
            for k, (argument, kind) in enumerate(zip(call.arguments, kinds, strict=True)):
                if isinstance(argument, View):
                    bytes = argument.offset * argument.dtype.itemsize
                    if argument.root in order:
                        filled.append((order[argument.root], start + k, bytes))
                    elif argument.root in places:
                        block, place = places[argument.root]
                        filled.append((first + block, start + k, place + bytes))
                    else:
                        words[start + k] = _address(self._constant(argument.root)) + bytes
                elif isinstance(argument, _Word):
                    words[start + k] = _address(words) + 8 * (starts[argument.call] + argument.at)
                else:
                    words[start + k] = self._number(argument, kind)
        own = sum(prod(shape) * dtype.itemsize for shape, dtype in self.made)
        self.made += [((block.size,), _BYTE) for block in blocks]
        spans = [*spans_of(calls, self.outputs), *[block.span for block in blocks]]
        sizes = [prod(shape) * dtype.itemsize for shape, dtype in self.made]
        self.phases, most = phases_of(sizes, spans, len(self.inputs), table, filled)
        self.room = most - own

    def _constant(self, value: int) -> np.ndarray:
        array = np.ascontiguousarray(self.constants[value])
        self.kept.append(array)
        return array

    def _number(self, argument: Any, kind: str) -> int:
        """The word of an argument that is the same at every call."""
        if argument is None:
            return 0
        if kind == "p":
            self.kept.append(argument)
            return _address(argument)
        if kind == "f":
            return int(np.float32(argument).view(np.uint32))
        return int(np.float64(argument).view(np.int64)) if kind == "d" else int(argument)

    def __call__(self, *arrays: Any) -> Sequence[Any]:
        if jit.get_threads() != self.threads or not self.lock.acquire(False):
            return self.one_by_one(arrays)
        try:
            given: list[Any] = [*arrays]
            if not self.layouts.fit(given):
                laid = self._laid_out(arrays)
                if laid is None:
                    return self.one_by_one(arrays)
                given = laid
            memory = self._computed(given)
            if self.refusals:
                self._refuse()
        finally:
            self.lock.release()
        return memory[: len(self.outputs)]

    def _computed(self, given: Sequence[np.ndarray]) -> list[Any]:
        """The outputs, and what is left of the blocks."""
        made, passed = self.made, given
        memory: list[Any] = [None] * len(made)
        for control, slots, dropped in self.phases:
            for k in dropped:
                memory[k] = None
            for k in slots:
                memory[k] = np.empty(*made[k])
            self.run(control, self.words, *passed, *[memory[k] for k in slots])
            passed = ()
        return memory

    def _laid_out(self, arrays: Sequence[Any]) -> list[np.ndarray] | None:
        """The arrays, or copies that lie as planned; None if some are others."""
        given: list[np.ndarray] = []
        for array, (shape, strides, dtype) in zip(arrays, self.wanted, strict=True):
            if type(array) is not np.ndarray or not array.flags.aligned:
                array = np.array(array)
            if array.shape != shape or array.dtype != dtype:
                return None
            given.append(array if array.strides == strides else with_strides(array, strides))
        return given

    def _refuse(self) -> None:
        """Raise an error if an index was out of bounds."""
        for wrong, error in self.refusals:
            if wrong[0]:
                wrong[0] = 0
                raise error(int(wrong[1]))

    def one_by_one(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """The instructions as they were."""
        values: dict[int, Any] = dict(self.constants) | dict(zip(self.inputs, arrays, strict=True))
        for member in self.members:
            found = member.compute(*[values[v] for v in member.inputs])
            if member.unpacked:
                values.update(zip(member.outputs, found, strict=True))
            else:
                values[member.outputs[0]] = found
        # Owned and dense, as those of the call: an instruction may give a view, or a number.
        return [np.array(values[v], order="C") for v in self.outputs]


class _Word:
    """The address of an argument of a call."""

    def __init__(self, call: int, at: int) -> None:
        self.call, self.at = call, at


def _with_scalars(calls: Sequence[Call]) -> list[Call]:
    """The calls, and before them copies of the scalars that they take as numbers."""
    from wengert.kernels import copies

    found: list[Call] = []
    for call in pace.over(calls):
        scalars = [k for k, a in enumerate(call.arguments) if isinstance(a, Scalar)]
        place = len(found) + len(scalars)
        arguments = list(call.arguments)
        for k in scalars:
            source, arguments[k] = arguments[k].view, 0.0
            copy = (source, _Word(place, k), 1, 1, 1)
            found.append(Call(copies.copy_rows.f32, copy, 1, 1))
        found.append(call._replace(arguments=tuple(arguments)))
    return found


def _address(array: np.ndarray) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
