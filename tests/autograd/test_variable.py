"""The old name of tensors."""

from __future__ import annotations

import pytest

import wengert
from wengert.autograd import Variable


def test_a_variable_is_a_tensor_of_the_same_memory() -> None:
    y = wengert.ones(2, requires_grad=True) * 2
    v = Variable(y, requires_grad=True)
    assert type(v) is wengert.Tensor
    assert v.is_leaf
    assert v.requires_grad
    assert v.data_ptr() == y.data_ptr()
    assert not Variable(y).requires_grad
    assert isinstance(y, Variable)
    assert not isinstance(1.0, Variable)


def test_data_must_be_a_tensor() -> None:
    with pytest.raises(TypeError, match="has to be a tensor, but got list"):
        Variable([1.0])
