"""The order of arguments of older programs, with derivatives and in transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
from tests.nn.both import agree, error

# Calls with the number among the tensors, and the same with names.
PAIRS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "add": (
        lambda lib, a, b, c: lib.add(a, 2, b),
        lambda lib, a, b, c: lib.add(a, b, alpha=2),
    ),
    "sub": (
        lambda lib, a, b, c: a.sub(0.5, b),
        lambda lib, a, b, c: a.sub(b, alpha=0.5),
    ),
    "addcmul": (
        lambda lib, a, b, c: lib.addcmul(a, 2, b, c),
        lambda lib, a, b, c: lib.addcmul(a, b, c, value=2),
    ),
    "addcdiv": (
        lambda lib, a, b, c: a.addcdiv(-0.1, b, c),
        lambda lib, a, b, c: a.addcdiv(b, c, value=-0.1),
    ),
    "addmm": (
        lambda lib, a, b, c: lib.addmm(2, a, 3, b, c),
        lambda lib, a, b, c: lib.addmm(a, b, c, beta=2, alpha=3),
    ),
    "addmm, method": (
        lambda lib, a, b, c: a.addmm(2, b, c),
        lambda lib, a, b, c: a.addmm(b, c, beta=2),
    ),
    "addmv": (
        lambda lib, a, b, c: lib.addmv(2, a[0], 3, b, c[0]),
        lambda lib, a, b, c: lib.addmv(a[0], b, c[0], beta=2, alpha=3),
    ),
    "addr": (
        lambda lib, a, b, c: a.addr(2, 3, b[0], c[0]),
        lambda lib, a, b, c: a.addr(b[0], c[0], beta=2, alpha=3),
    ),
    "baddbmm": (
        lambda lib, a, b, c: lib.baddbmm(2, a[None], b[None], c[None]),
        lambda lib, a, b, c: lib.baddbmm(a[None], b[None], c[None], beta=2),
    ),
    "addbmm": (
        lambda lib, a, b, c: lib.addbmm(2, a, 3, b[None], c[None]),
        lambda lib, a, b, c: lib.addbmm(a, b[None], c[None], beta=2, alpha=3),
    ),
}


def inputs() -> list[Any]:
    values = np.random.default_rng(0).uniform(0.5, 1.5, (3, 2, 2))
    return [wengert.from_numpy(v).requires_grad_() for v in values]


@pytest.mark.parametrize("name", PAIRS)
def test_both_orders_are_one_call(name: str) -> None:
    older, newer = PAIRS[name]
    results = []
    for call in (older, newer):
        args = inputs()
        out = call(wengert, *args)
        out.sum().backward()
        grads = [x.grad for x in args if x.grad is not None]
        batch = wengert.vmap(lambda *xs, c=call: c(wengert, *xs))(*[x[None] for x in inputs()])
        results.append([out, *grads, batch])
    assert len(results[0]) == len(results[1])
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


@pytest.mark.torch
def test_an_optimizer_of_an_older_program(torch: Any) -> None:
    def answers(lib: Any) -> list[Any]:
        w = lib.tensor([1.0, -2.0], requires_grad=True)
        mean, square = lib.zeros(2), lib.zeros(2)
        for _ in range(3):
            (w * w).sum().backward()
            grad = w.grad.data
            mean.mul_(0.9).add_(0.1, grad)
            square.mul_(0.99).addcmul_(0.01, grad, grad)
            w.data.addcdiv_(-0.1, mean, square.sqrt().add_(1e-8))
            w.data.add_(-0.01, w.data)
            w.grad.data.zero_()
        return [w, mean, square]

    agree(torch, answers)


@pytest.mark.torch
def test_what_was_never_an_order_is_refused(torch: Any) -> None:
    def answers(lib: Any) -> list[Any]:
        x = lib.ones(2, 2)
        calls: list[Callable[[], Any]] = [
            lambda: lib.add(x, x, 2),
            lambda: lib.add(2, x, x),
            lambda: lib.add(x, 2, x, alpha=3),
            lambda: lib.addcmul(x, x, 2, x),
            lambda: lib.addcmul(2, x, x, x),
            lambda: lib.addmm(x, x, 2, x),
            lambda: lib.addmm(x, x, x, 2),
            lambda: lib.addmm(2, 3, 4, x, x, x),
            lambda: lib.addmm(x, x, x, x),
        ]
        return [error(call) for call in calls]

    agree(torch, answers)


@pytest.mark.torch
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "amax", "std", "all", "argmax", "max"])
def test_dimensions_one_by_one_are_not_taken_for_keepdim(torch: Any, name: str) -> None:
    def answers(lib: Any) -> list[Any]:
        x = lib.arange(6.0).reshape(2, 3) > 1 if name == "all" else lib.arange(6.0).reshape(2, 3)
        return [error(lambda: getattr(lib, name)(x, 0, 1)),
                error(lambda: getattr(x, name)(0, keepdim=1)),
                error(lambda: getattr(x, name)(0, keepdim=True))]  # fmt: skip

    agree(torch, answers)


@pytest.mark.torch
def test_old_names_warn(torch: Any) -> None:
    for lib in (torch, wengert):
        x, y = lib.ones(2), lib.zeros(2)
        with pytest.warns(UserWarning, match="please use reduction='sum' instead"):
            assert lib.nn.functional.mse_loss(x, y, size_average=False).item() == 2
        with pytest.warns(UserWarning, match="please use reduction='none' instead"):
            assert lib.nn.functional.l1_loss(x, y, None, False).shape == (2,)
        with pytest.warns(UserWarning, match="volatile was removed"):
            lib.autograd.Variable(x, volatile=True)
        with pytest.warns(UserWarning, match="volatile was removed"):
            assert x.volatile is False
        with pytest.warns(UserWarning, match="non-inplace resize is deprecated"):
            assert x.resize(2, 1).shape == (2, 1)
        with pytest.warns(UserWarning, match="Argument order of nn.functional.embedding_bag"):
            lib.nn.functional.embedding_bag(lib.ones(2, 2), lib.tensor([[0, 1]]))


def test_warnings_name_the_line_of_the_program() -> None:
    x, y = wengert.ones(2), wengert.zeros(2)
    calls: list[Callable[[], Any]] = [
        lambda: wengert.nn.MSELoss(size_average=False),
        lambda: wengert.nn.functional.mse_loss(x, y, False),
    ]
    for call in calls:
        with pytest.warns(UserWarning, match="size_average") as caught:
            call()
        assert [w.filename for w in caught] == [__file__]
