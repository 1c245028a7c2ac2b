"""torch.Size and the constants of signatures as values."""

from __future__ import annotations

import copy
import pickle
from operator import add
from typing import Any

import numpy as np
import pytest

from wengert.core import layout
from wengert.core.size import Size


def test_a_size_is_a_tuple() -> None:
    size = Size([2, 3])
    assert size == (2, 3)
    assert hash(size) == hash((2, 3))
    assert (size.numel(), Size().numel(), Size((2, 0)).numel()) == (6, 1, 0)
    assert repr(size) == "torch.Size([2, 3])"
    assert repr(Size()) == "torch.Size([])"


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (Size((1, 2, 3))[1:], Size),
        (Size((1, 2, 3))[-1], int),
        (add(Size((1,)), (2,)), Size),
        (add((1,), Size((2,))), Size),
        (Size((1,)) + Size((2,)), Size),
        (Size((1,)) * 2, Size),
        (2 * Size((1,)), Size),
        (Size(Size((1,))), Size),
        (pickle.loads(pickle.dumps(Size((1, 2)))), Size),
        (copy.deepcopy(Size((1, 2))), Size),
    ],
)
def test_what_is_made_of_a_size(value: Any, kind: type) -> None:
    assert type(value) is kind


def test_lengths_become_ints() -> None:
    size = Size((np.int64(2), True, 3))
    assert [type(n) for n in size] == [int, int, int]
    assert size == (2, 1, 3)


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ((2, 1.5), "item 1 is 'float'"),
        (["2"], "item 0 is 'str'"),
        ((None,), "item 0 is 'NoneType'"),
    ],
)
def test_other_lengths_are_refused(lengths: Any, message: str) -> None:
    with pytest.raises(TypeError, match=rf"takes an iterable of 'int' \({message}\)"):
        Size(lengths)


@pytest.mark.parametrize("name", layout.__all__)
def test_constants_are_themselves(name: str) -> None:
    constant = getattr(layout, name)
    if isinstance(constant, type):
        return
    assert repr(constant) == f"torch.{name}"
    assert pickle.loads(pickle.dumps(constant)) is constant
    assert copy.deepcopy(constant) is constant
