"""``torch.ops.higher_order``: operators that take functions, which are called at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from wengert.autograd.grad_mode import is_grad_enabled
from wengert.autograd.transforms.control_flow import cond as _cond
from wengert.autograd.transforms.control_flow import while_loop as _while_loop
from wengert.autograd.transforms.tree import flatten_tree
from wengert.compat._private.dispatch_keys import DispatchKey
from wengert.compat._private.scans import associative_scan as _associative_scan
from wengert.compat._private.scans import map as _map
from wengert.compat._private.scans import scan as _scan
from wengert.core.tensor import Tensor
from wengert.dispatch.overloads import OperatorBase

# By name: those of PyTorch, and those that programs define.
_operators: dict[str, HigherOrderOperator] = {}


class HigherOrderOperator(OperatorBase, ABC):
    """An operator of functions: what was registered for a dispatch key computes it.

    Args:
        name: that in ``torch.ops.higher_order``.
        cacheable: has no meaning here: there is no cache of graphs.
    """

    def __init__(self, name: str, *, cacheable: bool = False) -> None:
        self._name = self.__name__ = name
        self.namespace, self._cacheable = "higher_order", cacheable
        self._kernels: dict[DispatchKey, Callable[..., Any]] = {}
        _operators[name] = self

    def name(self) -> str:
        """The name in ``torch.ops.higher_order``."""
        return self._name

    def cacheable(self) -> bool:
        """What was said when it was made."""
        return self._cacheable

    def py_impl(self, k: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """A decorator: have a function compute the operator for a dispatch key."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            if k in self._kernels:
                raise RuntimeError(f"Trying to override a python impl for {k} on {self._name}")
            self._kernels[k] = function
            return function

        return register

    def py_autograd_impl(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """Have a function compute it where a gradient is wanted."""

        def wanted(*args: Any, **kwargs: Any) -> Any:
            tensors = [x for x in flatten_tree((args, kwargs))[0] if isinstance(x, Tensor)]
            if is_grad_enabled() and any(x.requires_grad for x in tensors):
                return fn(*args, **kwargs)
            return self._kernel(self._below)(*args, **kwargs)

        self.py_impl(DispatchKey.Autograd)(wanted)
        return fn

    def fallthrough(self, dispatch_key: Any) -> None:
        """Nothing: keys without a function are passed over."""

    _keys = (
        DispatchKey.AutogradCPU, DispatchKey.Autograd, DispatchKey.CPU,
        DispatchKey.CompositeExplicitAutograd,
    )  # fmt: skip
    _below = _keys[2:]

    def _kernel(self, keys: tuple[DispatchKey, ...]) -> Callable[..., Any]:
        for key in keys:
            if key in self._kernels:
                return self._kernels[key]
        raise NotImplementedError(
            f"could not find kernel for HigherOrderOperator {self._name} at dispatch key"
            f" {keys[0].name}: register a function, @{self._name}.py_impl(key)"
        )

    @abstractmethod
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the operator."""
        return self._kernel(self._autograd_first())(*args, **kwargs)

    def _autograd_first(self) -> tuple[DispatchKey, ...]:
        """The keys in the order in which PyTorch asks them; that of gradients has to be there."""
        autograd = [k for k in self._keys[:2] if k in self._kernels]
        return (*autograd, *self._below) if autograd else self._keys[:1]

    def __str__(self) -> str:
        return self._name


class _Called(HigherOrderOperator):
    """An operator that is the call of one function."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        super().__init__(name)
        self._function = function
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)


def cond_op(pred: Any, true_fn: Any, false_fn: Any, operands: Any) -> Any:
    """``true_fn(*operands)`` if `pred` holds, else ``false_fn(*operands)``."""
    return _cond(pred, true_fn, false_fn, tuple(operands))


def while_loop_op(cond_fn: Any, body_fn: Any, carried_inputs: Any, additional_inputs: Any) -> Any:
    """`while_loop`, of functions that also take the additional inputs, which stay."""
    more = tuple(additional_inputs)

    def body(*carried: Any) -> tuple[Any, ...]:
        found = body_fn(*carried, *more)
        if not isinstance(found, tuple):
            raise AssertionError(f"body_fn should return a tuple but got {type(found)}")
        return found

    return _while_loop(lambda *carried: cond_fn(*carried, *more), body, tuple(carried_inputs))


def scan_op(combine_fn: Any, init: Any, xs: Any, additional_inputs: Any = ()) -> Any:
    """`scan` of lists of tensors along their first dimension; the results are one tuple."""
    carries, more = len(init), tuple(additional_inputs)

    def combine(carry: Any, x: Any) -> tuple[list[Any], list[Any]]:
        found = list(combine_fn(*carry, *x, *more))
        return found[:carries], found[carries:]

    carry, out = _scan(combine, list(init), list(xs))
    return (*carry, *out)


def associative_scan_op(combine_fn: Any, xs: Any, additional_inputs: Any = ()) -> Any:
    """`associative_scan` of a list of tensors along their first dimension."""

    def combine(a: Any, b: Any) -> list[Any]:
        return list(combine_fn(*a, *b, *additional_inputs))

    return _associative_scan(combine, list(xs), 0, combine_mode="generic")


def map_op(f: Any, xs: Any, pos_args: Any) -> Any:
    """`map` of a function of the slices of several tensors."""
    return _map(lambda x: f(*x, *pos_args), list(xs))


def wrap_op(func: Any, *args: Any, **kwargs: Any) -> Any:
    """The function's result."""
    return func(*args, **kwargs)


cond, while_loop = _Called("cond", cond_op), _Called("while_loop", while_loop_op)
scan, associative_scan = _Called("scan", scan_op), _Called("associative_scan", associative_scan_op)
map_impl, wrap = _Called("map_impl", map_op), _Called("wrap", wrap_op)


class _HigherOrderNamespace:
    """The operators by name."""

    __name__ = "torch.ops.higher_order"

    def __getattr__(self, name: str) -> HigherOrderOperator:
        if name in _operators:
            return _operators[name]
        raise AttributeError(
            f"'_HigherOrderNamespace' '{self.__name__}' object has no attribute '{name}'"
        )

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_operators]


higher_order = _HigherOrderNamespace()

__all__ = ["HigherOrderOperator", "higher_order"]
