"""Declaring an operation: a decorator with a rule per input, and a function.

The function is the forward over arrays. A rule is a function of the cotangent `g` and of
whatever else it names: inputs, `out`, `<input>_shape`, parameters. The names say what a
node saves, and only when an input whose rule reads them wants a gradient. Rules are
written with the library's own operations and with operators, so that arrays compute and
Tensors (under `create_graph`) record.

`ops/README.md` is the guide for authors.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, Protocol

from wengert.core.forks import cached_property
from wengert.core.tensor import Node, Tensor, memory_of, shape_of
from wengert.ops import publish
from wengert.ops.operands import Number, number_as_array

Rule = Callable[..., Any]
Jvp = Callable[..., Any]
Batch = Callable[[Any], Any]
# What ops take and return: arrays inside an op, Tensors (and numbers) outside.
Value = Any
P = ParamSpec("P")
Layout = str | tuple[str, ...] | None


class Declare(Protocol):
    """What the decorators return: a forward over arrays in, the operation on Tensors out."""

    def __call__(self, forward: Callable[P, Any], /) -> Callable[P, Tensor]: ...


REGISTRY: dict[str, Op] = {}


class Op:
    """All that is known about one operation.

    Attributes:
        name: the name of its function.
        called: the public function that it speaks for in errors. An op that only a rule uses
            has that of the function that it helps to differentiate, and `_backward`.
        forward: the function over arrays.
        kind: "elementwise", "multilinear" or "primitive".
        inputs: arguments that may be Tensors, in order.
        params: the other arguments and their defaults.
        rules: vjp by input; an input without a derivative has None.
        shared: a rule for what the rules of several inputs read by the name `shared`.
        wants: the names of values that each rule reads, after `g`, itself or through `shared`.
        aux: names of what the forward returns beside its output (never differentiated).
        view: whether the output may share memory with the first input.
        layout: the order of the output's dimensions in memory: "contiguous", "columns" (of
            matrices, one by one), or the inputs by which it goes, the first to decide first
            ("operands" for all of them); None for what the forward returns.
        floats: whether integer inputs are first converted to the default dtype.
        mixed: whether inputs of different dtypes are first converted to a common one.
        batch: how `vmap` computes it for a batch at once (see `batching`).
        jvp: its forward-mode derivative, where the kind does not say it.
        reference: the same from ordinary operations, for transforms that cannot use the forward.
        tensors: inputs that may not be Python numbers.
        older: parameters that once stood among the inputs (see `_older`).
        scalar: the forward on single elements, as kernels are made of it (see `_fuse`): itself
            for those of kind "elementwise", None for others that do not declare it.
        halves: what computes with halves and a Python number that no half is equal to.
        function: what users call.
        node: the class of the nodes that it records.
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
        batch: Batch | None = None,
        jvp: Jvp | None = None,
        reference: Callable[..., Any] | None = None,
        shared: Rule | None = None,
        tensors: tuple[str, ...] = (),
        older: tuple[str, ...] = (),
        scalar: Callable[..., Any] | None = None,
        halves: Callable[..., Any] | None = None,
    ) -> None:
        self.name = forward.__name__
        self.called = name or self.name.strip("_")
        self.forward = ufunc or forward
        self.declared = forward
        self.kind, self.rules = kind, rules
        self.aux, self.view, self.floats, self.mixed = aux, view, floats, mixed
        self.batch, self.jvp, self.reference, self.shared = batch, jvp, reference, shared
        self.tensors, self.older = tensors, older
        self.layout, self.halves = layout, halves
        self.scalar = self.forward if scalar is None and kind == "elementwise" else scalar
        self.label = label or _label(self.name)
        _check_names(self)
        REGISTRY[self.name] = self

    function: Callable[..., Any]
    numpy_names = False  # whether its function takes `axis` for `dim` as well
    takes_out = False  # and `out`

    # What follows is worked out when the op is first called: an import has 300 of them.

    @cached_property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.declared)

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
        """What its `jvp` reads after the tangents."""
        assert self.jvp is not None
        return list(inspect.signature(self.jvp).parameters)[len(self.differentiable) :]

    @cached_property
    def differentiable(self) -> list[str]:
        """Inputs that have a derivative."""
        return [i for i in self.inputs if self.rules[i] is not None]

    @cached_property
    def keeps(self) -> list[str]:
        """What its nodes have slots for: the names that rules read."""
        return list(publish.NodeLayout(self).readers)

    @cached_property
    def node(self) -> type[Node]:
        return publish.node_class(self)

    @cached_property
    def sources(self) -> dict[str, tuple[str, Any]]:
        """Where what a rule may read comes from: the kind, and an input's index or a name."""
        by_name: dict[str, tuple[str, Any]] = {"out": ("out", None)}
        by_name |= {name: ("param", name) for name in self.params}
        by_name |= {f"{name}_shape": ("shape", k) for k, name in enumerate(self.inputs)}
        return by_name | {name: ("input", k) for k, name in enumerate(self.inputs)}

    @cached_property
    def in_order(self) -> bool:
        """Whether its inputs are the first arguments of its function."""
        positional = list(self.signature.parameters)[: len(self.inputs)]
        return positional == self.inputs

    @cached_property
    def keyword_only(self) -> list[str]:
        """The parameters that have to be named."""
        parameters = self.signature.parameters.values()
        return [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]

    def __call__(self, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
        """Call its function: inputs in order, parameters by name."""
        if self.in_order:
            return self.function(*inputs, **params)
        return self.function(**dict(zip(self.inputs, inputs, strict=True)), **params)

    def read(self, name: str, inputs: Sequence[Any], params: dict[str, Any], out: Any) -> Any:
        """What a rule that names `name` gets of a call on Tensors."""
        source, key = self.sources[name]
        if source == "input":
            value = inputs[key]
            return number_as_array(value, memory_of(out).dtype) if type(value) in Number else value
        if source == "out":
            return out
        return params[key] if source == "param" else shape_of(inputs[key])

    def __repr__(self) -> str:
        return f"<op {self.name}>"


def _check_names(op: Op) -> None:
    """Raise TypeError for an op whose name is taken, or an argument whose name is."""
    namesake = REGISTRY.get(op.name)
    if namesake is not None and namesake.declared.__module__ != op.declared.__module__:
        raise TypeError(
            f"{op.name}: {op.declared.__module__} declares an op of a name that"
            f" {namesake.declared.__module__} has taken; rename one of them"
        )
    code = op.declared.__code__
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    for name in sorted(publish.TAKEN.intersection((*arguments, *op.aux))):
        raise TypeError(f"{op.name}: an argument is called {name!r}, which the op's function uses")


def _reads(rule: Rule | None) -> list[str]:
    return [] if rule is None else list(inspect.signature(rule).parameters)[1:]


def _needs_shared(rule: Rule) -> bool:
    shared = inspect.signature(rule).parameters.get("shared")
    return shared is not None and shared.default is inspect.Parameter.empty


def _label(name: str) -> str:
    """The name of the node, as PyTorch would form it: `log_softmax` gives LogSoftmaxBackward0."""
    return "".join(word.capitalize() for word in name.strip("_").split("_")) + "Backward0"


def _decorator(kind: str, rules: dict[str, Rule | None], options: dict[str, Any]) -> Declare:
    def declare(forward: Callable[P, Any]) -> Callable[P, Tensor]:
        return publish.publish(Op(forward, kind, rules, **options))

    return declare


def elementwise(
    ufunc: Callable[..., Any] | None = None,
    *,
    floats: bool = False,
    label: str | None = None,
    name: str | None = None,
    tensors: tuple[str, ...] = (),
    layout: Layout = "operands",
    older: tuple[str, ...] = (),
    scalar: Callable[..., Any] | None = None,
    halves: Callable[..., Any] | None = None,
    **rules: Rule | None,
) -> Declare:
    """An operation on each element; inputs broadcast, and rules do not know of it.

    With `ufunc` that is the forward, and the decorated body is its docstring alone. `name`,
    here and below, is the public function that an op of another name speaks for in errors.
    `tensors` names the inputs that may not be Python numbers, as PyTorch has it; `older` the
    parameters that it once took among the inputs; and `layout` those that decide how the output
    lies in memory, where it is not all of them in order (a forward that does not keep NumPy's
    order says so, too).
    Batches and forward-mode derivatives follow from the kind, and kernels for large arrays from
    the forward and the rules; `scalar` is what they are made of where the forward cannot be read
    (see `_fuse`). `halves` is what computes with a tensor of half precision and a Python number
    that no half is equal to.
    """
    options = {
        "ufunc": ufunc, "floats": floats, "label": label, "name": name, "tensors": tensors,
        "layout": layout, "older": older, "scalar": scalar, "halves": halves,
    }  # fmt: skip
    return _decorator("elementwise", rules, options)


def multilinear(
    *,
    view: bool = False,
    layout: Layout = None,
    mixed: bool = True,
    batch: Batch | None = None,
    label: str | None = None,
    name: str | None = None,
    scalar: Callable[..., Any] | None = None,
    **rules: Rule | None,
) -> Declare:
    """An operation that is linear in each input that has a rule.

    `view` says that the output may share memory with the first input; `mixed=False` leaves
    the inputs' dtypes alone (an index beside a float). The forward-mode derivative follows
    from the kind; `batch` says how a batch is computed at once, `scalar` what is done to each
    element where it is the same for all (see `_fuse`).
    """
    options = {
        "view": view, "layout": layout, "mixed": mixed, "batch": batch, "label": label,
        "name": name, "scalar": scalar,
    }  # fmt: skip
    return _decorator("multilinear", rules, options)


def primitive(
    *,
    aux: tuple[str, ...] = (),
    layout: Layout = None,
    floats: bool = False,
    mixed: bool = True,
    batch: Batch | None = None,
    jvp: Jvp | None = None,
    reference: Callable[..., Any] | None = None,
    shared: Rule | None = None,
    label: str | None = None,
    name: str | None = None,
    older: tuple[str, ...] = (),
    scalar: Callable[..., Any] | None = None,
    **rules: Rule | None,
) -> Declare:
    """Any other operation with a rule per input.

    `aux` names what the forward returns after its output: piecewise constant values
    (indices, masks) that rules may read. An op that has some also has a `reference`, a
    function of the same arguments made of ordinary operations. `jvp`, given a tangent (or
    None) for each input and whatever else it names, is the tangent of the output; without it
    the rules are transposed. `shared` is a rule whose result other rules may read by that name:
    it is computed once for all of them. A rule that gives `shared` a default (None) keeps nothing
    for its sake, and has it where another rule needs it. An op that has one also has a `reference`.
    `older` as for `elementwise`, `scalar` as for `multilinear`.
    """
    options = {
        "aux": aux, "layout": layout, "floats": floats, "mixed": mixed, "batch": batch, "jvp": jvp,
        "reference": reference, "shared": shared, "label": label, "name": name, "older": older,
        "scalar": scalar,
    }  # fmt: skip
    return _decorator("primitive", rules, options)
