"""The operators and methods of variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.symbolic.expressions import (
    arithmetic,
    creation,
    extra_ops,
    indexing,
    products,
    shapes,
    sorting,
    structure,
)
from wengert.symbolic.expressions import reductions as over
from wengert.symbolic.expressions.scalars import ComplexError
from wengert.symbolic.expressions.type import AsTensorError, TensorOperators
from wengert.symbolic.graph import Variable


def _forward(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        if isinstance(other, Variable) and not isinstance(other, TensorOperators):
            return NotImplemented  # a sparse matrix knows what to do
        try:
            return function(self, other)
        except ComplexError:
            raise
        except (NotImplementedError, AsTensorError):
            return NotImplemented  # the other operand's class may know

    return method


def _reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: function(other, self)


def _comparison(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: arithmetic.comparison_result(function(self, other))


def _dot(self: Any, other: Any) -> Any:
    return products.dot(self, other)


def _reshape(self: Any, shape: Any, *more: Any, **options: Any) -> Any:
    if more and not isinstance(shape, list | tuple):
        if len(more) == 1 and not options and isinstance(more[0], int) and getattr(
                shape, "ndim", 0) == 1:  # fmt: skip
            return structure.reshape(self, shape, more[0])
        shape = (shape, *more)
    elif more:
        options["ndim"] = more[0]
    return structure.reshape(self, shape, **options)


def _transpose(self: Any, *axes: Any) -> Any:
    if not axes:
        return structure.transpose(self)
    if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], list | tuple)):
        return structure.transpose(self, axes[0])
    return structure.transpose(self, axes)


def _iterate(self: Any) -> Any:
    try:
        length = structure.get_vector_length(self)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"TensorType does not support iteration: the length of {self} is not known. Maybe you"
            " are using builtins.sum instead of theano.tensor.sum?"
        ) from error
    return iter([self[k] for k in range(length)])


def _norm(self: Any, L: Any, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: N803
    if L == 0:
        return over.sum(arithmetic.neq(self, 0), axis, keepdims=keepdims)
    if float("inf") == L:
        return over.max(arithmetic.abs_(self), axis, keepdims)
    if float("-inf") == L:
        return over.min(arithmetic.abs_(self), axis, keepdims)
    powers = arithmetic.pow(arithmetic.abs_(self), L)
    return arithmetic.pow(over.sum(powers, axis, keepdims=keepdims), 1.0 / L)


def _nonzero_length(self: Any) -> int:
    raise TypeError(
        f"object of type '{type(self).__name__}' has no len(). Use x.shape[0] for the length of a"
        " variable, or theano.tensor.get_vector_length if it can be known."
    )


def _operators() -> dict[str, Any]:
    a = arithmetic
    binary = {
        "add": a.add, "sub": a.sub, "mul": a.mul, "truediv": _divided, "floordiv": a.floor_div,
        "mod": a.mod, "pow": a.pow, "and": a.and_, "or": a.or_, "xor": a.xor, "matmul": _dot,
    }  # fmt: skip
    table: dict[str, Any] = {}
    for name, function in binary.items():
        table[f"__{name}__"] = _forward(function)
        table[f"__r{name}__"] = _reflected(function)
    for name in ("lt", "le", "gt", "ge"):
        table[f"__{name}__"] = _comparison(getattr(a, name))
    table |= {
        "__neg__": _method(a.neg), "__abs__": _method(a.abs_), "__invert__": _method(a.invert),
        "__pos__": lambda self: self, "__ceil__": _method(a.ceil), "__floor__": _method(a.floor),
        "__trunc__": _method(a.trunc),
        "__divmod__": a.divmod, "__rdivmod__": _reflected(a.divmod),
        "__getitem__": indexing.index, "__iter__": _iterate, "__len__": _nonzero_length,
    }  # fmt: skip
    return table


def _divided(left: Any, right: Any) -> Any:
    return arithmetic.true_div(left, right)


def _methods() -> dict[str, Any]:
    a = arithmetic
    names = (
        "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "ceil", "clip", "conj",
        "cos", "cosh", "deg2rad", "exp", "exp2", "expm1", "fill", "floor", "log", "log10",
        "log1p", "log2", "rad2deg", "round", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
    )  # fmt: skip
    table = {name: _method(getattr(a, name)) for name in names}
    table |= {
        name: _method(getattr(over, name))
        for name in ("all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "ptp",
                     "std", "sum", "var")
    }  # fmt: skip
    table |= {
        name: _method(getattr(structure, name))
        for name in ("dimshuffle", "flatten", "squeeze", "swapaxes")
    }
    table |= {
        name: _method(getattr(indexing, name)) for name in ("nonzero", "nonzero_values", "take")
    }
    table |= {
        name: _method(getattr(extra_ops, name))
        for name in (
            "choose",
            "compress",
            "cumprod",
            "cumsum",
            "diagonal",
            "repeat",
            "searchsorted",
        )
    }
    return table | {
        "astype": _method(a.cast),
        "argsort": _method(sorting.argsort),
        "sort": _method(sorting.sort),
        "conjugate": _method(a.conj),
        "copy": lambda self, name=None: _copied(self, name),
        "dot": _dot,
        "norm": _norm,
        "ones_like": _method(creation.ones_like),
        "ravel": lambda self: structure.flatten(self),
        "reshape": _reshape,
        "trace": lambda self: extra_ops.trace(self),
        "transfer": lambda self, target: self,
        "transpose": _transpose,
        "zeros_like": _method(creation.zeros_like),
        "get_scalar_constant_value": _method(shapes.get_scalar_constant_value),
    }


def _copied(x: Any, name: str | None) -> Any:
    out = arithmetic.tensor_copy(x)
    out.name = name
    return out


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **options: Any) -> Any:
        return function(self, *args, **options)

    method.__name__ = function.__name__
    method.__doc__ = function.__doc__
    return method


def _size(self: Any) -> Any:
    if self.ndim == 1:
        return self.shape[0]
    return over.prod(self.shape)


def _bind() -> None:
    """Give variables what they have."""
    for name, value in (_operators() | _methods()).items():
        setattr(TensorOperators, name, value)
    # A class whose instances have these by inheritance keeps Python's own hash and equality.
    for name, getter in {
        "T": structure.transpose,
        "shape": shapes.shape,
        "size": _size,
        "real": arithmetic.real,
        "imag": arithmetic.imag,
    }.items():
        setattr(TensorOperators, name, property(getter))


_bind()
