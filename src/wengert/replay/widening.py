"""A pass over programs that compute with halves; exact but for rounding.

In eager mode, too, kernels compute with halves in float32 and round what they give. So an
instruction that there is a kernel for becomes one of float32, between those that widen its operands
and those that round its results: loops, which `fuse` makes part of the loops beside them. What is
rounded is not the same for small arrays, of which NumPy rounds between the steps of an operation.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from wengert.kernels.halves import has_halves
from wengert.kernels.jit.pace import pace
from wengert.kernels.precision import BRAIN, HALF
from wengert.kernels.precision import converted as converted_array
from wengert.kernels.products.amx import has_amx
from wengert.kernels.products.pairs import has_pair_dots
from wengert.replay.forwards import conversion_of
from wengert.replay.fusion import FusedLoop
from wengert.replay.ir import Instruction, Program, Type
from wengert.replay.layout_forms import is_view
from wengert.replay.trace import OpEntry

_F32 = np.dtype(np.float32)
# Those that are computed by products: processors that multiply bfloat16 do so in kernels of it.
_PRODUCTS = frozenset({
    "linear", "matmul", "mm", "bmm", "addmm", "_outer", "times", "times_transposed",
    "transposed_times", "_convolution", "_transposed_convolution", "_convolution_weight",
})  # fmt: skip
_OTHERS = frozenset({
    "sum_over", "mean_over", "vector_norm", "sum_to_shape", "expand", "expand_to", "expand_back",
    "_softmax", "_masked_softmax", "_log_softmax", "logsumexp", "_softmax_pullback",
    "_log_softmax_pullback", "_cross_entropy", "_weighed_pick", "_layer_norm", "_batch_norm",
    "window_mean", "maxima", "_attention", "_pick", "take_along", "_place_of_max", "_place_of_min",
    "argmax", "argmin", "_glu", "_cumsum",
})  # fmt: skip


def widen(program: Program) -> None:
    """Apply the rewrite to what kernels of float32 compute."""
    if any(t.dtype in HALF for t in program.types):
        _Widening(program).run()


class _Widening:
    """The rewrite of one program.

    Attributes:
        wide: by value of halves, and whether rules read it, the same in float32.
        late: what rules give.
        opaque: what instructions that have been rewritten give to others of their operation.
    """

    def __init__(self, program: Program) -> None:
        self.program, self.results = program, {*program.results}
        self.wide: dict[tuple[int, bool], int] = {}
        self.late: set[int] = set()
        self.opaque: set[int] = set()
        self.done: list[Instruction] = []

    def run(self) -> None:
        """Rewrite the program."""
        for instruction in pace.over(self.program.instructions):
            if _is_rule(instruction) or not self.late.isdisjoint(instruction.inputs):
                self.late.update(instruction.outputs)
            if self._is_wide(instruction):
                self._rewrite(instruction)
            else:
                self.done.append(instruction)
        self.program.instructions = self.done

    def _is_wide(self, instruction: Instruction) -> bool:
        entry, types = instruction.entry, self.program.types
        if not isinstance(entry, OpEntry) or instruction.members or is_view(instruction):
            return False
        halves = {types[v].dtype for v in (*instruction.inputs, *instruction.outputs)} & HALF
        if not halves or (halves != {BRAIN} and not has_halves()):
            return False
        unknown = [v for v in instruction.inputs if types[v].dtype is None]
        if unknown:
            return self.opaque.issuperset(unknown)
        hidden = [v for v in instruction.outputs if types[v].dtype is None]
        if not self.results.isdisjoint(hidden):  # a node is to have them, as they are of halves
            return False
        name = _operation_of(instruction)
        return name in _OTHERS or (name in _PRODUCTS and not (BRAIN in halves and _multiplies()))

    def _rewrite(self, instruction: Instruction) -> None:
        """Let an instruction compute in float32."""
        types, rounded = self.program.types, list[Instruction]()
        inputs = tuple([self._widened(v, instruction) for v in instruction.inputs])
        outputs = list[int]()
        for v in instruction.outputs:
            dtype = types[v].dtype
            if dtype is None:
                self.opaque.add(v)
            if dtype is None or dtype not in HALF:
                outputs.append(v)
                continue
            outputs.append(self.program.value(Type(types[v].shape, _F32)))
            rounded.append(_conversion("rounded", outputs[-1], v, _F32, dtype, instruction))
        self.done += replace(instruction, inputs=inputs, outputs=tuple(outputs)), *rounded

    def _widened(self, value: int, reader: Instruction) -> int:
        """A value in float32.

        For rules what comes from before is widened once more: until then halves take less memory.
        """
        shape, dtype = self.program.types[value]
        if dtype is None or dtype not in HALF:
            return value
        again = value not in self.late and not self.late.isdisjoint(reader.outputs)
        key = value, again
        if key not in self.wide:
            wide = self.wide[key] = self.program.value(Type(shape, _F32))
            found = _conversion("widened", value, wide, dtype, _F32, reader)
            if again:  # and in no loop with what gave it
                loop = FusedLoop([replace(found)], found.inputs, found.outputs)
                found = replace(found, compute=loop, pointwise=None, unpacked=True)
            self.done.append(found)
        return self.wide[key]


def _is_rule(instruction: Instruction) -> bool:
    key = instruction.key
    return bool(key) and type(key[0]) is tuple


def _operation_of(instruction: Instruction) -> str:
    """The operation that an instruction is, or a rule of."""
    if instruction.name == "sum_to":
        return "sum_to_shape"
    key: Any = instruction.key
    name = key[0] if key else ""
    return str(name[0] if type(name) is tuple else name)


def _multiplies() -> bool:
    return has_amx() or has_pair_dots()


def _conversion(
    name: str, source: int, to: int, given: np.dtype[Any], dtype: np.dtype[Any], like: Instruction
) -> Instruction:
    compute = partial(_converted, dtype)
    pointwise = conversion_of(given, dtype)
    return Instruction(
        name, compute, (source,), (to,), like.entry, (name, given, dtype), pointwise
    )  # fmt: skip


def _converted(dtype: np.dtype[Any], array: Any) -> Any:
    with np.errstate(all="ignore"):
        return converted_array(np.asarray(array), dtype)
