"""Operations that programs define: what `wengert.library` is made of.

An operation is computed by a `Function` of its own (`autograd.custom`), so that its node has the
line of the call, its saved values and its place in graphs as every other node does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from wengert.autograd.function import Function
from wengert.core import storage
from wengert.core.tensor import Tensor, Tracer, caller, concrete, getframe, mode
from wengert.dispatch.calls import tensors_in
from wengert.dispatch.ops import namespace, overload_of
from wengert.dispatch.overloads import OpOverload, refused, unloaded
from wengert.dispatch.schema import FunctionSchema, parse_schema

Rule = Callable[..., Any]


class CustomOperation:
    """An operation of a program's: its schema, and the functions that are registered for it.

    Attributes:
        overload: what ``torch.ops`` has of it.
        kernels: by device.
        composite: computes it from other operations, which record themselves.
        autograd: computes and records it, where an argument requires grad.
        fake: makes an empty result of the right shape and dtype.
        backward: the gradients of the arguments.
        setup_context: keeps what `backward` needs.
        vmap: computes it for a batch.
        unaliased: whether results that share memory with arguments are refused.
    """

    def __init__(self, qualname: str, schema: FunctionSchema, unaliased: bool) -> None:
        self.qualname, self.schema, self.unaliased = qualname, schema, unaliased
        self.kernels: dict[str, Rule] = {}
        self.composite: Rule | None = None
        self.autograd: Rule | None = None
        self.fake: Rule | None = None
        self.backward: Rule | None = None
        self.setup_context: Rule | None = None
        self.vmap: Rule | None = None
        self.function: type[Function] | None = None
        home, _, name = qualname.partition("::")
        packet = namespace(home).packet(name.partition(".")[0])
        if (schema.overload_name or "default") in packet.overloads():
            raise RuntimeError(
                f"Tried to register an operator ({schema}) with the same name and overload name"
                f" multiple times: {qualname} is defined already"
            )
        self.overload = packet.add(schema, self)
        operations[qualname] = self
        for key, function in waiting.pop(qualname, ()):
            self.implement(key, function)

    def implement(self, key: str, function: Rule) -> None:
        """Register a function for a dispatch key of PyTorch's, or for a device."""
        if key in ("CompositeImplicitAutograd", ""):
            self.composite, self.overload.composite = function, True
        elif key in ("Autograd", "AutogradCPU"):
            self.autograd = function
        elif key == "Meta":
            self.fake = function
        elif key == "CompositeExplicitAutograd":
            self.kernels.setdefault("CPU", function)
        else:
            self.kernels[key.upper()] = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        refusal = refused(self.schema, args, kwargs)
        if refusal is not None:
            raise RuntimeError(refusal)
        if self.composite is not None and "CPU" not in self.kernels:
            return self.composite(*args, **kwargs)
        values = self._values(args, kwargs)
        tensors = tensors_in(values)
        if any(isinstance(t, Tracer) and t.device.type == "meta" for t in tensors):
            return self._outline(args, kwargs)
        if self.schema.is_mutable:
            return self._compute_writing(values, tensors)
        recorded = mode.site is not None and any(t._edge is not None for t in tensors)
        if recorded and self.autograd is not None:
            return self.autograd(*args, **kwargs)
        if recorded or any(isinstance(t, Tracer) for t in tensors):
            return self._function().apply(*values)
        return self.compute(values)

    def _values(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """All arguments in order."""
        others = self.schema.arguments[len(args) :]
        return [*args, *(kwargs.get(a.name, a.default_value) for a in others)]

    def arguments(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments in order, as they are passed: by position, and by name."""
        pairs = list(zip(self.schema.arguments, values, strict=True))
        ordered = tuple([value for a, value in pairs if not a.kwarg_only])
        return ordered, {a.name: value for a, value in pairs if a.kwarg_only}

    def compute(self, values: Sequence[Any]) -> Any:
        """What the kernel makes of the arguments; nothing is recorded."""
        kernel = self.kernels.get("CPU")
        if kernel is None:
            raise NotImplementedError(
                f"Could not run '{self.qualname}' with arguments from the 'CPU' backend: kernels"
                f" are registered for {', '.join(self.kernels) or 'no device'}; register one with"
                f" torch.library.register_kernel({self.qualname!r}, 'cpu')"
            )
        args, kwargs = self.arguments(values)
        site, mode.site = mode.site, None
        try:
            result = kernel(*args, **kwargs)
        finally:
            mode.site = site
        if self.unaliased:
            self._check_aliases(kernel, values, result)
        return result

    def _outline(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the results are like, of arguments on the meta device."""
        if self.fake is None:
            raise RuntimeError(
                f"There was no fake impl registered for {self.qualname}, which tensors of the meta"
                f" device need: register one with torch.library.register_fake({self.qualname!r})"
            )
        return self.fake(*args, **kwargs)

    def _compute_writing(self, values: list[Any], tensors: list[Tensor]) -> Any:
        if any(isinstance(t, Tracer) for t in tensors):
            raise RuntimeError(
                f"{self.qualname} writes to its arguments, and cannot be called inside of a"
                " function that is being transformed (vmap, grad, jvp)"
            )
        if mode.site is not None and any(t._edge is not None for t in tensors):
            raise RuntimeError(
                f"{self.qualname} writes to its arguments, and one of them requires grad: what it"
                " writes would have no derivative; call it in torch.no_grad(), or on detached"
                " tensors"
            )
        result = self.compute(values)
        where = caller(getframe(1))
        for argument, value in zip(self.schema.arguments, values, strict=True):
            for tensor in tensors_in(value) if argument.is_write else ():
                storage.stamp(tensor._array, self.qualname, *where)
        return result

    def _check_aliases(self, kernel: Rule, values: Sequence[Any], result: Any) -> None:
        arrays = [t._array for t in tensors_in(values) if type(t) in concrete]
        for output in tensors_in(result):
            if type(output) not in concrete:
                continue
            if any(np.may_share_memory(output._array, a) for a in arrays):
                raise RuntimeError(
                    f"{self.schema.name.partition('::')[2]} (with implementation in"
                    f" {kernel.__module__}): The output of this custom operator (1) must not also"
                    " be an input to this custom operator and (2) may not alias any inputs to this"
                    " custom operator or other returns: return a clone of it"
                )
            arrays.append(output._array)

    def _function(self) -> type[Function]:
        if self.function is None:
            self.function = _function_of(self)
        return self.function

    def register_autograd(self, backward: Rule, setup_context: Rule | None) -> None:
        """Set the gradient. RuntimeError for an operation that writes to its arguments."""
        if self.schema.is_mutable:
            raise RuntimeError(
                "Cannot register autograd formula for non-functional operator"
                f" {self.qualname} with schema {self.schema}. Please create a functional operator"
                " and register an autograd formula for that."
            )
        self.backward, self.setup_context, self.function = backward, setup_context, None

    def no_gradient(self) -> NoReturn:
        """Raise RuntimeError for a backward that nobody wrote."""
        raise RuntimeError(
            f"Trying to backward through {self.overload} but no autograd formula was registered."
            " Please use register_autograd to add one."
        )

    def __repr__(self) -> str:
        return f"<CustomOperation({self.qualname})>"


# By qualified name.
operations: dict[str, CustomOperation] = {}
# Functions that were registered for operations that are yet to be defined.
waiting: dict[str, list[tuple[str, Rule]]] = {}


def _function_of(operation: CustomOperation) -> type[Function]:
    """The Function that computes and differentiates an operation."""

    def forward(*values: Any) -> Any:
        return operation.compute(values)

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        if operation.setup_context is None:
            return
        args, kwargs = operation.arguments(inputs)
        by_name = {"keyword_only_inputs": kwargs} if kwargs else {}
        operation.setup_context(ctx=ctx, inputs=args, output=output, **by_name)

    def backward(ctx: Any, *gradients: Any) -> Any:
        if operation.backward is None:
            operation.no_gradient()
        answer = operation.backward(ctx, *gradients)
        missing = sum(a.kwarg_only for a in operation.schema.arguments)
        if not missing:
            return answer
        return (*(answer if isinstance(answer, tuple) else (answer,)), *[None] * missing)

    def vmap(info: Any, in_dims: tuple[Any, ...], *values: Any) -> Any:
        if operation.vmap is None:
            raise NotImplementedError(
                f"{operation.qualname} has no rule for vmap: register one with"
                f" torch.library.register_vmap({operation.qualname!r}, ...)"
            )
        args, kwargs = operation.arguments(values)
        return operation.vmap(info, in_dims[: len(args)], *args, **kwargs)

    name = "_".join((operation.qualname.replace("::", "_"), operation.overload._overloadname))
    rules = (forward, setup_context, backward, vmap)
    body = {rule.__name__: staticmethod(rule) for rule in rules}
    return type(f"GeneratedBackwardFor_{name}", (Function,), body)


def define(qualname: str, schema: str, unaliased: bool = False) -> CustomOperation:
    """A fresh operation of a schema such as ``(Tensor x) -> Tensor``."""
    parsed = parse_schema(f"{qualname}{schema}")
    return CustomOperation(qualname, parsed, unaliased)


def remove(operation: CustomOperation) -> None:
    """Take an operation away."""
    operations.pop(operation.qualname, None)
    packet = operation.overload.overloadpacket
    if packet._overloads.get(operation.overload._overloadname) is operation.overload:
        namespace(packet.namespace).remove(packet.__name__, operation.overload._overloadname)


def qualname_of(op: Any) -> str:
    """The qualified name of what stands for an operation: a name, an overload or a definition."""
    if isinstance(op, str):
        return op
    if isinstance(op, OpOverload):
        return op.name()
    own: Any = getattr(op, "_qualname", None)
    if isinstance(own, str):
        return own
    raise ValueError(f"expected the name of an operator, its OpOverload or its CustomOpDef: {op!r}")


def operation_of(op: Any, missing: type[Exception] = RuntimeError) -> CustomOperation | None:
    """The operation that something stands for; None where its library could not be loaded.

    Where there is none, an error of the class `missing`.
    """
    qualname = qualname_of(op)
    operation = operations.get(qualname.removesuffix(".default"))
    if operation is not None:
        return operation
    if overload_of(qualname) is not None:
        raise RuntimeError(
            f"{qualname} is an operation of wengert: what it computes, and its gradient, are there"
        )
    if qualname.partition("::")[0] in unloaded:
        return None
    raise missing(f"operator {qualname} does not exist")


def implement(qualname: str, key: str, function: Rule) -> None:
    """Register a function for an operation, or for when it will be defined."""
    operation = operations.get(qualname.removesuffix(".default"))
    if operation is not None:
        operation.implement(key, function)
    else:
        waiting.setdefault(qualname, []).append((key, function))
