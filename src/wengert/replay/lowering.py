"""From the record of a run to a program: forwards as they are, a backward as calls of the rules.

A backward visits the operations in the order in which the engine's walk would, and adds cotangents
in that order. So, before passes, a program computes what eager mode does, bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import signature
from itertools import repeat
from typing import Any

import numpy as np

from wengert.kernels.jit.pace import pace
from wengert.kernels.precision import BRAIN
from wengert.ops import operands
from wengert.ops.half_rules import rounded
from wengert.ops.indexed import INDICES, private_key
from wengert.ops.numbers import number_as_array
from wengert.ops.op import REGISTRY, Op
from wengert.replay.bounds import checking
from wengert.replay.deferred import Outline
from wengert.replay.forwards import (
    apply_of_values,
    apply_rule,
    conversion_of,
    converted,
    forward_of,
    in_halves,
    in_layout,
    list_rule,
    of_list,
    of_one,
    of_one_element,
    pointwise_of_entry,
    several_rule,
)
from wengert.replay.ir import SUM, Instruction, Program, Type
from wengert.replay.plain import plain_function
from wengert.replay.recomputing import Recomputing
from wengert.replay.rules import FLOATS, DetachForm, ListForm, SeveralForm, kept_of
from wengert.replay.templates import Template, hashed, is_identity
from wengert.replay.trace import BackwardEntry, Entry, LeafEntry, OpEntry, Ref, inputs_of, reached

# The place of a value, or that of an operation with the name of a further result.
Origin = int | tuple[int, str]


class Lowering:
    """The program of a path through the record, and where its values are.

    `templates` are those of the record, which other paths have in common with this one.

    Attributes:
        places: the value of each place of the run.
        aux: the further results of forwards, by place and name.
        of_entries: by place of a declared operation, its template and its operands.
        released: the places whose nodes a backward has released.
        own: the places that share a value with no other, though it is the same.
        additions: by place of a gradient that was there before the run, what is added to that.
        leaves: the places of the values that became leaves, by their slots.
    """

    def __init__(
        self, path: list[Entry], templates: dict[Any, Template], own: frozenset[int] = frozenset()
    ) -> None:
        self.path, self.own = path, own
        self.program = Program()
        self.inputs = inputs_of(path)
        self._outlines = [o for entry in path for o in entry.outlines]
        self.places = [-1] * len(self._outlines)
        self.again = Recomputing(self, path)
        self.entries: dict[int, OpEntry] = {}
        self.aux: dict[tuple[int, str], int] = {}
        self.released: dict[int, BackwardEntry] = {}
        self.additions: dict[int, int] = {}
        self.of_entries: dict[int, tuple[Template, tuple[int, ...]]] = {}
        self._known: dict[Any, tuple[int, ...]] = {}
        self._numbers: dict[Any, int] = {}  # of the identities of templates
        self._templates = templates
        self._sums: dict[Type, Template] = {}
        self._dense: dict[int, bool] = {}
        self._input_outlines = [
            Outline(one.shape, one.strides, one.dtype, False) for one in self.inputs
        ]
        self._constants: dict[Any, int] = {}
        self._dtypes: dict[OpEntry, np.dtype[Any]] = {}
        for one in self.inputs:
            self.program.inputs.append(self._value(one.shape, one.dtype))
        # Their values; those of leaves in the middle are values of operations.
        self.of_inputs = [*self.program.inputs]
        self.leaves: dict[int, int] = {}
        for entry in pace.over(path):
            if isinstance(entry, OpEntry):
                if not self.again.is_late(entry):
                    self.forward(entry)
            elif isinstance(entry, BackwardEntry):
                self._backward(entry)
            elif isinstance(entry, LeafEntry):
                self.of_inputs[entry.slot] = self.places[entry.place]
                self.leaves[entry.slot] = entry.place

    def _value(self, shape: tuple[int, ...], dtype: Any) -> int:
        return self.program.value(Type(tuple(shape), dtype))

    def _emit(
        self, name: str, compute: Any, inputs: tuple[int, ...], types: list[Type], entry: Any,
        key: Any = None,
    ) -> tuple[int, ...]:  # fmt: skip
        """Add an instruction of one kind."""
        return self._add(Template(name, compute, tuple(types), key), inputs, entry)

    def _add(
        self, template: Template, inputs: tuple[int, ...], entry: Any, own: int | None = None
    ) -> tuple[int, ...]:
        """Add an instruction, unless the same is there: common subexpressions are computed once.

        The value at a place of its `own` is that of no other.
        """
        identity, key = template.identity, template.key
        if identity is not None:
            number = self._numbers.setdefault(identity, len(self._numbers))
            identity = (number, inputs) if own is None else (number, inputs, own)
            known = self._known.get(identity)
            if known is not None:
                return known
        if own is not None:
            key = (*key, own)
        values = self.program.types
        first = len(values)
        values += template.types
        outputs = (first,) if len(template.types) == 1 else tuple(range(first, len(values)))
        self.program.instructions.append(
            Instruction(
                template.name, template.compute, inputs, outputs, entry, key, template.pointwise,
                template.unpacked,
            )
        )  # fmt: skip
        if identity is not None:
            self._known[identity] = outputs
        return outputs

    def _constant(self, array: np.ndarray) -> int:
        key = array.tobytes(), array.dtype.str, array.shape
        if key not in self._constants:
            value = self._constants[key] = self.program.value(Type(array.shape, array.dtype))
            self.program.constants[value] = array
        return self._constants[key]

    def _operand(self, entry: OpEntry, ref: Ref) -> int:
        """The value that an operand refers to; numbers become arrays of the operands' dtype."""
        if ref.kind in ("value", "input"):
            return self._in_common(entry, self._value_of(ref))
        if isinstance(ref.index, np.generic):
            return self._constant(np.asarray(ref.index))
        dtype, table = self._dtype(entry), operands.table_of(entry.op)
        if ref.kind == "constant":
            return self._constant(number_as_array(ref.index, dtype, table))
        while len(self.program.numbers) <= ref.index:
            self.program.numbers.append(self._value((), None))
        convert = partial(number_as_array, to=dtype, table=table)
        number = self.program.numbers[ref.index]
        return self._emit("number", convert, (number,), [Type((), dtype)], entry, (dtype.str,))[0]

    def _in_common(self, entry: OpEntry, value: int) -> int:
        """A mask or integers where it takes floats or others, converted as in eager mode."""
        if not entry.op.mixed or entry.op.kind != "elementwise":
            return value
        type_, to = self.program.types[value], self._dtype(entry)
        if type_.dtype == to:
            return value
        pointwise = None if type_.dtype is None else conversion_of(type_.dtype, to)
        types = (Type(type_.shape, to),)
        template = Template("to", partial(converted, to), types, (to.str,), pointwise)
        return self._add(template, (value,), entry)[0]

    def _is_of_integers(self, value: int) -> bool:
        dtype = self.program.types[value].dtype
        return dtype is not None and dtype.kind in "iu"

    def _dtype(self, entry: OpEntry) -> np.dtype[Any]:
        """The dtype in which it computes: that of the first operand of floats, else of integers."""
        known = self._dtypes.get(entry)
        if known is None:
            known = self._dtypes[entry] = self._first_dtype(entry)
        return known

    def _first_dtype(self, entry: OpEntry) -> np.dtype[Any]:
        found = [
            self.operand_type(ref).dtype for ref in entry.refs.values()
            if ref is not None and ref.kind in ("value", "input")
        ]  # fmt: skip
        dtypes = [dtype for dtype in found if dtype is not None]
        if not entry.op.mixed:
            return dtypes[0]
        elementwise, outline = entry.op.kind == "elementwise", entry.outlines[0]
        if elementwise and outline.dtype in FLOATS and FLOATS.isdisjoint(dtypes):
            return outline.dtype
        order = [d for d in dtypes if d in FLOATS]
        order += [d for kind in "iu" for d in dtypes if d.kind == kind]
        return (order or dtypes)[0]

    # Forward

    def forward(self, entry: OpEntry) -> None:
        """The instruction of an operation."""
        if not isinstance(entry.op, Op):
            self._forward_of_form(entry)
            return
        template, place = self._template(entry), entry.first
        values = tuple([
            self._value_of(ref) if direct else self._operand(entry, ref)
            for n, direct in template.operands if (ref := entry.refs[n])
        ])  # fmt: skip
        own = place if place in self.own else None
        outputs = self._add(template, values, entry, own)
        self.places[place] = outputs[0]
        self.entries[place], self.of_entries[place] = entry, (template, values)
        op = entry.op
        for name, value in zip(op.aux, outputs[1:], strict=True):
            self.aux[place, name] = value
        updated = [name for name in op.updates if entry.refs[name] is not None]
        for k, name in enumerate(updated, place + 1):
            self.places[k] = self._update(entry, place, name)

    def _template(self, entry: OpEntry) -> Template:
        """What entries with operands and results like these are computed by."""
        types: list[Type | None] = []
        plain = self._is_dense(entry.outlines[0])
        for ref in entry.refs.values():
            if ref is None or ref.kind not in ("value", "input"):
                types.append(None)
                continue
            outlines = self._outlines if ref.kind == "value" else self._input_outlines
            plain = plain and self._is_dense(outlines[ref.index])
            types.append(self.operand_type(ref))
        key = entry.signature, id(entry.outlines), plain, *types  # the path holds the entries
        found = self._templates.get(key)
        if found is None:
            found = self._templates[key] = self._new_template(entry, plain)
        return found

    def _new_template(self, entry: OpEntry, plain: bool) -> Template:
        op, outline = entry.op, entry.outlines[0]
        present = [n for n in op.inputs if entry.refs[n] is not None and n not in op.updates]
        values = [self._operand(entry, r) for n in present if (r := entry.refs[n])]
        compute = checking(forward_of(op, present, entry.params), entry, present)
        pointwise = None
        integers = outline.dtype.kind in "iu" or any(map(self._is_of_integers, values))
        if outline.c_contiguous and not integers:
            pointwise = pointwise_of_entry(entry)
        if not op.view and not op.aux and (pointwise is None or not plain):
            compute = in_layout(compute, outline.shape, outline.strides)
        if not outline.shape and not op.aux:
            compute = of_one_element(compute)
        types = Type(outline.shape, outline.dtype), *[Type() for _ in op.aux]
        key = hashed(op.name, entry.params)
        found = Template(op.public_name, compute, types, key, pointwise, bool(op.aux))
        found.operands = tuple([
            (n, r.kind in ("value", "input") and self._value_of(r) == value)
            for n, value in zip(present, values, strict=True) if (r := entry.refs[n])
        ])  # fmt: skip
        return found

    def _is_dense(self, outline: Outline) -> bool:
        """Whether a value's elements are in the order of its dimensions."""
        found = self._dense.get(id(outline))  # the path holds the outlines
        if found is None:
            found = self._dense[id(outline)] = outline.c_contiguous
        return found

    def _update(self, entry: OpEntry, place: int, name: str) -> int:
        """What a buffer holds after an operation that writes to it."""
        op, ref, rule = entry.op, entry.refs[name], entry.op.updates[name]
        assert ref is not None
        first, *takes = signature(rule).parameters  # the buffer, and what else it reads
        assert first == name
        compute, values = self._call(entry, place, rule, takes, self._operand(entry, ref), None)
        key, type_ = hashed((op.name, name), entry.params), self.operand_type(ref)
        (value,) = self._emit(f"{op.public_name}_{name}", compute, values, [type_], entry, key)
        return value

    def _forward_of_form(self, entry: OpEntry) -> None:
        """An operation on a list of tensors, or one with several outputs."""
        if isinstance(entry.op, DetachForm):
            ref = entry.refs["input"]
            assert ref is not None
            self.entries[entry.first] = entry
            self.places[entry.first] = self._operand(entry, ref)
            return
        op, params = entry.op, tuple(entry.params.values())
        values = tuple([self._operand(entry, r) for n in op.inputs if (r := entry.refs[n])])
        compute = partial(of_list if isinstance(op, ListForm) else of_one, op.op.forward, params)
        types = tuple([Type(o.shape, o.dtype) for o in entry.outlines])
        key, place = hashed(op.name, entry.params), entry.first
        template = Template(op.public_name, compute, types, key, unpacked=not entry.single)
        outputs = self._add(template, values, entry, place if place in self.own else None)
        for k, value in enumerate(outputs, place):
            self.entries[k], self.places[k] = entry, value

    def kept(self, entry: OpEntry) -> Any:
        """What the rule of a form reads: it depends on shapes alone."""
        types = [self.operand_type(r) for n in entry.op.inputs if (r := entry.refs[n])]
        like = [(t.shape, t.dtype) for t in types]
        return kept_of(entry.op, like, tuple(entry.params.values()))

    def _pull_list(self, entry: OpEntry, g: int, walk: BackwardEntry) -> list[tuple[Ref, int]]:
        op, kept, gradients = entry.op, self.kept(entry), []
        for k, name in enumerate(op.inputs):
            ref = entry.refs[name]
            if ref is not None and self.wants(ref) and walk.sends(ref):
                rule = partial(list_rule, op.rules[name], k, kept)
                (gradient,) = self._emit(
                    f"{op.public_name}_backward", rule, (g,), [self.operand_type(ref)], entry
                )
                gradients.append((ref, gradient))
        return gradients

    def _pull_several(
        self, entry: OpEntry, cotangents: dict[Any, int], walk: BackwardEntry
    ) -> list[tuple[Ref, int]]:
        """The gradient of the input from those of the outputs that have one."""
        op, ref = entry.op, entry.refs["input"]
        if ref is None or not self.wants(ref) or not walk.sends(ref):
            return []
        values: list[int] = []
        template: list[Any] = []
        for k, outline in enumerate(entry.outlines):
            g = cotangents.pop(("value", entry.first + k), None)
            template.append(np.broadcast_to(np.zeros((), outline.dtype), outline.shape)
                            if g is None else len(values))  # fmt: skip
            values += [] if g is None else [g]
        rule = partial(several_rule, op.rules["input"], self.kept(entry), tuple(template))
        (gradient,) = self._emit(
            f"{op.public_name}_backward", rule, tuple(values), [self.operand_type(ref)], entry
        )
        return [(ref, gradient)]

    # Backward

    def _backward(self, entry: BackwardEntry) -> None:
        cotangents, targets = self._seeds(entry), frozenset(entry.targets)
        found: dict[Any, int] = {}
        stops = _stops_of(entry, self.path)
        self.again.begin(entry)
        seed = next(iter(cotangents.values()))
        seed = next(iter(cotangents.values()))
        for place in pace.over(range(max(entry.roots), -1, -1)):
            producer, where = self.entries.get(place), Ref("value", place)
            if producer is None:
                continue
            if where in targets:
                found[where] = cotangents[where]
            if where in stops:
                del cotangents[where]
            if entry.releases and where in cotangents:
                self.released[place] = entry
            self.again.arrive(place, cotangents.get(where))
            for ref, gradient in self._gradients(producer, place, cotangents, entry):
                earlier = cotangents.get(ref)
                cotangents[ref] = (
                    gradient if earlier is None else self._sum(earlier, gradient, producer)
                )
        self.again.end(seed)
        self.again.end(seed)
        added = zip(entry.targets, entry.added or repeat(None), strict=False)
        for place, (ref, before) in enumerate(added, entry.first):
            gradient = found[ref] if ref in found else cotangents[ref]
            self.places[place] = self._added(gradient, before, entry, place)

    def _seeds(self, entry: BackwardEntry) -> dict[Any, int]:
        """The cotangents of the roots, by what they belong to."""
        cotangents: dict[Any, int] = {}
        for root, ref in zip(entry.roots, entry.seeds, strict=True):
            where = Ref("value", root)
            if not entry.sends(where):
                continue
            if ref is None:
                outline = self.path_outline(root)
                seed = self._constant(np.ones(outline.shape, outline.dtype))
            else:
                seed = (self.places if ref.kind == "value" else self.of_inputs)[ref.index]
            earlier = cotangents.get(where)
            cotangents[where] = seed if earlier is None else self._sum(earlier, seed, entry)
        return cotangents

    def _added(self, gradient: int, before: int | None, entry: BackwardEntry, place: int) -> int:
        """The value of a gradient's place, which is added to an earlier one."""
        if before is None:
            return gradient
        more = gradient
        if before in self.additions:
            more = self._sum(self.additions[before], gradient, entry)
        if before < 0 or before in self.additions:
            self.additions[place] = more
        earlier = self.places[before] if before >= 0 else self.program.inputs[~before]
        return self._sum(earlier, gradient, entry)

    def _gradients(
        self, entry: OpEntry, place: int, cotangents: dict[Any, int], walk: BackwardEntry
    ) -> list[tuple[Ref, int]]:
        """The gradients that a step sends on once those of all its results are there."""
        if isinstance(entry.op, SeveralForm):
            places = range(entry.first, entry.first + len(entry.outlines))
            if place > entry.first or not any(("value", k) in cotangents for k in places):
                return []
            return self._pull_several(entry, cotangents, walk)
        g = cotangents.pop(("value", place), None)
        if g is None:
            return []
        return (
            self._pull_list(entry, g, walk)
            if isinstance(entry.op, ListForm)
            else self._pull(entry, place, g, walk)
        )

    def path_outline(self, place: int) -> Any:
        """The outline of the value of an operation."""
        entry = self.entries[place]
        return entry.outlines[place - entry.first]

    def _sum(self, a: int, b: int, entry: Entry) -> int:
        type_ = self.program.types[a]
        template = self._sums.get(type_)
        if template is None:
            add, pointwise = plain_function(REGISTRY["_add"]), in_halves(type_.dtype, np.add)
            template = self._sums[type_] = Template("add", add, (type_,), SUM, pointwise)
        return self._add(template, (a, b), entry)[0]

    def _summed_to(self, gradient: int, type_: Type, entry: OpEntry) -> int:
        """The gradient of an operand that was broadcast."""
        template = self._templates.get(type_)
        if template is None:
            fit, key = partial(operands.sum_to, shape=type_.shape), ("sum_to", type_.shape)
            template = self._templates[type_] = Template("sum_to", fit, (type_,), key)
        return self._add(template, (gradient,), entry)[0]

    def wants(self, ref: Ref | None) -> bool:
        """Whether the gradient of an operand is needed."""
        if ref is None or ref.kind not in ("input", "value"):
            return False
        if ref.kind == "input":
            return bool(self.inputs[ref.index].grad)
        entry = self.entries.get(ref.index)
        return entry is not None and entry.records

    def _pull(
        self, entry: OpEntry, place: int, g: int, walk: BackwardEntry
    ) -> list[tuple[Ref, int]]:
        """The gradients of an operation's operands from that of its result."""
        op, refs = entry.op, entry.refs
        names = [n for n in op.differentiable if self.wants(refs[n]) and walk.sends(refs[n])]
        shared = None
        if op.shared is not None and any(n in op.sharers for n in names):
            shared = self._rule(entry, place, g, op.shared, op.shared_takes, "shared", None)
        gradients = []
        for name in names:
            rule, takes, ref = op.rules[name], op.takes[name], entry.refs[name]
            assert rule is not None
            assert ref is not None
            gradient = self._rule(entry, place, g, rule, takes, name, shared)
            type_ = self.operand_type(ref)
            if self.program.types[gradient].shape != type_.shape:
                gradient = self._summed_to(gradient, type_, entry)
            gradients.append((ref, gradient))
        return gradients

    def operand_type(self, ref: Ref) -> Type:
        """The type of an operand that is no number."""
        return self.program.types[self._value_of(ref)]

    def _value_of(self, ref: Ref) -> int:
        """The value of an operand that is no number."""
        value = (self.places if ref.kind == "value" else self.of_inputs)[ref.index]
        return self.again.operand(ref, value)

    def value_of(self, origin: Origin) -> int:
        """The value that an operation has given."""
        return self.aux[origin] if type(origin) is tuple else self.places[origin]  # type: ignore[index]

    def read(self, entry: OpEntry, place: int, name: str) -> tuple[int | None, Any]:
        """What a rule reads by a name: a value of the program, or a constant."""
        op = entry.op
        if name in op.aux:
            return self.aux[place, name], None
        source, key = op.sources[name]
        if source == "out":
            return self.places[place], None
        if source == "param":
            return None, entry.params[key]
        ref = entry.refs[op.inputs[key]]
        if ref is None:
            return None, None
        value = self._operand(entry, ref)
        return (None, self.program.types[value].shape) if source == "shape" else (value, None)

    def key_of(self, entry: OpEntry) -> int:
        """The key of an operation with indices among its operands, as nodes save it."""
        refs = [r for n in INDICES if (r := entry.refs[n]) is not None]
        key = partial(private_key, entry.params["key"])
        values = tuple([self._operand(entry, ref) for ref in refs])
        return self._emit("key", key, values, [Type()], entry)[0]

    def _rule(
        self, entry: OpEntry, place: int, g: int, rule: Any, takes: list[str], name: str,
        shared: int | None,
    ) -> int:  # fmt: skip
        """The instruction of one rule."""
        forward, operands = self.of_entries[place]
        key = name, shared is None  # rules may do without what they share
        template = forward.rules.get(key)
        if template is None:
            template = self._new_rule(entry, place, rule, takes, name, shared)
            forward.rules[key] = template
        if template.passes:
            return g
        values = [g]
        for read in template.reads:
            of = str(forward.operands[read][0] if type(read) is int else read)
            twin = self.again.twin(place, of)
            if twin is None and type(read) is int:
                values.append(operands[read])
            elif read == "shared":
                assert shared is not None
                values.append(shared)
            else:
                where = (entry, place) if twin is None else (twin, twin.first)
                value = self.read(*where, of)[0]
                assert value is not None
                values.append(value)
        return self._add(template, tuple(values), entry)[0]

    def _new_rule(
        self, entry: OpEntry, place: int, rule: Any, takes: list[str], name: str,
        shared: int | None,
    ) -> Template:  # fmt: skip
        op, ref = entry.op, entry.refs.get(name)
        type_ = Type(entry.outlines[0].shape, entry.outlines[0].dtype)
        if type_.dtype == BRAIN and name != "shared":
            rule = rounded(op, rule)
        compute, _ = self._call(entry, place, rule, takes, -1, shared)
        elementwise = op.scalar is not None and name != "shared"
        if ref is not None and op.kind != "elementwise":
            elementwise = elementwise and self.operand_type(ref).shape == type_.shape
            type_ = self.operand_type(ref)
        if name == "shared":
            type_ = Type()
        key = hashed((op.name, name), entry.params)
        pointwise = in_halves(type_.dtype, compute) if elementwise else None
        if op.name == "_cast":
            pointwise = conversion_of(entry.params["to"], entry.params["source"])
        found = Template(
            f"{op.public_name}_backward_{name}", compute, (type_,), key, pointwise
        )  # fmt: skip
        found.passes = not takes and name != "shared" and is_identity(rule)
        order = [n for n, _ in self.of_entries[place][0].operands]
        found.reads = tuple([
            order.index(read) if read in order else read for read in takes
            if (shared if read == "shared" else self.read(entry, place, read)[0]) is not None
        ])  # fmt: skip
        return found

    def _call(
        self, entry: OpEntry, place: int, rule: Any, takes: list[str], first: int,
        shared: int | None,
    ) -> tuple[Callable[..., Any], tuple[int, ...]]:  # fmt: skip
        """A rule of a value and what else it takes, as a function of values."""
        values = [first]
        template: list[Any] = []
        for read in takes:
            value, constant = (shared, None) if read == "shared" else self.read(entry, place, read)
            template.append((None, constant) if value is None else (len(values), None))
            values += [] if value is None else [value]
        if all(k is not None for k, _ in template):
            return partial(apply_of_values, rule), tuple(values)
        return partial(apply_rule, rule, tuple(template)), tuple(values)


def _stops_of(walk: BackwardEntry, path: list[Entry]) -> frozenset[Ref]:
    """The values whose gradients a walk gives, and where it ends: no other target is below."""
    passed = walk.passed or frozenset()
    values = [ref for ref in walk.targets if ref.kind == "value"]
    below = {ref: reached(path, [ref.index]) for ref in values}
    return frozenset(ref for ref, reach in below.items() if passed.isdisjoint(reach.below()))
