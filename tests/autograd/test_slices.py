"""Cotangents of slices meet in one array, which is nobody else's."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest

import wengert
from wengert.ops.subscript import Slices


def values(*shape: int) -> np.ndarray:
    return np.random.default_rng(4).standard_normal(shape)


def scan(library: Any, x: Any) -> Any:
    h = library.zeros(2, 3, dtype=x.dtype)
    for t in range(x.shape[1]):
        h = (x[:, t] + h).tanh()
    return h


def overlapping(library: Any, x: Any) -> Any:
    return x[:, 1:3] * x[:, 2:4] + x[:, :2].exp() * x[:, 3:]


def every_kind(library: Any, x: Any) -> Any:
    parts = [
        x[1, 2, 0], x[..., 0], x[None, 0, :, 1:], x.select(2, -1), x.narrow(1, 1, 2),
        x[0][1], x[1:, ::2], x[...], x.unbind(1)[2], x[[0, 1, 0]], x[:, 0].unsqueeze(0),
    ]  # fmt: skip
    return sum((p * (k + 1)).sin().sum() for k, p in enumerate(parts))


def dense_before_and_after(library: Any, x: Any) -> Any:
    y = x * 2
    early = y.sin()
    parts = y[0].exp() + y[:, 1:3].sum()
    late = y * y
    return early.sum() + parts.sum() + late.sum()


def elements(library: Any, x: Any) -> Any:
    flat = x.reshape(-1)
    return sum(flat[k] * flat[k + 1] for k in range(4))


def living_slices() -> int:
    return sum(type(x) is Slices for x in gc.get_objects())


PROGRAMS = [scan, overlapping, every_kind, dense_before_and_after, elements]


@pytest.mark.torch
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
def test_gradients_are_torchs(program: Any, dtype: str, torch: Any) -> None:
    array = values(2, 5, 3).astype(dtype)
    found = []
    for library in (wengert, torch):
        x = library.from_numpy(array.copy()).requires_grad_()
        out = program(library, x).abs().sum()
        out.backward(retain_graph=True)
        out.backward()
        (other,) = library.autograd.grad(program(library, x).abs().sum(), [x])
        found.append((x.grad, other))
    for ours, theirs in zip(*found, strict=True):
        assert str(ours.dtype) == str(theirs.dtype)
        tolerance = 1e-5 if dtype == "float32" else 1e-11
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=tolerance, atol=tolerance)
    assert not living_slices()


@pytest.mark.torch
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_second_derivatives_are_torchs(program: Any, torch: Any) -> None:
    found = []
    for library in (wengert, torch):
        x = library.from_numpy(values(2, 5, 3)).requires_grad_()
        (first,) = library.autograd.grad(program(library, x).sum(), x, create_graph=True)
        (first * first).sum().backward()
        found.append((first.detach().numpy(), x.grad.numpy()))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-11)


def test_a_loop_over_slices_makes_one_array(monkeypatch: pytest.MonkeyPatch) -> None:
    x = wengert.from_numpy(values(2, 50, 3)).requires_grad_()
    out = scan(wengert, x).sum()
    made = []
    zeros = np.zeros
    monkeypatch.setattr(np, "zeros", lambda *args: made.append(args) or zeros(*args))
    out.backward()
    assert [shape for shape, *_ in made] == [(2, 50, 3)]


def tracked(size: int) -> Any:
    return wengert.arange(float(size)).requires_grad_() * 1


def test_gradients_kept_elsewhere_are_not_written_to() -> None:
    """A sum hands one cotangent to both inputs; slices of one of them do not change the other's."""
    for late in (False, True):
        a, b = tracked(3), tracked(3)
        a.retain_grad()
        b.retain_grad()
        if late:  # the slices' cotangents arrive first
            both = a + b
            part = a[0] * 5 + a[1:].sum() * 7
        else:
            part = a[0] * 5 + a[1:].sum() * 7
            both = a + b
        both.retain_grad()
        seed = wengert.tensor([1.0, 2.0, 3.0])
        wengert.autograd.backward([both, part], [seed, wengert.tensor(1.0)])
        assert seed.tolist() == [1.0, 2.0, 3.0]
        assert both.grad.tolist() == [1.0, 2.0, 3.0]
        assert b.grad.tolist() == [1.0, 2.0, 3.0]
        assert a.grad.tolist() == [6.0, 9.0, 10.0]


def test_a_sum_that_was_taken_out_is_not_written_to() -> None:
    """What arrived at `y` goes on to `x` as it is, where slices of `x` are added."""
    x = tracked(3)
    x.retain_grad()
    parts = x[0] * 5 + x[1] * 7
    y = x + 0
    y.retain_grad()
    (parts + y[0] + y[1] * 2).backward()
    assert y.grad.tolist() == [1.0, 2.0, 0.0]
    assert x.grad.tolist() == [6.0, 9.0, 0.0]
    assert not np.shares_memory(x.grad.numpy(), y.grad.numpy())


def test_hooks_see_the_whole_once() -> None:
    leaf = wengert.arange(3.0).requires_grad_()
    y = leaf * 1
    seen: list[Any] = []
    for tensor in (y, leaf):
        tensor.register_hook(lambda g: seen.append(g) or g * 2)
    (y[0] * 3 + y[1:] * 4).sum().backward()
    assert [type(g) for g in seen] == [wengert.Tensor] * 2
    assert [g.tolist() for g in seen] == [[6.0, 4.0, 4.0], [12.0, 8.0, 8.0]]
    assert leaf.grad.tolist() == [24.0, 16.0, 16.0]


def test_gradients_of_what_was_sliced() -> None:
    x = wengert.arange(3.0).requires_grad_()
    y = x * 2
    out = (y[0] + y[1] * y[2]) * 3
    for_y, for_x = wengert.autograd.grad(out, [y, x])
    assert for_y.tolist() == [3.0, 12.0, 6.0]
    assert for_x.tolist() == [6.0, 24.0, 12.0]


def test_one_slice_alone() -> None:
    x = wengert.arange(3.0).requires_grad_()
    g = wengert.tensor([5.0])
    x[1:2].backward(g)
    assert x.grad.tolist() == [0.0, 5.0, 0.0]
    assert not np.shares_memory(x.grad.numpy(), g.numpy())


def test_users_backwards_get_tensors() -> None:
    class Twice(wengert.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            assert type(g) is wengert.Tensor
            assert g.shape == (3,)
            return g * 2

    x = wengert.arange(3.0).requires_grad_()
    y = Twice.apply(x)
    (y[0] + y[2]).backward()
    assert x.grad.tolist() == [2.0, 0.0, 2.0]


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_transforms() -> None:
    def f(x: Any) -> Any:
        return sum((x[k] * x[k + 1]).sin() for k in range(3))

    x = wengert.from_numpy(values(4))
    leaf = x.clone().requires_grad_()
    f(leaf).backward()
    expected = leaf.grad.numpy()
    np.testing.assert_allclose(wengert.func.grad(f)(x).numpy(), expected)
    batch = wengert.func.vmap(wengert.func.grad(f))(wengert.stack([x, x * 2]))
    np.testing.assert_allclose(batch[0].numpy(), expected)
    hessian = wengert.func.hessian(f)(x)
    twice = wengert.func.jacrev(wengert.func.jacrev(f))(x)
    np.testing.assert_allclose(hessian.numpy(), twice.numpy(), atol=1e-12)


def test_an_error_in_the_walk_leaves_nothing_behind() -> None:
    def refuse(g: Any) -> None:
        raise ValueError("no")

    x = wengert.arange(3.0).requires_grad_()
    y = x * 1
    y[1].register_hook(refuse)
    part = y[0] * 2
    part.register_hook(refuse)
    with pytest.raises(ValueError, match="no"):
        (part + y[1] + y[2]).backward()
    assert not living_slices()


def test_threads() -> None:
    def work() -> None:
        for _ in range(20):
            x = wengert.from_numpy(values(2, 9, 3)).requires_grad_()
            scan(wengert, x).sum().backward()
            results.append(x.grad.numpy())

    results: list[np.ndarray] = []
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 80
    assert all(np.array_equal(r, results[0]) for r in results)
    assert not living_slices()


def test_cotangents_of_several_dtypes_are_promoted() -> None:
    def part(dtype: str) -> Slices:
        return Slices(np.ones(2, dtype), (3,), (slice(1, 3),))

    double = np.full(3, 0.5)
    for total in (part("float32") + part("float64"), part("float32") + part("float32") + double,
                  double + part("float32")):  # fmt: skip
        assert total.dense().dtype == np.float64
    assert double.tolist() == [0.5] * 3
    assert (part("float32") + part("float64")).dense().tolist() == [0.0, 2.0, 2.0]
