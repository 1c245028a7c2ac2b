"""Expression graphs: variables, the applications of operations that compute them, and types.

A `Variable` without an `owner` is an input, a shared variable or a constant; any other is one of
the `outputs` of its owner, an `Apply` node, which has an `op` and `inputs`. Nothing is computed
while a graph is built.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from types import CodeType
from typing import Any

from wengert.core.storage import quoted_location
from wengert.core.tensor import caller, getframe
from wengert.symbolic.settings import config

Kernel = Callable[..., Any]


class MethodNotDefinedError(Exception):
    """An operation lacks a method of the interface that a program needs."""


class TestValueError(AttributeError, ValueError):
    """A variable has no test value, and `config.compute_test_value` asks for it.

    To programs it is a ValueError where an operation is built, an AttributeError elsewhere.
    """

    __test__ = False


class Scratch:
    """What programs attach to variables and nodes: ``x.tag.test_value``."""

    def __init__(self, values: dict[str, Any] | None = None) -> None:
        self.__dict__.update(values or {})


class Type:
    """What values a variable may have."""

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """A value that fits, or TypeError."""
        raise NotImplementedError

    def filter_variable(self, other: Any, allow_convert: bool = True) -> Variable:
        """A variable of this type that stands for `other`, or TypeError."""
        if not isinstance(other, Variable):
            other = Constant(self, self.filter(other))
        if other.type != self:
            raise TypeError(
                f"Cannot convert Type {other.type} (of Variable {other}) into Type {self}."
                f" You can try to manually convert {other} into a {self}."
            )
        return other

    def make_variable(self, name: str | None = None) -> Variable:
        """A fresh variable."""
        return Variable(self, name=name)

    def make_constant(self, value: Any, name: str | None = None) -> Constant:
        """A constant of this type."""
        return Constant(self, self.filter(value), name)

    def __call__(self, name: str | None = None) -> Any:
        return marked(self.make_variable(name))

    def is_valid_value(self, value: Any) -> bool:
        """Whether a value is one of this type's, as it stands."""
        try:
            self.filter(value, strict=True)
        except (TypeError, ValueError):
            return False
        return True

    def values_eq(self, a: Any, b: Any) -> bool:
        """Whether two values are equal."""
        return bool(a == b)

    def values_eq_approx(self, a: Any, b: Any) -> bool:
        """Whether two values are nearly the same; by default, the same."""
        return self.values_eq(a, b)

    def __repr__(self) -> str:
        return type(self).__name__


class Generic(Type):
    """Any Python object."""

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """The value itself."""
        return value

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))


class DisconnectedType(Generic):
    """Of gradients of what a cost does not depend on."""


class NullType(Generic):
    """Of gradients that are not defined; `why` says why."""

    def __init__(self, why: str = "") -> None:
        self.why_null = why


class Variable:
    """A node of an expression graph that stands for a value.

    Variables are compared by identity, hash, and are true (but for results of comparisons).
    """

    # The line that made it; `trace` is a method of arrays.
    origin: tuple[CodeType, int] | None = None

    def __init__(
        self, type: Any, owner: Apply | None = None, index: int | None = None,
        name: str | None = None,
    ) -> None:  # fmt: skip
        if name is not None and not isinstance(name, str):
            raise TypeError("name must be a string", name)
        self.type, self.owner, self.index, self.name = type, owner, index, name
        self.tag = Scratch()

    def __str__(self) -> str:
        if self.name is not None:
            return self.name
        if self.owner is None:
            return f"<{self.type}>"
        op = self.owner.op
        if self.index == getattr(op, "default_output", None):
            return f"{op}.out"
        return f"{op}.{self.index}"

    __repr__ = __str__

    def clone(self) -> Variable:
        """A variable of the same type and name, without owner."""
        copied = type(self)(self.type, None, None, self.name)
        copied.tag = Scratch(vars(self.tag))
        return copied

    def get_parents(self) -> list[Any]:
        """The owner, in a list, if there is one."""
        return [] if self.owner is None else [self.owner]

    def where(self) -> str:
        """The line of the program that made it, or an empty string."""
        trace = self.origin if self.owner is None else self.owner.trace
        return "" if trace is None else quoted_location(*trace)

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("origin", "_fn_cache")}


class Constant(Variable):
    """A variable with a value that never changes."""

    def __init__(self, type: Any, data: Any, name: str | None = None) -> None:
        super().__init__(type, name=name)
        self.data = type.filter(data)

    @property
    def value(self) -> Any:
        """The value."""
        return self.data

    def clone(self) -> Variable:
        """The constant itself: it cannot change."""
        return self

    def key(self) -> Any:
        """Equal for constants that may stand for each other."""
        return id(self.data)

    def equals(self, other: Any) -> bool:
        """Whether another constant has the same type and value."""
        return isinstance(other, Constant) and self.key() == other.key()

    def __str__(self) -> str:
        return self.name if self.name is not None else f"{type(self).__name__}{{{self.data}}}"

    __repr__ = __str__


class Apply:
    """An operation, applied to `inputs`; its results are `outputs`."""

    def __init__(self, op: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        for x in inputs:
            if not isinstance(x, Variable):
                raise TypeError("The 'inputs' argument to Apply must contain Variable instances", x)
        self.op, self.inputs, self.outputs = op, list(inputs), list(outputs)
        self.tag = Scratch()
        self.trace: tuple[CodeType, int] | None = None
        for index, out in enumerate(self.outputs):
            if out.owner is not None and out.owner is not self:
                raise ValueError("All output variables passed to Apply must belong to it.")
            out.owner, out.index = self, index

    nin = property(lambda self: len(self.inputs))
    nout = property(lambda self: len(self.outputs))

    @property
    def out(self) -> Any:
        """The output of an operation that has one."""
        return self.outputs[0]

    def default_output(self) -> Any:
        """The output that a call of the operation gives."""
        index = getattr(self.op, "default_output", None)
        if index is None and len(self.outputs) != 1:
            raise AttributeError(f"{self.op} has {len(self.outputs)} outputs and no default_output")
        if index is not None and (not isinstance(index, int) or not 0 <= index < len(self.outputs)):
            raise AttributeError(
                f"{self.op}.default_output is {index!r}, and there are {len(self.outputs)} outputs"
            )
        return self.outputs[index or 0]

    def run_params(self) -> Any:
        """The parameters of the operation for this node, or None where there are none."""
        try:
            return self.op.get_params(self)
        except MethodNotDefinedError:
            return None

    def get_parents(self) -> list[Any]:
        """The inputs, in a list."""
        return list(self.inputs)

    def clone_with_new_inputs(self, inputs: Sequence[Any]) -> Apply:
        """The same operation on other inputs."""
        if all(a.type == b.type for a, b in zip(inputs, self.inputs, strict=True)):
            outputs = [out.clone() for out in self.outputs]
            node = Apply(self.op, inputs, outputs)
        else:
            node = self.op.make_node(*inputs)
        node.trace, node.tag = self.trace, Scratch(vars(self.tag))
        return node

    def __str__(self) -> str:
        return f"{self.op}({', '.join(map(str, self.inputs))})"

    __repr__ = __str__

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "trace"} | {"trace": None}


class PureOp:
    """What applies an operation to variables: programs call it past `Op` by ``super``."""

    default_output: int | None = None

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        """The output, or the list of outputs, of the application to `inputs`."""
        return_list = options.pop("return_list", False)
        name = options.pop("name", None)
        node = traced(self.make_node(*inputs, **options))
        if name is not None:
            if len(node.outputs) == 1:
                node.outputs[0].name = name
            for k, out in enumerate(node.outputs if len(node.outputs) > 1 else ()):
                out.name = f"{name}_{k}"
        if config.compute_test_value != "off":
            compute_test_values(node)
        if self.default_output is not None:
            out = node.outputs[self.default_output]
            return [out] if return_list else out
        return node.outputs if return_list or len(node.outputs) != 1 else node.outputs[0]

    def make_node(self, *inputs: Any) -> Apply:
        """The application to some inputs."""
        raise MethodNotDefinedError("make_node", type(self), type(self).__name__)

    @classmethod
    def _get_test_value(cls, v: Any) -> Any:
        """The test value of a variable; packages call it."""
        return value_for_test(v)


class Op(PureOp):
    """An operation of expression graphs, as programs define their own.

    A subclass has `make_node`, which checks and converts inputs and gives an `Apply`;
    `perform(node, inputs, output_storage)`, which computes on arrays (with `params_type` or
    `get_params` of a node, parameters come last), or `make_thunk`; and `grad(inputs,
    output_gradients)` or `L_op`. With ``__props__`` (names of attributes) two operations of a
    class are equal if those are.
    """

    view_map: dict[int, list[int]] = {}  # noqa: RUF012
    destroy_map: dict[int, list[int]] = {}  # noqa: RUF012
    itypes: Sequence[Type] | None = None
    otypes: Sequence[Type] | None = None
    params_type: Any = None

    def make_node(self, *inputs: Any) -> Apply:
        """The application to some inputs; `itypes` and `otypes` describe simple operations."""
        if self.itypes is None or self.otypes is None:
            raise NotImplementedError(
                "You can either define itypes and otypes, or implement make_node"
            )
        if len(inputs) != len(self.itypes):
            raise ValueError(
                f"We expected {len(self.itypes)} inputs but got {len(inputs)}: {list(inputs)}"
            )
        converted = [t.filter_variable(x) for t, x in zip(self.itypes, inputs, strict=True)]
        return Apply(self, converted, [t() for t in self.otypes])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        """Compute the outputs: ``output_storage[0][0] = ...``."""
        raise MethodNotDefinedError("perform", type(self), type(self).__name__)

    def kernel(self, node: Apply) -> Kernel:
        """A function of the inputs' values that gives the output's, or a tuple of several."""
        if type(self).make_thunk is not Op.make_thunk:
            return self._thunk_kernel(node)
        params = node.run_params()
        last = () if params is None else (params,)
        destroyed = {k for positions in self.destroy_map.values() for k in positions}

        def run(*values: Any) -> Any:
            storage: list[list[Any]] = [[None] for _ in node.outputs]
            # Nobody else is to see what the operation writes to.
            own = [copy.copy(v) if k in destroyed else v for k, v in enumerate(values)]
            self.perform(node, own, storage, *last)
            return _filtered(node, storage)

        return run

    def _thunk_kernel(self, node: Apply) -> Kernel:
        """A kernel that runs what `make_thunk` gives."""
        storage: dict[Any, list[Any]] = {v: [None] for v in (*node.inputs, *node.outputs)}
        computed = {v: [v not in node.outputs] for v in storage}
        thunk = self.make_thunk(node, storage, computed, [])

        def run(*values: Any) -> Any:
            for x, value in zip(node.inputs, values, strict=True):
                storage[x][0] = value
            for out in node.outputs:
                storage[out][0] = None
            thunk()
            result = _filtered(node, [storage[out] for out in node.outputs])
            for cell in storage.values():
                cell[0] = None
            return result

        return run

    def make_thunk(
        self, node: Apply, storage_map: Any, compute_map: Any, no_recycling: Any,
        impl: str | None = None,
    ) -> Callable[[], Any]:  # fmt: skip
        """A function without arguments that computes the outputs in `storage_map`."""
        params = node.run_params()
        last = () if params is None else (params,)
        sources = [storage_map[x] for x in node.inputs]
        targets = [storage_map[out] for out in node.outputs]

        def thunk() -> None:
            self.perform(node, [cell[0] for cell in sources], targets, *last)
            for out in node.outputs:
                compute_map[out][0] = True

        vars(thunk).update(inputs=sources, outputs=targets, lazy=False)
        return thunk

    def get_params(self, node: Apply) -> Any:
        """What `perform` gets as its last argument: by default the fields of a `ParamsType`."""
        if not hasattr(self.params_type, "get_params"):
            raise MethodNotDefinedError("get_params", type(self), type(self).__name__)
        return self.params_type.get_params(self)

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The gradients of the inputs; by default what `grad` says."""
        return self.grad(inputs, output_gradients)

    def grad(self, inputs: Any, output_gradients: Any) -> Any:
        """The gradients of the inputs, from those of the outputs."""
        raise NotImplementedError(f"{self} has no gradient: it defines neither grad nor L_op")

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Whether each input influences each output."""
        return [[True] * len(node.outputs) for _ in node.inputs]

    def _props(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in getattr(self, "__props__", ()))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other) or not hasattr(self, "__props__"):
            return False
        return self._props() == other._props()

    def __hash__(self) -> int:
        if hasattr(self, "__props__"):
            return hash((type(self), self._props()))
        return id(self)

    def __str__(self) -> str:
        props = getattr(self, "__props__", ())
        if not props:
            return type(self).__name__
        return f"{type(self).__name__}{{{', '.join(f'{n}={getattr(self, n)!r}' for n in props)}}}"

    def __repr__(self) -> str:
        return str(self)


def _filtered(node: Apply, storage: Sequence[Sequence[Any]]) -> Any:
    """What an operation wrote down, in the types of its outputs: a value, or a tuple of several."""
    checked = [out.type.filter(cell[0]) for out, cell in zip(node.outputs, storage, strict=True)]
    return checked[0] if len(checked) == 1 else tuple(checked)


class Operation(Op):
    """An operation of the library's own: `compute` is its kernel."""

    __props__: tuple[str, ...] = ()

    def compute(self, *values: Any) -> Any:
        """The output's value, or a tuple of several."""
        raise NotImplementedError

    def kernel(self, node: Apply) -> Kernel:
        """`compute`."""
        return self.compute

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        """What `kernel` computes, written where programs look for it."""
        out = self.kernel(node)(*inputs)
        values = out if len(node.outputs) > 1 else (out,)
        for cell, value in zip(output_storage, values, strict=True):
            cell[0] = value

    def grad(self, inputs: Any, output_gradients: Any) -> Any:
        """As `L_op`."""
        return self.L_op(inputs, self(*inputs, return_list=True), output_gradients)


def disconnected() -> Variable:
    """The gradient of an input that the result does not depend on."""
    return DisconnectedType()()


def undefined(op: Any, position: int, x: Any, comment: str = "") -> Variable:
    """The gradient of an input for which there is none: an error if it is needed."""
    why = f"<{op}> has no gradient with respect to input {position}, {x}. {comment}"
    return NullType(why.strip())()


def marked(variable: Any) -> Any:
    """A variable, with the line of the program that makes it."""
    variable.origin = caller(getframe(1))
    return variable


def traced(node: Apply) -> Apply:
    """A node, with the line of the program that makes it."""
    if node.trace is None:
        node.trace = caller(getframe(1))
    return node


def value_for_test(variable: Any) -> Any:
    """The value that a variable has for `config.compute_test_value`."""
    if isinstance(variable, Constant):
        return variable.data
    if hasattr(variable, "get_value"):
        return variable.get_value(borrow=True)
    try:
        value = variable.tag.test_value
    except AttributeError:
        raise TestValueError(f"{variable} has no test value") from None
    return variable.type.filter(value)


def compute_test_values(node: Apply) -> None:
    """Run a node on the test values of its inputs, as `config.compute_test_value` asks."""
    try:
        values = [value_for_test(x) for x in node.inputs]
    except TestValueError as error:
        setting = config.compute_test_value
        if setting == "ignore":
            return
        text = f"Cannot compute test value: {error}; input of {node.op}"
        if setting == "warn":
            import warnings

            warnings.warn(text, stacklevel=2)
            return
        raise TestValueError(text) from None
    out = node.op.kernel(node)(*[copy.copy(v) for v in values])
    for variable, value in zip(node.outputs, out if node.nout > 1 else (out,), strict=True):
        variable.tag.test_value = value


def ancestors(variables: Iterable[Any], blockers: Iterable[Any] = ()) -> list[Any]:
    """All variables that some depend on, these among them, inputs first."""
    blocked = set(blockers)
    order: list[Any] = []
    visited: set[Any] = set()
    for node in toposort(variables, blocked):
        for v in (*node.inputs, *node.outputs):
            if v not in visited:
                visited.add(v)
                order.append(v)
    order += [v for v in dict.fromkeys(variables) if v not in visited]
    return order


def inputs(variables: Iterable[Any], blockers: Iterable[Any] = ()) -> list[Any]:
    """The variables without owner that others depend on: inputs, shared variables, constants."""
    blocked = set(blockers)
    return [v for v in ancestors(variables, blocked) if v.owner is None or v in blocked]


def toposort(variables: Iterable[Any], blockers: Iterable[Any] = ()) -> list[Apply]:
    """The nodes that compute variables, in an order in which they can run."""
    blocked = blockers if isinstance(blockers, set | dict) else set(blockers)
    order: list[Apply] = []
    state: dict[Apply, bool] = {}
    stack: list[Any] = [
        v.owner for v in reversed(list(variables)) if v.owner is not None and v not in blocked
    ]
    while stack:
        node = stack[-1]
        if node in state:
            stack.pop()
            if not state[node]:
                state[node] = True
                order.append(node)
            continue
        state[node] = False
        stack += [
            v.owner
            for v in reversed(node.inputs)
            if v.owner is not None and v not in blocked and v.owner not in state
        ]
    return order


def replaced(
    variables: Sequence[Any], replacements: dict[Any, Any], strict: bool = True
) -> list[Any]:
    """Variables in whose graphs others stand in place of some.

    What is put in place is not searched again, unless it stands in the graph anyway. Unless
    `strict`, it may have another type, if the operations that read it accept that.
    """
    memo = dict(replacements)
    for node in toposort(variables, memo):
        fresh = [memo.get(x, x) for x in node.inputs]
        if all(a is b for a, b in zip(fresh, node.inputs, strict=True)):
            continue
        fresh = [
            f if f.type == x.type or not strict else x.type.filter_variable(f)
            for f, x in zip(fresh, node.inputs, strict=True)
        ]
        clone = node.clone_with_new_inputs(fresh)
        for old, new in zip(node.outputs, clone.outputs, strict=True):
            new.name = old.name
            memo.setdefault(old, new)
    return [memo.get(v, v) for v in variables]
