"""``theano.scan`` and what is made of it: loops from a function that builds one step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from wengert.symbolic.arguments import fitted_update
from wengert.symbolic.expressions.arithmetic import cast, minimum
from wengert.symbolic.expressions.elemwise import rebroadcast
from wengert.symbolic.expressions.indexing import index
from wengert.symbolic.expressions.products import Dot, dot
from wengert.symbolic.expressions.shapes import number_in
from wengert.symbolic.expressions.structure import reshape, shape_padleft, unbroadcast
from wengert.symbolic.expressions.type import as_tensor_variable
from wengert.symbolic.functions import shared_in
from wengert.symbolic.graph import Constant, TestValueError, Variable, toposort, value_for_test
from wengert.symbolic.graph import replaced as replaced_in
from wengert.symbolic.looping import Loop, Step, element_type
from wengert.symbolic.programs.assembly import MissingInputError
from wengert.symbolic.settings import config
from wengert.symbolic.sharing import SharedVariable
from wengert.symbolic.updates import OrderedUpdates


class until:  # noqa: N801
    """What a step returns last to stop the loop after it, where the condition holds.

    >>> from wengert.symbolic import function, scan
    >>> from wengert.symbolic import tensor as T
    >>> from wengert.symbolic.scanning import until
    >>> n = T.iscalar()
    >>> one = T.constant(1, dtype="int64")
    >>> values, _ = scan(lambda p: (p * 2, until(p * 2 > n)), outputs_info=one, n_steps=100)
    >>> function([n], values)(20)
    array([ 2,  4,  8, 16, 32])
    """

    def __init__(self, condition: Any) -> None:
        self.condition = as_tensor_variable(condition)


class _Output:
    """One output of the steps: its initial values and how far back it is read."""

    def __init__(self, info: Any) -> None:
        if not isinstance(info, dict):
            info = {"initial": info} if info is not None else {}
        unknown = info.keys() - {"initial", "taps", "return_steps", "inplace", "name"}
        if unknown:
            raise ValueError(f"outputs_info: unknown keys {sorted(unknown)}")
        initial = info.get("initial")
        taps = info.get("taps", [-1] if initial is not None else [])
        self.taps = [taps] if isinstance(taps, int) else list(taps or [])
        if initial is None and self.taps:
            raise ValueError(
                "If you are using slices of an output you need to provide an initial state for it",
                info,
            )
        if len(set(self.taps)) < len(self.taps):
            raise ValueError("All the taps must be different in `outputs_info`", info)
        if any(k >= 0 for k in self.taps):
            raise ValueError("All the tap values must be strictly negative", self.taps)
        self.initial = None if initial is None else as_tensor_variable(initial)
        self.depth = max((-k for k in self.taps), default=0)
        self.state: list[Any] = []  # one step back, two steps back, ...

    def placeholders(self, once: bool) -> list[Any]:
        """Inner variables of the values that steps read; the only step reads initial values."""
        if self.initial is None:
            return []
        self.starts = (
            [self.initial]
            if self.taps == [-1]
            else [index(self.initial, self.depth - k) for k in range(1, self.depth + 1)]
        )
        if once:
            return [self.starts[-k - 1] for k in self.taps]
        self.state = [_stand_in(start.type, None, start) for start in self.starts]
        for k, v in enumerate(self.state, start=1):
            v.name = f"{self.initial.name}[t-{k}]" if self.initial.name else None
        return [self.state[-k - 1] for k in self.taps]


def _stand_in(type: Any, name: str | None, source: Any, first: bool = False) -> Any:
    """A variable inside of steps, with the test value of what it stands for."""
    variable = type(name)
    if config.compute_test_value != "off":
        with suppress(TestValueError, IndexError):
            value = value_for_test(source)
            variable.tag.test_value = value[0] if first else value
    return variable


def _element(sequence: Any) -> Any:
    return _stand_in(element_type(sequence), sequence.name, sequence, first=True)


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _sequences(sequences: Any, backwards: bool) -> tuple[list[Any], list[Any]]:
    """The sequences cut for each tap, and their lengths."""
    cut: list[Any] = []
    lengths: list[Any] = []
    for sequence in _listed(sequences):
        info = sequence if isinstance(sequence, dict) else {"input": sequence}
        x = as_tensor_variable(info["input"])
        if not x.ndim:
            raise TypeError(f"scan: a sequence has at least one dimension, and {x} has none")
        taps = info.get("taps", [0])
        taps = [0] if taps is None else [taps] if isinstance(taps, int) else list(taps)
        latest, earliest = max(*taps, 0), min(*taps, 0)
        for k in taps:
            end = None if k == latest else k - latest
            piece = index(x, slice(k - earliest or None, end))
            if piece.name is None and x.name:
                piece.name = f"{x.name}[t{k:+d}]" if k else f"{x.name}[t]"
            cut.append(index(piece, slice(None, None, -1)) if backwards else piece)
            lengths.append(piece.shape[0])
    return cut, lengths


def _is_updates(value: Any) -> bool:
    if isinstance(value, dict):
        return True
    return isinstance(value, list | tuple) and bool(value) and all(
        isinstance(p, list | tuple) and len(p) == 2 and isinstance(p[0], SharedVariable)
        for p in value
    )  # fmt: skip


def _parsed(returned: Any) -> tuple[list[Any], dict[Any, Any], Any]:
    """Outputs, updates and the condition to stop, of what a step returned in any of its forms."""
    outputs: list[Any] = []
    updates: dict[Any, Any] = {}
    condition = None
    items = [returned]
    if isinstance(returned, list | tuple) and not _is_updates(returned):
        special = [isinstance(x, until) or _is_updates(x) for x in returned]
        nested = any(isinstance(x, list | tuple) for x in returned)
        items = list(returned) if any(special) or nested else [list(returned)]
    for item in items:
        if isinstance(item, until):
            condition = item.condition
        elif _is_updates(item):
            updates.update(item if isinstance(item, dict) else dict(item))
        elif isinstance(item, list | tuple):
            outputs += [as_tensor_variable(v) for v in item]
        elif item is not None:
            outputs.append(as_tensor_variable(item))
    return outputs, updates, condition


def scan(
    fn: Callable[..., Any], sequences: Any = None, outputs_info: Any = None,
    non_sequences: Any = None, n_steps: Any = None, truncate_gradient: int = -1,
    go_backwards: bool = False, mode: Any = None, name: str | None = None, profile: Any = False,
    allow_gc: Any = None, strict: bool = False, return_list: bool = False,
) -> Any:  # fmt: skip
    """A loop whose steps `fn` builds: the stacked outputs of all steps, and updates.

    Args:
        fn: called once, with variables for the elements of the sequences, the earlier outputs and
            the non-sequences; gives outputs, updates and `until` a condition, what there is of it.
        sequences: variables, or ``dict(input=x, taps=[-1, 0])``, whose elements the steps see.
        outputs_info: for each output its initial value, ``dict(initial=x, taps=[-2, -1])``, or
            None where steps do not read it.
        non_sequences: further arguments of `fn`, the same in all steps.
        n_steps: how many; by default as many as the shortest sequence has elements.
        truncate_gradient: over how many of the last steps gradients flow; -1 for all.
        go_backwards: read the sequences from their end.
        strict: whether shared variables that steps read have to be in `non_sequences`.

    Raises ValueError and TypeError where inputs and outputs do not go together.

    >>> from wengert.symbolic import function, scan
    >>> from wengert.symbolic import tensor as T
    >>> a, k = T.dvector("a"), T.iscalar("k")
    >>> ones = T.ones_like(a)
    >>> p, updates = scan(lambda p, a: p * a, outputs_info=ones, non_sequences=a, n_steps=k)
    >>> function([a, k], p[-1], updates=updates)([2, 3], 3)
    array([ 8., 27.])
    """
    steps = n_steps
    number = number_in(as_tensor_variable(steps)) if steps is not None else None
    if number is not None and number < 0:
        steps, go_backwards = -number, not go_backwards
    xs, lengths = _sequences(sequences, go_backwards)
    outputs = [_Output(info) for info in _listed(outputs_info)]
    fixed = [as_tensor_variable(v) if not isinstance(v, Variable) else v
             for v in _listed(non_sequences)]  # fmt: skip
    # Updates of streams that the only step draws from are read off their variables, outside.
    once = number in (1, -1)
    elements = [index(x, 0) if once else _element(x) for x in xs]
    states = [v for out in outputs for v in out.placeholders(once)]
    results, updates, condition = _parsed(fn(*elements, *states, *fixed))
    outputs = outputs or [_Output(None) for _ in results]
    if len(outputs) != len(results):
        raise ValueError(
            f"Please provide None as outputs_info for any output that does not feed back into scan"
            f" (i.e. it behaves like a map): the step gives {len(results)} outputs, and"
            f" outputs_info has {len(outputs)} entries"
        )
    if once:
        return _once(results, updates, return_list)
    steps = _shortest(lengths) if steps is None else steps
    loop = _Loop(elements, outputs, results, updates, condition)
    if strict:
        loop.check_strict(fixed)
    loop.give(fixed)
    stacked, changes = loop.built(xs, steps, truncate_gradient, name, mode)
    return _returned(stacked, changes, return_list)


def _once(results: list[Any], updates: dict[Any, Any], return_list: bool) -> Any:
    """What a scan of one step gives: the step itself, without a loop around it."""
    stacked = [unbroadcast(shape_padleft(y), 0) for y in results]
    return _returned(stacked, OrderedUpdates(updates), return_list)


def _returned(stacked: list[Any], changes: OrderedUpdates, return_list: bool) -> Any:
    """Outputs as `scan` gives them, and updates."""
    if not stacked:
        return None, changes
    return (stacked if return_list or len(stacked) > 1 else stacked[0]), changes


def _shortest(lengths: list[Any]) -> Any:
    if not lengths:
        raise ValueError(
            "No information about the number of steps provided. Either provide a value for n_steps"
            " argument of scan or provide an input sequence"
        )
    steps = lengths[0]
    for length in lengths[1:]:
        steps = minimum(steps, length)
    return steps


class _Loop:
    """A step that `fn` has built, on its way to become a `Loop`."""

    def __init__(
        self, elements: list[Any], outputs: list[_Output], results: list[Any],
        updates: dict[Any, Any], condition: Any,
    ) -> None:  # fmt: skip
        self.elements, self.outputs = elements, outputs
        self.results = [
            _fitted(y, out) if out.state else y for y, out in zip(results, outputs, strict=True)
        ]
        self.condition = condition
        self.updates = {s: fitted_update(s, v) for s, v in updates.items()}
        self.give([])
        self._add_default_updates()

    def _graph(self) -> list[Any]:
        extra = [] if self.condition is None else [self.condition]
        return [*self.results, *self.updates.values(), *extra]

    def give(self, fixed: list[Any]) -> None:
        """Note the non-sequences."""
        self.fixed = fixed
        # Those that are computed before the loop, and what stands for them inside of it.
        self.computed = {v: v.type(v.name) for v in fixed if v.owner is not None}

    def check_strict(self, fixed: list[Any]) -> None:
        """MissingInputError for a shared variable that is not among the non-sequences."""
        for s in shared_in(self._graph(), fixed):
            if s not in self.updates:
                raise MissingInputError(f"scan(strict=True): {s} is not among the non_sequences")

    def _add_default_updates(self) -> None:
        todo = self._graph()
        while todo:
            fresh = [s for s in shared_in(todo, ()) if s not in self.updates]
            todo = []
            for s in fresh:
                value = getattr(s, "default_update", None)
                if value is not None:
                    self.updates[s] = fitted_update(s, value)
                    todo.append(value)

    def built(
        self, xs: list[Any], steps: Any, truncate_gradient: int, name: Any, mode: Any
    ) -> tuple[list[Any], OrderedUpdates]:
        """The stacked outputs, and the updates of shared variables."""
        targets = list(self.updates)
        counters = [s.type() for s in targets]
        table = self.computed | dict(zip(targets, counters, strict=True))
        graph = replaced_in(self._graph(), table) if table else self._graph()
        results, graph = graph[: len(self.results)], graph[len(self.results) :]
        news, stop = graph[: len(targets)], graph[len(targets) :]
        carried = [v for out in self.outputs for v in out.state] + counters
        starts = [v for out in self.outputs for v in getattr(out, "starts", [])] + targets
        new_carries: list[Any] = []
        others = []
        for out, y in zip(self.outputs, results, strict=True):
            if out.state:
                new_carries += [y, *out.state[:-1]]
            else:
                others.append(y)
        new_carries += news
        everything, elements, xs = _products_before(
            [*new_carries, *others, *stop], self.elements, xs, carried
        )
        inner = [*elements, *carried]
        constants = _captured(everything, inner)
        copies = [v.type(v.name) for v in constants]
        final = replaced_in(everything, dict(zip(constants, copies, strict=True)))
        step = Step([*inner, *copies], final, len(elements), len(carried), bool(stop))
        loop = Loop(step, truncate_gradient, name, mode)
        outer = replaced_in([*xs, *starts, *constants], {i: v for v, i in self.computed.items()})
        values = loop(steps, *outer, return_list=True)
        values[0].owner.tag.mentioned = self.fixed
        return self._arranged(values, step, targets)

    def _arranged(
        self, values: list[Any], step: Step, targets: list[Any]
    ) -> tuple[list[Any], OrderedUpdates]:
        c = step.carries
        last, stacks, others = values[1 : 1 + c], values[1 + c : 1 + 2 * c], values[1 + 2 * c :]
        stacked = []
        position = 0
        remaining = iter(others)
        for out in self.outputs:
            stacked.append(stacks[position] if out.state else next(remaining))
            position += len(out.state)
        changes = OrderedUpdates(zip(targets, last[c - len(targets) :], strict=True))
        return stacked, changes


def _fitted(y: Any, out: _Output) -> Any:
    """A new state in the type of the initial one; TypeError where that loses something."""
    expected = out.state[0].type
    if y.type == expected:
        return y
    if y.ndim != expected.ndim:
        raise ValueError(
            f"scan: the initial state {out.initial} (outputs_info) has {expected.ndim} dimensions,"
            f" and the step computes {y}, which has {y.ndim}"
        )
    if y.dtype != expected.dtype:
        if np.result_type(y.dtype, expected.dtype).name != expected.dtype:
            raise ValueError(
                "When compiling the inner function of scan (the function called by scan in each of"
                f" its iterations) the following error has been encountered: The initial state"
                f" (`outputs_info` in scan nomenclature) of variable {out.initial} has dtype"
                f" {expected.dtype}, while the result of the inner function has dtype {y.dtype}."
                " This can happen if the inner function of scan results in an upcast or downcast."
            )
        y = cast(y, expected.dtype)
    if any(b and not own for b, own in zip(expected.broadcastable, y.broadcastable, strict=True)):
        raise TypeError(
            f"scan: the initial state {out.initial} is broadcastable in dimensions"
            f" {expected.broadcastable}, and what the step computes in {y.broadcastable}. Declare"
            " the initial state with tensor.unbroadcast(x, axis)."
        )
    return rebroadcast(y, expected.broadcastable)


def _products_before(
    results: list[Any], elements: list[Any], xs: list[Any], carried: list[Any]
) -> tuple[list[Any], list[Any], list[Any]]:
    """Products of a sequence's elements with what no step changes, all in one before the loop."""
    sequences = dict(zip(elements, xs, strict=True))
    own = {*elements, *carried}
    varying = _varying(results, own)
    table: dict[Any, Any] = {}
    more: list[Any] = []
    for node in toposort(results, own):
        if not isinstance(node.op, Dot) or node.inputs[0] not in sequences:
            continue
        element, factor = node.inputs
        out = node.outputs[0]
        if factor in varying or factor.ndim != 2:
            continue
        full = sequences[element]
        rows = full if element.ndim == 1 else reshape(full, (-1, full.shape[2]), 2)
        product = dot(rows, factor)
        if element.ndim == 2:
            product = reshape(product, (full.shape[0], full.shape[1], factor.shape[1]), 3)
        more.append(rebroadcast(product, (False, *out.broadcastable)))
        table[out] = out.type(out.name)
    if not table:
        return results, elements, xs
    return replaced_in(results, table), [*elements, *table.values()], [*xs, *more]


def _varying(results: Sequence[Any], own: set[Any]) -> set[Any]:
    """The variables that are not the same in all steps."""
    varying = set(own)
    for node in toposort(results, own):
        if any(x in varying for x in node.inputs) or getattr(node.op, "has_effect", False):
            varying.update(node.outputs)
    return varying


def _captured(results: Sequence[Any], inner: Sequence[Any]) -> list[Any]:
    """The variables that steps need and that are the same in all of them.

    Of an expression that no step changes the result is taken, so that it is computed once.
    """
    own = set(inner)
    varying, nodes = _varying(results, own), toposort(results, own)
    captured: dict[Any, None] = {}
    reads = [x for node in nodes if node.outputs[0] in varying for x in node.inputs]
    for x in (*reads, *results):
        if x not in varying and not isinstance(x, Constant):
            captured[x] = None
    return list(captured)


def map(fn: Any, sequences: Any, non_sequences: Any = None, truncate_gradient: int = -1,
        go_backwards: bool = False, mode: Any = None, name: Any = None) -> Any:  # fmt: skip
    """The stacked results of a function of the elements of sequences.

    >>> from wengert.symbolic import function, map
    >>> from wengert.symbolic import tensor as T
    >>> x = T.dvector()
    >>> function([x], map(lambda v: v * v, x)[0])([1, 2, 3])
    array([1., 4., 9.])
    """
    return scan(
        fn, sequences=sequences, outputs_info=None, non_sequences=non_sequences,
        truncate_gradient=truncate_gradient, go_backwards=go_backwards, mode=mode, name=name,
    )  # fmt: skip


def reduce(fn: Any, sequences: Any, outputs_info: Any, non_sequences: Any = None,
           go_backwards: bool = False, mode: Any = None, name: Any = None) -> Any:  # fmt: skip
    """The last result of a function of elements and of its own results before.

    >>> from wengert.symbolic import function, reduce
    >>> from wengert.symbolic import tensor as T
    >>> x = T.dvector()
    >>> total, _ = reduce(lambda v, sum: sum + v, x, T.constant(0.0, dtype="float64"))
    >>> function([x], total)([1, 2, 3])
    array(6.)
    """
    results, updates = scan(
        fn, sequences=sequences, outputs_info=outputs_info, non_sequences=non_sequences,
        go_backwards=go_backwards, truncate_gradient=-1, mode=mode, name=name,
    )  # fmt: skip
    if isinstance(results, list | tuple):
        return [index(x, -1) for x in results], updates
    return index(results, -1), updates


def foldl(fn: Any, sequences: Any, outputs_info: Any, non_sequences: Any = None, mode: Any = None,
          name: Any = None) -> Any:  # fmt: skip
    """`reduce`, from the first element.

    >>> from wengert.symbolic import foldl, function
    >>> from wengert.symbolic import tensor as T
    >>> x = T.dvector()
    >>> out, _ = foldl(lambda v, before: before / 2 + v, x, T.constant(0.0, dtype="float64"))
    >>> function([x], out)([4, 2, 1])
    array(3.)
    """
    return reduce(fn, sequences, outputs_info, non_sequences, False, mode, name)


def foldr(fn: Any, sequences: Any, outputs_info: Any, non_sequences: Any = None, mode: Any = None,
          name: Any = None) -> Any:  # fmt: skip
    """`reduce`, from the last element.

    >>> from wengert.symbolic import foldr, function
    >>> from wengert.symbolic import tensor as T
    >>> x = T.dvector()
    >>> out, _ = foldr(lambda v, before: before / 2 + v, x, T.constant(0.0, dtype="float64"))
    >>> function([x], out)([4, 2, 1])
    array(5.25)
    """
    return reduce(fn, sequences, outputs_info, non_sequences, True, mode, name)
