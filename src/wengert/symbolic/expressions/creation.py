"""Variables out of nothing: zeros, ranges, identities; and symbols."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.symbolic.dtypes import DISCRETE, INTEGERS, as_name, upcast
from wengert.symbolic.expressions.arithmetic import cast, fill, mul, sub
from wengert.symbolic.expressions.elemwise import float_zeros
from wengert.symbolic.expressions.shapes import shape_i
from wengert.symbolic.expressions.structure import alloc
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable, constant
from wengert.symbolic.expressions.wrapped import Composed
from wengert.symbolic.graph import Apply, Operation, disconnected, marked
from wengert.symbolic.settings import config

_PATTERNS: dict[str, tuple[bool, ...]] = {
    "scalar": (), "vector": (False,), "matrix": (False, False), "row": (True, False),
    "col": (False, True), "tensor3": (False,) * 3, "tensor4": (False,) * 4,
    "tensor5": (False,) * 5, "tensor6": (False,) * 6, "tensor7": (False,) * 7,
}  # fmt: skip
_LETTERS = {
    "b": "int8", "w": "int16", "i": "int32", "l": "int64", "f": "float32", "d": "float64",
    "c": "complex64", "z": "complex128",
}  # fmt: skip
_PLURALS = {"matrix": "matrices"}


def tensor(*args: Any, **options: Any) -> Any:
    """A variable of a dtype, with broadcastable dimensions: ``tensor("int8", (False, True))``."""
    name = options.pop("name", None)
    return marked(TensorType(*args, **options)(name))


def _constructor(pattern: tuple[bool, ...], kind: str) -> Callable[..., Any]:
    def construct(name: str | None = None, dtype: Any = None) -> Any:
        if dtype is None:
            dtype = config.floatX
        return marked(TensorType(dtype, pattern)(name))

    construct.__name__ = construct.__qualname__ = kind
    construct.__doc__ = f"A variable: {kind}, of floatX unless another dtype is named."
    return construct


def _several(construct: Callable[..., Any], name: str) -> Callable[..., Any]:
    def make(*names: Any, **options: Any) -> Any:
        if len(names) == 1 and isinstance(names[0], int):
            return [construct(**options) for _ in range(names[0])]
        if len(names) == 1:
            names = tuple(names[0])  # a list of names, or a string of letters
            if len(names) == 1:
                return construct(name=names[0], **options)
        return [construct(name=n, **options) for n in names]

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"Several variables: ``{name}('a', 'b')``, ``{name}('ab')`` or ``{name}(2)``."
    return make


def constructors() -> dict[str, Any]:
    """All names such as `fmatrix`, `lscalars` and `tensor4`."""
    table: dict[str, Any] = {}
    for kind, pattern in _PATTERNS.items():
        plural = _PLURALS.get(kind, kind + "s")
        table[kind] = _constructor(pattern, kind)
        table[plural] = _several(table[kind], plural)
        for letter, dtype in _LETTERS.items():
            table[letter + kind] = TensorType(dtype, pattern)
            table[letter + plural] = _several(table[letter + kind], letter + plural)
    return table


class ARange(Operation):
    """Numbers from a start to a stop in steps."""

    __props__ = ("dtype",)

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype

    def make_node(self, start: Any, stop: Any, step: Any) -> Apply:
        """Three scalars."""
        inputs = [as_tensor_variable(x) for x in (start, stop, step)]
        for x in inputs:
            if x.ndim:
                raise TypeError(f"arange: start, stop and step are scalars, got {x.type}")
        return Apply(self, inputs, [TensorType(self.dtype, (False,))()])

    def compute(self, start: Any, stop: Any, step: Any) -> np.ndarray:
        """NumPy's."""
        return np.arange(start.item(), stop.item(), step.item(), dtype=self.dtype)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """A count of steps has no gradient."""
        return [[True], [False], [True]]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """As of ``start + step * [0, 1, 2, ...]``."""
        start, _, step = inputs
        (g,) = output_gradients
        if self.dtype in DISCRETE:
            return [float_zeros(start), disconnected(), float_zeros(step)]
        positions = ARange(self.dtype)(0, shape_i(outputs[0], 0), 1)
        return [cast(g.sum(), g.dtype), disconnected(), mul(g, positions).sum()]

    def __str__(self) -> str:
        return f"ARange{{dtype='{self.dtype}'}}"


class _Diagonal(Operation):
    """A matrix of zeros and ones, by its lengths and the number of a diagonal."""

    __props__ = ("dtype",)

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype

    def make_node(self, n: Any, m: Any, k: Any) -> Apply:
        """Three integers."""
        inputs = [as_tensor_variable(x) for x in (n, m, k)]
        return Apply(self, inputs, [TensorType(self.dtype, (False, False))()])

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Lengths have no gradient."""
        return [[False]] * 3

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """None."""
        return [disconnected()] * 3


class Eye(_Diagonal):
    """Ones on a diagonal."""

    def compute(self, n: Any, m: Any, k: Any) -> np.ndarray:
        """NumPy's."""
        return np.eye(int(n), int(m), int(k), self.dtype)


class Tri(_Diagonal):
    """Ones on and below a diagonal."""

    def compute(self, n: Any, m: Any, k: Any) -> np.ndarray:
        """NumPy's."""
        return np.tri(int(n), int(m), int(k), self.dtype)


def _numpy_range_dtype(values: Sequence[Any]) -> str:
    dtype = upcast(*[v.dtype for v in values])
    if dtype in INTEGERS or dtype == "bool":
        return "int64"
    if dtype in DISCRETE:
        return upcast(dtype, "int64")
    if config.floatX == "float32" and dtype == "float64" and config.cast_policy == "numpy+floatX":
        return "float32"
    return dtype


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Any:
    """Numbers from `start` to before `stop`; integers are int64."""
    if stop is None:
        start, stop = 0, start
    values = [as_tensor_variable(x) for x in (start, stop, step)]
    name = _numpy_range_dtype(values) if dtype is None else as_name(dtype)
    return ARange(name)(*values)


def eye(n: Any, m: Any = None, k: Any = 0, dtype: Any = None) -> Any:
    """Ones on a diagonal of a matrix of zeros."""
    return Eye(as_name(dtype or config.floatX))(n, n if m is None else m, k)


def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = None) -> Any:  # noqa: N803
    """Ones on and below a diagonal."""
    return Tri(as_name(dtype or config.floatX))(N, N if M is None else M, k)


def tril(m: Any, k: Any = 0) -> Any:
    """The part of a matrix on and below a diagonal."""
    m = as_tensor_variable(m)
    return mul(m, tri(m.shape[0], m.shape[1], k=k, dtype=m.dtype))


def triu(m: Any, k: Any = 0) -> Any:
    """The part of a matrix on and above a diagonal."""
    m = as_tensor_variable(m)
    below = tri(m.shape[0], m.shape[1], k=k - 1, dtype=m.dtype)
    return mul(m, sub(1, below))


def identity_like(x: Any) -> Any:
    """Ones on the diagonal of a matrix of the shape of `x`."""
    x = as_tensor_variable(x)
    return eye(x.shape[0], x.shape[1], 0, x.dtype)


def zeros(shape: Any, dtype: Any = None) -> Any:
    """Zeros of a shape."""
    return _filled(0, shape, dtype)


def _of_shape(*shape: Any, dtype: Any = None) -> Any:
    return zeros(shape, dtype)


class AllocEmpty(Composed):
    """``AllocEmpty(dtype)(*shape)``: an array of any numbers; here zeros, so that runs agree.

    >>> from wengert.symbolic import tensor as T
    >>> T.AllocEmpty("float32")(2, 3).type
    TensorType(float32, matrix)
    """

    def __init__(self, dtype: Any) -> None:
        super().__init__(dtype=as_name(dtype))

    function = staticmethod(_of_shape)


def ones(shape: Any, dtype: Any = None) -> Any:
    """Ones of a shape."""
    return _filled(1, shape, dtype)


def _filled(value: int, shape: Any, dtype: Any) -> Any:
    if not isinstance(shape, list | tuple) and not getattr(shape, "ndim", 0):
        shape = [shape]
    number = constant(value, dtype=as_name(dtype or config.floatX))
    if not isinstance(shape, list | tuple):
        return alloc(number, shape)
    return alloc(number, *shape)


def zeros_like(model: Any, dtype: Any = None, opt: bool = False) -> Any:
    """Zeros in the shape and dtype of a variable."""
    return _like(model, 0, dtype)


def ones_like(model: Any, dtype: Any = None, opt: bool = False) -> Any:
    """Ones in the shape and dtype of a variable."""
    return _like(model, 1, dtype)


def _like(model: Any, value: int, dtype: Any) -> Any:
    model = as_tensor_variable(model)
    return fill(model, constant(value, dtype=as_name(dtype or model.dtype)))


def empty(shape: Any, dtype: Any = None) -> Any:
    """An array whose elements are not specified; zeros."""
    return zeros(shape, dtype)


class _Grid:
    """What `mgrid` and `ogrid` are: ranges by slices."""

    def __init__(self, sparse: bool) -> None:
        self.sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return arange(key.start or 0, key.stop, key.step or 1)
        ranges = [arange(k.start or 0, k.stop, k.step or 1) for k in key]
        dtype = upcast(*[r.dtype for r in ranges])
        shaped = []
        for position, r in enumerate(ranges):
            order: list[Any] = ["x"] * len(ranges)
            order[position] = 0
            shaped.append(cast(r, dtype).dimshuffle(*order))
        if self.sparse:
            return shaped
        total = shaped[0]
        for r in shaped[1:]:
            total = total + r
        return [_like(total, 0, None) + r for r in shaped]


mgrid, ogrid = _Grid(False), _Grid(True)


__all__ = [
    "ARange",
    "AllocEmpty",
    "Eye",
    "Tri",
    "arange",
    "empty",
    "eye",
    "identity_like",
    "mgrid",
    "ogrid",
    "ones",
    "ones_like",
    "tensor",
    "tri",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]
