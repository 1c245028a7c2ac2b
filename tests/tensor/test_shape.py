"""Methods with sizes one by one, transposes as attributes, views and what they share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from tests.tensor.both import compare


def attributes(lib: Any, x: Any) -> Any:
    y = x * 2
    return y.T, y.mT, y.H, y.mH, (y + lib.zeros(2, 2, 3, dtype=lib.float64)).mT


def sizes_by_name(lib: Any, x: Any) -> Any:
    return (
        x.view(size=(3, 2)), x.reshape(shape=(3, 2)), x.permute(dims=(1, 0)),
        x.expand(size=(2, 2, 3)), x.repeat(repeats=(2, 1)), x.tile(dims=(2,)), x.flip(dims=(0,)),
        x.squeeze(dim=0), x.reshape(lib.Size([6])), x.view([6]), x.flatten(start_dim=0),
    )  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("program", [attributes, sizes_by_name])
def test_program_equals_torch(program: Any, torch: Any) -> None:
    compare(program, torch, (2, 3))


@pytest.mark.torch
@pytest.mark.parametrize("name", ["T", "mT", "H", "mH"])
def test_transposes_of_complex_tensors_and_of_vectors(name: str, torch: Any) -> None:
    values = np.arange(6).reshape(2, 3) * (1 + 2j)
    ours, theirs = (getattr(lib.from_numpy(values), name) for lib in (wengert, torch))
    np.testing.assert_array_equal(ours.numpy(), theirs.resolve_conj().numpy())
    if name != "T":
        for lib in (wengert, torch):
            with pytest.raises(RuntimeError, match="only supported on matrices"):
                getattr(lib.zeros(3), name)


VIEWS = [
    lambda x: x.reshape(3, 2), lambda x: x.view(-1), lambda x: x.flatten(), lambda x: x.ravel(),
    lambda x: x.unflatten(1, (3, 1)), lambda x: x[None].squeeze(0), lambda x: x.unsqueeze(1),
    lambda x: x.transpose(0, 1), lambda x: x.t(), lambda x: x.T, lambda x: x.permute(1, 0),
    lambda x: x.movedim(0, 1), lambda x: x.expand(1, 2, 3), lambda x: x.diagonal(),
    lambda x: x.unfold(1, 2, 2), lambda x: x.as_strided((2, 2), (3, 1), 1), lambda x: x[1],
    lambda x: x.narrow(1, 0, 2), lambda x: x.select(1, 2), lambda x: x[:, ::2],
    lambda x: x.split(2, 1)[0], lambda x: x.chunk(2)[1], lambda x: x.unbind(1)[2],
    lambda x: x.tensor_split(2, 1)[0], lambda x: x.contiguous(), lambda x: x.view(x.dtype),
    lambda x: x.swapaxes(0, 1), lambda x: x.view_as(x), lambda x: x.detach(),
]  # fmt: skip
COPIES = [
    lambda x: x.clone(), lambda x: x.t().reshape(-1), lambda x: x.t().contiguous(),
    lambda x: x.flip(0), lambda x: x.roll(1), lambda x: x.repeat(1, 1), lambda x: x.tril(),
    lambda x: x.rot90(4), lambda x: x.repeat_interleave(1, 0), lambda x: x.diag(),
]  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("number", range(len(VIEWS) + len(COPIES)))
def test_memory_is_shared_where_torch_shares_it(number: int, torch: Any) -> None:
    take = (VIEWS + COPIES)[number]
    written = []
    for lib in (wengert, torch):
        x = lib.from_numpy(np.zeros((2, 3)))
        take(x).add_(1)
        written.append(x.numpy())
    np.testing.assert_array_equal(*written)
    assert written[0].any() == (number < len(VIEWS))


@pytest.mark.parametrize("take", [v for v in VIEWS[:24]])
def test_views_know_their_base(take: Any) -> None:
    x = wengert.zeros(2, 3)
    v = take(x)
    assert v._base is x
    assert v[...]._base is x
    assert v._is_view()


@pytest.mark.torch
def test_view_in_another_dtype(torch: Any) -> None:
    for dtype in ("int32", "float16", "int8", "uint8"):
        ours, theirs = (
            lib.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3)).view(getattr(lib, dtype))
            for lib in (wengert, torch)
        )
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
    for lib in (wengert, torch):
        x = lib.zeros(2, 3)
        with pytest.raises(RuntimeError, match="must be divisible by 2 to view Float as Double"):
            x.view(lib.float64)
        with pytest.raises(RuntimeError, match="must be 1 to view Float as Double"):
            x.t().view(lib.float64)
        with pytest.raises(RuntimeError, match="cannot be 0 to view Float as Char"):
            lib.tensor(1.0).view(lib.int8)
        assert not lib.ones(2, requires_grad=True).view(lib.int32).requires_grad


@pytest.mark.torch
def test_a_view_that_would_have_to_copy_is_refused(torch: Any) -> None:
    for lib in (wengert, torch):
        with pytest.raises(RuntimeError, match="view size is not compatible"):
            lib.zeros(2, 3).t().view(-1)
        with pytest.raises(RuntimeError, match="view size is not compatible"):
            (lib.zeros(2, 3).t() * 2).view(-1)  # results keep the order of their inputs
        assert tuple(lib.zeros(2, 3).t().view(3, 1, 2).shape) == (3, 1, 2)


def test_contiguous_is_the_tensor_itself_where_nothing_is_to_do() -> None:
    x = wengert.zeros(2, 3)
    assert x.contiguous() is x
    assert x.t().contiguous()._array.flags.c_contiguous


def test_clone_keeps_dense_strides() -> None:
    x = wengert.zeros(2, 3).t()
    assert x.clone()._array.strides == x._array.strides
    assert x.clone(memory_format=wengert.contiguous_format)._array.flags.c_contiguous
    images = wengert.zeros(2, 3, 4, 5).clone(memory_format=wengert.channels_last)
    assert images._array.transpose(0, 2, 3, 1).flags.c_contiguous


def test_as_strided_reads_from_its_base() -> None:
    x = wengert.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    part = (x * 2)[2:]
    whole = part.as_strided((4,), (1,), 0)
    assert whole.tolist() == [2.0, 4.0, 6.0, 8.0]
    (whole * whole).sum().backward()
    assert x.grad.tolist() == [8.0, 16.0, 24.0, 32.0]


def test_take_along_dim_refuses_what_is_out_of_bounds() -> None:
    with pytest.raises(RuntimeError, match="index 5 is out of bounds for dimension 1 with size 3"):
        wengert.zeros(2, 3).take_along_dim(wengert.tensor([[5]]), 1)


@pytest.mark.torch
def test_expand_takes_implicit_by_name(torch: Any) -> None:
    for library in (torch, wengert):
        x = library.tensor([1.0, 2.0])
        rows = [
            x.expand(3, 2, implicit=True),
            x.expand([3, 2], implicit=False),
            x.expand(size=(3, 2), implicit=True),
        ]
        assert [row.tolist() for row in rows] == [[[1.0, 2.0]] * 3] * 3
        with pytest.raises(TypeError):
            x.expand(implicit=True)
