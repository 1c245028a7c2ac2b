"""How `.grad` lies in memory: as its tensor does, where that has no gaps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
from wengert.autograd._commit import own_array


def image(lib: Any) -> Any:
    return lib.arange(120.0).reshape(2, 3, 4, 5)


LEAVES: dict[str, Callable[[Any], Any]] = {
    "contiguous": image,
    "channels last": lambda lib: image(lib).contiguous(memory_format=lib.channels_last),
    "transposed": lambda lib: image(lib).reshape(5, 3, 4, 2).permute(3, 1, 2, 0),
    "with gaps": lambda lib: lib.stack([image(lib)] * 2, -1)[..., 0],
    "repeated": lambda lib: image(lib)[:, :1].expand(2, 3, 4, 5),
}


def gradients(lib: Any, leaf: str, other: str) -> list[tuple[tuple[int, ...], list[Any]]]:
    """Strides and values of the first gradient, and of its sum with a second one."""
    x = LEAVES[leaf](lib).detach().requires_grad_()
    found = []
    for _ in range(2):
        factor = LEAVES[other](lib)
        (x * factor).sum().backward()
        found.append((tuple(x.grad.stride()), x.grad.tolist()))
    return found


@pytest.mark.torch
@pytest.mark.parametrize("other", LEAVES)
@pytest.mark.parametrize("leaf", LEAVES)
def test_gradients_lie_as_torchs(leaf: str, other: str, torch: Any) -> None:
    assert gradients(wengert, leaf, other) == gradients(torch, leaf, other)


@pytest.mark.torch
@pytest.mark.parametrize("weight", ["contiguous", "channels last"])
def test_gradients_of_a_convolution_lie_as_torchs(weight: str, torch: Any) -> None:
    def strides(lib: Any) -> list[tuple[int, ...]]:
        x, w = LEAVES["channels last"](lib), LEAVES[weight](lib)[:, :, :3, :3]
        w = w.clone(memory_format=lib.preserve_format)
        w = w.contiguous(memory_format=lib.channels_last) if weight == "channels last" else w
        leaves = [x.detach().requires_grad_(), w.detach().requires_grad_()]
        lib.nn.functional.conv2d(*leaves).square().sum().backward()
        return [tuple(leaf.grad.stride()) for leaf in leaves]

    assert strides(wengert) == strides(torch)


@pytest.mark.parametrize("leaf", ["contiguous", "channels last", "transposed"])
def test_what_lies_right_and_is_nobody_elses_is_not_copied(leaf: str) -> None:
    like = LEAVES[leaf](wengert)._array

    def taken(*, shared: bool) -> bool:
        g = np.empty_like(like)
        also = g if shared else None
        address = g.ctypes.data
        result = own_array(g, like.dtype, like)
        assert result.strides == like.strides
        del also
        return bool(result.ctypes.data == address)

    assert taken(shared=False)
    assert not taken(shared=True)


VIEWS: dict[str, Callable[[Any], Any]] = {
    "permuted": lambda x: x.permute(0, 2, 3, 1) * 2,
    "transposed": lambda x: x.transpose(1, 2) * 2,
    "rotated": lambda x: x.rot90(1, (2, 3)),
    "shuffled": lambda x: x[:, :2].contiguous() * 2,
    "added": lambda x: x + 1,
}


@pytest.mark.torch
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("leaf", LEAVES)
def test_gradients_of_grad_lie_as_torchs_where_they_are_dense(
    leaf: str, view: str, torch: Any
) -> None:
    def strides(lib: Any) -> tuple[int, ...]:
        x = LEAVES[leaf](lib).detach().requires_grad_()
        y = VIEWS[view](x)
        (g,) = lib.autograd.grad(y, x, lib.ones_like(y.detach()))
        assert (g == g.contiguous()).all()
        return tuple(g.stride())

    assert strides(wengert) == strides(torch)


def test_a_gradient_is_nobody_elses_however_it_lies() -> None:
    x = image(wengert).requires_grad_()
    g = wengert.ones(2, 4, 5, 3)
    (found,) = wengert.autograd.grad(x.permute(0, 2, 3, 1), x, g)
    assert found.stride() == (60, 1, 15, 3)
    found.zero_()
    assert g.sum() == g.numel()


@pytest.mark.torch
def test_gradients_of_group_norm_are_channels_last(torch: Any) -> None:
    def strides(lib: Any) -> tuple[int, ...]:
        x = lib.ones(2, 4, 9, 8).contiguous(memory_format=lib.channels_last).requires_grad_()
        y = lib.nn.functional.group_norm(x, 2)
        (g,) = lib.autograd.grad(y, x, lib.ones_like(y.detach()))
        return tuple(g.stride())

    assert strides(wengert) == strides(torch)
