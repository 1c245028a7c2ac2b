"""What `describe` says of bytes, against the arrays that there are and those that go."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert
from wengert import nn
from wengert.core.storage import owner
from wengert.core.tensor import Node, nodes_below
from wengert.graph import describe
from wengert.graph.description import _arrays

# What a program builds: a loss, and what it goes on holding.
Built = tuple[wengert.Tensor, Any]


def vector(n: int = 100) -> wengert.Tensor:
    return wengert.randn(n).requires_grad_()


def one_storage_in_parts() -> Built:
    w, big = vector(10), wengert.ones(1000)
    return (w * big[:10] + w * big[10:20]).sum(), None


def one_storage_in_parts_of_which_one_is_kept() -> Built:
    w, big = vector(10), wengert.ones(1000)
    return (w * big[:10] + w * big[10:20]).sum(), big[:1]


def views_of_one_result() -> Built:
    y = wengert.randn(50, 20).requires_grad_().exp()
    return (y.t().reshape(-1).sin() * y.view(-1)).sum(), None


def an_expanded_tensor() -> Built:
    return (vector(1000) * wengert.ones(1).expand(1000)).sum(), None


def masks() -> Built:
    x = vector(1000)
    return x.masked_fill(x > 0, 0).sum() + wengert.where(x > 0, x.exp(), x).sum(), None


def a_mask_that_is_kept() -> Built:
    x = vector(1000)
    mask = x > 0
    return (x.exp() * 2).masked_fill(mask, 0).sum(), mask


def complex_numbers() -> Built:
    z = wengert.randn(100, dtype=wengert.complex64).requires_grad_()
    return (z * z.conj()).real.exp().sum(), None


def what_a_hook_packed() -> Built:
    x = vector()
    with wengert.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        return x.exp().sin().sum(), None


def what_a_hook_packed_elsewhere() -> Built:
    x, store = vector(), []

    def pack(t: wengert.Tensor) -> int:
        store.append(t.detach().clone())
        return len(store) - 1

    with wengert.autograd.graph.saved_tensors_hooks(pack, store.__getitem__):
        return x.exp().sin().sum(), None


def a_checkpoint() -> Built:
    model = nn.Sequential(nn.Linear(20, 30), nn.ReLU(), nn.Linear(30, 5))
    y = wengert.utils.checkpoint.checkpoint(model, wengert.randn(8, 20), use_reentrant=False)
    return y.exp().sum(), model


class Scaled(wengert.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: wengert.Tensor, k: float) -> wengert.Tensor:
        y = x.exp()
        ctx.save_for_backward(x, y)
        ctx.extra = y * 2
        return y * k

    @staticmethod
    def backward(ctx: Any, g: wengert.Tensor) -> tuple[Any, ...]:
        return g * ctx.saved_tensors[1] + 0 * ctx.extra, None


def a_function() -> Built:
    return Scaled.apply(vector().sin(), 3.0).sum(), None


def a_derivative() -> Built:
    x = vector()
    (g,) = wengert.autograd.grad((x.exp() * x.sin()).sum(), x, create_graph=True)
    return (g * g).sum(), None


def a_derivative_and_what_it_is_of() -> Built:
    x = vector()
    y = (x.exp() * x.sin()).sum()
    (g,) = wengert.autograd.grad(y, x, create_graph=True)
    return (g * g).sum() + y, y


def writes_in_place() -> Built:
    y = vector() * 2
    y.exp_()
    return (y * 2).sin_().sum(), y


def convolutions() -> Built:
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Dropout(0.5), nn.Linear(36, 2),
    )  # fmt: skip
    loss = nn.functional.cross_entropy(
        model(wengert.randn(5, 3, 8, 8)), wengert.tensor([0, 1, 0, 1, 1])
    )
    return loss, model


def a_recurrent_layer() -> Built:
    model = nn.LSTM(4, 8, 2)
    return model(wengert.randn(5, 3, 4))[0].exp().sum(), model


def attention() -> Built:
    model, x = nn.MultiheadAttention(8, 2), wengert.randn(5, 3, 8)
    return model(x, x, x)[0].sum(), (model, x)


def one_of_several_outputs() -> Built:
    first, _ = vector().exp().split(50)
    return first.sin().sum(), None


def memory_of_numpy() -> Built:
    array = np.ones(100, dtype=np.float32)
    return (vector() * wengert.from_numpy(array)).sum(), array


def windows_of_memory_of_numpy() -> Built:
    array = np.ones(100, dtype=np.float32)
    windows = np.lib.stride_tricks.as_strided(array, (9, 50), (0, 4))
    return (vector(50) * wengert.from_numpy(windows)).sum(), array


def memory_of_a_buffer() -> Built:
    array = np.frombuffer(bytearray(400), dtype=np.float32)
    return (vector() * wengert.from_numpy(array)).sum(), None


def detached_memory() -> Built:
    x = vector()
    hidden = x.exp()
    return (hidden.sin() + hidden.detach() * x).sum(), None


def a_gradient_that_is_retained() -> Built:
    y = vector().exp()
    y.retain_grad()
    return y.sin().sum(), None


def another_graph_over_the_same() -> Built:
    hidden = vector().exp()
    return hidden.sin().sum(), hidden.cos()


PROGRAMS = [
    one_storage_in_parts, one_storage_in_parts_of_which_one_is_kept, views_of_one_result,
    an_expanded_tensor, masks, a_mask_that_is_kept, complex_numbers, what_a_hook_packed,
    what_a_hook_packed_elsewhere, a_checkpoint, a_function, a_derivative,
    a_derivative_and_what_it_is_of, writes_in_place, convolutions, a_recurrent_layer, attention,
    one_of_several_outputs, memory_of_numpy, memory_of_a_buffer, detached_memory,
    a_gradient_that_is_retained, another_graph_over_the_same, windows_of_memory_of_numpy,
]  # fmt: skip


@pytest.fixture(autouse=True)
def counted() -> Iterator[None]:
    """Only references say what goes."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def storages(root: Node) -> list[tuple[weakref.ref[Any], int]]:
    """The memory behind what nodes saved, and its bytes."""
    found = {}
    for node in nodes_below([root]):
        for array in _arrays(node):
            base = owner(array)
            found[id(base)] = weakref.ref(base), base.nbytes
    return list(found.values())


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_bytes_are_what_goes(program: Callable[[], Built]) -> None:
    loss, kept = program()
    assert loss.grad_fn is not None
    report = describe(loss)
    memory = storages(loss.grad_fn)
    assert report.nbytes + report.leaf_bytes == sum(nbytes for _, nbytes in memory)
    loss.backward()
    assert report.frees == sum(nbytes for ref, nbytes in memory if ref() is None)
    assert describe(loss).nbytes == 0
    del kept


def test_windows_count_as_the_memory_that_they_show() -> None:
    loss, array = windows_of_memory_of_numpy()
    assert describe(loss).nbytes == array.nbytes


def test_parameters_are_apart_and_stay() -> None:
    loss, model = convolutions()
    report = describe(loss)
    # The first convolution's is not read: its input wants no gradient.
    parts = model[1].weight, model[6].weight
    assert report.leaf_bytes == sum(p.numel() * 4 for p in parts)
