"""The conversions that the other tests of this folder stand on."""

from __future__ import annotations

from typing import Any

import pytest

import wengert
from tests.parity.convert import NoCounterpartError, tensors_in, to_torch, to_wengert

pytestmark = pytest.mark.torch

DTYPES = (
    "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "float16", "bfloat16",
    "float32", "float64", "complex64", "complex128",
)  # fmt: skip


@pytest.mark.parametrize("name", DTYPES)
def test_tensors_there_and_back(torch: Any, name: str) -> None:
    t = torch.tensor([[0, 1, 2], [3, 4, 5]]).to(getattr(torch, name))
    ours = to_wengert(t)
    assert ours.dtype is getattr(wengert, name)
    assert torch.equal(to_torch(ours), t)


@pytest.mark.parametrize(
    "view",
    [
        lambda t: t.t(),
        lambda t: t[:, ::2],
        lambda t: t[1:],
        lambda t: t[0].expand(4, 3),
        lambda t: t[:0],
        lambda t: t[0, 0],
    ],
)
def test_layout_is_kept(torch: Any, view: Any) -> None:
    t = view(torch.arange(6.0).reshape(2, 3))
    ours = to_wengert(t)
    assert (tuple(ours.shape), ours.stride()) == (tuple(t.shape), t.stride())
    assert ours.tolist() == t.tolist()


def test_memory_is_not_shared_and_flags_are_kept(torch: Any) -> None:
    t = torch.zeros(2, requires_grad=True)
    ours = to_wengert(t)
    ours.data.add_(1)
    assert t.tolist() == [0.0, 0.0]
    assert ours.requires_grad
    assert ours.is_leaf
    assert to_torch(ours).requires_grad


def test_conjugates_are_computed(torch: Any) -> None:
    assert to_wengert(torch.tensor([1 + 2j]).conj()).tolist() == [1 - 2j]


def test_structures(torch: Any) -> None:
    t, u = torch.zeros(2), torch.ones(3)
    value = {"a": [t, (t, 1.5)], "b": slice(u, None), "c": {"d": "text"}}
    ours = to_wengert(value)
    assert ours["a"][0] is ours["a"][1][0]
    assert [tuple(x.shape) for x in tensors_in(ours)] == [(2,), (2,)]
    assert ours["b"].start.shape == (3,)
    assert ours["c"] == {"d": "text"}
    assert torch.equal(to_torch(ours)["a"][1][0], t)


def test_what_is_no_tensor(torch: Any) -> None:
    assert to_wengert(torch.float64) is wengert.float64
    assert to_wengert(torch.device("cpu")) == wengert.device("cpu")
    assert to_wengert(torch.strided) is wengert.strided
    assert to_wengert(torch.Size([2, 3])) == wengert.Size([2, 3])
    assert to_wengert(torch.nn.functional.gelu) is wengert.nn.functional.gelu
    assert to_wengert(torch.exp) is wengert.exp
    assert to_torch(wengert.int32) is torch.int32
    assert to_wengert(len) is len
    assert isinstance(to_wengert(torch.nn.Parameter(torch.zeros(1))), wengert.nn.Parameter)


def test_generators_continue_the_stream(torch: Any) -> None:
    theirs = torch.Generator().manual_seed(3)
    torch.rand(5, generator=theirs)
    ours = to_wengert(theirs)
    expected = torch.rand(5, generator=theirs).tolist()
    assert wengert.rand(5, generator=ours).tolist() == expected


def test_what_has_no_counterpart_says_so(torch: Any) -> None:
    with pytest.raises(NoCounterpartError):
        to_wengert(torch.zeros(2, 2).to_sparse())
