"""Printing: to the last blank as torch does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wengert
from tests.tensor.parity import expressions

PRINTED = expressions("""
    T.tensor(1.5)
    T.tensor(3)
    T.tensor(True)
    T.tensor([])
    T.zeros(0, 3)
    T.zeros(2, 0, dtype=T.int64)
    T.tensor([], dtype=T.int64)
    T.tensor([1.0, 2.0])
    T.tensor([1.0, 2.5])
    T.tensor([1e-5, 1.0])
    T.tensor([1e9])
    T.tensor([1e8, 1e8 + 64])
    T.tensor([0.1, 1000.0])
    T.tensor([float('nan'), 1.0, float('inf'), -float('inf')])
    T.tensor([float('nan')])
    T.tensor([-0.0])
    T.tensor([1, -20, 300])
    T.tensor([True, False])
    T.tensor([1 + 2j, -1.5 - 0.25j])
    T.tensor([1e-6 + 1e6j])
    T.tensor([1.5, 2], dtype=T.float16)
    T.tensor([1.5, 2], dtype=T.bfloat16)
    T.tensor([1.5, 2], dtype=T.float64)
    T.tensor([1, 2], dtype=T.int32)
    T.tensor([1.0], requires_grad=True)
    T.ones(2, requires_grad=True) * 2
    T.ones(8, 8, requires_grad=True) * 2
    T.arange(1001)
    T.arange(2000.0).reshape(40, 50)
    T.arange(1024).reshape(4, 4, 4, 4, 4)
    T.zeros(1, 1, 1, 1)
    T.zeros(17, dtype=T.float64, requires_grad=True)
    T.zeros(3, 20)
""")


@pytest.mark.torch
@pytest.mark.parametrize("expression", PRINTED)
def test_repr_equals_torch(expression: str, torch: Any) -> None:
    ours, theirs = (repr(eval(expression, {"T": library})) for library in (wengert, torch))
    assert ours == theirs


KINDS = ("float32", "float64", "float16", "bfloat16", "int64", "uint8", "bool", "complex64",
         "complex128")  # fmt: skip


@st.composite
def arrays(draw: Any) -> tuple[np.ndarray, str]:
    """Arrays of all dtypes, shapes and magnitudes, some rounded, some with nan and inf."""
    kind = draw(st.sampled_from(KINDS))
    rank = draw(st.integers(0, 4))
    shape = tuple(draw(st.integers(0, 60 if rank == 1 else 4)) for _ in range(rank))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = rng.standard_normal((2, *shape)) * 10.0 ** draw(st.integers(-8, 8))
    if draw(st.booleans()):
        values = values * 10.0 ** rng.integers(-5, 5, values.shape)
    if draw(st.booleans()):
        values = np.round(values)
    if draw(st.booleans()):
        special = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], values.shape)
        values = np.where(rng.random(values.shape) < 0.2, special, values)
    with np.errstate(all="ignore"):
        if kind.startswith("complex"):
            pairs = np.ascontiguousarray(np.moveaxis(values, 0, -1))
            return pairs.view(np.complex128)[..., 0].astype(kind), kind
        stored = "float32" if kind == "bfloat16" else kind
        return np.asarray(values[0]).astype(stored), kind


print_options = st.fixed_dictionaries({
    "precision": st.integers(0, 7),
    "threshold": st.sampled_from([1, 10, 1000]),
    "edgeitems": st.integers(1, 4),
    "linewidth": st.integers(20, 120),
    "sci_mode": st.sampled_from([None, True, False]),
})  # fmt: skip


@pytest.mark.torch
@settings(max_examples=400, deadline=None)
@given(made=arrays(), options=st.none() | print_options, requires_grad=st.booleans())
def test_every_repr_equals_torch(made: Any, options: Any, requires_grad: bool) -> None:
    torch = pytest.importorskip("torch")
    array, kind = made
    texts = []
    for library in (wengert, torch):
        tensor = library.from_numpy(array.copy()).to(getattr(library, kind))
        if requires_grad and array.dtype.kind in "fc":
            tensor.requires_grad_()
        try:
            library.set_printoptions(**(options or {}))
            texts.append(repr(tensor))
        finally:
            library.set_printoptions(profile="default")
    assert texts[0] == texts[1]


@pytest.mark.torch
@pytest.mark.parametrize("profile", ["default", "short", "full"])
def test_profiles_equal_torch(profile: str, torch: Any) -> None:
    texts = []
    for library in (wengert, torch):
        try:
            library.set_printoptions(profile=profile)
            texts.append(repr(library.arange(1200.0) / 7))
        finally:
            library.set_printoptions(profile="default")
    assert texts[0] == texts[1]


def test_options_are_kept_and_given_back() -> None:
    wengert.set_printoptions(precision=2, linewidth=40)
    try:
        found = wengert.get_printoptions()
        assert (found["precision"], found["linewidth"], found["edgeitems"]) == (2, 40, 3)
        assert repr(wengert.tensor([0.125])) == "tensor([0.12])"
    finally:
        wengert.set_printoptions(profile="default")
    assert wengert.get_printoptions()["precision"] == 4


def test_a_node_prints_its_name() -> None:
    y = wengert.ones(2, requires_grad=True) * 2
    assert repr(y.grad_fn).startswith("<MulBackward0 object at 0x")
    assert y.grad_fn.name() == "MulBackward0"
    assert repr(y) == "tensor([2., 2.], grad_fn=<MulBackward0>)"


def test_the_contents_can_be_replaced() -> None:
    assert wengert.zeros(2).__repr__(tensor_contents="...") == "tensor(...)"
