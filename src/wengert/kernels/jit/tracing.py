"""Tracing of array functions into per-element kernel code.

An `Expression` represents one element of an array. A function written with NumPy, or with the
library's operations, computes with expressions as it does with arrays: NumPy dispatches to the
expression (`__array_ufunc__`, `__array_function__`), which emits a line in the kernel language
for each call. Anything without such a line raises `UntraceableError`, or some other error: then
there is no kernel.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from wengert.kernels.jit import TracedArray
from wengert.kernels.jit.pace import pace
from wengert.kernels.jit.precise import WIDEST_ANGLE
from wengert.kernels.jit.reals import REALS, Real
from wengert.kernels.jit.special import WIDEST_QUOTIENT

F32, BOOL = np.dtype(np.float32), np.dtype(np.bool_)
BRAIN, HALF = REALS["b:"].dtype, REALS["h:"].dtype


class UntraceableError(TypeError):
    """A function does something that cannot be traced."""


class Trace:
    """The lines emitted by expressions, without duplicates."""

    def __init__(
        self,
        hoist: bool,
        float_dtype: np.dtype[Any] = F32,
        stored_dtype: np.dtype[Any] | None = None,
    ) -> None:
        self.float_dtype = float_dtype  # in which kernels compute
        self.stored_dtype = stored_dtype or float_dtype  # of the arrays
        self.lines: dict[str, str] = {}
        self.hoist = hoist
        self.numbers: dict[str, float] = {}  # hoisted: arguments of the kernel
        self.work = 0.0  # approximate nanoseconds per element
        self.guards: list[str] = []  # what is true of elements for which lines are wrong
        self.far: dict[str, str] = {}  # lines that are right for those as well, by such lines
        self.halves: dict[str, tuple[str, np.dtype[Any]]] = {}  # rounded: of what, and to what

    def let(self, text: str, dtype: np.dtype[Any], work: float = 0.1) -> Expression:
        """A name for the value of an expression's source."""
        name = self.lines.get(text)
        if name is None:
            pace.breathe()
            name = self.lines[text] = f"t{len(self.lines)}"
            self.work += work
        return Expression(self, name, dtype)

    def number(self, value: Any) -> Expression:
        """A number, rounded to the array's dtype as NumPy does for one combined with it."""
        kind = self.float_dtype
        if isinstance(value, (np.generic, np.ndarray)):
            if value.ndim or value.dtype != kind:
                raise UntraceableError(f"an array of {value.dtype} among the operands")
        elif isinstance(value, bool) or not isinstance(value, (int, float)):
            raise UntraceableError(f"{type(value).__name__} among the operands")
        with np.errstate(over="ignore"):
            single = float(kind.type(value))
        text = repr(single)
        if not self.hoist:
            if not math.isfinite(single):
                text = f"math.{text}" if text[0] != "-" else f"-math.{text[1:]}"
            return Expression(self, f"({text})", kind)
        for name, known in self.numbers.items():
            if repr(known) == text:
                return Expression(self, name, kind)
        name = f"c{len(self.numbers)}"
        self.numbers[name] = single
        return Expression(self, name, kind)


class Expression(TracedArray):
    """One element of an array of floats or bool."""

    __slots__ = ("dtype", "text", "trace")

    def __init__(self, trace: Trace, text: str, dtype: np.dtype[Any]) -> None:
        self.trace, self.text, self.dtype = trace, text, dtype

    @property
    def stored_dtype(self) -> np.dtype[Any]:
        """The dtype of the array, which halves are not computed in."""
        return self.trace.stored_dtype

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Expression:
        write = UFUNCS.get(ufunc)
        if write is None or method != "__call__" or options:
            raise UntraceableError(ufunc.__name__)
        return write(self.trace, *inputs)

    def __array_function__(
        self, function: Any, types: Any, args: Sequence[Any], kwargs: Any
    ) -> Expression:
        write = _FUNCTIONS.get(function)
        if write is None or kwargs:
            raise UntraceableError(function.__name__)
        return write(self.trace, *args)

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        raise UntraceableError("an array of expressions")

    def __bool__(self) -> bool:
        raise UntraceableError("a decision that depends on the elements")

    def astype(self, dtype: Any, copy: bool = True) -> Expression:
        """Booleans as zeros and ones; no other conversion."""
        if np.dtype(dtype) == self.dtype:
            return self
        if np.dtype(dtype) != self.trace.float_dtype:
            raise UntraceableError(f"a conversion to {dtype}")
        return self.trace.let(f"1.0 if {self.text} else 0.0", np.dtype(dtype))

    def copy(self) -> Expression:
        """Itself: it cannot be written to."""
        return self

    def rounded(self, dtype: np.dtype[Any]) -> Expression:
        """This as a number of one of the types of halves, with which float32 goes on."""
        found = self.trace.let(f"{STORED[dtype]}({self.text})", self.trace.float_dtype)
        self.trace.halves.setdefault(found.text, (self.text, dtype))
        return found

    def widened(self) -> Expression:
        """The same number, of which a result is an array of float32."""
        return self.trace.let(f"f32({self.text})", self.trace.float_dtype)

    def call(self, name: str, work: float, *others: Any) -> Expression:
        """A function of `mathlib`, of this expression and others."""
        values = ", ".join(_floats(self.trace, (self, *others)))
        return self.trace.let(f"{name}({values})", self.trace.float_dtype, work)

    def __pow__(self, exponent: Any) -> Expression:
        return UFUNCS[np.power](self.trace, self, exponent)

    def __neg__(self) -> Expression:
        return UFUNCS[np.negative](self.trace, self)

    def __abs__(self) -> Expression:
        return UFUNCS[np.absolute](self.trace, self)

    def __invert__(self) -> Expression:
        return UFUNCS[np.logical_not](self.trace, self)

    __hash__ = None  # type: ignore[assignment]


def operand(trace: Trace, value: Any) -> Expression:
    """A value as an expression."""
    return value if isinstance(value, Expression) else trace.number(value)


def _floats(trace: Trace, values: Sequence[Any]) -> list[str]:
    """The texts of operands of arithmetic: one float at least, for booleans add up to others."""
    found = [operand(trace, v) for v in values]
    if all(x.dtype == BOOL for x in found):
        raise UntraceableError("arithmetic of booleans")
    return [(x.astype(trace.float_dtype) if x.dtype == BOOL else x).text for x in found]


def _form(
    template: str, work: float, dtype: np.dtype[Any] | None, trace: Trace, *values: Any
) -> Expression:
    return trace.let(template.format(*_floats(trace, values)), dtype or trace.float_dtype, work)


def form(
    template: str, work: float = 0.1, dtype: np.dtype[Any] | None = None
) -> Callable[..., Expression]:
    """What writes a template with the texts of its operands; `dtype` None is that of floats."""
    return partial(_form, template, work, dtype)


def _logic(template: str) -> Callable[..., Expression]:
    def write(trace: Trace, *values: Any) -> Expression:
        texts = []
        for v in values:
            x = operand(trace, v)
            texts.append(x.text if x.dtype == BOOL else trace.let(f"{x.text} != 0.0", BOOL).text)
        return trace.let(template.format(*texts), BOOL)

    return write


def _bits(template: str) -> Callable[..., Expression]:
    """Of booleans alone: NumPy has none of floats."""
    logic = _logic(template)

    def write(trace: Trace, *values: Any) -> Expression:
        if any(not isinstance(v, Expression) or v.dtype != BOOL for v in values):
            raise UntraceableError("bits of a float")
        return logic(trace, *values)

    return write


def _where(trace: Trace, condition: Any, a: Any, b: Any) -> Expression:
    if not isinstance(condition, Expression) or condition.dtype != BOOL:
        raise UntraceableError("a condition that is no mask")
    if not any(isinstance(v, (Expression, np.generic, np.ndarray)) for v in (a, b)):
        raise UntraceableError("a choice of Python numbers")
    x, y = _floats(trace, (a, b))
    return trace.let(f"{x} if {condition.text} else {y}", trace.float_dtype)


def _clip(trace: Trace, x: Any, low: Any, high: Any) -> Expression:
    return UFUNCS[np.minimum](trace, UFUNCS[np.maximum](trace, x, low), high)


def _power(trace: Trace, base: Any, exponent: Any) -> Expression:
    if not isinstance(exponent, Expression):
        if exponent == 1:
            return operand(trace, base)
        if exponent == 2:
            return UFUNCS[np.square](trace, base)
        if exponent == 3:
            return UFUNCS[np.multiply](trace, UFUNCS[np.square](trace, base), base)
        if exponent == -1:
            return UFUNCS[np.reciprocal](trace, base)
        if exponent == 0.5:
            return UFUNCS[np.sqrt](trace, base)
    return operand(trace, base).call("pow", 1.5, exponent)


def _angle(name: str, trace: Trace, x: Any) -> Expression:
    """A function of `precise` that is right below a limit: NumPy has to do it beyond."""
    text = _floats(trace, (x,))[0]
    guard = f"fabs({text}) > {WIDEST_ANGLE!r}"
    return _within(trace, guard, f"{name}({text})")


def _fmod(trace: Trace, x: Any, y: Any) -> Expression:
    a, b = _floats(trace, (x, y))
    return _within(trace, f"fabs({a}) > {WIDEST_QUOTIENT!r} * fabs({b})", f"fmod({a}, {b})")


def _within(trace: Trace, guard: str, line: str) -> Expression:
    """A line that is right for elements of which the guard is not true."""
    if guard not in trace.guards:
        trace.guards.append(guard)
    trace.far[line] = f"far_{line}"
    return trace.let(line, trace.float_dtype, 1.0)


UFUNCS: dict[Any, Callable[..., Expression]] = {
    np.add: form("{} + {}"),
    np.subtract: form("{} - {}"),
    np.multiply: form("{} * {}"),
    np.true_divide: form("{} / {}", 0.2),
    np.negative: form("-{}"),
    np.absolute: form("fabs({})"),
    np.fabs: form("fabs({})"),
    np.square: form("{0} * {0}"),
    np.reciprocal: form("1.0 / {}", 0.2),
    np.sqrt: form("sqrt({})", 0.2),
    np.floor: form("floor({})"),
    np.ceil: form("ceil({})"),
    np.trunc: form("trunc({})"),
    np.rint: form("rint({})"),
    # The first where it is NaN; where only the second is, both comparisons are false.
    np.maximum: form("{0} if ({0} >= {1} or {0} != {0}) else {1}"),
    np.minimum: form("{0} if ({0} <= {1} or {0} != {0}) else {1}"),
    np.fmax: form("{0} if ({0} >= {1} or {1} != {1}) else {1}"),
    np.fmin: form("{0} if ({0} <= {1} or {1} != {1}) else {1}"),
    np.copysign: form("copysign({}, {})"),
    np.sign: form("{0} if {0} != {0} else (copysign(1.0, {0}) if {0} != 0.0 else 0.0)"),
    np.power: _power,
    np.equal: form("{} == {}", dtype=BOOL),
    np.not_equal: form("{} != {}", dtype=BOOL),
    np.less: form("{} < {}", dtype=BOOL),
    np.less_equal: form("{} <= {}", dtype=BOOL),
    np.greater: form("{} > {}", dtype=BOOL),
    np.greater_equal: form("{} >= {}", dtype=BOOL),
    np.isnan: form("{0} != {0}", dtype=BOOL),
    np.isinf: form("fabs({}) == math.inf", dtype=BOOL),
    np.isfinite: form("fabs({}) < math.inf", dtype=BOOL),
    np.signbit: form("bits({}) < 0", dtype=BOOL),
    np.logical_and: _logic("{} and {}"),
    np.logical_or: _logic("{} or {}"),
    np.logical_xor: _logic("{} ^ {}"),
    np.logical_not: _logic("not {}"),
    np.bitwise_and: _bits("{} and {}"),
    np.bitwise_or: _bits("{} or {}"),
    np.bitwise_xor: _bits("{} ^ {}"),
    np.invert: _bits("not {}"),
    np.exp: form("exp({})", 0.4),
    np.log: form("log({})", 0.4),
    np.tanh: form("tanh({})", 0.6),
    np.sin: partial(_angle, "sin"),
    np.cos: partial(_angle, "cos"),
    np.tan: partial(_angle, "tan"),
    np.hypot: form("hypot({}, {})", 0.6),
    np.arctan2: form("atan2({}, {})", 1.0),
    np.fmod: _fmod,
    np.logaddexp: form("logaddexp({}, {})", 2.0),
    np.logaddexp2: form("logaddexp2({}, {})", 2.0),
}
for _ufunc, _name in {
    np.exp2: "exp2", np.expm1: "expm1", np.log2: "log2", np.log10: "log10", np.log1p: "log1p",
    np.sinh: "sinh", np.cosh: "cosh", np.arcsin: "asin", np.arccos: "acos",
    np.arctan: "atan", np.arcsinh: "asinh", np.arccosh: "acosh", np.arctanh: "atanh",
}.items():  # fmt: skip
    UFUNCS[_ufunc] = form(f"{_name}({{}})", 1.0)
_FUNCTIONS: dict[Any, Callable[..., Expression]] = {np.where: _where, np.clip: _clip}


def _operators() -> None:
    """Give `Expression` the operators of two operands, and those with it on the right."""
    names = {
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide,
        "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    }  # fmt: skip
    compared = {
        "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
        "gt": np.greater, "ge": np.greater_equal,
    }  # fmt: skip
    for name, ufunc in (names | compared).items():
        write = UFUNCS[ufunc]
        setattr(Expression, f"__{name}__", lambda a, b, w=write: w(a.trace, a, b))
        if name in names:
            setattr(Expression, f"__r{name}__", lambda a, b, w=write: w(a.trace, b, a))


_operators()


# The types of elements of halves, by which the kernel language rounds to them, too.
STORED = {BRAIN: "brain", HALF: "half"}
# How operands are read: each element, rows, and an element for a row. For float32 and other reals,
# masks, bfloat16 and float16.
FLAT, ROW, COLUMN = "fbgh", "rRxX", "cCyY"
_ELEMENTS = ("", "u8", *STORED.values())
# What is called in a line; and what LLVM has of any real type.
_CALL = re.compile(r"([a-z_0-9]+)\(")
_OF_ANY_REAL = frozenset({
    "fabs", "sqrt", "floor", "ceil", "trunc", "rint", "copysign", "or", "and", "f32",
    *STORED.values(),
})  # fmt: skip


def letter_of(dtype: np.dtype[Any], reads: str) -> str:
    """The letter of an operand of some dtype that is read as `FLAT`, `ROW` or `COLUMN` says."""
    return reads[1 if dtype == BOOL else 2 if dtype == BRAIN else 3 if dtype == HALF else 0]


def element_of(letter: str) -> str:
    """What an operand is made of: masks, halves, or else reals."""
    return next(_ELEMENTS[of.index(letter)] for of in (FLAT, ROW, COLUMN) if letter in of)


class Traced:
    """The kernel of a function of arrays, for operands of certain kinds.

    `operands` has a letter each, of those of `FLAT`, `ROW` and `COLUMN`, or "s" for one float for
    all, and "n" for None. With rows or columns among them the kernel takes rows: see `_in_rows`.
    All floats are of the type `real`, but for operands of halves among float32, and results that
    are `rounded`; `short` is whether loops are over few elements. Where functions are wrong for
    some elements, the kernel counts these for its caller; with `far` it computes such pieces again.
    """

    def __init__(
        self, functions: Sequence[Callable[..., Any]], operands: str, hoist: bool, real: Real,
        short: bool = False, far: bool = False,
    ) -> None:  # fmt: skip
        self.operands, self.real, self.range = operands, real, "short_range" if short else "range"
        self.far = far
        self.trace = trace = Trace(hoist, real.computed, real.dtype)
        self.rows = not set(operands).isdisjoint(ROW + COLUMN)
        inputs = [
            None
            if kind == "n"
            else Expression(trace, f"a{i}", BOOL if self._is_mask(kind) else real.computed)
            for i, kind in enumerate(operands)
        ]
        found = [operand(trace, f(*inputs)) for f in functions]
        # Which results are no more than the first operand: those of `x + y`, differentiated.
        self.passed = tuple(r.text == "a0" for r in found)
        self.results = [r for r in found if r.text != "a0"]
        if trace.guards and self.rows and not far:
            raise UntraceableError("guards of rows")
        if not self.results or not trace.lines:
            raise UntraceableError("nothing to compute")
        texts = (*trace.lines, *trace.guards, *(trace.far.values() if far else ()))
        called = {name for text in texts for name in _CALL.findall(text)}
        # Whether functions are called that are more than an instruction or two.
        self.heavy = not called <= _OF_ANY_REAL
        if real.real != "f32" and not called <= real.scope.keys() | _OF_ANY_REAL:
            raise UntraceableError("functions of float32 alone")
        # The types of arrays of results.
        self.dtypes = tuple(
            BOOL if r.dtype == BOOL else trace.halves.get(r.text, ("", real.dtype))[1]
            for r in self.results
        )

    def _is_mask(self, letter: str) -> bool:
        return letter != "s" and element_of(letter) == "u8"

    def source(self) -> str:
        """The kernel's text."""
        return self._in_rows() if self.rows else self._flat()

    def _parameters(self, more: Sequence[str]) -> str:
        one, stored = self.real.real, self.real.stored
        parts = [
            f"x{i}: {one if k == 's' else (element_of(k) or stored) + 's'}"
            for i, k in enumerate(self.operands) if k != "n"
        ]  # fmt: skip
        elements = {BOOL: "u8", **STORED} if self.trace.halves else {BOOL: "u8"}
        parts += [f"out{i}: {elements.get(d, stored)}s" for i, d in enumerate(self.dtypes)]
        parts += [f"{name}: {one}" for name in self.trace.numbers]
        return ", ".join([*parts, *more, "start: i64", "stop: i64"])

    @property
    def guarded(self) -> bool:
        """Whether the caller has to look for elements for which results are wrong."""
        return bool(self.trace.guards) and not self.far

    def _flat(self) -> str:
        guarded = self.guarded
        lines = [f"def fused({self._parameters(['wide: f32s'] if guarded else [])}) -> None:"]
        lines += [f"    a{i} = x{i}" for i, k in enumerate(self.operands) if k == "s"]
        loads = [
            f"a{i} = {self._loaded(f'x{i}[i]', k)}"
            for i, k in enumerate(self.operands) if k in FLAT
        ]  # fmt: skip
        stores = [f"out{i}[i] = {self._stored(r)}" for i, r in enumerate(self.results)]
        loop = self._loop("start, stop", loads, stores)
        lines += [f"    {line}" for line in loop]
        lines += [f"    wide[start // {self.chunk}] = f32(beyond)"] if guarded else []
        return "\n".join(lines) + "\n"

    def _loop(self, bounds: str, loads: list[str], stores: list[str]) -> list[str]:
        """A loop over elements, and one more for all of them if it was wrong for some."""
        trace = self.trace
        each = [f"{name} = {text}" for text, name in trace.lines.items()]
        counts = [f"beyond += 1.0 if {text} else 0.0" for text in trace.guards]
        head = f"for i in {self.range}({bounds}):"
        lines = ["beyond = 0.0"] if counts else []
        lines += [head, *[f"    {line}" for line in (*loads, *each, *counts, *stores)]]
        if counts and self.far:
            far = [f"{name} = {trace.far.get(text, text)}" for text, name in trace.lines.items()]
            again = [head, *[f"    {line}" for line in (*loads, *far, *stores)]]
            lines += ["if beyond > 0.0:", *[f"    {line}" for line in again]]
        return lines

    def _in_rows(self) -> str:
        """Four dimensions, the first three run through by one index; outputs are contiguous.

        Behind the arrays come the strides of each row or column operand in the first three
        dimensions, and the sizes of all but the first.
        """
        strided = [i for i, k in enumerate(self.operands) if k in ROW + COLUMN]
        more = [f"{name}{i}: i64" for i in strided for name in ("u", "v", "w")]
        more += ["second: i64", "third: i64", "width: i64"]
        lines = [f"def fused({self._parameters(more)}) -> None:"]
        lines += [f"    a{i} = x{i}" for i, k in enumerate(self.operands) if k == "s"]
        lines += ["    n = start % third", "    rest = start // third"]
        lines += ["    m = rest % second", "    k = rest // second"]
        lines += ["    for row in range(start, stop):"]
        for i in strided:
            kind, place = self.operands[i], f"k * u{i} + m * v{i} + n * w{i}"
            if kind in COLUMN:
                lines += [f"        a{i} = {self._loaded(f'x{i}[{place}]', kind)}"]
            else:
                lines += [f"        p{i} = at(x{i}, {place})"]
        lines += [f"        q{i} = at(out{i}, row * width)" for i in range(len(self.results))]
        loads = [
            f"a{i} = {self._loaded(f'p{i}[i]', self.operands[i])}"
            for i in strided if self.operands[i] in ROW
        ]  # fmt: skip
        stores = [f"q{i}[i] = {self._stored(r)}" for i, r in enumerate(self.results)]
        lines += [f"        {line}" for line in self._loop("0, width", loads, stores)]
        # Counters, since a division takes as long as a short row.
        lines += ["        n += 1", "        if n == third:", "            n = 0"]
        lines += ["            m += 1", "            if m == second:"]
        lines += ["                m = 0", "                k += 1"]
        return "\n".join(lines) + "\n"

    def _loaded(self, element: str, letter: str) -> str:
        of = element_of(letter)
        if of == "u8":
            return f"{element} != 0"
        return element if of else self.real.load.format(element)

    def _stored(self, result: Expression) -> str:
        if result.text in self.trace.halves:
            return self.trace.halves[result.text][0]  # it is rounded where it is written
        return result.text if result.dtype == BOOL else self.real.store.format(result.text)

    @property
    def chunk(self) -> int:
        """Elements for one thread: some ten microseconds of work."""
        work = self.trace.work
        return 1 << (16 if work <= 0.5 else max(10, int(math.log2(1e4 / work))))
