"""The description of an operation, and of the values its nodes save."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from wengert.core.forks import cached_property
from wengert.core.tensor import Node, memory_of, shape_of
from wengert.ops._out_names import TAKE_OUT
from wengert.ops.numbers import Number, number_as_array

Rule = Callable[..., Any]
Jvp = Callable[..., Any]
BatchRule = Callable[[Any], Any]
# Operands and results of ops: arrays inside an op, Tensors (and numbers) outside.
Value = Any
Layout = str | tuple[str, ...] | None

REGISTRY: dict[str, Op] = {}


class Op:
    """The complete description of one operation.

    Attributes:
        name: the name of its function.
        public_name: the public function named in errors. An op that only a rule uses has the name
            of the function it helps differentiate, plus `_backward`.
        forward: the function over arrays.
        kind: "elementwise", "multilinear" or "primitive".
        inputs: arguments that may be Tensors, in order.
        params: the other arguments and their defaults.
        rules: vjp by input; an input without a derivative has None.
        accumulate: by input, what adds its gradient to a sum of gradients in place, given that sum,
            `g` and what the rule reads; it returns False where it does not apply.
        shared: a rule whose result the rules of several inputs read by the name `shared`.
        wants: the names of values that each rule reads, after `g`, itself or through `shared`.
        aux: names of the forward's extra results (never differentiated).
        view: whether the output may share memory with the first input.
        layout: the order of the output's dimensions in memory: "contiguous", "columns"
            (column-major matrices), or the inputs that determine it, in order of precedence
            ("operands" for all of them); None for what the forward returns.
        floats: whether integer inputs are first converted to the default dtype.
        mixed: whether inputs of different dtypes are first converted to a common one.
        batch: how `vmap` computes it for a batch at once (see `batching`).
        jvp: its forward-mode derivative, if it does not follow from the kind.
        reference: the same made of ordinary operations, for transforms that cannot use the forward.
        tensors: inputs that may not be Python numbers.
        numbers: whether all inputs may be Python numbers; the result is a tensor.
        older: parameters that were once among the inputs (see `_older`).
        scalar: the forward on single elements, from which kernels are made (see `_fuse`): itself
            for kind "elementwise", None for others that do not declare it.
        halves: computes with halves and a Python number that no half is equal to.
        refuses: raises for dtypes of tensors that PyTorch rejects; called when operands of several
            dtypes are about to be converted to one other than bool.
        updates: by input that the forward writes to, a function of that input, and of what else it
            names, that gives its elements afterwards.
        function: the function users call.
        node: the class of the nodes it records.
        label: the name of that class.
    """

    def __init__(
        self,
        forward: Callable[..., Any],
        kind: str,
        rules: dict[str, Rule | None],
        *,
        ufunc: Callable[..., Any] | None = None,
        aux: tuple[str, ...] = (),
        view: bool = False,
        layout: Layout = None,
        floats: bool = False,
        label: str | None = None,
        mixed: bool = True,
        name: str | None = None,
        batch: BatchRule | None = None,
        jvp: Jvp | None = None,
        reference: Callable[..., Any] | None = None,
        shared: Rule | None = None,
        tensors: tuple[str, ...] = (),
        numbers: bool = False,
        older: tuple[str, ...] = (),
        scalar: Callable[..., Any] | None = None,
        halves: Callable[..., Any] | None = None,
        refuses: Callable[[list[Any]], None] | None = None,
        accumulate: dict[str, Callable[..., bool]] | None = None,
        updates: dict[str, Callable[..., Any]] | None = None,
    ) -> None:
        self.name = forward.__name__
        self.public_name = name or self.name.strip("_")
        self.forward = ufunc or forward
        self.declared = forward
        self.kind, self.rules = kind, rules
        self.aux, self.view, self.floats, self.mixed = aux, view, floats, mixed
        self.batch, self.jvp, self.reference, self.shared = batch, jvp, reference, shared
        self.tensors, self.numbers, self.older = tensors, numbers, older
        self.layout, self.halves, self.accumulate = layout, halves, accumulate or {}
        self.refuses = refuses
        self.updates = updates or {}
        self.scalar = self.forward if scalar is None and kind == "elementwise" else scalar
        self.label = label or _label(self.name)
        _check_name(self)
        REGISTRY[self.name] = self

    function: Callable[..., Any]
    numpy_names = False  # whether its function also takes `axis` for `dim`

    # The rest is computed when the op is first called: an import creates 300 of them.

    @cached_property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.declared)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of its arguments."""
        code = getattr(self.declared, "__code__", None)
        if code is None or hasattr(self.declared, "__wrapped__") or code.co_flags & _STARRED:
            return tuple(self.signature.parameters)
        return tuple(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])

    @cached_property
    def inputs(self) -> list[str]:
        unknown = self.rules.keys() - self.signature.parameters.keys()
        if unknown:
            raise TypeError(f"{self.name}: rules for {sorted(unknown)}, which are no arguments")
        return [n for n in self.signature.parameters if n in self.rules]

    @cached_property
    def params(self) -> dict[str, Any]:
        parameters = self.signature.parameters.items()
        return {n: p.default for n, p in parameters if n not in self.rules}

    @cached_property
    def wants(self) -> dict[str, list[str]]:
        wants = {}
        for i, names in self.takes.items():
            through = self.shared_takes if i in self.sharers else []
            wants[i] = [n for n in dict.fromkeys([*names, *through]) if n != "shared"]
        return wants

    @cached_property
    def takes(self) -> dict[str, list[str]]:
        """The arguments of each rule, after `g`."""
        return {i: _reads(self.rules[i]) for i in self.inputs}

    @cached_property
    def sharers(self) -> list[str]:
        """Inputs whose gradients need `shared`; rules with a default for it can do without."""
        return [i for i, rule in self.rules.items() if rule is not None and _needs_shared(rule)]

    @cached_property
    def shared_takes(self) -> list[str]:
        """The arguments of `shared`, after `g`."""
        return _reads(self.shared)

    @cached_property
    def jvp_reads(self) -> list[str]:
        """The values its `jvp` reads after the tangents."""
        assert self.jvp is not None
        return list(inspect.signature(self.jvp).parameters)[len(self.differentiable) :]

    @cached_property
    def differentiable(self) -> list[str]:
        """Inputs that have a derivative."""
        return [i for i in self.inputs if self.rules[i] is not None]

    @cached_property
    def keeps(self) -> list[str]:
        """The names of the values saved by its nodes: those that rules read."""
        return list(NodeLayout(self).readers)

    @cached_property
    def node(self) -> type[Node]:
        return node_class(self)

    @cached_property
    def sources(self) -> dict[str, tuple[str, Any]]:
        """The source of each value a rule may read: its kind, and an input's index or a name."""
        by_name: dict[str, tuple[str, Any]] = {"out": ("out", None)}
        by_name |= {name: ("param", name) for name in self.params}
        by_name |= {f"{name}_shape": ("shape", k) for k, name in enumerate(self.inputs)}
        return by_name | {name: ("input", k) for k, name in enumerate(self.inputs)}

    @cached_property
    def in_order(self) -> bool:
        """Whether its inputs are the first arguments of its function."""
        positional = list(self.signature.parameters)[: len(self.inputs)]
        return positional == self.inputs

    @property
    def takes_out(self) -> bool:
        """Whether its function takes `out`."""
        return self.name in TAKE_OUT

    @cached_property
    def keyword_only(self) -> list[str]:
        """The keyword-only parameters."""
        parameters = self.signature.parameters.values()
        return [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]

    def __call__(self, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
        """Call its function: inputs in order, parameters by name."""
        if self.in_order:
            return self.function(*inputs, **params)
        return self.function(**dict(zip(self.inputs, inputs, strict=True)), **params)

    def read(self, name: str, inputs: Sequence[Any], params: dict[str, Any], out: Any) -> Any:
        """The value of `name` in a rule, for a call on Tensors."""
        source, key = self.sources[name]
        if source == "input":
            value = inputs[key]
            return number_as_array(value, memory_of(out).dtype) if type(value) in Number else value
        if source == "out":
            return out
        return params[key] if source == "param" else shape_of(inputs[key])

    def __repr__(self) -> str:
        return f"<op {self.name}>"


# The flags of code that takes any number of arguments.
_STARRED = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def _check_name(op: Op) -> None:
    """Raise TypeError for an op whose name is taken."""
    namesake = REGISTRY.get(op.name)
    if namesake is not None and namesake.declared.__module__ != op.declared.__module__:
        raise TypeError(
            f"{op.name}: {op.declared.__module__} declares an op of a name that"
            f" {namesake.declared.__module__} has taken; rename one of them"
        )


def _reads(rule: Rule | None) -> list[str]:
    return [] if rule is None else list(inspect.signature(rule).parameters)[1:]


def _needs_shared(rule: Rule) -> bool:
    shared = inspect.signature(rule).parameters.get("shared")
    return shared is not None and shared.default is inspect.Parameter.empty


def _label(name: str) -> str:
    """The node's name, formed as in PyTorch: `log_softmax` gives LogSoftmaxBackward0."""
    return "".join(word.capitalize() for word in name.strip("_").split("_")) + "Backward0"


class NodeLayout:
    """The values a node of an op saves, and the slot of each."""

    def __init__(self, op: Op) -> None:
        self.op = op
        self.differentiable = op.differentiable
        # Slot -> the inputs whose rules read the value.
        self.readers: dict[str, list[str]] = {}
        for i in self.differentiable:
            for name in op.wants[i]:
                if name != f"{i}_shape":
                    self.readers.setdefault(name, []).append(i)
        self.arrays = [n for n in self.readers if n in op.inputs or n == "out" or n in op.aux]

    def value(self, name: str) -> str:
        """The expression for a value in `apply`."""
        if name in self.op.inputs:
            return f"v_{name}"
        if name == "out" or name in self.op.params or name in self.op.aux:
            return name
        source = name.removesuffix("_shape")
        if name.endswith("_shape") and source in self.op.inputs:
            return f"v_{source}.shape"
        raise TypeError(f"{self.op.name}: a rule reads {name!r}, which is nothing this op has")

    def owner(self, name: str) -> int | None:
        """The owner of a saved array: an input's index, -1 for the output, None for aux."""
        if name in self.op.inputs:
            return self.differentiable.index(name) if name in self.differentiable else None
        return -1 if name == "out" else None


def node_class(op: Op) -> type[Node]:
    """The class of the op's nodes: a slot for each edge and each value that a rule may need.

    Not a tuple of edges: the garbage collector visits every container in a live graph.
    """
    layout = NodeLayout(op)
    edges = [f"e_{i}" for i in op.differentiable]
    namespace = {
        "__slots__": [*edges, *(f"s_{name}" for name in layout.readers)],
        "op": op,
        "saved": tuple((f"s_{name}", layout.owner(name)) for name in layout.arrays),
    }
    return type(op.label, (Node,), namespace)
