"""Loops in expression graphs: an operation whose steps are a graph of their own.

A `Loop` has sequences, of which each step sees one element; carries, which each step computes from
those of the step before; and constants. Its results are, for each carry, the value after the last
step and the values after all steps, stacked; and other values of all steps, stacked.

The gradient of a loop is a loop in the other direction, whose steps run the step again and walk
back through it. So loops have derivatives of any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from wengert.symbolic.differentiation import grad
from wengert.symbolic.dtypes import CONTINUOUS
from wengert.symbolic.expressions.arithmetic import cast, eq, minimum, switch, tensor_copy
from wengert.symbolic.expressions.creation import zeros, zeros_like
from wengert.symbolic.expressions.elemwise import DimShuffle, float_zeros, rebroadcast
from wengert.symbolic.expressions.indexing import Subtensor, index
from wengert.symbolic.expressions.products import Dot, dot
from wengert.symbolic.expressions.structure import concatenate, reshape, shape_padleft
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable
from wengert.symbolic.graph import (
    Apply,
    Constant,
    DisconnectedType,
    Generic,
    Kernel,
    Operation,
    ancestors,
    disconnected,
    toposort,
)
from wengert.symbolic.graph import replaced as replaced_in
from wengert.symbolic.ifelse import IfElse
from wengert.symbolic.modes import Mode
from wengert.symbolic.programs.algebra import number_of
from wengert.symbolic.programs.assembly import Program
from wengert.symbolic.programs.numbers import is_number
from wengert.symbolic.programs.optimizing import optimized
from wengert.symbolic.programs.rewriting import rule
from wengert.symbolic.settings import config


class Step:
    """One step of a loop: a graph from elements, carries and constants to new carries and results.

    Attributes:
        inputs: the variables of sequences' elements, of carries and of constants, in this order.
        outputs: new carries, then results; then the condition to stop, if there is one.
        sequences, carries, results: how many there are.
        stops: whether the last output says to stop after this step.
    """

    def __init__(
        self, inputs: Sequence[Any], outputs: Sequence[Any], sequences: int, carries: int,
        stops: bool = False,
    ) -> None:  # fmt: skip
        self.inputs, self.outputs = list(inputs), list(outputs)
        self.sequences, self.carries, self.stops = sequences, carries, stops
        self.results = len(self.outputs) - carries - stops

    @property
    def constants(self) -> int:
        """How many inputs are the same in all steps."""
        return len(self.inputs) - self.sequences - self.carries

    def new_carries(self) -> list[Any]:
        """The carries that a step computes."""
        return self.outputs[: self.carries]

    def other_results(self) -> list[Any]:
        """What a step computes beside them."""
        return self.outputs[self.carries : self.carries + self.results]

    @cached_property
    def key(self) -> Any:
        """A hash and what it is of: equal for steps that do the same, as far as can be told."""
        numbers: dict[Any, Any] = {v: k for k, v in enumerate(self.inputs)}
        nodes = []
        for node in toposort(self.outputs, self.inputs):
            nodes.append((node.op, tuple(_place(x, numbers) for x in node.inputs)))
            for out in node.outputs:
                numbers[out] = len(numbers)
        types = tuple(v.type for v in self.inputs)
        results = tuple(_place(v, numbers) for v in self.outputs)
        key = (self.sequences, self.carries, self.stops, types, tuple(nodes), results)
        try:
            return hash(key), key
        except TypeError:
            return id(self), None

    @cached_property
    def connections(self) -> list[set[int]]:
        """For each output the inputs on which it depends, through the carries of earlier steps."""
        found: dict[Any, set[int]] = {v: {k} for k, v in enumerate(self.inputs)}
        for node in toposort(self.outputs, self.inputs):
            pattern = node.op.connection_pattern(node)
            for j, out in enumerate(node.outputs):
                parts = [found.get(x, ()) for x, row in zip(node.inputs, pattern, strict=True)
                         if row[j]]  # fmt: skip
                found[out] = set().union(*parts)
        reached = [set(found.get(v, ())) for v in self.outputs]
        first, last = self.sequences, self.sequences + self.carries
        while True:
            wider = [
                s.union(*[reached[k - first] for k in s if first <= k < last]) for s in reached
            ]
            if wider == reached:
                return reached
            reached = wider


def _place(x: Any, numbers: dict[Any, Any]) -> Any:
    """What stands for a variable in a `Step.key`."""
    return x.key() if isinstance(x, Constant) else numbers.get(x, x)


def stacked_type(type: Any) -> TensorType:
    """The type of the values of all steps."""
    return TensorType(type.dtype, (False, *type.broadcastable))


class Loop(Operation):
    """A loop; its inputs are the number of steps, sequences, initial carries and constants.

    Its outputs are the number of steps that ran, the last carries, the stacked carries and the
    stacked results.
    """

    def __init__(
        self, step: Step, truncate_gradient: int = -1, name: str | None = None, mode: Any = None,
        strict: bool = False,
    ) -> None:  # fmt: skip
        self.step, self.truncate_gradient, self.name, self.mode = (
            step,
            truncate_gradient,
            name,
            mode,
        )

    def make_node(self, *inputs: Any) -> Apply:
        """Inputs in the order of the class."""
        step = self.step
        n_steps, *values = inputs
        count = as_tensor_variable(n_steps)
        carried = [v.type for v in step.inputs[step.sequences : step.sequences + step.carries]]
        tensors = [isinstance(t, TensorType) for t in carried]
        outputs = [TensorType("int64", ())(), *(t() for t in carried)]
        outputs += [
            (stacked_type(t) if is_tensor else Objects())()
            for t, is_tensor in zip(carried, tensors, strict=True)
        ]
        outputs += [stacked_type(v.type)() for v in step.other_results()]
        return Apply(self, [count, *values], outputs)

    def with_outputs(self, outputs: Sequence[Any]) -> tuple[Loop, list[Any]]:
        """A loop whose steps compute other variables, and what they read from outside."""
        step = self.step
        own = set(step.inputs)
        outside = [v for v in ancestors(outputs, own)
                   if v.owner is None and v not in own and not isinstance(v, Constant)]  # fmt: skip
        copies = [v.type(v.name) for v in outside]
        final = replaced_in(outputs, dict(zip(outside, copies, strict=True)))
        new = Step([*step.inputs, *copies], final, step.sequences, step.carries, step.stops)
        return Loop(new, self.truncate_gradient, self.name, self.mode), outside

    def kernel(self, node: Apply) -> Kernel:
        """Steps of a compiled program."""
        return self.kernel_for(node, set(node.outputs))

    def kernel_for(self, node: Apply, used: set[Any]) -> Kernel:
        """A kernel that stacks only what is used."""
        return LoopKernel(self, node, used).run

    def groups(self, values: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Inputs after the first, as sequences, carries and constants."""
        a, b = self.step.sequences, self.step.sequences + self.step.carries
        return list(values[:a]), list(values[a:b]), list(values[b:])

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """As the steps connect them; the number of steps is connected with nothing."""
        step = self.step
        reached = step.connections[: step.carries + step.results]
        # The last carries, which stand first, are the same as those that are stacked.
        outputs = [*reached[: step.carries], *reached]
        rows = [[False] * node.nout]
        return rows + [[False, *(k in s for s in outputs)] for k in range(node.nin - 1)]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """A loop in the other direction."""
        return [disconnected(), *LoopGradient(self, inputs, outputs, output_gradients).results()]

    def __str__(self) -> str:
        return f"for{{cpu,{self.name or 'scan_fn'}}}"

    def _key(self) -> Any:
        return self.truncate_gradient, self.name, self.mode, self.step.key

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Loop) and self._key() == other._key())

    def __hash__(self) -> int:
        return int(self.step.key[0])


class LoopKernel:
    """A loop that runs."""

    def __init__(self, op: Loop, node: Apply, used: set[Any]) -> None:
        step = op.step
        mode = op.mode if isinstance(op.mode, Mode) else Mode()
        final = optimized(step.outputs, step.inputs, mode)
        self.program = Program(step.inputs, final, mode.watch, loose=True)
        self.op, self.step, self.node = op, step, node
        stacked = node.outputs[1 + step.carries :]
        self.kept = [k for k, out in enumerate(stacked) if out in used]
        self.tensors = [isinstance(out.type, TensorType) for out in stacked]
        self.dtypes = [getattr(out.type, "numpy_dtype", None) for out in stacked]
        loose = self.program.loose
        # Which inputs are numbers; and elements of vectors, which are to be arrays.
        self.numbers = [loose and is_number(x) for x in step.inputs[step.sequences :]]
        self.listed = [
            not tensor or (loose and out.ndim == 1)
            for tensor, out in zip(self.tensors, stacked, strict=True)
        ]
        self.wrapped = [not loose and is_number(x) for x in step.inputs[: step.sequences]]

    def run(self, n_steps: Any, *values: Any) -> Any:
        """The outputs."""
        step, total = self.step, int(n_steps)
        sequences, carries, constants = self.op.groups(values)
        if total < 0:
            raise ValueError(f"Scan was asked to run for negative number of step {total}")
        for k, s in enumerate(sequences):
            if len(s) < total:
                raise ValueError(
                    f"Scan: sequence {k} has {len(s)} elements, and there are {total} steps"
                )
        stacks: list[Any] = [[] if listed else None for listed in self.listed]
        done = total
        function, count = self.program.function, step.carries
        carries, constants = self._loosened(carries, 0), self._loosened(constants, count)
        try:
            for t in range(total):
                elements = [
                    np.asarray(s[t]) if number else s[t]
                    for s, number in zip(sequences, self.wrapped, strict=True)
                ]  # fmt: skip
                out = function(*elements, *carries, *constants)
                carries = out[:count]
                for k in self.kept:
                    value, stack = out[k], stacks[k]
                    if self.listed[k]:
                        stack.append(value)
                        continue
                    if stack is None or stack.shape[1:] != value.shape:
                        stack = stacks[k] = self._fitting(k, stack, value, t, total)
                    stack[t] = value
                if step.stops and bool(out[-1]):
                    done = t + 1
                    break
        except Exception as error:
            raise self.program.explained(error) from None
        stacks = [self._finished(k, s, done, total) for k, s in enumerate(stacks)]
        carries = [np.asarray(v) if isinstance(v, np.generic) else v for v in carries]
        return (np.asarray(done, np.int64), *carries, *stacks)

    def _loosened(self, values: Sequence[Any], start: int) -> list[Any]:
        """Arrays without dimensions as NumPy's scalars, where steps take them."""
        numbers = self.numbers[start : start + len(values)]
        return [v[()] if number else v for v, number in zip(values, numbers, strict=True)]

    def _fitting(self, k: int, stack: Any, value: Any, t: int, total: int) -> np.ndarray:
        """Where the values of an output are kept; ValueError if they change their shape."""
        if stack is not None:
            raise ValueError(
                f"Scan: output {k} has shape {value.shape} at step {t}, and"
                f" {stack.shape[1:]} before"
            )
        return np.empty((total, *value.shape), self.dtypes[k])

    def _finished(self, k: int, stack: Any, done: int, total: int) -> Any:
        if stack is None:
            out = self.node.outputs[1 + self.step.carries + k]
            return np.zeros((0,) * out.ndim, self.dtypes[k])
        if self.listed[k]:
            return np.array(stack, self.dtypes[k]) if self.tensors[k] else stack
        return stack if done == total else stack[:done]


class Objects(Generic):
    """Lists of Python objects: the stacked values of a carry that is no array."""


class Earlier(Operation):
    """The values that a carry that is no array had before each step, the last first."""

    def make_node(self, initial: Any, stack: Any, count: Any) -> Apply:
        """A list."""
        return Apply(self, [initial, stack, count], [Objects()()])

    def compute(self, initial: Any, stack: Any, count: Any) -> Any:
        """The list."""
        return [initial, *stack][: int(count)][::-1]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Not differentiable."""
        return [[False]] * 3


class LastFirst(Operation):
    """The first objects of a list, the last of them first."""

    def make_node(self, objects: Any, count: Any) -> Apply:
        """A list."""
        return Apply(self, [objects, count], [Objects()()])

    def compute(self, objects: Any, count: Any) -> Any:
        """The list."""
        return objects[: int(count)][::-1]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Not differentiable."""
        return [[False]] * 2


class LastCarry(Operation):
    """The value of a carry after the last step; IndexError if there was no step."""

    def make_node(self, count: Any, carry: Any) -> Apply:
        """The carry's type."""
        return Apply(self, [count, carry], [carry.type()])

    def compute(self, count: Any, carry: Any) -> Any:
        """The value."""
        if not count:
            raise IndexError("the last element of a scan of no steps")
        return carry


@rule(Subtensor)
def last_of_loop(node: Apply) -> Sequence[Any] | None:
    """The last of the stacked values of a carry is the carry: nothing has to be stacked for it."""
    x = node.inputs[0]
    if x.owner is None or not isinstance(x.owner.op, Loop) or node.op.key.entries != ("i",):
        return None
    if number_of(node.inputs[1]) != -1.0:
        return None
    carries = x.owner.op.step.carries
    k = x.index - 1 - carries
    if not 0 <= k < carries:
        return None
    return [LastCarry()(x.owner.outputs[0], x.owner.outputs[1 + k])]


def element_type(sequence: Any) -> Any:
    """The type of a sequence's elements."""
    return TensorType(sequence.dtype, sequence.broadcastable[1:])


class LoopGradient:
    """The gradients of a loop's inputs."""

    def __init__(self, op: Loop, inputs: Any, outputs: Any, gradients: Any) -> None:
        self.op, self.step = op, op.step
        self.sequences, self.carries, self.constants = op.groups(inputs[1:])
        self.count, *others = outputs
        c = self.step.carries
        self.stacks = others[c : 2 * c]
        _, *cotangents = gradients
        self.of_last = cotangents[:c]
        self.of_stacks = cotangents[c : 2 * c]
        self.of_results = cotangents[2 * c :]
        elements, carried, fixed = op.groups(op.step.inputs)
        self.floats = [k for k, x in enumerate(carried) if _is_float(x)]
        self.live = [k for k, x in enumerate(elements) if _is_float(x)]
        self.wrt_fixed = [k for k, x in enumerate(fixed) if _is_float(x)]

    def _body(self) -> Step:
        """The step of the walk back.

        Its elements are the sequences' and the carries before the step, and the gradients of what
        the step has stacked; its carries are the gradients of the carries, and the sums of those
        of the constants.
        """
        step = self.step
        elements, carried, fixed = self.op.groups(step.inputs)
        inner = [x.clone() for x in (*elements, *carried)]
        copies = [x.clone() for x in fixed]
        of_carry = [carried[k].type() for k in self.floats]
        of_stack = [carried[k].type() for k in self.floats]
        of_result = [_float_type(y)() for y in step.other_results()]
        sums = [fixed[k].type() for k in self.wrt_fixed]
        table = dict(zip(step.inputs, [*inner, *copies], strict=True))
        # What is returned may be read inside as well, where its seed is not meant to stand.
        outs = [tensor_copy(y) if _is_tensor(y) else y for y in replaced_in(step.outputs, table)]
        seeds = {outs[k]: of_carry[j] + of_stack[j] for j, k in enumerate(self.floats)}
        others = outs[step.carries : step.carries + step.results]
        seeds |= {y: g for y, g in zip(others, of_result, strict=True) if _is_float(y)}
        wrt = [inner[len(elements) + k] for k in self.floats]
        wrt += [inner[k] for k in self.live] + [copies[k] for k in self.wrt_fixed]
        pulled = _pulled(seeds, wrt)
        n, m = len(self.floats), len(self.floats) + len(self.live)
        back = [rebroadcast(g, v.broadcastable) for g, v in zip(pulled[:n], of_carry, strict=True)]
        # A sum of products over the steps is one product of stacked factors after the loop.
        self.factors = [_factors(g) for g in pulled[m:]]
        back += [
            rebroadcast(s + g, s.broadcastable)
            for s, g, f in zip(sums, pulled[m:], self.factors, strict=True)
            if not f
        ]
        sums = [s for s, f in zip(sums, self.factors, strict=True) if not f]
        return Step(
            [*inner, *of_stack, *of_result, *of_carry, *sums, *copies],
            [*back, *pulled[n:m], *(v for f in self.factors for v in f)],
            sequences=len(inner) + len(of_stack) + len(of_result),
            carries=n + len(sums),
        )

    def results(self) -> list[Any]:
        """For sequences, initial carries and constants."""
        ran = steps = self.count
        if self.op.truncate_gradient != -1:
            steps = minimum(ran, self.op.truncate_gradient)
        previous = [
            _reversed(concatenate([shape_padleft(first), stack], 0), ran)
            if _is_tensor(first)
            else Earlier()(first, stack, ran)
            for first, stack in zip(self.carries, self.stacks, strict=True)
        ]
        with config.change_flags(compute_test_value="off"):
            body = self._body()
        back = Loop(body, name=f"grad_of_{self.op.name}", mode=self.op.mode)
        backwards = [
            *(_reversed(s, ran) for s in self.sequences),
            *previous,
            *(_reversed(_or_zeros(self.of_stacks[k], self.stacks[k]), ran) for k in self.floats),
            *(_reversed(g, ran) for g in self.of_results),
        ]
        initial = [_or_zeros(self.of_last[k], self.carries[k]) for k in self.floats]
        start = [
            float_zeros(self.constants[k])
            for k, f in zip(self.wrt_fixed, self.factors, strict=True)
            if not f
        ]
        final = back(steps, *backwards, *initial, *start, *self.constants, return_list=True)
        return self._arranged(final, body, steps)

    def _arranged(self, final: Any, body: Step, steps: Any) -> list[Any]:
        """Gradients in the order of the inputs, zeros for what has none."""
        last = final[1 : 1 + body.carries]
        stacks = final[1 + 2 * body.carries :]
        of_sequences = dict(zip(self.live, stacks, strict=False))
        of_initial = dict(zip(self.floats, last, strict=False))
        factors, sums = iter(stacks[len(self.live) :]), iter(last[len(self.floats) :])
        of_fixed = {
            k: self._product(next(factors), next(factors), k, final[0]) if f else next(sums)
            for k, f in zip(self.wrt_fixed, self.factors, strict=True)
        }
        results = []
        for k, s in enumerate(self.sequences):
            results.append(self._placed(of_sequences.get(k), s, steps))
        for k, c in enumerate(self.carries):
            results.append(_result(self._whole(of_initial.get(k), steps), c))
        results += [_result(of_fixed.get(k), c) for k, c in enumerate(self.constants)]
        return results

    def _product(self, left: Any, right: Any, k: int, steps: Any) -> Any:
        """The sum of the products of stacked factors; zeros if there was no step."""
        m, n = left.shape[1], right.shape[2]
        widened = reshape(DimShuffle(left.broadcastable, (1, 0, 2))(left), (m, -1), 2)
        product = dot(widened, reshape(right, (-1, n), 2))
        like = self.constants[k]
        zeros = rebroadcast(float_zeros(like), like.broadcastable)
        return IfElse(1)(eq(steps, 0), zeros, rebroadcast(product, like.broadcastable))

    def _whole(self, g: Any, steps: Any) -> Any:
        """The gradient of an initial carry: zero if the walk back ended before it."""
        if g is None or self.op.truncate_gradient == -1:
            return g
        return switch(eq(steps, self.count), g, zeros_like(g))

    def _placed(self, g: Any, sequence: Any, steps: Any) -> Any:
        """The gradient of a sequence: steps in order, zeros where none ran."""
        if g is None:
            return _result(None, sequence)
        ordered = index(g, slice(None, None, -1))
        before = self.count - steps
        after = sequence.shape[0] - self.count
        pad = [
            zeros([n, *[ordered.shape[d] for d in range(1, ordered.ndim)]], ordered.dtype)
            for n in (before, after)
        ]
        full = concatenate([pad[0], ordered, pad[1]], 0)
        return rebroadcast(full, sequence.broadcastable)


def _factors(g: Any) -> list[Any]:
    """The two matrices of which a variable is the product, if it is one."""
    if g.owner is None or not isinstance(g.owner.op, Dot):
        return []
    return list(g.owner.inputs) if all(x.ndim == 2 for x in g.owner.inputs) else []


def _is_tensor(x: Any) -> bool:
    return isinstance(x.type, TensorType)


def _is_float(x: Any) -> bool:
    return isinstance(x.type, TensorType) and x.type.dtype in CONTINUOUS


def _float_type(y: Any) -> Any:
    return y.type if y.dtype in CONTINUOUS else y.type.clone(dtype="float64")


def _pulled(seeds: dict[Any, Any], wrt: list[Any]) -> list[Any]:
    if not wrt:
        return []
    if not seeds:
        return [float_zeros(x) for x in wrt]
    pulled = grad(None, wrt, known_grads=seeds, disconnected_inputs="ignore", add_names=False)
    return [
        rebroadcast(cast(g, x.dtype), x.broadcastable) for g, x in zip(pulled, wrt, strict=True)
    ]


def _reversed(x: Any, count: Any) -> Any:
    """The first elements of a sequence, the last of them first."""
    if not _is_tensor(x):
        return LastFirst()(x, count)
    return index(index(x, slice(None, count)), slice(None, None, -1))


def _or_zeros(g: Any, like: Any) -> Any:
    if g is None or isinstance(g.type, DisconnectedType):
        return float_zeros(like)
    return g


def _result(g: Any, x: Any) -> Any:
    if g is not None:
        return g if not isinstance(x.type, TensorType) else rebroadcast(g, x.broadcastable)
    return float_zeros(x) if isinstance(x.type, TensorType) else disconnected()
