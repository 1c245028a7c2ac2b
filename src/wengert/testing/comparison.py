"""Whether what was computed is what was expected, and how far off it is."""

from __future__ import annotations

import cmath
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core import dtypes
from wengert.core.layout import sparse_bsr, sparse_coo, sparse_csr
from wengert.core.sparse import SparseTensor
from wengert.core.tensor import Tensor, wrap
from wengert.ops import comparison

_Path = tuple[Any, ...]

# Relative and absolute tolerances; all else has to be equal.
_TOLERANCES = {
    dtypes.float16: (1e-3, 1e-5),
    dtypes.bfloat16: (1.6e-2, 1e-5),
    dtypes.float32: (1.3e-6, 1e-5),
    dtypes.float64: (1e-7, 1e-7),
    dtypes.complex64: (1.3e-6, 1e-5),
    dtypes.complex128: (1e-7, 1e-7),
}
DTYPES_OF_NUMBERS = {int: dtypes.int64, float: dtypes.float64, complex: dtypes.complex128}


class _Rules(NamedTuple):
    rtol: float | None
    atol: float | None
    equal_nan: bool
    allow_subclasses: bool
    check_dtype: bool
    check_stride: bool
    check_layout: bool = True

    def tolerances(self, *kinds: dtypes.dtype) -> tuple[float, float]:
        """The given ones, or the greater ones of these dtypes."""
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        return default_tolerances(*kinds)


def default_tolerances(*inputs: Tensor | dtypes.dtype) -> tuple[float, float]:
    """The relative and the absolute tolerance of tensors or dtypes, the greatest where they differ.

    >>> import wengert
    >>> from wengert.testing.comparison import default_tolerances
    >>> default_tolerances(wengert.float16, wengert.ones(2))
    (0.001, 1e-05)
    """
    kinds = [x.dtype if isinstance(x, Tensor) else x for x in inputs]
    tolerances = [_TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in kinds]
    return max(r for r, _ in tolerances), max(a for _, a in tolerances)


class _Pair(NamedTuple):
    """Two values, where they stand in what was compared, and what compares them."""

    path: _Path
    compare: Callable[[Any, Any, _Rules], str | None]
    actual: Any
    expected: Any


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise AssertionError unless ``|actual - expected| <= atol + rtol * |expected|``.

    Takes tensors, arrays, numbers, bools and None, and sequences and mappings of them. The
    tolerances depend on the dtypes unless both are given. Sparse tensors are compared by indices
    and values; with `check_layout` off, also with dense ones. There is one device:
    `check_device` has nothing to check.

    >>> import wengert
    >>> from wengert.testing import assert_close
    >>> assert_close({"x": wengert.ones(2)}, {"x": wengert.ones(2) + 1e-7})
    >>> assert_close([1.0, 2.0], [1.0, 2.5])
    Traceback (most recent call last):
    AssertionError: Scalars are not close!
    <BLANKLINE>
    Expected 2.5 but got 2.0.
    Absolute difference: 0.5 (up to 1e-07 allowed)
    Relative difference: 0.2 (up to 1e-07 allowed)
    <BLANKLINE>
    The failure occurred for item [1]
    """
    if (rtol is None) != (atol is None):
        absent = "rtol" if rtol is None else "atol"
        raise ValueError(
            "Both 'rtol' and 'atol' must be either specified or omitted, but got no"
            f" {absent}: rtol={rtol}, atol={atol}"
        )
    rules = _Rules(rtol, atol, equal_nan, allow_subclasses, check_dtype, check_stride, check_layout)
    # Types first: values that cannot be compared are an error even after one that differs.
    for pair in list(_pairs(actual, expected, rules, ())):
        text = pair.compare(pair.actual, pair.expected, rules)
        if text is not None:
            raise AssertionError(_message(text, pair.path, msg))


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """`assert_close` of what may not be tensors yet, with fewer checks; deprecated.

    >>> import warnings
    >>> from wengert.testing import assert_allclose
    >>> with warnings.catch_warnings(action="ignore"):
    ...     assert_allclose([1.0, 2.0], [1.0, 2.0])
    """
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated: use assert_close()",
        FutureWarning,
        stacklevel=2,
    )
    pair = [x if isinstance(x, Tensor) else wrap(np.asarray(x)) for x in (actual, expected)]
    assert_close(
        *pair, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None
    )


def _message(text: str, path: _Path, msg: str | Callable[[str], str] | None) -> str:
    if path:
        where = "".join(f"[{key!r}]" for key in path)
        text += f"\n\nThe failure occurred for item {where}"
    if msg is None:
        return text
    return msg if isinstance(msg, str) else msg(text)


def _pairs(actual: Any, expected: Any, rules: _Rules, path: _Path) -> Iterator[_Pair]:
    both = (actual, expected)
    if all(isinstance(x, Sequence) and not isinstance(x, str) for x in both):
        if len(actual) != len(expected):
            text = f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
            yield _Pair(path, lambda *_: text, actual, expected)
            return
        for i, values in enumerate(zip(actual, expected, strict=True)):
            yield from _pairs(*values, rules, (*path, i))
    elif all(isinstance(x, Mapping) for x in both):
        if actual.keys() != expected.keys():
            yield _Pair(path, _keys, actual, expected)
            return
        for key in actual:
            yield from _pairs(actual[key], expected[key], rules, (*path, key))
    else:
        yield _Pair(path, _comparison_of(actual, expected, rules, path), actual, expected)


def _comparison_of(
    actual: Any, expected: Any, rules: _Rules, path: _Path
) -> Callable[..., str | None]:
    both = (actual, expected)
    if actual is None or expected is None:
        return _nones
    if all(isinstance(x, bool | np.bool_) for x in both):
        return _bools
    if all(isinstance(x, int | float | complex | np.number | np.bool_) for x in both):
        return _numbers
    kinds = [type(x) for x in both]
    if any(isinstance(x, SparseTensor) for x in both):
        kinds = [Tensor if issubclass(kind, SparseTensor) else kind for kind in kinds]
    related = kinds[0] is kinds[1] or (
        rules.allow_subclasses and (issubclass(*kinds) or issubclass(*reversed(kinds)))
    )
    if related and all(isinstance(x, Tensor | np.ndarray) for x in both):
        return _tensors
    text = f"No comparison pair was able to handle inputs of type {kinds[0]} and {kinds[1]}."
    raise TypeError(_message(text, path, None))


def _keys(actual: Any, expected: Any, rules: _Rules) -> str:
    missing = sorted(expected.keys() - actual.keys(), key=str)
    additional = sorted(actual.keys() - expected.keys(), key=str)
    return (
        "The keys of the mappings do not match:\n"
        f"Missing keys in the actual mapping: {missing}\n"
        f"Additional keys in the actual mapping: {additional}"
    )


def _nones(actual: Any, expected: Any, rules: _Rules) -> str | None:
    return None if actual is expected else f"None mismatch: {actual} is not {expected}"


def _bools(actual: Any, expected: Any, rules: _Rules) -> str | None:
    same = bool(actual) == bool(expected)
    return None if same else f"Booleans mismatch: {actual} is not {expected}"


def _numbers(actual: Any, expected: Any, rules: _Rules) -> str | None:
    a, e = (x.item() if isinstance(x, np.generic) else x for x in (actual, expected))
    if rules.check_dtype and type(a) is not type(e):
        return f"The (d)types do not match: {type(a)} != {type(e)}."
    kinds = [DTYPES_OF_NUMBERS.get(type(x), dtypes.int64) for x in (a, e)]
    return _scalars(a, e, *rules.tolerances(*kinds), rules.equal_nan)


def _scalars(a: Any, e: Any, rtol: float, atol: float, equal_nan: bool) -> str | None:
    both_nan = cmath.isnan(a) and cmath.isnan(e)
    difference = abs(a - e)
    close = cmath.isfinite(difference) and difference <= atol + rtol * abs(e)
    if a == e or close or (equal_nan and both_nan):
        return None
    relative = difference / abs(e) if e else float("inf")
    return _report(f"Scalars|Expected {e} but got {a}.", rtol, atol, difference, relative, "", "")


def _report(
    what: str, rtol: float, atol: float, absolute: Any, relative: Any, at: str, relative_at: str
) -> str:
    """A message: subject and first line, then both differences beside what is allowed."""
    subject, first = what.split("|")
    exact = rtol == atol == 0
    kind = "Greatest absolute" if at else "Absolute"
    other = "Greatest relative" if at else "Relative"
    allowed = ["" if exact else f" (up to {tolerance} allowed)" for tolerance in (atol, rtol)]
    return (
        f"{subject} are not {'equal' if exact else 'close'}!\n\n{first}\n"
        f"{kind} difference: {absolute}{at}{allowed[0]}\n"
        f"{other} difference: {relative}{relative_at}{allowed[1]}"
    )


def _tensors(actual: Any, expected: Any, rules: _Rules) -> str | None:
    a, e = (x if isinstance(x, Tensor) else wrap(x) for x in (actual, expected))
    if isinstance(a, SparseTensor) or isinstance(e, SparseTensor):
        return _sparse(a, e, rules)
    for name, checked, values in (
        ("shape", True, (a.shape, e.shape)),
        ("dtype", rules.check_dtype, (a.dtype, e.dtype)),
        ("stride()", rules.check_stride, (a.stride(), e.stride())),
    ):
        if checked and values[0] != values[1]:
            return f"The values for attribute {name!r} do not match: {values[0]} != {values[1]}."
    rtol, atol = rules.tolerances(a.dtype, e.dtype)
    common = dtypes.promote_types(a.dtype, e.dtype)
    x, y = (t._array.astype(common.np, copy=False) for t in (a, e))
    matches = comparison.isclose(wrap(x), wrap(y), rtol, atol, rules.equal_nan)._array
    if matches.all():
        return None
    if x.ndim == 0:
        return _scalars(x.item(), y.item(), rtol, atol, rules.equal_nan)
    return _differences(x, y, matches, rtol, atol)


def _sparse(a: Tensor, e: Tensor, rules: _Rules) -> str | None:
    """Compare indices and values; with `check_layout` off, all elements."""
    if a.shape != e.shape:
        return f"The values for attribute 'shape' do not match: {a.shape} != {e.shape}."
    if a.layout is not e.layout:
        if rules.check_layout:
            return f"The values for attribute 'layout' do not match: {a.layout} != {e.layout}."
        return _tensors(a.to_dense(), e.to_dense(), rules)
    if a.layout is sparse_coo:
        a, e = a.coalesce(), e.coalesce()
        names: tuple[str, ...] = ("indices", "values")
    elif a.layout in (sparse_csr, sparse_bsr):
        names = ("crow_indices", "col_indices", "values")
    else:
        names = ("ccol_indices", "row_indices", "values")
    if a._nnz() != e._nnz():
        return (
            f"The number of specified values in sparse tensors does not match: {a._nnz()} !="
            f" {e._nnz()}"
        )
    for name in names:
        text = _tensors(getattr(a, name)().detach(), getattr(e, name)().detach(), rules)
        if text is not None:
            return text.replace("Tensor-likes", f"Sparse tensors' {name}")
    return None


def _differences(
    x: np.ndarray, y: np.ndarray, matches: np.ndarray, rtol: float, atol: float
) -> str:
    inexact = dtypes.of_numpy[x.dtype].is_floating_point or dtypes.of_numpy[x.dtype].is_complex
    if not inexact:
        x, y = x.astype(np.int64), y.astype(np.int64)
    with np.errstate(all="ignore"):
        absolute = np.abs(x - y)
        absolute[matches] = 0
        relative = absolute / np.abs(y)
    relative[matches] = 0
    if not inexact:
        relative = relative.astype(np.float32)
    wrong, total = int((~matches).sum()), matches.size
    first = f"Mismatched elements: {wrong} / {total} ({wrong / total:.1%})"
    values, positions = zip(*map(_greatest, (absolute, relative)), strict=True)
    return _report(f"Tensor-likes|{first}", rtol, atol, *values, *positions)


def _greatest(differences: np.ndarray) -> tuple[Any, str]:
    at = np.unravel_index(int(np.argmax(differences)), differences.shape)
    value = differences[at]
    number = value.item() if hasattr(value, "item") else float(value)
    return number, f" at index {tuple(map(int, at))}"
