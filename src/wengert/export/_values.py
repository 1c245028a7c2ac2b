"""The arguments of programs as JSON, and the functions that a program in a file may call."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import wengert
from wengert.autograd.transforms.recorded import put_at
from wengert.core import dtypes
from wengert.core import layout as layouts
from wengert.core.dtypes import dtype, of_numpy
from wengert.core.size import Size
from wengert.core.tensor import Tensor
from wengert.fx.experimental.recorder import BoundCall
from wengert.fx.experimental.sizes import sym_size_int
from wengert.fx.node import Node
from wengert.kernels.geometry import Geometry
from wengert.kernels.grid import Sampling
from wengert.kernels.norm.plan import NormPlan
from wengert.ops.op import REGISTRY
from wengert.ops.pool import Windows
from wengert.ops.recurrent import over_time
from wengert.ops.row_indices import REFUSALS, Refusal
from wengert.ops.strided import Window, as_elements, elements

_DTYPES = {str(t).removeprefix("torch."): t for t in vars(dtypes).values() if isinstance(t, dtype)}
_FORMATS = {f.name: f for f in vars(layouts).values() if isinstance(f, layouts.memory_format)}
_RECORDS: dict[str, Any] = {c.__name__: c for c in (Geometry, NormPlan, Windows, Refusal)}
# Operations that see memory through addresses in their arguments: no file may choose these.
_ADDRESSING = frozenset({"_window", "_spread", "_take", "_erase", "reinterpreted"})
_OPERATORS = ("getitem", "add", "sub", "mul", "floordiv", "truediv")
_METHODS = ("clone", "copy_", "detach", "index_put", "to", "__getitem__")
_PARTS = {"splitting": ("_split", "_unbind"), "joining": ("_cat", "_stack", "_block_diag")}
Function = Callable[..., Any]


@cache
def functions() -> dict[str, Function]:
    """What a program in a file may call, by name: operations, and nothing beside them."""
    table = {f"op.{n}": op.function for n, op in REGISTRY.items() if n not in _ADDRESSING}
    table |= {f"operator.{n}": getattr(operator, n) for n in _OPERATORS}
    table |= {f"Tensor.{n}": getattr(Tensor, n) for n in _METHODS}
    table |= {f"torch.{n}": getattr(wengert, n) for n in ("arange", "full")}
    for module, names in _PARTS.items():
        family = getattr(wengert.ops, module)
        table |= {f"{module}.{n}": getattr(family, n) for n in names if hasattr(family, n)}
    for name, value in vars(wengert.nn.functional).items():
        if str(getattr(value, "__module__", "")).startswith("wengert.ops."):
            table[f"nn.functional.{name}"] = value
    table |= {"recurrent.over_time": over_time, "recorded.put_at": put_at}
    table["strided.elements"] = elements
    return table | {"sizes.sym_size_int": sym_size_int}


@cache
def _names() -> dict[int, str]:
    return {id(function): name for name, function in functions().items()}


def spelled(node: Node) -> tuple[Any, Any, Any]:
    """A call's function and arguments as a file has them: sizes of memory are not for it to say."""
    target, args, kwargs = node.target, tuple(node.args), dict(node.kwargs)
    how = kwargs.get("how")
    if isinstance(how, Sampling) and target is REGISTRY["_grid_sample"].function:
        options = how.mode, how.padding, how.align_corners
        return wengert.nn.functional.grid_sample, (*args, *options), {}
    if isinstance(target, BoundCall) and isinstance(target.bound.get("window"), Window):
        places = as_elements(target.bound["layout"], target.bound["window"])
        if places is not None and target.function is REGISTRY["_window"].function:
            return elements, (*args, *places), kwargs
    return target, args, kwargs


class Encoder:
    """Writes arguments: `tensors` takes what JSON does not hold."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self._by_id: dict[int, str] = {}

    def tensor(self, value: Tensor) -> str:
        """The name under which a tensor is kept; one name for each, wherever it is used."""
        name = self._by_id.get(id(value))
        if name is None:
            name = self._by_id[id(value)] = str(len(self.tensors))
            self.tensors[name] = value
        return name

    def value(self, value: Any, of: str) -> Any:
        """A value; NotImplementedError, which says what it is `of`, where a file holds none."""
        if value is None or isinstance(value, bool | str) or type(value) is int:
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": str(value)}
        if isinstance(value, complex):
            return {"complex": [repr(value.real), repr(value.imag)]}
        if isinstance(value, Node):
            return {"node": value.name}
        if isinstance(value, Tensor):
            return {"tensor": [self.tensor(value), value.requires_grad]}
        if value is Ellipsis:
            return {"ellipsis": None}
        if isinstance(value, slice):
            return {"slice": [self.value(x, of) for x in (value.start, value.stop, value.step)]}
        if isinstance(value, dtype):
            return {"dtype": str(value).removeprefix("torch.")}
        return self._container(value, of)

    def _container(self, value: Any, of: str) -> Any:
        if isinstance(value, list):
            return [self.value(x, of) for x in value]
        if isinstance(value, dict) and all(isinstance(k, str) for k in value):
            return {"dict": {k: self.value(v, of) for k, v in value.items()}}
        record = type(value).__name__
        if isinstance(value, tuple) and (type(value) is tuple or _RECORDS.get(record)):
            return {record: [self.value(x, of) for x in value]}
        if isinstance(value, Size):
            return {"tuple": list(value)}
        raise NotImplementedError(f"{of}: a file cannot hold a {type(value).__name__}: {value!r}")

    def target(self, target: Any, of: str) -> Any:
        """The function that a node calls."""
        if isinstance(target, BoundCall):
            bound = {name: self._bound(x, of) for name, x in target.bound.items()}
            return [self.target(target.function, of), {"dict": bound}]
        name = _names().get(id(target))
        if name is None:
            raise NotImplementedError(
                f"{of}: a file cannot hold a call of {getattr(target, '__name__', target)}, only"
                " operations with arguments of numbers and tensors, and no random ones: export"
                " in evaluation mode"
            )
        return name

    def _bound(self, value: Any, of: str) -> Any:
        """An argument that is part of the function."""
        if isinstance(value, np.dtype | type):
            return self.value(of_numpy[np.dtype(value)], of)
        if isinstance(value, layouts.memory_format):
            return {"memory_format": value.name}
        return self.value(value, of)


class Decoder:
    """Reads what `Encoder` writes, and raises RuntimeError for anything else.

    Args:
        tensors: what the file holds beside the JSON.
    """

    def __init__(self, tensors: dict[str, Tensor]) -> None:
        self.tensors = tensors
        self.nodes: dict[str, Node] = {}

    def value(self, value: Any) -> Any:
        """A value."""
        if isinstance(value, list):
            return [self.value(x) for x in value]
        if not isinstance(value, dict):
            return value
        if len(value) != 1:
            raise _unexpected("a value", value)
        ((kind, body),) = value.items()
        read = self._readers().get(kind)
        try:
            if read is not None:
                return read(body)
            return _checked(_RECORDS[kind](*[self.value(x) for x in body]))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise _unexpected("a value", value) from None

    def _readers(self) -> dict[str, Callable[[Any], Any]]:
        return {
            "node": lambda name: self.nodes[name],
            "tensor": self._tensor,
            "float": lambda text: {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[text],
            "complex": lambda parts: complex(*[float(x) for x in parts]),
            "ellipsis": lambda _: Ellipsis,
            "slice": lambda parts: slice(*[self.value(x) for x in parts]),
            "dtype": lambda name: _DTYPES[name],
            "memory_format": lambda name: _FORMATS[name],
            "dict": lambda items: {k: self.value(v) for k, v in items.items()},
            "tuple": lambda items: tuple([self.value(x) for x in items]),
        }

    def _tensor(self, body: Any) -> Tensor:
        name, requires_grad = body
        tensor = self.tensors[name]
        if requires_grad is not True or tensor.requires_grad:
            return tensor
        return tensor.requires_grad_()

    def target(self, target: Any) -> Function:
        """The function that a node calls."""
        if isinstance(target, list) and len(target) == 2:
            bound = self.value(target[1])
            if isinstance(bound, dict):
                arguments = {n: x.np if isinstance(x, dtype) else x for n, x in bound.items()}
                return BoundCall(self.target(target[0]), arguments)
        if isinstance(target, str) and target in functions():
            return functions()[target]
        raise _unexpected("an operation", target)


def _unexpected(expected: str, value: Any) -> RuntimeError:
    return RuntimeError(f"export.load: expected {expected}, the file has {str(value)[:80]!r}")


def _checked(record: Any) -> Any:
    """A record of sizes; ValueError for what no operation is recorded with."""
    if isinstance(record, Geometry):
        steps = [*record.stride, *record.dilation, record.groups]
        sides = [side for low, high in record.padding for side in (low, high)]
        ranks = {len(record.stride), len(record.dilation), len(record.padding)}
        if (
            len(ranks) != 1
            or not all(map(_at_least(1), steps))
            or not all(map(_at_least(0), sides))
        ):
            raise ValueError(record)
    elif isinstance(record, NormPlan):
        shapes = [*record.view, *record.channels, *record.affine]
        rank = len(record.view)
        if not all(map(_at_least(0), shapes)) or not set(record.axes) <= set(range(rank)):
            raise ValueError(record)
    elif isinstance(record, Refusal):
        if record.kind not in REFUSALS or {str} != {*map(type, record)}:
            raise ValueError(record)
    elif not isinstance(record.geometry, Geometry) or not all(
        map(_at_least(1), [*record.kernel, *record.out])
    ):
        raise ValueError(record)
    return record


def _at_least(bound: int) -> Callable[[Any], bool]:
    """Whether a size has a bound; a size that a program computes has."""
    return lambda x: isinstance(x, Node) or (type(x) is int and x >= bound)
