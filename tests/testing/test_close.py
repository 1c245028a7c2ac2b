"""`assert_close` says what PyTorch's says, word for word."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
from wengert.testing import assert_allclose, assert_close

Case = Callable[[Any], tuple[Any, Any]]
NAN, INF = float("nan"), float("inf")

CASES: list[tuple[Case, dict[str, Any]]] = [
    (lambda t: (1.0, 2.0), {}),
    (lambda t: (1, 2), {}),
    (lambda t: (1, 1.0), {}),
    (lambda t: (1, 1.0), {"check_dtype": False}),
    (lambda t: (1.0, 1.5), {"rtol": 1, "atol": 1}),
    (lambda t: (1.0, 0.0), {}),
    (lambda t: (True, False), {}),
    (lambda t: (1 + 1j, 1 + 2j), {}),
    (lambda t: (NAN, NAN), {}),
    (lambda t: (NAN, NAN), {"equal_nan": True}),
    (lambda t: (INF, INF), {}),
    (lambda t: (None, 3), {}),
    (lambda t: (None, None), {}),
    (lambda t: (np.float32(1), np.float32(2)), {}),
    (lambda t: (np.float32(1), 1.0), {}),
    (lambda t: (np.ones(2), np.zeros(2)), {}),
    (lambda t: (t.tensor([1.0, 2, 3]), t.tensor([1.0, 2, 4])), {}),
    (lambda t: (t.tensor([1.0, 2, 3]), t.tensor([1.0, 2, 4])), {"rtol": 0, "atol": 0}),
    (lambda t: (t.tensor([1.0, 2, 3]), t.tensor([1.0, 2, 4])), {"rtol": 0.3, "atol": 0}),
    (lambda t: (t.tensor([1, 2, 3]), t.tensor([1, 2, 4])), {}),
    (lambda t: (t.tensor([1, 2, 3]), t.tensor([1, 2, 4])), {"rtol": 0.1, "atol": 0}),
    (lambda t: (t.tensor(1.0), t.tensor(2.0)), {}),
    (lambda t: (t.ones(2), t.ones(3)), {}),
    (lambda t: (t.ones(2), t.ones(2, 1)), {}),
    (lambda t: (t.tensor([1.0, NAN]), t.tensor([1.0, NAN])), {}),
    (lambda t: (t.tensor([1.0, NAN]), t.tensor([1.0, NAN])), {"equal_nan": True}),
    (lambda t: (t.tensor([1.0, INF]), t.tensor([1.0, INF])), {}),
    (lambda t: (t.tensor([1.0, INF]), t.tensor([1.0, 0.0])), {}),
    (lambda t: (t.zeros(2, 2), t.tensor([[0.0, 1e-3], [2e-3, 0]])), {}),
    (lambda t: (t.tensor([True, True]), t.tensor([False, True])), {}),
    (lambda t: (t.ones(2, dtype=t.bfloat16), t.full((2,), 1.01, dtype=t.bfloat16)), {}),
    (lambda t: (t.ones(2, dtype=t.bfloat16), t.full((2,), 1.05, dtype=t.bfloat16)), {}),
    (lambda t: (t.ones(2, dtype=t.float16), t.ones(2) * 1.0005), {"check_dtype": False}),
    (lambda t: (t.ones(2, dtype=t.complex64), t.ones(2, dtype=t.complex64) * 2j), {}),
    (lambda t: (t.ones(2, dtype=t.float64), t.ones(2, dtype=t.float64) + 1e-6), {}),
    (lambda t: (t.full((2,), 1, dtype=t.uint8), t.full((2,), 200, dtype=t.uint8)), {}),
    (lambda t: (t.full((2,), -100, dtype=t.int8), t.full((2,), 100, dtype=t.int8)), {}),
    (lambda t: (t.zeros(0), t.zeros(0)), {}),
    (lambda t: (t.ones(2, 3).t(), t.ones(3, 2)), {}),
    (lambda t: (t.ones(2, 3).t(), t.ones(3, 2)), {"check_stride": True}),
    (lambda t: (t.nn.Parameter(t.ones(2)), t.ones(2)), {}),
    (lambda t: ([1, 2], (1, 2)), {}),
    (lambda t: ([1, 2.0], [1, 3.0]), {}),
    (lambda t: ([1, 2], [1]), {}),
    (lambda t: ([[1, 2], [3, 4]], [[1, 2], [3, 5]]), {}),
    (lambda t: ([np.ones(2)], [np.zeros(2)]), {}),
    (lambda t: ({"a": 1, "b": [t.ones(2)]}, {"a": 1, "b": [t.zeros(2)]}), {}),
    (lambda t: ({"a": 1}, {"b": 1}), {}),
    (lambda t: (OrderedDict(a=None), {"a": None}), {}),
    (lambda t: (t.ones(2), t.zeros(2)), {"msg": "mine"}),
    (lambda t: ([t.ones(2)], [t.zeros(2)]), {"msg": lambda text: f"before {text}"}),
    (lambda t: (["a", 1], ["a", 2]), {}),
    (lambda t: ({1}, {1}), {}),
]


def outcome(library: Any, case: Case, options: dict[str, Any]) -> str:
    """What a comparison raises, in words."""
    try:
        library.testing.assert_close(*case(library), **options)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "close"


@pytest.mark.torch
@pytest.mark.parametrize(("case", "options"), CASES)
def test_messages_are_pytorchs(case: Case, options: dict[str, Any], torch: Any) -> None:
    assert outcome(wengert, case, options) == outcome(torch, case, options)


@pytest.mark.torch
def test_dtypes_that_differ(torch: Any) -> None:
    def case(t: Any) -> Any:
        return t.ones(2), t.ones(2, dtype=t.int64)

    ours = outcome(wengert, case, {})
    assert ours == outcome(torch, case, {})
    assert "'dtype' do not match: torch.float32 != torch.int64" in ours
    assert outcome(wengert, case, {"check_dtype": False}) == "close"


@pytest.mark.parametrize(
    ("actual", "expected", "options"),
    [
        (wengert.ones(2), np.ones(2), {}),
        (wengert.tensor(3), 3, {}),
        ([1], 1, {}),
        ("a", "a", {}),
        (wengert.nn.Parameter(wengert.ones(2)), wengert.ones(2), {"allow_subclasses": False}),
    ],
)
def test_types_that_are_not_compared(actual: Any, expected: Any, options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="No comparison pair was able to handle inputs of type"):
        assert_close(actual, expected, **options)


@pytest.mark.parametrize(("given", "absent"), [("rtol", "atol"), ("atol", "rtol")])
def test_one_tolerance_is_not_enough(given: str, absent: str) -> None:
    with pytest.raises(ValueError, match=f"but got no {absent}"):
        assert_close(1.0, 1.0, **{given: 0.1})  # type: ignore[arg-type]


def test_what_differs_is_left_as_it_was() -> None:
    x, y = wengert.ones(2, requires_grad=True), wengert.zeros(2)
    with pytest.raises(AssertionError, match="Mismatched elements: 2 / 2"):
        assert_close(x, y)
    assert (x.tolist(), y.tolist(), x.requires_grad) == ([1, 1], [0, 0], True)


def test_assert_allclose() -> None:
    with pytest.warns(FutureWarning, match="deprecated"):
        assert_allclose([1, NAN], wengert.tensor([1.0, NAN]))
    with pytest.warns(FutureWarning), pytest.raises(AssertionError, match="not close"):
        assert_allclose([1.0], [2.0])
