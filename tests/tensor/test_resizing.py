"""Tensors that change their memory, storages, and the smaller methods around them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert


@pytest.mark.torch
@pytest.mark.parametrize("size", [(2, 2), (6,), (0,), (), (3, 2)])
def test_resize_keeps_what_fits(size: tuple[int, ...], torch: Any) -> None:
    for offset in (0, 2):
        ours, theirs = (lib.arange(8.0)[offset:].resize_(size) for lib in (wengert, torch))
        assert ours.shape == theirs.shape
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


def test_resize_that_fits_shares_memory() -> None:
    x = wengert.arange(6.0)
    y = x.detach()
    y.resize_(2, 2)[0, 1] = 9
    assert x[1] == 9


def test_resize_grows() -> None:
    x = wengert.tensor([1, 2]).resize_(2, 2)
    assert x.tolist() == [[1, 2], [0, 0]]
    assert x.resize_as_(wengert.zeros(1)).tolist() == [1]


def test_resize_refuses_a_graph() -> None:
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        wengert.ones(2, requires_grad=True).resize_(3)


def test_set_shows_other_memory() -> None:
    x, source = wengert.zeros(2), wengert.arange(6.0)
    x.set_(source)
    source[1] = 7
    assert x.tolist() == [0, 7, 2, 3, 4, 5]
    assert x.set_(source, 1, (2, 2), (2, 1)).tolist() == [[7, 2], [3, 4]]
    assert x.set_(source.untyped_storage(), 4, (2,)).tolist() == [4, 5]
    assert x.set_().shape == (0,)


def test_set_refuses_another_dtype() -> None:
    with pytest.raises(RuntimeError, match=r"torch\.float32 to a tensor of type torch\.int64"):
        wengert.zeros(2).set_(wengert.arange(2))
    with pytest.raises(TypeError, match="must be Tensor"):
        wengert.zeros(2).set_([1.0])
    with pytest.raises(RuntimeError, match="requires grad"):
        wengert.zeros(2, requires_grad=True).set_(wengert.ones(2))


def test_storage() -> None:
    x = wengert.arange(6.0).view(2, 3)
    with pytest.warns(UserWarning, match="TypedStorage is deprecated"):
        storage = x[1].storage()
    assert (len(storage), storage.size(), storage.nbytes()) == (6, 6, 24)
    assert storage.tolist() == [0, 1, 2, 3, 4, 5]
    assert storage[4] == 4
    assert storage.data_ptr() == x.data_ptr() == storage.untyped().data_ptr()
    assert storage.dtype is wengert.float32
    assert storage.device == wengert.device("cpu")
    assert repr(storage).endswith("(dtype=torch.float32, device=cpu) of size 6]")


@pytest.mark.torch
@pytest.mark.parametrize(
    ("shape", "wrap"),
    [((3, 3), False), ((2, 5), True), ((7, 3), False), ((7, 3), True), ((3, 3, 3), False)],
)
def test_fill_diagonal(shape: tuple[int, ...], wrap: bool, torch: Any) -> None:
    found = []
    for library in (wengert, torch):
        x = library.ones(shape, dtype=library.float64, requires_grad=True)
        y = (x * 2).fill_diagonal_(5.0, wrap)
        (y * y).sum().backward()
        found.append((y.detach().numpy(), x.grad.numpy()))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_fill_diagonal_refuses() -> None:
    with pytest.raises(RuntimeError, match="larger than 1"):
        wengert.zeros(3).fill_diagonal_(1)
    with pytest.raises(RuntimeError, match="equal length"):
        wengert.zeros(3, 2, 3).fill_diagonal_(1)


def test_sum_to_size() -> None:
    x = wengert.ones(2, 3, requires_grad=True)
    assert x.sum_to_size(3).tolist() == [2, 2, 2]
    x.sum_to_size((2, 1)).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[1, 1, 1]] * 2
    with pytest.raises(RuntimeError, match="expand"):
        x.sum_to_size(2, 2)
    for dtype in (wengert.uint8, wengert.int32, wengert.bool):
        whole = wengert.ones(2, 3, dtype=dtype)
        assert whole.sum_to_size(1, 3).dtype == wengert.int64
        assert whole.sum_to_size(2, 3).dtype == dtype


@pytest.mark.torch
def test_random_methods_draw_as_pytorchs(torch: Any) -> None:
    found = []
    for library in (wengert, torch):
        library.manual_seed(3)
        p = library.full((4,), 0.5)
        found.append([p.bernoulli().tolist(), p.bernoulli(0.3).tolist(), p.multinomial(3).tolist()])
    assert found[0] == found[1]


def test_methods_as_functions() -> None:
    x = wengert.tensor([1.0, 4.0])
    assert wengert.sqrt_(x) is x
    assert x.tolist() == [1, 2]
    assert wengert.is_signed(x)
    assert not wengert.detach(x.requires_grad_()).requires_grad
    assert x.resolve_neg() is x
    with pytest.raises(AttributeError, match="no_such_"):
        wengert.no_such_(x)


@pytest.mark.torch
def test_every_inplace_function_of_pytorch_that_is_a_method_is_there(torch: Any) -> None:
    theirs = [n for n in dir(torch) if n.endswith("_") and n[0] != "_" and hasattr(torch.Tensor, n)]
    missing = [n for n in theirs if hasattr(wengert.Tensor, n) and not hasattr(wengert, n)]
    assert missing == []


def test_constants() -> None:
    assert (wengert.pi, wengert.e, wengert.inf) == (np.pi, np.e, np.inf)
    assert wengert.nan != wengert.nan
    assert wengert.zeros(2)[:, wengert.newaxis].shape == (2, 1)
