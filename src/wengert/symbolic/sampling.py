"""Random numbers as operations: a generator goes in, and a generator and numbers come out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np

from wengert.symbolic.dtypes import DISCRETE, upcast
from wengert.symbolic.expressions.arithmetic import add
from wengert.symbolic.expressions.shapes import as_shape
from wengert.symbolic.expressions.structure import get_vector_length
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable, constant
from wengert.symbolic.generators import Copies
from wengert.symbolic.gradient import grad_undefined
from wengert.symbolic.graph import Apply, Kernel, Operation, disconnected
from wengert.symbolic.settings import config
from wengert.symbolic.sharing import random_state_type

Draw = Callable[..., Any]


class RandomFunction(Operation):
    """Numbers of a distribution from one of NumPy's generators.

    Args:
        fn: a function of a generator, the parameters and the shape, or the name of a method.
        outtype: the type of the numbers.
        inplace: accepted; the generator that is passed on is always another one.
        ndim_added: how many dimensions the numbers have beyond those of the shape.

    >>> import numpy as np
    >>> from wengert.symbolic import function, shared
    >>> from wengert.symbolic import tensor as T
    >>> state = shared(np.random.RandomState(1))
    >>> draw = T.raw_random.RandomFunction("uniform", T.dvector)
    >>> function([], draw(state, (2,), 0.0, 1.0)[1])()
    array([0.417022  , 0.72032449])
    """

    __props__ = ("draw", "type")

    def __init__(
        self, fn: str | Draw, outtype: TensorType, inplace: bool = False, ndim_added: int = 0
    ) -> None:
        self.draw: Draw = getattr(np.random.RandomState, fn) if isinstance(fn, str) else fn
        self.type, self.inplace, self.ndim_added = outtype, inplace, ndim_added
        self.name = getattr(fn, "__name__", str(fn)).strip("_")

    def make_node(self, state: Any, size: Any, *args: Any) -> Apply:
        """The next state of the generator, and the numbers."""
        parameters = [as_tensor_variable(a) for a in args]
        if state.type != random_state_type:
            raise TypeError(f"{self}: a variable of a generator comes first, got {state}")
        return Apply(self, [state, as_shape(size), *parameters], [random_state_type(), self.type()])

    def kernel(self, node: Apply) -> Kernel:
        """Draws from copies that take turns."""
        return partial(self._drawn, Copies())

    def compute(self, state: Any, size: Any, *args: Any) -> Any:
        """Draw from a copy of the generator."""
        return self._drawn(Copies(), state, size, *args)

    def _drawn(self, copies: Copies, state: Any, size: Any, *args: Any) -> Any:
        state = copies.copied(state)
        shape = tuple(int(n) for n in size) if len(size) or not self.type.ndim else None
        values = np.asarray(self.draw(state, *args, shape), self.type.dtype)
        if values.ndim != self.type.ndim:
            raise ValueError(
                f"{self.name}: drew numbers of shape {values.shape}, and {self.type.ndim}"
                " dimensions were declared"
            )
        return state, values

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Neither the generator nor the shape has a gradient; parameters have an undefined one."""
        return [[False, False]] * 2 + [[False, True]] * (node.nin - 2)

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Undefined."""
        none = [disconnected(), disconnected()]
        return none + [grad_undefined(self, k, x) for k, x in enumerate(inputs[2:], start=2)]

    def __str__(self) -> str:
        return f"RandomFunction{{{self.name}}}"


def _uniform(r: Any, low: Any, high: Any, size: Any) -> Any:
    return r.uniform(low, high, size)


def _normal(r: Any, avg: Any, std: Any, size: Any) -> Any:
    return r.normal(avg, std, size)


def _binomial(r: Any, n: Any, p: Any, size: Any) -> Any:
    return r.binomial(n, p, size)


def _random_integers(r: Any, low: Any, high: Any, size: Any) -> Any:
    return r.randint(low, np.asarray(high) + 1, size)


def _choice(r: Any, a: Any, replace: Any, *others: Any) -> Any:
    *p, size = others
    source = int(a) if a.ndim == 0 else a
    return r.choice(source, size, bool(replace), *[v for v in p if v.ndim])  # a number is no p


def _poisson(r: Any, lam: Any, size: Any) -> Any:
    return r.poisson(lam, size)


def _permutation(r: Any, n: Any, size: Any) -> Any:
    length = int(n)
    out = np.empty((*(size or ()), length), np.int64)
    for position in np.ndindex(*(size or ())):
        out[position] = r.permutation(length)
    return out


def _multinomial(r: Any, n: Any, pvals: Any, size: Any) -> Any:
    shape = size or np.broadcast_shapes(n.shape, pvals.shape[:-1])
    counts = np.broadcast_to(n, shape)
    weights = np.broadcast_to(pvals, (*shape, pvals.shape[-1]))
    out = np.empty(weights.shape, np.int64)
    for position in np.ndindex(*shape):
        p = np.asarray(weights[position], np.float64)
        if p.sum() > 1.0 and abs(p.sum() - 1.0) < 1e-5:
            p = p / p.sum() * (1.0 - 5e-5)
        out[position] = r.multinomial(counts[position], p)
    return out


def pattern_of(size: Any, ndim: int | None, parameters: list[Any]) -> tuple[Any, list[bool]]:
    """The shape of numbers to draw, and which of its dimensions are broadcastable.

    Without a shape it is that of the parameters; so are its lengths that are -1.
    """
    if size is None or (isinstance(size, list | tuple) and not size and any(
            p.ndim for p in parameters)):  # fmt: skip
        if not parameters:
            raise TypeError("random numbers: a shape is needed, size is None")
        total = reduce(add, parameters)
        return [total.shape[d] for d in range(total.ndim)], list(total.broadcastable)
    if isinstance(size, int | np.integer):
        size = [size]
    if not isinstance(size, list | tuple):
        size = as_tensor_variable(size)
        if size.ndim:
            count = get_vector_length(size) if ndim is None else ndim
            return size, [False] * count
        size = [size]
    least = max((p.ndim for p in parameters), default=0)
    if ndim is not None and ndim != len(size):
        raise ValueError(f"ndim should be equal to len(shape), but ndim = {ndim}, shape = {size}")
    if least > len(size):
        raise ValueError(
            f"ndim should be at least as big as required by args value: {len(size)} dimensions,"
            f" and parameters of {least}"
        )
    lengths, missing = list(size), [isinstance(n, int) and n == -1 for n in size]
    if any(missing):
        total = reduce(add, parameters)
        inner = [None] * (len(size) - total.ndim) + [total.shape[d] for d in range(total.ndim)]
        lengths = [own if m else n for n, m, own in zip(lengths, missing, inner, strict=True)]
        if None in lengths:
            raise ValueError(f"random numbers: the parameters do not say what -1 is in {size}")
    return lengths, [isinstance(n, int | np.integer) and n == 1 for n in size]


def _of_trials(variables: list[Any]) -> list[Any]:
    """The number of trials and, in its shape, a probability of each distribution."""
    n, pvals = variables if len(variables) == 2 else (variables[0], None)
    return [n] if pvals is None or pvals.ndim < 2 else [n, pvals[..., 0]]


def drawn(
    state: Any, name: str, draw: Draw, size: Any, parameters: Any, ndim: int | None, dtype: Any,
    extra: int = 0,
) -> tuple[Any, Any]:  # fmt: skip
    """The next state and the numbers of a distribution."""
    variables = [as_tensor_variable(p) for p in parameters]
    scalars = {"choice": [], "multinomial": _of_trials(variables)}.get(name, variables)
    shape, pattern = pattern_of(size, ndim, scalars)
    if dtype is None:
        dtype = upcast(config.floatX, *[p.dtype for p in variables if p.dtype not in DISCRETE])
    op = RandomFunction(draw, TensorType(dtype, pattern + [False] * extra), ndim_added=extra)
    vector = constant(np.zeros(0, np.int64)) if isinstance(shape, list) and not shape else shape
    new_state, out = op(state, vector, *variables, return_list=True)
    return new_state, out


class Distributions:
    """The distributions that streams offer; `draw_from` says where numbers come from."""

    def draw_from(self, name: str, draw: Draw, size: Any, parameters: Any, ndim: int | None,
                  dtype: Any, extra: int = 0) -> Any:  # fmt: skip
        """Numbers of a distribution."""
        raise NotImplementedError

    def uniform(self, size: Any = None, low: Any = 0.0, high: Any = 1.0, ndim: int | None = None,
                dtype: Any = None) -> Any:  # fmt: skip
        """Between two bounds."""
        return self.draw_from("uniform", _uniform, size, (low, high), ndim, dtype)

    def normal(self, size: Any = None, avg: Any = 0.0, std: Any = 1.0, ndim: int | None = None,
               dtype: Any = None) -> Any:  # fmt: skip
        """Around a mean."""
        return self.draw_from("normal", _normal, size, (avg, std), ndim, dtype)

    def binomial(self, size: Any = None, n: Any = 1, p: Any = 0.5, ndim: int | None = None,
                 dtype: Any = "int64", prob: Any = None) -> Any:  # fmt: skip
        """How many of `n` trials succeed."""
        p = p if prob is None else prob
        return self.draw_from("binomial", _binomial, size, (n, p), ndim, dtype)

    def random_integers(self, size: Any = None, low: Any = 0, high: Any = 1,
                        ndim: int | None = None, dtype: Any = "int64") -> Any:  # fmt: skip
        """Integers between two bounds, both of which may come."""
        return self.draw_from("random_integers", _random_integers, size, (low, high), ndim, dtype)

    def choice(self, size: Any = None, a: Any = 2, replace: Any = True, p: Any = None,
               ndim: int | None = None, dtype: Any = "int64") -> Any:  # fmt: skip
        """Elements of a vector, or numbers below a number."""
        replace = int(replace) if isinstance(replace, bool) else replace
        parameters = (a, replace) if p is None else (a, replace, p)
        return self.draw_from("choice", _choice, size, parameters, ndim, dtype)

    def poisson(self, size: Any = None, lam: Any = 1.0, ndim: int | None = None,
                dtype: Any = "int64") -> Any:  # fmt: skip
        """Counts of a rate."""
        return self.draw_from("poisson", _poisson, size, (lam,), ndim, dtype)

    def permutation(self, size: Any = None, n: Any = 1, ndim: int | None = None,
                    dtype: Any = "int64") -> Any:  # fmt: skip
        """Orders of the numbers below `n`, in the last dimension."""
        if size is None or (isinstance(size, list | tuple) and not size):
            if ndim not in (None, 1):
                raise TypeError(f"One permutation has one dimension, got ndim = {ndim}")
            size, ndim = (), 0
        return self.draw_from("permutation", _permutation, size, (n,), ndim, dtype, extra=1)

    def multinomial(self, size: Any = None, n: Any = 1, pvals: Any = (0.5, 0.5),
                    ndim: int | None = None, dtype: Any = "int64") -> Any:  # fmt: skip
        """How often each outcome comes in `n` trials, in the last dimension."""
        pvals = as_tensor_variable(pvals)
        return self.draw_from("multinomial", _multinomial, size, (n, pvals), ndim, dtype, extra=1)
