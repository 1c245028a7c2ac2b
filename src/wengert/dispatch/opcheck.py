"""Checks of an operation of a program's: `opcheck`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.autograd.gradcheck import gradcheck
from wengert.core.tensor import Tensor
from wengert.dispatch.calls import leaves, tensors_in
from wengert.dispatch.custom_ops import CustomOperation, operation_of

Args = tuple[Any, ...]
Kwargs = dict[str, Any]

TESTS = (
    "test_schema",
    "test_autograd_registration",
    "test_faketensor",
    "test_aot_dispatch_dynamic",
)


class OpCheckError(Exception):
    """A check of `opcheck` failed."""


def opcheck(
    op: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = TESTS,
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Check what is registered for an operation against what it does with these arguments.

    Results, by the names of the checks, are "SUCCESS" or the error; `OpCheckError` is raised for
    the first with `raise_exception`. `test_schema`: nothing is written that the schema does not
    say, and no result shares memory with an argument. `test_autograd_registration`: there is a
    gradient where an argument requires one. `test_faketensor`: the fake says the shapes and dtypes
    of the results. `test_aot_dispatch_dynamic`: the gradient is finite differences', for arguments
    of float64.

    >>> import wengert
    >>> from wengert import Tensor
    >>> @wengert.library.custom_op("opchecked::twice", mutates_args=())
    ... def twice(x: Tensor) -> Tensor:
    ...     return x * 2
    >>> wengert.library.opcheck(twice, (wengert.ones(2),), test_utils="test_schema")
    {'test_schema': 'SUCCESS'}
    """
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    unknown = set(names) - {*_CHECKS}
    if unknown:
        raise ValueError(f"test_utils must be among {', '.join(_CHECKS)}, but has {min(unknown)!r}")
    operation = operation_of(op)
    if operation is None:
        raise OpCheckError(f"opcheck(op, ...): {op} could not be loaded")
    results: dict[str, Any] = {}
    for name in names:
        try:
            _CHECKS[name](operation, args, kwargs or {}, atol, rtol)
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error}") from error
            results[name] = error
    return results


def _copies(args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """Arguments with fresh tensors that require no gradient."""

    def copy(value: Any) -> Any:
        if isinstance(value, Tensor):
            return value.detach().clone()
        return [copy(v) for v in value] if isinstance(value, (list, tuple)) else value

    return tuple([copy(a) for a in args]), {name: copy(a) for name, a in kwargs.items()}


def _check_schema(
    operation: CustomOperation, args: Args, kwargs: Kwargs, atol: Any, rtol: Any
) -> None:
    args, kwargs = _copies(args, kwargs)
    values = operation._values(args, kwargs)
    before = [[t._array.copy() for t in tensors_in(v)] for v in values]
    outputs = tensors_in(operation.overload(*args, **kwargs))
    for argument, value, arrays in zip(operation.schema.arguments, values, before, strict=True):
        for tensor, array in zip(tensors_in(value), arrays, strict=True):
            same = np.array_equal(tensor._array, array, equal_nan=array.dtype.kind in "fc")
            if not (same or argument.is_write):
                raise OpCheckError(
                    f"Argument {argument.name} is not defined as mutable but was mutated: the"
                    f" schema is {operation.schema}"
                )
            for output in outputs:
                shares = np.may_share_memory(output._array, tensor._array)
                if shares and argument.alias_info is None:
                    raise OpCheckError(
                        f"Argument {argument.name} is not defined to alias output but was aliasing:"
                        f" the schema is {operation.schema}"
                    )


def _check_autograd(
    operation: CustomOperation, args: Args, kwargs: Kwargs, atol: Any, rtol: Any
) -> None:
    required = [t for t in tensors_in((args, kwargs)) if t.requires_grad]
    if not required or operation.schema.is_mutable or operation.composite is not None:
        return
    if operation.backward is None and operation.autograd is None:
        raise OpCheckError(
            f"{operation.qualname} has inputs that require grad, and no gradient: register one with"
            f" torch.library.register_autograd({operation.qualname!r}, ...)"
        )


def _check_fake(
    operation: CustomOperation, args: Args, kwargs: Kwargs, atol: Any, rtol: Any
) -> None:
    if operation.composite is not None:
        return
    if operation.fake is None:
        raise OpCheckError(
            f"There was no fake impl registered for {operation.qualname}: register one with"
            f" torch.library.register_fake({operation.qualname!r})"
        )
    args, kwargs = _copies(args, kwargs)
    faked = list(leaves(operation.fake(*args, **kwargs)))
    actual = list(leaves(operation.overload(*args, **kwargs)))
    if len(faked) != len(actual):
        raise OpCheckError(f"the fake returns {len(faked)} results, the operation {len(actual)}")
    for k, (fake, result) in enumerate(zip(faked, actual, strict=True)):
        for what in ("shape", "dtype"):
            said, is_ = getattr(fake, what, None), getattr(result, what, None)
            if said != is_:
                raise OpCheckError(f"the {what} of result {k} is {is_}, the fake says {said}")


def _check_gradient(
    operation: CustomOperation, args: Args, kwargs: Kwargs, atol: Any, rtol: Any
) -> None:
    tensors = [t for t in tensors_in((args, kwargs)) if t.requires_grad]
    if not tensors or operation.backward is None:
        return
    if any(t.dtype.itemsize < 8 for t in tensors):
        return  # too coarse for finite differences
    options = {n: v for n, v in (("atol", atol), ("rtol", rtol)) if v is not None}
    gradcheck(lambda *values: operation.overload(*values, **kwargs), args, **options)


_CHECKS: dict[str, Callable[..., None]] = dict(
    zip(TESTS, (_check_schema, _check_autograd, _check_fake, _check_gradient), strict=True)
)
