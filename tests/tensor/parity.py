"""The same expression in wengert and in torch: equal results, or exceptions of one class."""

from __future__ import annotations

import array
import copy
import pickle
import warnings
from typing import Any

import numpy as np

import wengert


def expressions(text: str) -> list[str]:
    """One expression a line. They may use `T`, np, copy, pickle, array, and the tensors below."""
    return [line.strip() for line in text.strip().splitlines()]


def matrix(library: Any) -> Any:
    """A float32 matrix."""
    return library.tensor([[1.0, 2.0], [3.0, 4.0]])


def leaf(library: Any) -> Any:
    """A vector that requires grad."""
    return library.tensor([1.0, 2.0], requires_grad=True)


def node(library: Any) -> Any:
    """A vector that was computed."""
    return leaf(library) * 2


def outcome(library: Any, expression: str) -> Any:
    """What the expression gives, with the library as `T`; an exception counts as a result."""
    names = {"T": library, "np": np, "copy": copy, "pickle": pickle, "array": array,
             "matrix": matrix, "leaf": leaf, "node": node}  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return eval(expression, names)
        except Exception as error:
            return error


def assert_same(torch: Any, expression: str, rtol: float = 0.0) -> None:
    """Both libraries give the same type, dtype, shape, values and text, or fail alike."""
    ours, theirs = outcome(wengert, expression), outcome(torch, expression)
    if isinstance(theirs, Exception):
        assert type(ours) is type(theirs), f"{ours!r} is not as {theirs!r}"
        assert len(str(ours)) > 10, "a message that helps nobody"
        return
    if isinstance(ours, Exception):
        raise AssertionError(f"wengert failed where torch gives {theirs!r}") from ours
    if isinstance(theirs, torch.Tensor):
        assert isinstance(ours, wengert.Tensor)
        _assert_same_tensor(torch, ours, theirs, rtol)
    else:
        assert type(ours).__name__ == type(theirs).__name__
        assert repr(ours) == repr(theirs)


def _assert_same_tensor(torch: Any, ours: Any, theirs: Any, rtol: float) -> None:
    assert str(ours.dtype) == str(theirs.dtype)
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert ours.requires_grad == theirs.requires_grad
    values = theirs.detach()
    values = values.float() if values.dtype == torch.bfloat16 else values
    expected, found = values.numpy(), ours.detach().numpy().astype(values.numpy().dtype)
    if rtol:
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=0)
    else:
        np.testing.assert_array_equal(found, expected)
