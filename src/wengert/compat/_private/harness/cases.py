"""The TestCase of PyTorch's tests: a seed for each test, and equality of whatever they compare."""

from __future__ import annotations

import numbers
import random
import sys
import unittest
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

import wengert
from wengert import Tensor
from wengert.core.dtypes import dtype as dtype_type
from wengert.testing import assert_close
from wengert.testing.comparison import DTYPES_OF_NUMBERS, default_tolerances

SEED = 1234


def set_rng_seed(seed: int | None = None) -> None:
    """Seed the generators of wengert, Python and NumPy; with `SEED` unless told otherwise."""
    seed = SEED if seed is None else seed
    wengert.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)


class _Equality(NamedTuple):
    """How equal two values have to be."""

    rtol: float | None
    atol: float | None
    least_rtol: float
    least_atol: float
    equal_nan: bool
    exact_dtype: bool
    exact_layout: bool
    exact_stride: bool

    def check(self, x: Any, y: Any) -> None:
        """Raise AssertionError unless two values are equal, and what they hold."""
        if isinstance(x, Tensor | np.ndarray) or isinstance(y, Tensor | np.ndarray):
            self._check_arrays(x, y)
        elif isinstance(x, numbers.Number | np.generic) and isinstance(
            y, numbers.Number | np.generic
        ):
            self._check_numbers(x, y)
        elif isinstance(x, Mapping) and isinstance(y, Mapping):
            _same(set(x), set(y), "keys")
            for key in x:
                self._check_within(x[key], y[key], key)
        elif _is_sequence(x) and _is_sequence(y):
            _same(len(x), len(y), "length")
            for i, (a, b) in enumerate(zip(x, y, strict=True)):
                self._check_within(a, b, i)
        else:
            _same(x, y, "value")

    def _check_within(self, x: Any, y: Any, where: Any) -> None:
        try:
            self.check(x, y)
        except AssertionError as error:
            raise AssertionError(f"at [{where!r}]: {error}") from None

    def _check_numbers(self, x: Any, y: Any) -> None:
        if isinstance(x, bool | np.bool_) and isinstance(y, bool | np.bool_):
            return _same(bool(x), bool(y), "value")
        kind: type = complex if isinstance(x, complex) or isinstance(y, complex) else float
        if all(isinstance(v, int | np.integer) for v in (x, y)):
            kind = int
        self._close(kind(x), kind(y), (DTYPES_OF_NUMBERS[kind],))

    def _check_arrays(self, x: Any, y: Any) -> None:
        like = x if isinstance(x, Tensor | np.ndarray) else y
        a, b = _as_tensor(x, like), _as_tensor(y, like)
        numbers_too = any(isinstance(v, numbers.Number | np.generic) for v in (x, y))
        if numbers_too and a.numel() == b.numel() == 1:
            a, b = a.reshape(()), b.reshape(())
        self._close(a, b, (a.dtype, b.dtype), check_dtype=self.exact_dtype and not numbers_too)

    def _close(
        self, x: Any, y: Any, kinds: Iterable[dtype_type], check_dtype: bool = False
    ) -> None:
        tolerances: dict[str, Any] = {"rtol": self.rtol, "atol": self.atol}
        if self.rtol is None and (self.least_rtol or self.least_atol):
            rtol, atol = default_tolerances(*kinds)
            tolerances = {"rtol": max(rtol, self.least_rtol), "atol": max(atol, self.least_atol)}
        assert_close(
            x,
            y,
            **tolerances,
            equal_nan=self.equal_nan,
            check_dtype=check_dtype,
            check_layout=self.exact_layout,
            check_stride=self.exact_stride,
        )


def _is_sequence(x: Any) -> bool:
    return isinstance(x, Sequence) and not isinstance(x, str | bytes | bytearray)


def _same(x: Any, y: Any, what: str) -> None:
    if not x == y:
        raise AssertionError(f"{what} differ: {x!r} != {y!r}")


def _as_tensor(x: Any, like: Any) -> Tensor:
    """A tensor of a value; of numbers and lists in the dtype of what they are compared with."""
    if isinstance(x, Tensor):
        return x.detach()
    if isinstance(x, np.ndarray):
        return wengert.from_numpy(np.array(x))
    if not isinstance(x, numbers.Number | np.generic | Sequence) or isinstance(x, str | bytes):
        raise AssertionError(f"expected a tensor or numbers, got {type(x).__name__}: {x!r}")
    dtype = like.dtype if isinstance(like, Tensor) else _as_tensor(like, like).dtype
    if isinstance(x, complex) and not dtype.is_complex:
        return wengert.as_tensor(x)
    if isinstance(x, float) and not (dtype.is_floating_point or dtype.is_complex):
        return wengert.as_tensor(x)
    return wengert.as_tensor(x, dtype=dtype)


class TestCase(unittest.TestCase):
    """Tests that are seeded one by one, and compare tensors, alone and in containers."""

    precision: float = 0
    rel_tol: float = 0
    maxDiff = None
    __test__ = False  # the class itself; what derives from it is collected

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__test__ = True

    def setUp(self) -> None:
        """Seed the random generators."""
        set_rng_seed()

    def assertEqual(
        self,
        x: Any,
        y: Any,
        msg: str | Callable[[str], str] | None = None,
        *,
        atol: float | None = None,
        rtol: float | None = None,
        equal_nan: bool = True,
        exact_dtype: bool = True,
        exact_device: bool = False,
        exact_layout: bool = False,
        exact_stride: bool = False,
        exact_is_coalesced: bool = False,
    ) -> None:
        """Values are equal: tensors and numbers within tolerances, containers by their elements."""
        equality = _Equality(
            rtol, atol, self.rel_tol, self.precision,
            equal_nan, exact_dtype, exact_layout, exact_stride,
        )  # fmt: skip
        try:
            equality.check(x, y)
        except AssertionError as error:
            text = str(error)
        else:
            return
        if callable(msg):
            text = msg(text)
        elif msg:
            text = f"{text}\n{msg}"
        raise self.failureException(text)

    def assertNotEqual(  # type: ignore[override]
        self, x: Any, y: Any, msg: str | None = None, **options: Any
    ) -> None:
        """Values are not what `assertEqual` calls equal."""
        with self.assertRaises(AssertionError, msg=msg):
            self.assertEqual(x, y, msg, **options)

    def assertEqualIgnoreType(self, x: Any, y: Any, **options: Any) -> None:
        """`assertEqual` of whatever dtypes."""
        self.assertEqual(x, y, exact_dtype=False, **options)

    def assertEqualTypeString(self, x: Any, y: Any) -> None:
        """Two tensors have one device, dtype and kind of class."""
        self.assertEqual((x.device, x.dtype), (y.device, y.dtype))
        self.assertEqual(x.is_sparse, y.is_sparse)

    def assertObjectIn(self, obj: Any, iterable: Iterable[Any]) -> None:
        """The object itself, not one that equals it, is in a collection."""
        if not any(obj is element for element in iterable):
            raise self.failureException(f"object of type {type(obj)} is not in the collection")

    def assertExpectedInline(self, actual: str, expect: str, skip: int = 0) -> None:
        """A text is the one written in the test."""
        unittest.TestCase.assertEqual(self, str(actual), expect)

    def assertExpectedRaisesInline(
        self, exc_type: type[BaseException], callable: Any, expect: str, *args: Any, **kwargs: Any
    ) -> None:
        """A call raises an exception of this class with the text written in the test."""
        with self.assertRaises(exc_type) as context:
            callable(*args, **kwargs)
        self.assertExpectedInline(str(context.exception), expect)

    def assertRaisesRegexIfCrossRef(self, *args: Any, **kwargs: Any) -> Any:
        """`assertRaisesRegex`."""
        return self.assertRaisesRegex(*args, **kwargs)

    def assertNotWarn(self, callable: Callable[[], Any], msg: str = "") -> None:
        """A call gives no warning."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            callable()
        self.assertTrue(not caught, f"{msg} {[str(w.message) for w in caught]}")

    @contextmanager
    def assertWarnsOnceRegex(
        self, category: type[Warning], regex: str = ""
    ) -> Iterator[list[warnings.WarningMessage]]:
        """The block gives warnings of this category, whose text matches `regex`."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with warn_always():
                yield caught
        self.assertTrue(caught, "nothing warned")
        self.assertTrue(any(w.category is category for w in caught), caught)
        self.assertRegex("\n".join(str(w.message) for w in caught), regex)

    def assertGreaterAlmostEqual(
        self, first: Any, second: Any, places: int = 7, msg: str | None = None,
        delta: float | None = None,
    ) -> None:  # fmt: skip
        """A number is not less than another, up to `delta`, or to so many decimal places."""
        near = second - first <= delta if delta is not None else not round(second - first, places)
        if not first >= second and not near:
            self.fail(msg or f"{first} is less than {second}")

    def compare_with_numpy(
        self,
        torch_fn: Callable[[Tensor], Any],
        np_fn: Callable[[np.ndarray], Any],
        tensor_like: Any,
        device: Any = None,
        dtype: dtype_type | None = None,
        **options: Any,
    ) -> None:
        """A function of a tensor gives what another gives of its array."""
        if not isinstance(tensor_like, Tensor):
            tensor_like = wengert.tensor(tensor_like, device=device, dtype=dtype)
        array = tensor_like.detach()
        array = (array.float() if array.dtype == wengert.bfloat16 else array).numpy()
        expected = np_fn(array)
        actual = torch_fn(tensor_like)
        if isinstance(expected, np.ndarray | np.generic):
            expected = wengert.from_numpy(np.array(expected))
        self.assertEqual(actual, expected, **{"exact_dtype": False} | options)

    def safeToDense(self, t: Tensor) -> Tensor:
        """The tensor with all its elements."""
        return t.to_dense() if t.layout is not wengert.strided else t


@contextmanager
def warn_always(new_val: bool = True) -> Iterator[None]:
    """Within the block the library repeats warnings that it usually gives once."""
    before = wengert.is_warn_always_enabled()
    wengert.set_warn_always(new_val)
    try:
        yield
    finally:
        wengert.set_warn_always(before)


def run_tests(argv: list[str] | None = None) -> None:
    """Run the tests of the program with ``unittest``."""
    unittest.main(argv=sys.argv if argv is None else argv)


__all__ = ["SEED", "TestCase", "run_tests", "set_rng_seed"]
