"""Attributes that only look: sizes, strides, memory, kinds."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import wengert
from tests.tensor.parity import assert_same, expressions

ATTRIBUTES = expressions("""
    T.Tensor(2,1).shape
    T.Tensor(T.Size([2,3])).shape
    T.Tensor(5).shape
    T.Tensor(np.int64(2)).shape
    T.LongTensor(2).shape
    T.FloatTensor.dtype
    T.FloatTensor.is_cuda
    matrix(T).new(2,3).shape
    matrix(T).new_empty((1,2)).shape
    matrix(T).is_pinned()
    matrix(T).shape*2
    matrix(T).shape+(1,)
    (1,)+matrix(T).shape
    matrix(T).shape[:1]
    matrix(T).shape[0]
    T.Size([1,2.5])
    T.Size('ab')
    T.Size()
    T.Size((T.tensor(1),2))
    matrix(T).shape==(2,2)
    3*matrix(T).shape
    T.Size([2,3]).numel()
    matrix(T).size()
    matrix(T).size(0)
    matrix(T).size(-1)
    matrix(T).size(2)
    matrix(T).size(dim=1)
    matrix(T).size('a')
    matrix(T).stride()
    matrix(T).T.stride(0)
    matrix(T).stride(3)
    T.zeros(2,0).stride()
    T.zeros(0,3).stride()
    T.zeros(2,3,1).transpose(0,2).stride()
    matrix(T)[1].storage_offset()
    matrix(T).element_size()
    matrix(T).itemsize
    matrix(T).nbytes
    matrix(T).is_contiguous()
    matrix(T).T.is_contiguous()
    T.zeros(2,3,4,5).is_contiguous(memory_format=T.channels_last)
    matrix(T).layout
    matrix(T).names
    matrix(T).name
    matrix(T).is_leaf
    matrix(T).is_sparse
    matrix(T).device
    matrix(T).dtype
    matrix(T).is_signed()
    matrix(T).is_cpu
    matrix(T).is_meta
    matrix(T).is_mkldnn
    matrix(T).is_inference()
    matrix(T).is_neg()
    matrix(T).is_conj()
    matrix(T).untyped_storage().nbytes()
    matrix(T).untyped_storage().size()
    matrix(T).is_same_size(matrix(T))
    matrix(T).is_nonzero()
    T.tensor([0.]).is_nonzero()
    matrix(T).nelement()
    matrix(T).ndimension()
    matrix(T).dim()
    T.numel(matrix(T))
    T.numel(3)
    T.is_tensor(3)
    T.is_floating_point(matrix(T))
    T.is_complex(matrix(T))
    T.is_nonzero(matrix(T))
    T.is_storage(matrix(T))
    matrix(T).dim_order()
    matrix(T).is_sparse_csr
    matrix(T).is_quantized
    matrix(T).is_xpu
""")


@pytest.mark.torch
@pytest.mark.parametrize("expression", ATTRIBUTES)
def test_attribute_equals_torch(expression: str, torch: Any) -> None:
    assert_same(torch, expression)


def test_dir_lists_what_is_there() -> None:
    x = wengert.ones(2, 2, requires_grad=True)
    x.sum().backward()
    for tensor in (x, x[0], x * 2, wengert.nn.Parameter()):
        with warnings.catch_warnings(action="ignore"):
            assert [name for name in dir(tensor) if not shown(tensor, name)] == []
    assert {"_grad", "_views", "grad", "sum"} < {*dir(x)}
    assert "_root" in dir(x[0])


def shown(tensor: Any, name: str) -> bool:
    try:
        return hasattr(tensor, name)
    except RuntimeError:  # `imag` of real values, `H` of what is no matrix
        return True


def test_data_ptr_is_the_address_of_the_first_element() -> None:
    array = np.zeros(4)
    assert wengert.from_numpy(array).data_ptr() == array.ctypes.data
    assert wengert.zeros(0).data_ptr() == 0


def test_views_show_one_storage() -> None:
    x = wengert.zeros(2, 3)
    assert x.t().untyped_storage() == x.untyped_storage()
    assert x.untyped_storage() != wengert.zeros(2, 3).untyped_storage()
    assert wengert.is_storage(x.untyped_storage())
    assert len(x.untyped_storage()) == 24
    assert x.untyped_storage().data_ptr() == x.data_ptr()


def test_is_set_to_compares_memory_and_geometry() -> None:
    x = wengert.zeros(2, 3)
    assert x.is_set_to(x.view(2, 3))
    assert not x.is_set_to(x.t())
    assert not x.is_set_to(x.clone())


def test_channels_last_strides_are_recognised() -> None:
    x = wengert.from_numpy(np.zeros((2, 4, 5, 3)).transpose(0, 3, 1, 2))
    assert x.is_contiguous(memory_format=wengert.channels_last)
    assert not x.is_contiguous()
    assert not x.is_contiguous(memory_format=wengert.preserve_format)
    assert not x.is_contiguous(memory_format=wengert.channels_last_3d)
    with pytest.raises(TypeError, match=r"must be torch\.memory_format, not str"):
        x.is_contiguous(memory_format="channels_last")


def test_size_is_a_tuple_that_stays_one_of_its_kind() -> None:
    shape = wengert.zeros(2, 3).shape
    assert shape == (2, 3)
    assert hash(shape) == hash((2, 3))
    assert isinstance(shape + (4,), wengert.Size)  # noqa: RUF005 (it is `+` that is tested)
    assert isinstance(shape[1:], wengert.Size)


@pytest.mark.torch
def test_real_and_imaginary_parts_are_views(torch: Any) -> None:
    def program(t: Any) -> list[Any]:
        z = t.tensor([1 + 2j, 3 - 1j], requires_grad=True)
        y = z * 2
        y.real = t.tensor([5.0, 6.0])
        y.imag.mul_(3)
        (y.real * y.imag).sum().backward()
        return [y.tolist(), z.grad.tolist(), t.ones(2).real.tolist()]

    assert program(wengert) == program(torch)
