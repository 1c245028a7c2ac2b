"""Programs recorded with one example, and called with elements of which it said nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import wengert as w
import wengert.nn.functional as F
from wengert import export, jit, nn
from wengert.fx.experimental.proxy_tensor import make_fx
from wengert.fx.joint import compiled_with_backward

X = w.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.5], [-2.0, 1.0, 0.75]])
TABLE = w.tensor([[0.5, 1.0], [2.0, -1.0], [1.5, 3.0]])
KNOWN, NONE, SOME = w.tensor([0, 1, 2]), w.tensor([-100] * 3), w.tensor([0, -100, 2])
WEIGHT = w.tensor([1.0, 2.0, 0.5])


class Called(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def leaves(args: tuple[Any, ...]) -> list[Any]:
    return [x.clone().requires_grad_(x.is_floating_point()) for x in args]


def jointly(function: Callable[..., Any], args: tuple[Any, ...]) -> Callable[..., Any]:
    both = compiled_with_backward(lambda *a: (function(*a),), leaves(args), lambda g, _: g.forward)
    return lambda *a: both(*a)[0]


def repeated(function: Callable[..., Any], args: tuple[Any, ...]) -> Callable[..., Any]:
    """A trace whose program is native code by now."""
    traced = jit.trace(function, args)
    for _ in range(12):
        traced(*args)
    return traced


RECORDERS: dict[str, Callable[..., Any]] = {
    "make_fx": lambda f, args: make_fx(f)(*args),
    "export": lambda f, args: export.export(Called(f), args).module(),
    "trace": jit.trace,
    "repeated": repeated,
    "joint": jointly,
}

CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]] = {
    "cross entropy": (F.cross_entropy, (X, KNOWN), (X, SOME)),
    "cross entropy of nothing": (F.cross_entropy, (X, KNOWN), (X, NONE)),
    "cross entropy after nothing": (F.cross_entropy, (X, NONE), (X, KNOWN)),
    "cross entropy, each": (
        lambda x, t: F.cross_entropy(x, t, reduction="none"), (X, KNOWN), (X, SOME),
    ),
    "cross entropy, weighed": (
        lambda x, t: F.cross_entropy(x, t, WEIGHT, label_smoothing=0.1), (X, KNOWN), (X, SOME),
    ),
    "nll": (F.nll_loss, (X, KNOWN), (X, SOME)),
    "nll, another class left out": (
        lambda x, t: F.nll_loss(x, t, WEIGHT, ignore_index=1), (X, KNOWN * 0), (X, KNOWN),
    ),
    "take": (w.take, (X, KNOWN), (X, w.tensor([-1, 4, -9]))),
    "put": (lambda x, i: x.put(i, WEIGHT), (X, KNOWN), (X, w.tensor([-1, 4, -9]))),
    "take_along_dim": (
        lambda x, i: w.take_along_dim(x, i, 1), (X, KNOWN[:, None]), (X, -1 - KNOWN[:, None]),
    ),
    "prod": (lambda x: x.prod(1), (X,), (X.relu(),)),
    "cumprod": (lambda x: x.cumprod(1), (X,), (X.relu(),)),
    "det": (w.linalg.det, (X,), (X * w.tensor([1.0, 0.0, 1.0]),)),
    "detach": (lambda x: x.detach() * x, (X,), (X + 1,)),
    "gaussian": (F.gaussian_nll_loss, (X, X + 1, X * X), (X, X - 1, X.relu())),
}  # fmt: skip


def gradients(function: Callable[..., Any], args: tuple[Any, ...]) -> list[Any]:
    given = leaves(args)
    out = function(*given)
    out = (out * w.arange(1.0, out.numel() + 1).reshape(out.shape)).sum()
    return list(w.autograd.grad(out, [x for x in given if x.requires_grad], allow_unused=True))


@pytest.mark.parametrize("recorder", RECORDERS)
@pytest.mark.parametrize("case", CASES)
def test_programs_follow_elements(case: str, recorder: str) -> None:
    function, example, other = CASES[case]
    recorded = RECORDERS[recorder](function, example)
    w.testing.assert_close(recorded(*other), function(*other), equal_nan=True)
    for ours, theirs in zip(gradients(recorded, other), gradients(function, other), strict=True):
        w.testing.assert_close(ours, theirs, equal_nan=True)


WRONG: dict[str, tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]] = {
    "cross entropy": (F.cross_entropy, (X, KNOWN), (X, w.tensor([0, -1, 1]))),
    "nll": (F.nll_loss, (X, KNOWN), (X, w.tensor([0, -1, 1]))),
    "margins": (F.multi_margin_loss, (X, KNOWN), (X, w.tensor([0, -1, 1]))),
    "margins above": (F.multi_margin_loss, (X, KNOWN), (X, w.tensor([0, 3, 1]))),
    "embedding": (lambda i: F.embedding(i, TABLE), (KNOWN,), (KNOWN - 1,)),
    "bags": (
        lambda i: F.embedding_bag(i, TABLE, mode="sum"), (KNOWN[None],), (KNOWN[None] - 1,),
    ),
    "gather": (lambda x, i: x.gather(1, i), (X, KNOWN[:, None]), (X, KNOWN[:, None] - 1)),
    "gather above": (lambda x, i: x.gather(1, i), (X, KNOWN[:, None]), (X, KNOWN[:, None] + 1)),
    "index_select": (lambda x, i: x.index_select(1, i), (X, KNOWN), (X, KNOWN - 1)),
    "index_add": (lambda x, i: x.index_add(1, i, X), (X, KNOWN), (X, KNOWN - 1)),
    "searchsorted": (
        lambda x, i: w.searchsorted(x, WEIGHT, sorter=i), (X[0], KNOWN), (X[0], KNOWN - 1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("recorder", ["make_fx", "export", "trace", "repeated"])
@pytest.mark.parametrize("case", WRONG)
def test_programs_refuse_what_functions_refuse(case: str, recorder: str) -> None:
    function, example, wrong = WRONG[case]
    recorded = RECORDERS[recorder](function, example)
    with pytest.raises((IndexError, RuntimeError)) as expected:
        function(*wrong)
    with pytest.raises(expected.type):
        recorded(*wrong)


def test_what_is_computed_without_a_graph_stays_so_in_an_exported_program() -> None:
    def function(x: Any) -> Any:
        with w.no_grad():
            y = (x * 2).sin()
        return y * x

    program = export.export(Called(function), (X,)).module()
    assert w.equal(gradients(program, (X,))[0], gradients(function, (X,))[0])


def test_what_is_written_without_a_graph_passes_gradients_in_an_exported_program() -> None:
    def function(x: Any) -> Any:
        y = x.clone()
        with w.no_grad():
            y.mul_(2)
            y[0] += 1
        return y * y

    program = export.export(Called(function), (X,)).module()
    assert w.equal(program(X), function(X))
    assert w.equal(gradients(program, (X,))[0], gradients(function, (X,))[0])


@pytest.mark.parametrize("recorder", ["make_fx", "export"])
def test_a_mask_that_was_causal_may_be_another_one(recorder: str) -> None:
    layer = nn.TransformerEncoderLayer(3, 1, 4, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 1).eval().requires_grad_(False)
    causal = nn.Transformer.generate_square_subsequent_mask(3)
    recorded = RECORDERS[recorder](lambda x, mask: encoder(x, mask=mask), (X[None], causal))
    for mask in (causal, w.zeros(3, 3)):
        w.testing.assert_close(recorded(X[None], mask), encoder(X[None], mask=mask))


class Doubled(w.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 3


@pytest.mark.parametrize("recorder", ["make_fx", "export", "trace"])
def test_functions_with_a_backward_of_their_own_are_refused_by_name(recorder: str) -> None:
    with pytest.raises(NotImplementedError, match="recording Doubled: an autograd"):
        RECORDERS[recorder](Doubled.apply, (X,))
