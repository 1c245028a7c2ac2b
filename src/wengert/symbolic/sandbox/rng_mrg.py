"""Streams of the generator MRG31k3p (L'Ecuyer and Touzin, 2000), as ``theano.sandbox`` has them."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.symbolic.dtypes import upcast
from wengert.symbolic.expressions.arithmetic import (
    abs_,
    cast,
    cos,
    gt,
    invert,
    log,
    lt,
    mul,
    sin,
    sqrt,
)  # fmt: skip
from wengert.symbolic.expressions.indexing import index, nonzero
from wengert.symbolic.expressions.reductions import prod
from wengert.symbolic.expressions.shapes import as_shape
from wengert.symbolic.expressions.structure import concatenate, get_vector_length, reshape
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable, constant
from wengert.symbolic.gradient import grad_undefined, undefined_grad
from wengert.symbolic.graph import Apply, Operation, Variable, disconnected
from wengert.symbolic.settings import config
from wengert.symbolic.sharing import shared

# The two recurrences: x(n) = a12 x(n-2) + a13 x(n-3) mod M1 and y(n) = a21 y(n-1) + a23 y(n-3)
# mod M2; a number is their difference.
M1, M2 = 2**31 - 1, 2**31 - 21069
_FIRST = ((0, 1 << 22, (1 << 7) + 1), (1, 0, 0), (0, 1, 0))
_SECOND = ((1 << 15, 0, (1 << 15) + 1), (1, 0, 0), (0, 1, 0))
_NORMS = {"float64": 2.0**-31, "float32": 4.6566126e-10, "float16": 3.0458e-05}
_MOST_STREAMS = 60 * 256

Matrix = tuple[tuple[int, ...], ...]


def _times(a: Matrix, b: Matrix, modulus: int) -> Matrix:
    return tuple(
        tuple(sum(a[i][k] * b[k][j] for k in range(3)) % modulus for j in range(3))
        for i in range(3)
    )


def _power_of_two(matrix: Matrix, exponent: int, modulus: int) -> Matrix:
    """A matrix to the power of 2 to an exponent."""
    for _ in range(exponent):
        matrix = _times(matrix, matrix, modulus)
    return matrix


def _jumped(state: np.ndarray, exponent: int) -> np.ndarray:
    """The state after 2 to an exponent steps."""
    out = []
    for matrix, modulus, piece in ((_FIRST, M1, state[:3]), (_SECOND, M2, state[3:])):
        jump = _jumps(exponent, matrix is _SECOND, modulus)
        out += [sum(m * int(x) for m, x in zip(row, piece, strict=True)) % modulus for row in jump]
    return np.array(out, np.int32)


_jump_table: dict[tuple[int, bool], Matrix] = {}


def _jumps(exponent: int, second: bool, modulus: int) -> Matrix:
    key = exponent, second
    if key not in _jump_table:
        _jump_table[key] = _power_of_two(_SECOND if second else _FIRST, exponent, modulus)
    return _jump_table[key]


class mrg_uniform(Operation):  # noqa: N801
    """Uniform numbers from the states of streams, in turn; and the states after them."""

    __props__ = ("dtype", "ndim", "pattern")

    def __init__(self, dtype: str, ndim: int, pattern: tuple[bool, ...]) -> None:
        self.dtype, self.ndim, self.pattern = dtype, ndim, pattern

    def make_node(self, state: Any, size: Any) -> Apply:
        """New states, and numbers."""
        inputs = [as_tensor_variable(state), as_shape(size)]
        return Apply(self, inputs, [inputs[0].type(), TensorType(self.dtype, self.pattern)()])

    def compute(self, state: np.ndarray, size: np.ndarray) -> Any:
        """All streams take a step together."""
        shape = tuple(int(n) for n in size)
        count = int(np.prod(shape, dtype=np.int64))
        streams = len(state)
        x = [state[:, k].astype(np.int64) for k in range(6)]
        rows = -(-count // streams)
        numbers = np.empty((rows, streams), np.int64)
        for row in range(rows):
            new1 = ((x[1] << 22) + x[2] * 129) % M1
            new2 = ((x[3] << 15) + x[5] * ((1 << 15) + 1)) % M2
            stepped = [new1, x[0], x[1], new2, x[3], x[4]]
            live = count - row * streams
            if live < streams:  # the last row: some streams rest
                for k in range(6):
                    stepped[k] = np.where(np.arange(streams) < live, stepped[k], x[k])
            x = stepped
            numbers[row] = np.where(x[0] <= x[3], x[0] - x[3] + M1, x[0] - x[3])
        dtype = np.dtype(self.dtype)
        if self.dtype == "float16":
            numbers = (numbers & 0x7FFF) + 1
        values = numbers.reshape(-1)[:count].astype(dtype) * dtype.type(_NORMS[self.dtype])
        return np.stack(x, 1).astype(np.int32), values.reshape(shape)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Not differentiable."""
        return [[False, False], [False, False]]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """None."""
        return [disconnected(), disconnected()]


class MultinomialFromUniform(Operation):
    """How often each outcome comes, by uniform numbers."""

    __props__ = ("odtype",)

    def __init__(self, odtype: str) -> None:
        self.odtype = odtype

    def make_node(self, pvals: Any, unis: Any, n: Any = 1) -> Apply:
        """A matrix like `pvals`."""
        inputs = [as_tensor_variable(x) for x in (pvals, unis, n)]
        dtype = inputs[0].dtype if self.odtype == "auto" else self.odtype
        return Apply(self, inputs, [TensorType(dtype, inputs[0].broadcastable)()])

    def compute(self, pvals: np.ndarray, unis: np.ndarray, n: Any) -> np.ndarray:
        """Where the running sum of a row first exceeds a number."""
        rows = len(pvals)
        out = np.zeros(pvals.shape, self.odtype if self.odtype != "auto" else pvals.dtype)
        sums = np.cumsum(pvals, 1)
        for trial in range(int(n)):
            above = sums > unis[trial * rows : (trial + 1) * rows, None]
            hit = above.any(1)
            np.add.at(out, (np.arange(rows)[hit], above.argmax(1)[hit]), 1)
        return out

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """The number of trials has no gradient; probabilities have an undefined one."""
        return [[True], [True], [False]]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """None."""
        return [*(grad_undefined(self, k, inputs[k]) for k in range(2)), disconnected()]


class ChoiceFromUniform(Operation):
    """Different outcomes of each row of probabilities, by uniform numbers."""

    __props__ = ("odtype",)

    def __init__(self, odtype: str) -> None:
        self.odtype = "int64" if odtype == "auto" else odtype

    def make_node(self, pvals: Any, unis: Any, n: Any = 1) -> Apply:
        """A matrix of `n` columns."""
        inputs = [as_tensor_variable(x) for x in (pvals, unis, n)]
        return Apply(self, inputs, [TensorType(self.odtype, (False, False))()])

    def compute(self, pvals: np.ndarray, unis: np.ndarray, n: Any) -> np.ndarray:
        """Where the running sum of a row first exceeds a number; that outcome then is out."""
        rows, outcomes = pvals.shape
        if n > outcomes:
            raise ValueError(f"Cannot draw {n} different outcomes of {outcomes}")
        pvals, out = pvals.copy(), np.full((rows, int(n)), -1, self.odtype)
        for k in range(int(n)):
            above = np.cumsum(pvals, 1) > unis[k * rows : (k + 1) * rows, None]
            hit = np.flatnonzero(above.any(1))
            out[hit, k] = above[hit].argmax(1)
            pvals[hit, out[hit, k]] = 0
            pvals[hit] /= pvals[hit].sum(1, keepdims=True)
        return out

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """The number of trials has no gradient; probabilities have an undefined one."""
        return [[True], [True], [False]]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """None."""
        return [*(grad_undefined(self, k, inputs[k]) for k in range(2)), disconnected()]


def guess_n_streams(size: Any, warn: bool = False) -> int:
    """How many streams a size gets: a sixth of the numbers, and at most 15,360."""
    if isinstance(size, list | tuple) and all(isinstance(n, int | np.integer) for n in size):
        count = int(np.prod(size, dtype=np.int64))
        return min(count // 6 if count > 6 else count, _MOST_STREAMS)
    return _MOST_STREAMS


class MRG_RandomStreams:  # noqa: N801
    """Random variables that draw anew at each call, from streams far apart in one generator.

    Numbers are those that Theano gives for the seed.

    >>> from wengert.symbolic import function
    >>> from wengert.symbolic.sandbox.rng_mrg import MRG_RandomStreams
    >>> function([], MRG_RandomStreams(seed=234).uniform((2,), dtype="float64"))()
    array([0.44990408, 0.30624682])
    """

    def __init__(self, seed: Any = 12345) -> None:
        self.state_updates: list[tuple[Any, Any, Any, Any]] = []
        self.default_instance_seed = seed
        self.set_rstate(seed)

    def set_rstate(self, seed: Any) -> None:
        """Start from a number, or from six."""
        if isinstance(seed, int | np.integer):
            if seed == 0:
                raise ValueError("seed should not be 0", seed)
            if seed >= M2:
                raise ValueError(f"seed should be less than {M2}", seed)
            self.rstate = np.array([seed] * 6, np.int32)
            return
        numbers = list(seed)
        if len(numbers) != 6:
            raise TypeError("seed should be 1 integer or 6 integers")
        for piece, modulus in ((numbers[:3], M1), (numbers[3:], M2)):
            if not any(piece) or max(piece) >= modulus:
                raise ValueError(f"seed: three numbers below {modulus}, not all 0, got {piece}")
        self.rstate = np.array(numbers, np.int32)

    def seed(self, seed: Any = None) -> None:
        """Start all streams anew."""
        self.set_rstate(self.default_instance_seed if seed is None else seed)
        for state, new, size, streams in self.state_updates:
            count = guess_n_streams(size) if streams is None else streams
            state.set_value(self.get_substream_rstates(count, new.dtype), borrow=True)

    def inc_rstate(self) -> None:
        """Go 2**134 steps forward."""
        self.rstate = _jumped(self.rstate, 134)

    def get_substream_rstates(
        self, n_streams: int, dtype: Any = None, inc_rstate: bool = True
    ) -> np.ndarray:
        """The states of streams, 2**72 steps apart."""
        states = np.empty((n_streams, 6), np.int64)
        states[0] = self.rstate
        count = 1
        while count < n_streams:  # those that are there, all together the same way forward
            exponent = 72 + count.bit_length() - 1
            more = min(count, n_streams - count)
            for piece, second, modulus in ((slice(3), False, M1), (slice(3, 6), True, M2)):
                jump = np.array(_jumps(exponent, second, modulus))
                terms = states[:more, piece][:, None, :] * jump % modulus
                states[count : count + more, piece] = terms.sum(2) % modulus
            count += more
        states = states.astype(np.int32)
        if inc_rstate:
            self.inc_rstate()
        return states

    def n_streams(self, size: Any) -> int:
        """How many streams a size gets."""
        return guess_n_streams(size)

    def updates(self) -> list[tuple[Any, Any]]:
        """The updates of all streams."""
        return [(state, new) for state, new, _, _ in self.state_updates]

    def uniform(self, size: Any, low: Any = 0.0, high: Any = 1.0, ndim: int | None = None,
                dtype: Any = None, nstreams: int | None = None, **options: Any) -> Any:  # fmt: skip
        """Between two bounds; neither comes."""
        low, high = as_tensor_variable(low), as_tensor_variable(high)
        if dtype is None:
            dtype = upcast(config.floatX, low.dtype, high.dtype)
        size = _checked_size(size)
        low, high = (undefined_grad(cast(v, dtype)) for v in (low, high))
        streams = self.n_streams(size) if nstreams is None else nstreams
        state = shared(self.get_substream_rstates(streams, dtype))
        state.tag.is_rng = True
        if isinstance(size, tuple):
            pattern = tuple(isinstance(n, int | np.integer) and n == 1 for n in size)
        else:
            pattern = (False,) * (get_vector_length(size) if ndim is None else ndim)
        new, sample = mrg_uniform(dtype, len(pattern), pattern)(
            state, list(size) if isinstance(size, tuple) else size, return_list=True
        )
        sample.rng = state
        sample.update = (state, new)
        self.state_updates.append((state, new, size, nstreams))
        state.default_update = new
        return sample * (high - low) + low

    def binomial(self, size: Any = None, n: Any = 1, p: Any = 0.5, ndim: int | None = None,
                 dtype: Any = "int64", nstreams: int | None = None, **options: Any
                 ) -> Any:  # fmt: skip
        """Whether a trial succeeds."""
        if not (isinstance(n, int) and n == 1):
            raise NotImplementedError("MRG_RandomStreams.binomial with n > 1")
        x = self.uniform(size=size, ndim=ndim, nstreams=nstreams, **options)
        return cast(lt(x, undefined_grad(as_tensor_variable(p))), dtype)

    def multinomial(self, size: Any = None, n: Any = 1, pvals: Any = None, ndim: int | None = None,
                    dtype: Any = "int64", nstreams: int | None = None, **options: Any
                 ) -> Any:  # fmt: skip
        """How often each outcome comes, a row for each row of probabilities."""
        if pvals is None:
            raise TypeError("You have to specify pvals")
        if size is not None or ndim is not None:
            raise ValueError(
                "MRG_RandomStreams.multinomial uses neither size nor ndim: the rows of pvals say"
                " how many samples there are"
            )
        pvals = undefined_grad(as_tensor_variable(pvals))
        if pvals.ndim != 2:
            raise NotImplementedError(
                "MRG_RandomStreams.multinomial only implemented for pvals.ndim = 2"
            )
        count = as_shape([pvals.shape[0] * n])
        unis = self.uniform(size=count, ndim=1, nstreams=nstreams, **options)
        return MultinomialFromUniform(dtype)(pvals, unis, n)

    def normal(self, size: Any, avg: Any = 0.0, std: Any = 1.0, ndim: int | None = None,
               dtype: Any = None, nstreams: int | None = None, truncate: bool = False,
               **options: Any) -> Any:  # fmt: skip
        """Around a mean, by the method of Box and Muller; up to two deviations with `truncate`."""
        avg, std = (undefined_grad(as_tensor_variable(v)) for v in (avg, std))
        if dtype is None:
            dtype = upcast(config.floatX, avg.dtype, std.dtype)
        size = _checked_size(size)
        if isinstance(size, tuple) and all(isinstance(n, int | np.integer) for n in size):
            total: Any = int(np.prod(size, dtype=np.int64))
            even: Any = total + total % 2
        else:
            total = prod(as_shape(list(size) if isinstance(size, tuple) else size), dtype="int64")
            even = total + total % 2
        nstreams = _MOST_STREAMS if nstreams is None else nstreams  # whatever the size is
        numbers = self.uniform((even,), 0.0, 1.0, 1, dtype, nstreams, **options)
        first, second = index(numbers, slice(None, even // 2)), index(
            numbers, slice(even // 2, None))  # fmt: skip
        radius = sqrt(mul(constant(-2.0, dtype=dtype), log(first)))
        angle = mul(constant(2.0 * np.pi, dtype=dtype), second)
        parts = [radius * cos(angle), radius * sin(angle)]
        if truncate:
            fresh = [1 / np.e**2, 1.0, 1, dtype, nstreams]
            parts = self._drawn_again(parts, [cos(angle), sin(angle)], fresh, options)
        both = concatenate(parts)
        shape = list(size) if isinstance(size, tuple) else size
        samples = reshape(index(both, slice(None, total)), shape, ndim)
        return samples * cast(std, dtype) + cast(avg, dtype)

    def _drawn_again(self, parts: Any, directions: Any, fresh: Any, options: Any) -> list[Any]:
        """What lies within two deviations, and at its end what is drawn anew for the rest."""
        beyond = [gt(abs_(z), 2.0) for z in parts]
        places = [nonzero(b)[0] for b in beyond]
        kept = [index(z, nonzero(invert(b))[0]) for z, b in zip(parts, beyond, strict=True)]
        counts = [p.shape[0] for p in places]
        radius = sqrt(mul(-2.0, log(self.uniform((counts[0] + counts[1],), *fresh, **options))))
        radii = index(radius, slice(None, counts[0])), index(radius, slice(counts[0], None))
        redrawn = [r * index(d, p) for r, d, p in zip(radii, directions, places, strict=True)]
        return [cast(v, fresh[3]) for pair in zip(kept, redrawn, strict=True) for v in pair]

    def truncated_normal(self, size: Any, avg: Any = 0.0, std: Any = 1.0, ndim: int | None = None,
                         dtype: Any = None, nstreams: int | None = None, **options: Any
                         ) -> Any:  # fmt: skip
        """Around a mean and up to two deviations of what is cut off, so that `std` comes out."""
        # The deviation of a standard normal variable between -2 and 2.
        wider = std / constant(0.87962566103423978)
        return self.normal(size, avg, wider, ndim, dtype, nstreams, truncate=True, **options)

    def choice(self, size: Any = 1, a: Any = None, replace: bool = True, p: Any = None,
               ndim: int | None = None, dtype: Any = "int64", nstreams: int | None = None,
               **options: Any) -> Any:  # fmt: skip
        """`size` different outcomes for each row of the probabilities `p`.

        Raises NotImplementedError with `replace`, and TypeError with `a` or without `p`.
        """
        if replace:
            raise NotImplementedError(
                "MRG_RandomStreams.choice only works without replacement for now."
            )
        if a is not None or p is None:
            raise TypeError(
                "MRG_RandomStreams.choice draws column numbers of p: a has to be None and p has"
                " to be specified"
            )
        if ndim is not None:
            raise ValueError("ndim argument to MRG_RandomStreams.choice is not used.")
        p = undefined_grad(as_tensor_variable(p))
        if p.ndim != 2:
            raise NotImplementedError("MRG_RandomStreams.choice is only implemented for p.ndim = 2")
        count = as_shape([p.shape[0] * size])
        unis = self.uniform(size=count, ndim=1, nstreams=nstreams, **options)
        return ChoiceFromUniform(dtype)(p, unis, size)

    def multinomial_wo_replacement(self, size: Any = None, n: Any = 1, pvals: Any = None,
                                   ndim: int | None = None, dtype: Any = "int64",
                                   nstreams: int | None = None, **options: Any
                                   ) -> Any:  # fmt: skip
        """`choice`, by its earlier name."""
        if size is not None:
            raise AssertionError("multinomial_wo_replacement: the rows of pvals give the size")
        return self.choice(n, None, False, pvals, ndim, dtype, nstreams, **options)


MRG_RandomStream = MRG_RandomStreams  # as Theano-PyMC has it


def _checked_size(size: Any) -> Any:
    if isinstance(size, list):
        size = tuple(size)
    if isinstance(size, int | np.integer):
        size = (size,)
    if isinstance(size, tuple):
        for n in size:
            if not isinstance(n, int | np.integer | Variable):
                raise TypeError(f"size must be a tuple of int or a Theano variable, got {size!r}")
            if isinstance(n, int | np.integer) and n <= 0:
                raise ValueError("The specified size contains a dimension with value <= 0", size)
        return size
    if isinstance(size, Variable) and getattr(size.type, "ndim", None) == 1:
        return size
    raise TypeError(
        f"size must be a tuple of int or a Theano Variable with 1 dimension, got {size} of type"
        f" {type(size)}"
    )
