"""``torch.library``: operations of your own, by name, with gradients and rules for transforms.

`custom_op` makes one of a function with annotations; `Library` defines them from schemas.
``torch.ops.namespace.name`` is such an operation, too (`wengert.dispatch.ops` here).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from wengert.dispatch.custom_ops import (
    CustomOperation,
    implement,
    operation_of,
    operations,
    qualname_of,
    remove,
)
from wengert.dispatch.custom_ops import define as _define
from wengert.dispatch.inference import infer_schema as infer_schema
from wengert.dispatch.opcheck import opcheck as opcheck
from wengert.dispatch.overloads import OpOverload

Function = Callable[..., Any]
Devices = str | Sequence[str] | None

_KINDS = ("DEF", "IMPL", "FRAGMENT")
_RESERVED = frozenset({"prim", "aten", "wengert"})
_defined: set[str] = set()


class CustomOpDef:
    """An operation that `custom_op` made: call it, or register rules for it.

    >>> import wengert
    >>> from wengert import Tensor
    >>> @wengert.library.custom_op("shown::third", mutates_args=())
    ... def third(x: Tensor) -> Tensor:
    ...     return x / 3
    >>> third(wengert.ones(1))
    tensor([0.3333])
    >>> third
    <CustomOpDef(shown::third)>
    """

    def __init__(
        self, namespace: str, name: str, schema: str, fn: Function, tags: Any = None
    ) -> None:
        self._qualname = f"{namespace}::{name}"
        if self._qualname in operations:
            remove(operations[self._qualname])  # as PyTorch has it for scripts that run again
        self._operation, self._init_fn = _define(self._qualname, schema, unaliased=True), fn
        self._opoverload: OpOverload = self._operation.overload
        functools.update_wrapper(self, fn, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def register_kernel(self, device_types: Devices, fn: Function | None = None, /) -> Any:
        """Compute the operation by `fn` on these devices; "cpu" counts here."""
        return _registering(fn, lambda f: _kernels(self._operation, device_types, f))

    def register_fake(self, fn: Function, /) -> Function:
        """Say by `fn` which shapes and dtypes the results have."""
        self._operation.fake = fn
        return fn

    def register_autograd(
        self, backward: Function, /, *, setup_context: Function | None = None
    ) -> None:
        """Say what the gradients are: see `register_autograd` of this module."""
        self._operation.register_autograd(backward, setup_context)

    def register_vmap(self, func: Function | None = None) -> Any:
        """Say how a batch is computed: see `register_vmap` of this module."""
        return _registering(func, lambda f: setattr(self._operation, "vmap", f))

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"


def _registering(function: Function | None, register: Callable[[Function], None]) -> Any:
    """Register a function, or return a decorator that does."""

    def decorate(f: Function) -> Function:
        register(f)
        return f

    return decorate if function is None else decorate(function)


def _kernels(operation: CustomOperation, device_types: Devices, function: Function) -> None:
    types = ("cpu",) if device_types is None else device_types
    for device in (types,) if isinstance(types, str) else types:
        operation.implement("CPU" if device == "default" else device, function)


def custom_op(
    name: str,
    fn: Function | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: Devices = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Make an operation called ``namespace::name`` of a function on tensors.

    The function may do anything with the arrays of its arguments. It has annotations, from which
    the schema is read unless there is a `schema`, and it returns fresh tensors. `mutates_args` are
    the names of those arguments that it writes to. Its gradient is what `register_autograd` says.

    >>> import numpy as np
    >>> import wengert
    >>> from wengert import Tensor
    >>> @wengert.library.custom_op("page::sinc", mutates_args=())
    ... def sinc(x: Tensor) -> Tensor:
    ...     return wengert.from_numpy(np.sinc(x.numpy()))
    >>> sinc(wengert.tensor([0.0, 0.5]))
    tensor([1.0000, 0.6366])
    """

    def decorate(function: Function) -> CustomOpDef:
        _check_qualname(name)
        text = schema
        if text is None:
            text = infer_schema(function, mutates_args=mutates_args)
        home, _, own = name.partition("::")
        definition = CustomOpDef(home, own, text, function, tags)
        definition.register_kernel(device_types, function)
        return definition

    return decorate if fn is None else decorate(fn)


def _check_qualname(name: str) -> None:
    if not re.fullmatch(r"\w+::\w+", name):
        raise ValueError(
            f"Expected `qualname` to be of the form 'namespace::name', but got {name!r}"
        )


class Library:
    """A namespace's operations, from their schemas: ``Library("mine", "DEF")``.

    `kind` is "DEF" or "FRAGMENT" to define operations (one DEF for each namespace), "IMPL" to
    implement those of another library. They last as long as the library.

    >>> import wengert
    >>> from wengert.dispatch import ops
    >>> library = wengert.library.Library("listed", "DEF")
    >>> library.define("plus_one(Tensor x) -> Tensor")
    'plus_one'
    >>> library.impl("plus_one", lambda x: x + 1, "CPU")
    >>> ops.listed.plus_one(wengert.zeros(2))
    tensor([1., 1.])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in _KINDS:
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in _RESERVED:
            raise ValueError(
                f"{ns} is a reserved namespace: the operations of wengert are defined, and"
                " implemented, in wengert"
            )
        if kind == "DEF" and ns in _defined:
            raise RuntimeError(
                "Only a single TORCH_LIBRARY can be used to register the namespace"
                f" {ns}: use Library({ns!r}, 'FRAGMENT') for further definitions"
            )
        if kind == "DEF":
            _defined.add(ns)
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._operations: list[CustomOperation] = []

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Define an operation; returns its name. RuntimeError for what is no schema."""
        if self.kind == "IMPL":
            raise RuntimeError(f"define(): {self!r} is for implementations only")
        name, bracket, rest = schema.strip().partition("(")
        self._operations.append(_define(f"{self.ns}::{name.strip()}", bracket + rest))
        return name.strip()

    def impl(
        self, op_name: Any, fn: Function, dispatch_key: str = "", *, with_keyset: bool = False,
        allow_override: bool = True,
    ) -> None:  # fmt: skip
        """Implement an operation for a dispatch key.

        "CPU" and "CompositeExplicitAutograd" compute it, "Autograd" computes and records it,
        "Meta" says what results are like. Without a key, or with "CompositeImplicitAutograd", it
        is made of other operations, whose gradients it has.
        """
        if not callable(fn):
            raise TypeError(
                f"Input function is required to be a callable but found type {type(fn)}"
            )
        name = op_name if isinstance(op_name, str) else qualname_of(op_name)
        name = name.rpartition("::")[2]
        function = functools.partial(fn, None) if with_keyset else fn
        implement(f"{self.ns}::{name}", dispatch_key or self.dispatch_key, function)

    def _register_fake(self, op_name: str, fn: Function, *args: Any, **options: Any) -> None:
        register_fake(f"{self.ns}::{op_name.rpartition('::')[2]}", fn)

    def _destroy(self) -> None:
        for operation in self._operations:
            remove(operation)
        self._operations.clear()
        if self.kind == "DEF":
            _defined.discard(self.ns)

    def __del__(self) -> None:
        if hasattr(self, "_operations"):
            self._destroy()

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"


_fragments: dict[str, Library] = {}


def define(qualname: str, schema: Any, *, lib: Library | None = None, tags: Any = ()) -> Any:
    """Define an operation, ``define("mine::f", "(Tensor x) -> Tensor")``.

    Or, with a library first, as a decorator: ``@define(library, "f(Tensor x) -> Tensor")``.

    >>> import wengert
    >>> wengert.library.define("paged::negated", "(Tensor x) -> Tensor")
    >>> @wengert.library.impl("paged::negated", "cpu")
    ... def negated(x):
    ...     return -x
    """
    if isinstance(qualname, Library):
        library: Library = qualname

        def decorate(function: Function) -> Function:
            library.impl(library.define(schema), function, "")
            return function

        return decorate
    if not isinstance(qualname, str):
        raise ValueError(
            f"define(qualname, schema): expected qualname to be instance of str but got"
            f" {type(qualname)}"
        )
    home, separator, name = qualname.partition("::")
    if not (home and separator and name):
        raise ValueError(f"Expected `qualname` to be of the form 'namespace::name': {qualname!r}")
    if not re.fullmatch(r"\s*\(.*\)\s*->.+", schema, re.DOTALL):
        raise ValueError(
            "define(qualname, schema, ...): expected schema to look like e.g."
            f' "(Tensor x) -> Tensor" but got "{schema}"'
        )
    owner = lib or _fragments.setdefault(home, Library(home, "FRAGMENT"))
    owner.define(f"{name}{schema.strip()}")
    return None


def impl(qualname: Any, types: Any, func: Any = None, *, lib: Library | None = None) -> Any:
    """Compute an operation by a function, on devices: ``@impl("mine::f", "cpu")``.

    Or, with a library first, for a dispatch key: ``@impl(library, "f", "CPU")``. The device
    "default" is every one.

    >>> import wengert
    >>> wengert.library.define("paged::doubled", "(Tensor x) -> Tensor")
    >>> wengert.library.impl("paged::doubled", "cpu", lambda x: x * 2)
    """
    if isinstance(qualname, Library):
        key: str = "" if func is None else func
        return _registering(None, lambda f: qualname.impl(types, f, key))

    def register(function: Function) -> None:
        for device in (types,) if isinstance(types, str) else types:
            implement(qualname, "CPU" if device == "default" else device, function)

    result = _registering(func, register)
    return result if func is None else None


def register_kernel(
    op: Any, device_types: Devices, func: Function | None = None, /, *, lib: Any = None
) -> Any:
    """Compute an operation by a function on these devices; None is all.

    >>> import wengert
    >>> wengert.library.define("paged::halved", "(Tensor x) -> Tensor")
    >>> @wengert.library.register_kernel("paged::halved", "cpu")
    ... def halved(x):
    ...     return x / 2
    """
    types = ("cpu",) if device_types is None else device_types
    return _registering(func, lambda f: impl(qualname_of(op), types, f))


def register_fake(
    op: Any, func: Function | None = None, /, *, lib: Any = None, _stacklevel: int = 1,
    allow_override: bool = True,
) -> Any:  # fmt: skip
    """Say by a function which shapes and dtypes an operation's results have; `opcheck` asks it.

    RuntimeError for an operation that does not exist.

    >>> import wengert
    >>> wengert.library.define("paged::rows", "(Tensor x) -> Tensor")
    >>> @wengert.library.register_fake("paged::rows")
    ... def rows(x):
    ...     return x.new_empty(len(x))
    """

    def register(function: Function) -> None:
        operation = operation_of(op)
        if operation is not None:
            operation.fake = function

    return _registering(func, register)


def impl_abstract(
    qualname: str, func: Function | None = None, *, lib: Any = None, _stacklevel: int = 1
) -> Any:
    """The name that `register_fake` had before.

    >>> import wengert
    >>> wengert.library.define("paged::columns", "(Tensor x) -> Tensor")
    >>> mark = wengert.library.impl_abstract("paged::columns", lambda x: x.new_empty(x.shape[1]))
    """
    return register_fake(qualname, func, lib=lib)


def register_autograd(
    op: Any, backward: Function, /, *, setup_context: Function | None = None, lib: Any = None
) -> None:
    """Say what the gradients of an operation's arguments are.

    ``backward(ctx, *grads)`` gets a gradient for each result, and returns one for each argument,
    None where there is none. ``setup_context(ctx, inputs, output)`` keeps what it needs, with
    ``ctx.save_for_backward`` and as attributes. Written with differentiable operations, `backward`
    can be differentiated again. RuntimeError for an operation that writes to its arguments.

    >>> import wengert
    >>> from wengert import Tensor
    >>> @wengert.library.custom_op("paged::cubed", mutates_args=())
    ... def cubed(x: Tensor) -> Tensor:
    ...     return x**3
    >>> def keep(ctx, inputs, output):
    ...     ctx.save_for_backward(inputs[0])
    >>> def backward(ctx, g):
    ...     return g * 3 * ctx.saved_tensors[0] ** 2
    >>> wengert.library.register_autograd("paged::cubed", backward, setup_context=keep)
    >>> x = wengert.tensor(2.0, requires_grad=True)
    >>> cubed(x).backward()
    >>> x.grad
    tensor(12.)
    """
    operation = operation_of(op, AttributeError)
    if operation is not None:
        operation.register_autograd(backward, setup_context)


def register_vmap(op: Any, func: Function | None = None, /, *, lib: Any = None) -> Any:
    """Say how `vmap` computes an operation for a batch.

    ``func(info, in_dims, *args)`` gets the arguments with their batches and which dimension of each
    is the batch (None for those without), and returns the results and their batch dimensions.

    >>> import wengert
    >>> from wengert import Tensor
    >>> @wengert.library.custom_op("paged::negative", mutates_args=())
    ... def negative(x: Tensor) -> Tensor:
    ...     return -x
    >>> @wengert.library.register_vmap("paged::negative")
    ... def of_batch(info, in_dims, x):
    ...     return negative(x), in_dims[0]
    >>> wengert.vmap(negative)(wengert.ones(2, 1))
    tensor([[-1.],
            [-1.]])
    """

    def register(function: Function) -> None:
        operation = operation_of(op, AttributeError)
        if operation is not None:
            operation.vmap = function

    return _registering(func, register)


def fallthrough_kernel() -> NoReturn:
    """A mark for keys that compute nothing; it is never called.

    >>> import wengert
    >>> wengert.library.fallthrough_kernel()
    Traceback (most recent call last):
        ...
    NotImplementedError: fallthrough_kernel() should never be called.
    """
    raise NotImplementedError("fallthrough_kernel() should never be called.")


def get_ctx() -> NoReturn:
    """RuntimeError: a fake whose sizes depend on values has nothing to ask here.

    >>> import wengert
    >>> wengert.library.get_ctx()
    Traceback (most recent call last):
        ...
    RuntimeError: torch.library.get_ctx(): ...
    """
    raise RuntimeError(
        "torch.library.get_ctx(): wengert has no sizes that are unknown until an operation runs;"
        " a fake is asked by opcheck alone, about real tensors"
    )


def triton_op(name: str, fn: Any = None, /, *, mutates_args: Any, schema: Any = None) -> Any:
    """`custom_op`: on a CPU the function itself may compute, or call `wrap_triton`, which raises.

    >>> import wengert
    >>> @wengert.library.triton_op("mine::doubled", mutates_args=())
    ... def doubled(x: wengert.Tensor) -> wengert.Tensor:
    ...     return x * 2
    >>> doubled(wengert.ones(1))
    tensor([2.])
    """
    return custom_op(name, fn, mutates_args=mutates_args, schema=schema)


def wrap_triton(triton_kernel: Any, /) -> NoReturn:
    """NotImplementedError: there are no Triton kernels on a CPU.

    >>> import wengert
    >>> wengert.library.wrap_triton(None)
    Traceback (most recent call last):
        ...
    NotImplementedError: torch.library.wrap_triton(): ...
    """
    raise NotImplementedError(
        "torch.library.wrap_triton(): Triton's kernels run on GPUs, wengert on the CPU"
    )


__all__ = [
    "CustomOpDef", "Library", "custom_op", "define", "fallthrough_kernel", "get_ctx", "impl",
    "impl_abstract", "infer_schema", "opcheck", "register_autograd", "register_fake",
    "register_kernel", "register_vmap", "triton_op", "wrap_triton",
]  # fmt: skip
