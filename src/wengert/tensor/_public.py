"""Which functions, methods and attributes `__torch_function__` stands in for."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from wengert import autograd, ops
from wengert.core.fronts import public_functions, publish, publish_module
from wengert.core.tensor import Tensor, unconverted

# Functions of a process or of values that are no tensors.
_SETTINGS = frozenset({
    "can_cast", "from_dlpack", "from_numpy", "get_default_device", "get_default_dtype",
    "get_printoptions", "get_rng_state", "initial_seed", "is_storage", "is_tensor", "manual_seed",
    "promote_types", "seed", "set_default_device", "set_default_dtype",
    "set_default_tensor_type", "set_printoptions", "set_rng_state",
})  # fmt: skip

# Methods that make a class out of another, or belong to Python.
_OWN = frozenset({
    "__dir__", "__init_subclass__", "__new__", "__torch_dispatch__", "__torch_function__",
    "_make_subclass", "_make_wrapper_subclass", "as_subclass", "new",
})  # fmt: skip

# Operators for which `__torch_function__` gets the method.
_METHOD_OF = {
    "__add__": "add", "__radd__": "add", "__sub__": "sub", "__rmul__": "mul", "__truediv__": "div",
    "__matmul__": "matmul", "__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_",
    "__itruediv__": "div_", "__ifloordiv__": "floor_divide_", "__imod__": "remainder_",
}  # fmt: skip

_BINARY = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift",
    "rshift", "matmul",
)  # fmt: skip
_OPERATORS = frozenset({
    "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__",
    *(f"__{prefix}{name}__" for name in _BINARY for prefix in ("", "r", "i")),
})  # fmt: skip


def publish_functions(created: dict[str, Any]) -> None:
    """Enter what `torch` has of operations, and those functions that make tensors."""
    publish_module("torch", [n for family in ops.FAMILIES for n in family.__all__], vars(ops))
    for name, function in created.items():
        if isinstance(function, FunctionType) and name not in _SETTINGS:
            publish(function, f"torch.{name}")
    publish_module("torch.autograd", ("backward", "grad"), vars(autograd))


def publish_methods() -> None:
    """Enter the methods and attributes of Tensor."""
    attributes = vars(Tensor)
    for name, value in attributes.items():
        if name in _OWN:
            continue
        if isinstance(value, property):
            accessors = zip(
                ("get", "set", "delete"), (value.fget, value.fset, value.fdel), strict=True
            )
            for kind, function in accessors:
                func = getattr(value, f"__{kind}__")
                publish(function, f"torch.Tensor.{name}.__{kind}__", func)
        elif isinstance(value, FunctionType):
            op = getattr(value, "op", None)
            if op is not None and value.__globals__.get("operation") is op.function:
                value = op.function  # which an operator calls when somebody is to be asked
            if value not in public_functions and "published" not in value.__globals__:
                value.__name__ = name  # programs look at it
            func = attributes.get(_METHOD_OF.get(name, ""))
            publish(value, f"torch.Tensor.{name}", func, name in _OPERATORS)
    for name in ("_base", "grad"):
        unconverted.add(attributes[name].__get__)
