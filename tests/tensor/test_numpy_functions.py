"""NumPy's functions of tensors give tensors, as they do of PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert

CALLS = {
    "sqrt": lambda x, a: np.sqrt(x),
    "add a number": lambda x, a: np.add(x, 1),
    "tensor first": lambda x, a: np.add(x, a),
    "array first": lambda x, a: np.add(a, x),
    "comparison": lambda x, a: np.less(x, 2),
    "predicate": lambda x, a: np.isnan(x),
    "matmul": lambda x, a: np.matmul(x, x),
    "argmax": lambda x, a: np.argmax(x),
    "cumsum": lambda x, a: np.cumsum(x),
    "reshape": lambda x, a: np.reshape(x, (2, 1)),
    "reduce": lambda x, a: np.add.reduce(x),
    "accumulate": lambda x, a: np.add.accumulate(x),
    "outer": lambda x, a: np.multiply.outer(x, x),
    "clip": lambda x, a: np.clip(x, 0, 1),
    "round": lambda x, a: np.round(x),
    # Those that are no ufuncs convert, and give arrays.
    "stack": lambda x, a: np.stack([x, x]),
    "sort": lambda x, a: np.sort(x),
    "norm": lambda x, a: np.linalg.norm(x),
    "where": lambda x, a: np.where(a > 1, x, 0),
    "scalar first": lambda x, a: np.float64(2) * x,
}


def outcome(call: Any, library: Any) -> tuple[Any, ...]:
    x, a = library.tensor([1.0, 4.0]), np.array([1.0, 2.0])
    result = call(x, a)
    is_tensor = isinstance(result, library.Tensor)
    return is_tensor, str(result.dtype), tuple(result.shape), result.tolist()


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:__array_wrap__ must accept")  # said of PyTorch's
@pytest.mark.parametrize("call", CALLS)
def test_function_of_a_tensor(torch: Any, call: str) -> None:
    assert outcome(CALLS[call], wengert) == outcome(CALLS[call], torch)


def test_integers_and_numbers() -> None:
    assert np.sqrt(wengert.arange(3)).dtype is wengert.float64
    assert np.sqrt(wengert.tensor(4.0)).shape == ()
    assert np.modf(wengert.tensor([1.5]))[0].tolist() == [0.5]


def test_what_requires_grad_is_refused() -> None:
    x = wengert.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Can't call numpy"):
        np.sqrt(x)
    assert np.sqrt(x.detach()).requires_grad is False


def test_a_result_that_no_tensor_can_hold_is_refused() -> None:
    with pytest.raises(TypeError, match="can't convert np"):
        np.add(wengert.ones(2), np.ones(2, np.longdouble))


def test_operators_of_arrays_give_recorded_tensors() -> None:
    """PyTorch refuses these, and computes `tensor * array`."""
    x = wengert.tensor([1.0, 2.0], requires_grad=True)
    (np.array([3.0, 4.0]) * x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [3.0, 4.0]
