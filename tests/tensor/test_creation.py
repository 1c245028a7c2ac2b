"""Making tensors: from data, of a size, of a range, by the old constructors."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
import pytest

import wengert
from tests.tensor.parity import assert_same, expressions

FROM_DATA = expressions("""
    T.tensor([np.float64(1)])
    T.tensor([np.float32(1)])
    T.tensor(np.float64(1))
    T.tensor([np.float64(1),2])
    T.tensor([np.int32(1)])
    T.tensor([np.int32(1),2.5])
    T.tensor([np.array([1.,2.])])
    T.tensor([np.array([1,2],dtype=np.int32),[1,2]])
    T.tensor([T.tensor([1.,2.])])
    T.tensor([T.tensor([1.])])
    T.tensor([[T.tensor([1.])]])
    T.tensor([T.tensor(1.,dtype=T.float64),1])
    T.tensor([T.tensor(1.,requires_grad=True),2.])
    T.tensor('a')
    T.tensor(['a'])
    T.tensor(None)
    T.tensor([None])
    T.tensor({})
    T.tensor([{}])
    T.tensor([])
    T.tensor([[]])
    T.tensor([[],[]])
    T.tensor([[1],[]])
    T.tensor([1,[2]])
    T.tensor([[1],2])
    T.tensor([[1,2,3],[1,2]])
    T.tensor([[[1],[2]],[[1],[2,3]]])
    T.tensor(2**63)
    T.tensor([2**63])
    T.tensor(2**63,dtype=T.float32)
    T.tensor(300,dtype=T.uint8)
    T.tensor(-1,dtype=T.uint8)
    T.tensor([300],dtype=T.uint8)
    T.tensor(1.5,dtype=T.int32)
    T.tensor([1.5,2],dtype=T.int64)
    T.tensor([1,1j])
    T.tensor(1j,dtype=T.float32)
    T.tensor(True)
    T.tensor([True,2])
    T.tensor([True,2.])
    T.tensor(range(3))
    T.tensor((1,2))
    T.tensor(np.array(['a']))
    T.tensor(np.array([1.],dtype='>f8'))
    T.tensor(np.arange(3)[::-1])
    T.tensor(np.array([None]))
    T.tensor(array.array('f',[1,2]))
    T.tensor(b'ab')
    T.tensor(bytearray(b'ab'))
    T.tensor(memoryview(b'ab'))
    T.tensor({1,2})
    T.tensor(iter([1]))
    T.tensor(1,dtype='float32')
    T.tensor(1,dtype=float)
    T.tensor(1,dtype=int)
    T.tensor(1,dtype=np.float32)
    T.tensor(1,requires_grad=True)
    T.tensor(float('nan'),dtype=T.int32)
    T.tensor(float('inf'),dtype=T.bool)
    T.tensor([1,2],device='cuda')
    T.tensor(np.float16(2))
    T.tensor(np.bool_(True))
    T.tensor([np.bool_(True)])
    T.tensor(T.tensor([1,2]))
    T.tensor(np.array([1,2],dtype=np.uint16))
    T.tensor(np.array([1,2],dtype='M8[s]'))
    T.tensor(np.longdouble(1))
    T.tensor(1e40)
    T.tensor(1e40,dtype=T.float16)
    T.tensor([[1,2],(3,4)])
    T.tensor([[1,2],range(2)])
    T.tensor()
    T.tensor(1,2)
    T.tensor(data=[1])
    T.tensor([[T.tensor(1),2],[3,4]])
    T.from_numpy([1])
    T.from_numpy(np.array(['a']))
    T.from_numpy(np.arange(3)[::-1])
    T.from_numpy(np.float32(3))
    T.from_numpy(np.array(3.))
    T.as_tensor(np.arange(3)[::-1])
    T.as_tensor([1,2])
    T.asarray([1.])
    T.asarray(np.arange(2),copy=True)
    T.asarray([1.],copy=False)
    T.asarray(np.arange(2),dtype=T.float32,copy=False)
    T.asarray(np.float32(2))
    T.asarray(np.arange(2.),requires_grad=True)
    T.asarray(T.tensor([1.],requires_grad=True))
    T.asarray(T.tensor([1.],requires_grad=True),requires_grad=True)
    T.asarray(array.array('f',[1,2]))
    T.scalar_tensor(2)
    T.scalar_tensor(True)
    T.scalar_tensor('a')
    T.tensor([1]).new_full((2,),1.5)
    T.from_dlpack(np.arange(3))
    T.from_dlpack([1])
""")

OF_A_SIZE = expressions("""
    T.full((2,),True)
    T.full((2,),1j)
    T.full((2,),T.tensor(3))
    T.full((2,),T.tensor([3]))
    T.full((2,),T.tensor([3,4]))
    T.full((2,),300,dtype=T.uint8)
    T.full(2,3)
    T.full((2,))
    T.full((2,),'a')
    T.full((2,),1.5,dtype=T.int64)
    T.full((2,),float('nan'),dtype=T.int64)
    T.zeros(2,-1)
    T.zeros('a')
    T.zeros(2.0)
    T.zeros((2,2.0))
    T.zeros(2,True)
    T.zeros((2,False))
    T.zeros(True,2)
    T.zeros([True])
    T.zeros(2,np.bool_(True))
    T.ones(2).view(2,True)
    T.zeros([2],[3])
    T.zeros()
    T.zeros(())
    T.zeros(T.tensor(2))
    T.zeros(T.tensor(2),3)
    T.zeros((T.tensor(2),3))
    T.zeros(np.int64(2))
    T.zeros(T.tensor([2,3]))
    T.zeros(T.tensor([2]))
    T.zeros(T.tensor(2.))
    T.zeros(True)
    T.zeros(2,dtype='float32')
    T.zeros(2,dtype=float)
    T.zeros(2,dtype=bool)
    T.zeros(2,dtype=int,requires_grad=True)
    T.zeros(size=(2,))
    T.zeros(None)
    T.zeros(2,foo=1)
    T.zeros((2,),(3,))
    T.zeros(2,out=T.ones(2))
    T.zeros(2,out=T.ones(3))
    T.zeros(2,names=None)
    T.zeros(2,requires_grad=1)
    T.zeros_like([1])
    T.zeros_like(T.tensor([1]),requires_grad=True)
    T.zeros(2,memory_format=T.contiguous_format)
    T.zeros(np.array([2,3]))
    T.zeros(*np.array([2,3]))
    T.full_like(T.tensor([1,2]),2.5)
    T.full_like(T.tensor([1.]),T.tensor(2))
    T.ones(2,dtype=None)
    T.eye(2)
    T.eye(2,3)
    T.eye(-1)
    T.eye(2,-1)
    T.eye(2.)
    T.eye(2,dtype=T.int64)
    T.eye(0)
""")

RANGES = expressions("""
    T.arange(0)
    T.arange(1,2.5,.5)
    T.arange(5,0)
    T.arange(0,5,0)
    T.arange(0,5,-1)
    T.arange(float('inf'))
    T.arange(float('nan'))
    T.arange()
    T.arange(T.tensor(3))
    T.arange(T.tensor(3.),T.tensor(5))
    T.arange(end=3)
    T.arange(start=1,end=3)
    T.arange('a')
    T.arange(3,dtype=T.bool)
    T.arange(300,dtype=T.uint8).sum()
    T.arange(2,dtype=T.float16)
    T.arange(1j)
    T.arange(True)
    T.arange(3,requires_grad=True)
    T.arange(3.,requires_grad=True)
    T.arange(2**63)
    T.arange(1,5,step=2)
    T.arange(0,1,.1,dtype=T.int64)
    T.arange(0,2.5,1,dtype=T.int64)
    T.arange(np.int32(3))
    T.arange(np.float32(3))
    T.linspace(0,1,5)
    T.linspace(0,1)
    T.linspace(0,1,-1)
    T.linspace(0,1,1)
    T.linspace(0,1,0)
    T.linspace(0,10,4,dtype=T.int64)
    T.linspace(0,1j,3)
    T.linspace(T.tensor([0.]),1,3)
    T.linspace(0,1,2.5)
    T.linspace(0,1,0,dtype=T.bool)
    T.linspace(0,1,3,dtype=T.bool)
    T.linspace(0,300,4,dtype=T.int8)
    T.linspace(0,float('nan'),4,dtype=T.int64)
    T.linspace(0,1e300,4)
    T.linspace(0,float('inf'),4)
    T.logspace(0.3,1.9,7,dtype=T.int64)
    T.logspace(0.7,0.9,1,dtype=T.int64)
    T.logspace(0,300,4)
    T.logspace(0,300,4,dtype=T.int8)
    T.logspace(0,2,3,dtype=T.bool)
    T.linspace('a',1,3)
    T.linspace(0,1,steps=3)
    T.linspace(start=0,end=3,steps=4)
    T.linspace(0,1j,3,dtype=T.float32)
    T.linspace(T.tensor(0),T.tensor(1),3)
    T.logspace(0,2,3)
    T.logspace(0,3,4,base=2)
    T.logspace(0,3,4,2)
    T.logspace(0,3,4,2,dtype=T.int64)
    T.logspace(0,1,-1)
    T.logspace(0,1,1)
    T.range(0,3)
    T.range(1,2,.5)
    T.range(3,0)
""")

OLD_CONSTRUCTORS = expressions("""
    T.Tensor()
    T.Tensor([1,2])
    T.Tensor((2,3))
    T.Tensor(2.5)
    T.Tensor(np.array([1,2]))
    T.Tensor(np.array([1.,2.]))
    T.Tensor(np.float32([1,2]))
    T.Tensor(T.tensor([1,2]))
    T.Tensor(T.tensor([1.,2]))
    T.Tensor(T.tensor(2.))
    T.Tensor(T.tensor(2))
    T.Tensor([[1,2],[3]])
    T.Tensor('a')
    T.Tensor([1.],device='cpu')
    T.Tensor([1.],dtype=T.int64)
    T.Tensor(leaf(T))
    T.Tensor(-1)
    T.Tensor(2,'a')
    T.Tensor(2,[1])
    T.Tensor(None)
    T.Tensor([])
    T.LongTensor([1.5])
    T.LongTensor([1,2])
    T.LongTensor(np.array([1,2],dtype=np.int32))
    T.LongTensor(T.tensor([1.]))
    T.FloatTensor(T.tensor([1]))
    T.FloatTensor(T.tensor([1.]))
    T.ByteTensor([300])
    T.BoolTensor([0,1,2])
    T.HalfTensor([1])
    T.FloatTensor(np.array([1.]))
    T.FloatTensor
    T.FloatTensor.__name__
    T.FloatTensor.__module__
    T.FloatTensor(device='cpu')
    matrix(T).new([1,2])
    matrix(T).new_tensor([1,2])
    matrix(T).new_tensor(T.tensor([1]))
    matrix(T).new_tensor(np.array([1]))
    matrix(T).new_tensor(1,dtype=T.int32)
    matrix(T).new_zeros(2)
    matrix(T).new_zeros(2,3)
    matrix(T).new_zeros((2,))
    matrix(T).new_full((2,),3)
    matrix(T).new_ones([1])
    matrix(T).new_zeros(2,dtype=T.int64,requires_grad=False)
""")


@pytest.mark.torch
@pytest.mark.parametrize("expression", FROM_DATA + OF_A_SIZE + RANGES + OLD_CONSTRUCTORS)
def test_creation_equals_torch(expression: str, torch: Any) -> None:
    assert_same(torch, expression)


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(
    "call", ["arange(0, 7, 0.1", "arange(-3.3, 50, 0.7", "linspace(-1.7, 3, 57", "linspace(5, 0, 8"]
)
def test_ranges_equal_torch_to_an_ulp(call: str, dtype: str, torch: Any) -> None:
    eps = torch.finfo(getattr(torch, dtype)).eps
    theirs, ours = (eval(f"T.{call}, dtype=T.{dtype})", {"T": t}) for t in (torch, wengert))
    scale = theirs.double().abs().max().item()
    np.testing.assert_allclose(
        ours.double().numpy(), theirs.double().numpy(), rtol=0, atol=eps * scale
    )


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int64"])
@pytest.mark.parametrize("ends", [(-1, 1), (0, 6.2831853), (-3.3, 7.1), (5, -5), (1e-3, 90)])
def test_linspace_has_the_bits_of_torch(dtype: str, ends: Any, torch: Any) -> None:
    """What comes of them may turn on the last one: points of a grid, ends of bins."""
    for n in (2, 3, 10, 33, 100, 1001):
        assert_same(torch, f"T.linspace({ends[0]},{ends[1]},{n},dtype=T.{dtype})")


@pytest.mark.torch
def test_logspace_equals_torch_to_an_ulp(torch: Any) -> None:
    theirs, ours = (t.logspace(-3, 4, 29) for t in (torch, wengert))
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=3e-7)


def test_from_numpy_shares_memory_and_tensor_copies() -> None:
    array = np.zeros(3)
    shared, copied, again = (
        wengert.from_numpy(array),
        wengert.tensor(array),
        wengert.as_tensor(array),
    )
    array[1] = 5
    assert shared.tolist() == again.tolist() == [0, 5, 0]
    assert copied.tolist() == [0, 0, 0]
    assert np.shares_memory(wengert.asarray(array).numpy(), array)
    assert not np.shares_memory(wengert.asarray(array, copy=True).numpy(), array)


@pytest.mark.torch
def test_members_of_enumerations_are_the_numbers_that_they_are(torch: Any) -> None:
    level = enum.IntEnum("level", "low high")
    word = enum.Enum("word", "one")
    for library in (wengert, torch):
        assert library.tensor(level.high).tolist() == 2
        assert library.tensor([level.low, [level.high][0], 3]).tolist() == [1, 2, 3]
        assert library.as_tensor((level.high, 0.5)).tolist() == [2, 0.5]
        with pytest.raises(RuntimeError, match="Could not infer dtype of word"):
            library.tensor(word.one)


def test_as_tensor_keeps_the_tensor_and_its_history() -> None:
    x = wengert.ones(2, requires_grad=True)
    assert wengert.as_tensor(x) is x
    assert wengert.as_tensor(x, dtype=wengert.float64).requires_grad


def test_copying_a_tensor_warns() -> None:
    x = wengert.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="clone"):
        copied = wengert.tensor(x)
    assert not copied.requires_grad
    assert not np.shares_memory(copied.numpy(), x.detach().numpy())


def test_a_list_of_arrays_warns_and_points_to_the_users_line() -> None:
    with pytest.warns(UserWarning, match="extremely slow") as caught:
        made = wengert.tensor([np.zeros(2, np.float32), np.ones(2, np.float64)])
    assert caught[0].filename == __file__
    assert made.dtype is wengert.float64
    assert made.tolist() == [[0, 0], [1, 1]]


def test_arrays_of_one_list_must_have_one_shape() -> None:
    with (
        pytest.warns(UserWarning, match="slow"),
        pytest.raises(ValueError, match="expected sequence of shape"),
    ):
        wengert.tensor([np.zeros(2), np.zeros(3)])


def test_a_ragged_list_loses_nothing_silently() -> None:
    with pytest.raises(ValueError, match=r"length 0 at dim 1 \(got 1\)"):
        wengert.tensor([[], [1]])


@pytest.mark.torch
def test_tensors_of_torch_are_taken_without_a_copy(torch: Any) -> None:
    theirs = torch.arange(6.0).reshape(2, 3)
    for ours in (wengert.from_dlpack(theirs), wengert.as_tensor(theirs)):
        assert ours.data_ptr() == theirs.data_ptr()
    ours = wengert.arange(3.0)
    assert torch.from_dlpack(ours).data_ptr() == ours.data_ptr()
    assert torch.tensor(ours.tolist()).equal(torch.from_numpy(ours.numpy()))


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "bfloat16", "float64", "complex64"])
def test_dlpack_keeps_the_dtype(dtype: str, torch: Any) -> None:
    ours = wengert.from_dlpack(torch.ones(2, dtype=getattr(torch, dtype)))
    assert str(ours.dtype) == f"torch.{dtype}"
    theirs = torch.from_dlpack(ours)
    assert str(theirs.dtype) == f"torch.{dtype}"
    assert theirs.data_ptr() == ours.data_ptr()


def test_a_capsule_is_read_once() -> None:
    for dtype in (wengert.float32, wengert.bfloat16):
        x = wengert.arange(3, dtype=dtype)
        for capsule in (x.__dlpack__(), x.__dlpack__(stream=None, max_version=(1, 0))):
            y = wengert.from_dlpack(capsule)
            assert (y.data_ptr(), y.tolist()) == (x.data_ptr(), [0, 1, 2])
        with pytest.raises(RuntimeError, match="consumed only once"):
            wengert.from_dlpack(capsule)
        assert wengert.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()
    with pytest.raises(AssertionError, match="stream should be None on cpu"):
        x.__dlpack__(stream=1)


def test_bytes_are_elements() -> None:
    data = bytearray(b"\x01\x00\x00\x00")
    assert wengert.asarray(data, dtype=wengert.int32).tolist() == [1]
    shared = wengert.asarray(data, dtype=wengert.int16, copy=False)
    data[2] = 5
    assert shared.tolist() == [1, 5]
    assert wengert.asarray(data, dtype=wengert.int16, copy=True).data_ptr() != shared.data_ptr()


def test_likes_keep_the_order_of_memory() -> None:
    x = wengert.zeros(2, 3).t()
    for made in (wengert.zeros_like(x), wengert.ones_like(x), wengert.full_like(x, 2)):
        assert made.stride() == x.stride()


def test_out_receives_the_result() -> None:
    out = wengert.ones(2)
    assert wengert.zeros(3, out=out) is out
    assert out.tolist() == [0, 0, 0]


def test_the_default_dtype_decides() -> None:
    wengert.set_default_dtype(wengert.float64)
    try:
        for made in (
            wengert.zeros(1),
            wengert.tensor(1.5),
            wengert.arange(1.5),
            wengert.Tensor([1]),
        ):
            assert made.dtype is wengert.float64
        assert wengert.tensor(1j).dtype is wengert.complex128
    finally:
        wengert.set_default_dtype(wengert.float32)


def test_a_subclass_is_constructed_as_itself() -> None:
    class Mine(wengert.Tensor):
        pass

    made = Mine([1, 2])
    assert type(made) is Mine
    assert made.tolist() == [1, 2]
    assert wengert.is_tensor(made)


def test_too_much_memory_is_a_runtime_error() -> None:
    with pytest.raises(RuntimeError, match="can't allocate"):
        wengert.zeros(10**10, 10**10)


def test_pinned_memory_is_refused() -> None:
    with pytest.raises(RuntimeError, match="pin_memory"):
        wengert.zeros(2, pin_memory=True)


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ranges_of_floats_start_with_the_zero_of_pytorch(torch: Any, dtype: str) -> None:
    for first, last, by in [(0, -3, -1), (0.0, 3.0, 1), (0, 3.0, 1.0), (0, -1, -0.25), (2, 0, -1)]:
        ours = wengert.arange(first, last, by, dtype=getattr(wengert, dtype)).numpy()
        theirs = torch.arange(first, last, by, dtype=getattr(torch, dtype)).numpy()
        np.testing.assert_array_equal(ours, theirs, strict=True)
        np.testing.assert_array_equal(np.signbit(ours), np.signbit(theirs))


def test_full_like_keeps_the_sign_of_zero():
    assert wengert.signbit(wengert.full_like(wengert.ones(2), -0.0)).all()


def test_eye_of_any_shape_has_one_diagonal():
    for rows, columns in ((0, 0), (0, 3), (3, 0), (1, 4), (4, 1), (3, 5), (5, 3)):
        expected = np.eye(rows, columns, dtype=np.float32)
        np.testing.assert_array_equal(wengert.eye(rows, columns).numpy(), expected)


@pytest.mark.torch
@pytest.mark.parametrize("n", [2, 32, 255, 1001, 50_000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_long_linspaces_are_pytorchs(torch: Any, n: int, dtype: str) -> None:
    for first, last in [(0, 1), (-3.7, 1e6), (0.1, -0.3), (1e-300, 1.0), (2, 2)]:
        ours = wengert.linspace(first, last, n, dtype=getattr(wengert, dtype)).numpy()
        theirs = torch.linspace(first, last, n, dtype=getattr(torch, dtype)).numpy()
        np.testing.assert_array_equal(ours, theirs, strict=True)
