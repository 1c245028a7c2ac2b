"""Conversions: dtypes, Python numbers, NumPy arrays, pickles, copies."""

from __future__ import annotations

import copy
import os
import pickle
from typing import Any

import numpy as np
import pytest

import wengert
from tests.tensor.parity import assert_same, expressions

CONVERSIONS = expressions("""
    isinstance(T.tensor(1),T.FloatTensor)
    isinstance(leaf(T),T.FloatTensor)
    isinstance(3,T.FloatTensor)
    issubclass(T.FloatTensor,T.Tensor)
    node(T).numpy()
    leaf(T).numpy(force=True)
    np.asarray(leaf(T))
    np.asarray(matrix(T),dtype=np.int32)
    np.array(matrix(T))
    matrix(T).item()
    T.tensor([1]).item()
    T.tensor([]).item()
    float(matrix(T))
    int(matrix(T))
    int(T.tensor(float('nan')))
    int(T.tensor(float('inf')))
    bool(matrix(T))
    bool(T.tensor([]))
    bool(T.tensor([0]))
    [1,2,3][T.tensor(1)]
    [1,2][T.tensor([1])]
    [1,2][T.tensor([1,2])]
    [1,2][T.tensor(True)]
    complex(matrix(T))
    int(T.tensor(2.7))
    float(T.tensor(True))
    float(leaf(T)[0])
    f'{T.tensor(1.5):.3f}'
    f'{matrix(T):.2f}'
    f'{matrix(T)}'
    f'{T.tensor([1.5]):.3f}'
    f'{T.tensor(1.5)}'
    f'{leaf(T)[0]:.2f}'
    f'{leaf(T)[0]}'
    copy.deepcopy(node(T))
    copy.deepcopy(leaf(T))
    pickle.loads(pickle.dumps(leaf(T)))
    pickle.loads(pickle.dumps(node(T)))
    leaf(T).__dlpack__()
    matrix(T).to(T.int64)
    matrix(T).to('cpu') is matrix(T)
    matrix(T).to(T.float32) is matrix(T)
    matrix(T).to(T.float32,copy=True) is matrix(T)
    matrix(T).to(T.tensor([1]))
    matrix(T).to('cpu',T.float64)
    matrix(T).to(device='cpu',dtype=T.float16)
    matrix(T).to()
    matrix(T).to(3)
    matrix(T).to('foo')
    matrix(T).to(None)
    matrix(T).to(T.int64,'cpu')
    matrix(T).to('cpu',T.int64,True,True)
    matrix(T).to(dtype=T.float64,non_blocking=True)
    matrix(T).to(T.channels_last)
    matrix(T).to(memory_format=T.preserve_format)
    matrix(T).to(float)
    matrix(T).to(dtype='float')
    matrix(T).type()
    T.tensor([True]).type()
    T.tensor([1j]).type()
    T.tensor([1],dtype=T.bfloat16).type()
    matrix(T).type('torch.IntTensor')
    matrix(T).type('foo')
    matrix(T).type(float)
    matrix(T).type(3)
    matrix(T).type_as(T.tensor([1]))
    matrix(T).type_as(3)
    matrix(T).cuda()
    matrix(T).pin_memory()
    matrix(T).share_memory_()
    matrix(T).get_device()
    T.tensor([1,2]).fill_(2.7)
    T.tensor([1,2]).fill_('a')
    T.tensor([1.,2]).fill_(T.tensor(3))
    T.tensor([1.,2]).fill_(T.tensor([3]))
    T.tensor([1.,2]).fill_(T.tensor([3,4]))
    T.tensor([1,2]).fill_(1j)
    T.tensor([1,2],dtype=T.uint8).fill_(300)
    leaf(T).fill_(1)
    leaf(T).zero_()
    node(T).fill_(1)
    node(T).zero_()
    T.fill(matrix(T),3)
    T.fill(leaf(T),T.tensor(3.,requires_grad=True))
    matrix(T).T.zero_()
""")


@pytest.mark.torch
@pytest.mark.parametrize("expression", CONVERSIONS)
def test_conversion_equals_torch(expression: str, torch: Any) -> None:
    assert_same(torch, expression)


CONVERTERS = ("float", "double", "half", "bfloat16", "int", "long", "short", "char", "byte", "bool",
              "cfloat", "cdouble")  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("name", CONVERTERS)
def test_converters_equal_torch(name: str, torch: Any) -> None:
    assert_same(torch, f"T.tensor([0.0, 1.7, 100.0]).{name}()")
    assert_same(torch, f"T.tensor([0, 1, 100]).{name}()")


def test_numpy_shares_memory() -> None:
    x = wengert.zeros(3)
    x.numpy()[1] = 7
    assert x.tolist() == [0, 7, 0]
    assert np.shares_memory(np.asarray(x), x.numpy())
    assert not np.shares_memory(np.array(x), x.numpy())


def test_numpy_of_bfloat16_keeps_the_bits() -> None:
    array = wengert.tensor([1.5]).bfloat16().numpy()
    assert array.dtype.name == "bfloat16"
    assert array.astype(np.float32).tolist() == [1.5]


def test_conversion_is_recorded() -> None:
    x = wengert.ones(2, requires_grad=True)
    x.to(wengert.float64).sum().backward()
    assert x.grad.dtype is wengert.float32
    assert not x.long().requires_grad


def test_to_returns_itself_unless_a_copy_is_asked_for() -> None:
    x = wengert.ones(2)
    assert x.to(wengert.float32) is x
    assert x.float() is x
    assert x.type_as(x) is x
    copied = x.to(wengert.float32, copy=True)
    assert copied is not x
    assert not np.shares_memory(copied.numpy(), x.numpy())


def test_fill_gives_the_old_value_a_zero_gradient() -> None:
    x = wengert.ones(3, requires_grad=True)
    value = wengert.tensor(2.0, requires_grad=True)
    y = (x * 2).fill_(value)
    y.sum().backward()
    assert x.grad.tolist() == [0, 0, 0]
    assert value.grad.item() == 3


def test_zero_of_a_view_reaches_its_base() -> None:
    x = wengert.ones(2, 2, requires_grad=True)
    y = x * 3
    y.t()[0].zero_()
    y.sum().backward()
    assert y.tolist() == [[0, 3], [0, 3]]
    assert x.grad.tolist() == [[0, 3], [0, 3]]


def test_elements_can_be_replaced_one_by_one() -> None:
    assert wengert.tensor([1.0, 2.0]).apply_(lambda v: v * 10).tolist() == [10, 20]
    ours = wengert.tensor([1.0, 2.0]).map_(wengert.tensor(3.0), lambda a, b: a + b)
    assert ours.tolist() == [4, 5]
    with pytest.raises(RuntimeError, match="apply_"):
        wengert.ones(2, requires_grad=True).apply_(lambda v: v)


def test_deepcopy_keeps_gradient_attributes_and_class() -> None:
    class Mine(wengert.Tensor):
        pass

    x = Mine([1, 2]).requires_grad_()
    x.grad, x.note = wengert.ones(2), ["a"]
    twin, again = copy.deepcopy([x, x])
    assert twin is again
    assert type(twin) is Mine
    assert twin.requires_grad
    assert twin.grad.tolist() == [1, 1]
    assert twin.note == ["a"]
    assert twin.note is not x.note
    twin.detach().zero_()
    assert x.tolist() == [1, 2]


def test_copy_shares_memory() -> None:
    x = wengert.ones(2)
    copy.copy(x).zero_()
    assert x.tolist() == [0, 0]


@pytest.mark.parametrize("dtype", ["bool", "int64", "float32", "bfloat16", "complex64"])
def test_pickles_keep_dtype_and_values(dtype: str) -> None:
    x = wengert.ones(2, 3, dtype=getattr(wengert, dtype))
    y = pickle.loads(pickle.dumps(x))
    assert y.dtype is x.dtype
    assert y.tolist() == x.tolist()
    assert (x + y).tolist() == (x + x).tolist()


def test_an_array_from_a_pickle_is_as_any_other() -> None:
    array = pickle.loads(pickle.dumps(np.ones(2)))  # its dtype object is one of its own
    assert (
        wengert.from_numpy(array) + wengert.tensor([1.0, 2.0], dtype=wengert.float64)
    ).tolist() == [2.0, 3.0]
    assert (wengert.tensor(array) + wengert.from_numpy(np.ones(2))).tolist() == [2.0, 2.0]


def test_named_constants_are_pickled_as_themselves() -> None:
    for value in (wengert.float32, wengert.device("cuda:1"), wengert.channels_last):
        assert pickle.loads(pickle.dumps(value)) == value


def test_hash_is_identity() -> None:
    x, y = wengert.ones(1), wengert.ones(1)
    assert len({x, y, x}) == 2


def test_forked_processes_write_to_shared_memory() -> None:
    x = wengert.zeros(2).share_memory_()
    assert x.is_shared()
    child = os.fork()
    if child == 0:
        x.numpy()[0] = 5
        os._exit(0)
    os.waitpid(child, 0)
    assert x.tolist() == [5, 0]
    base = wengert.zeros(2)
    assert base.view(2) is not None
    view = base.view(2)
    with pytest.raises(RuntimeError, match="view"):
        view.share_memory_()


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("n", [1, 300])
def test_doubles_become_halves_by_way_of_singles(torch: Any, dtype: str, n: int) -> None:
    for value in (1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-8 + 2.0**-40, 1e300, -1e300, float("nan")):
        ours = wengert.full((n,), value, dtype=wengert.float64).to(getattr(wengert, dtype))
        theirs = torch.full((n,), value, dtype=torch.float64).to(getattr(torch, dtype))
        np.testing.assert_array_equal(ours.float().numpy(), theirs.float().numpy())
