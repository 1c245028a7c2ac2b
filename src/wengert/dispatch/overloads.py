"""``torch.ops``: operations by their names in a namespace, such as ``torch.ops.aten.mm.default``.

There is one `OpOverload` of each name, so that tables and policies can compare them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from wengert.core.tensor import Tensor
from wengert.dispatch.calls import call_overload
from wengert.dispatch.schema import Argument, FunctionSchema, accepts


class OperatorBase:
    """Of what ``torch.ops`` has: overloads of operations, and operators of functions."""


class OpOverload(OperatorBase):
    """An operation by its full name, such as ``aten.mm.default``.

    >>> import wengert
    >>> from wengert.dispatch import ops
    >>> ops.aten.mm.default(wengert.eye(2), wengert.ones(2, 2))
    tensor([[1., 1.],
            [1., 1.]])
    >>> str(ops.aten.mm.default._schema)
    'aten::mm(Tensor self, Tensor mat2) -> Tensor'
    """

    tags: tuple[Any, ...] = ()
    composite = False  # whether modes see what it calls, and not the operation

    def __init__(self, packet: OpOverloadPacket, schema: FunctionSchema, run: Any) -> None:
        self._schema = schema
        self._run: Callable[..., Any] = run
        self.overloadpacket = self._overloadpacket = packet
        self._overloadname = schema.overload_name or "default"
        self._name, self.namespace = schema.name, packet.namespace
        self._opname = packet.__name__
        self.__name__ = f"{packet.__name__}.{self._overloadname}"
        self.__module__ = packet.__module__

    @property
    def is_view(self) -> bool:
        """Whether its result shares memory with an argument that it does not write to."""
        return any(r.alias_info is not None and not r.is_write for r in self._schema.returns)

    def name(self) -> str:
        """The name as schemas have it: ``aten::mm``, or ``aten::add.Tensor``."""
        overload = self._schema.overload_name
        return f"{self._name}.{overload}" if overload else self._name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.composite:
            return self.run(args, kwargs)
        return call_overload(self, args, kwargs)

    redispatch = __call__

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (self.overloadpacket, self._overloadname)

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compute it."""
        return self._run(*args, **kwargs)

    def __str__(self) -> str:
        return f"{self.overloadpacket}.{self._overloadname}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.overloadpacket}', overload='{self._overloadname}')>"


class OpOverloadPacket:
    """What the overloads of one name have in common, such as ``aten.mm``."""

    def __init__(self, namespace: str, name: str) -> None:
        self.namespace, self.__name__ = namespace, name
        self.__module__ = f"torch._ops.{namespace}"
        self._qualified_op_name = f"{namespace}::{name}"
        self._overloads: dict[str, OpOverload] = {}

    def add(self, schema: FunctionSchema, run: Callable[..., Any]) -> OpOverload:
        """A further overload."""
        overload = OpOverload(self, schema, run)
        self._overloads[overload._overloadname] = overload
        return overload

    def __getattr__(self, name: str) -> OpOverload:
        if name in vars(self).get("_overloads", ()):
            return self._overloads[name]
        raise AttributeError(
            f"The underlying op of '{self}' has no overload name '{name}': it has"
            f" {', '.join(map(str, vars(self).get('_overloads', {}).values()))}"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (_namespace_of(self.namespace), self.__name__)

    def overloads(self) -> list[str]:
        """The names of the overloads."""
        return [*self._overloads]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The overload that takes these arguments; RuntimeError where there is none."""
        overloads = [*self._overloads.values()]
        if len(overloads) == 1:
            return overloads[0](*args, **kwargs)
        refusals = []
        for overload in overloads:
            refusal = refused(overload._schema, args, kwargs)
            if refusal is None:
                return overload(*args, **kwargs)
            refusals.append(refusal)
        raise RuntimeError(
            "Overloaded torch operator invoked from Python failed to match any schema:\n"
            + "\n\n".join(refusals)
        )

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


# Namespaces whose operations are compiled code that could not be loaded, and its file.
unloaded: dict[str, str] = {}


class OpNamespace:
    """The operations of one library, such as ``torch.ops.aten``."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.__name__ = f"torch.ops.{name}"
        self._packets: dict[str, OpOverloadPacket] = {}

    def load(self, name: str) -> OpOverloadPacket | None:
        """A packet that is read when it is first named; None where there is none."""
        return None

    def packet(self, name: str) -> OpOverloadPacket:
        """The packet of that name, made where there was none."""
        packet = self.find(name)
        if packet is None:
            packet = self._packets[name] = OpOverloadPacket(self.name, name)
        return packet

    def find(self, name: str) -> OpOverloadPacket | None:
        """The packet of that name, or None."""
        packet = self._packets.get(name)
        if packet is None:
            packet = self.load(name)
            if packet is not None:
                self._packets[name] = packet
        return packet

    def remove(self, name: str, overload: str) -> None:
        """Take away an overload."""
        packet = self._packets[name]
        del packet._overloads[overload]
        if not packet._overloads:
            del self._packets[name]

    def __getattr__(self, name: str) -> OpOverloadPacket:
        packet = None if name[:2] == "__" else self.find(name)
        if packet is None:
            why = ""
            if self.name in unloaded:
                why = (
                    f": {unloaded[self.name]}, which may define it, is compiled code for PyTorch's"
                    " C++ library, which wengert does not have"
                )
            raise AttributeError(
                f"'_OpNamespace' '{self.name}' object has no attribute '{name}'{why}"
            )
        return packet

    def __reduce__(self) -> tuple[Any, ...]:
        return _namespace_of, (self.name,)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._packets]

    def __repr__(self) -> str:
        return f"<module '{self.__name__}'>"


def _namespace_of(name: str) -> OpNamespace:
    found: OpNamespace = import_module("wengert.dispatch.ops").namespace(name)
    return found


def refused(schema: FunctionSchema, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """Why a schema does not take these arguments; None where it does."""
    positional = [a for a in schema.arguments if not a.kwarg_only]
    if len(args) > len(positional):
        return (
            f"{schema.name}() expected at most {len(positional)} argument(s) but received"
            f" {len(args) + len(kwargs)} argument(s). Declaration: {schema}"
        )
    values = dict(zip([a.name for a in positional], args, strict=False))
    for position, argument in enumerate(schema.arguments):
        name = argument.name
        if name in values:
            if name in kwargs:
                return f"{schema.name}() got multiple values for '{name}'. Declaration: {schema}"
        elif name in kwargs:
            values[name] = kwargs[name]
        elif argument.has_default:
            continue
        else:
            return f"{schema.name}() is missing value for argument '{name}'. Declaration: {schema}"
        if not fits(argument, values[name]):
            return _wrong_type(schema, argument, position, values[name])
    unknown = kwargs.keys() - values.keys()
    if unknown:
        return (
            f"Unknown keyword argument '{min(unknown)}' for operator '{schema.name}'."
            f" Schema: {schema}"
        )
    return None


def fits(argument: Argument, value: Any) -> bool:
    """Whether an argument may have a value."""
    return accepts(argument.type, value) or (
        argument.type in ("int[]", "int[]?", "float[]") and accepts(argument.type[:-2], value)
    )


def _wrong_type(schema: FunctionSchema, argument: Argument, position: int, value: Any) -> str:
    shown = f"tensor of shape {list(value.shape)}" if isinstance(value, Tensor) else repr(value)
    return (
        f"{schema.name}() Expected a value of type '{argument.type}' for argument"
        f" '{argument.name}' but instead found type '{type(value).__name__}'.\n"
        f"Position: {position}\nValue: {shown}\nDeclaration: {schema}"
    )
