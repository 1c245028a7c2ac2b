"""Several losses: `backward` of a list, and `jac`, which keeps their gradients apart."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import wengert
from wengert import nn
from wengert.autograd import GraphReleasedError, NoGraphError, NonScalarRootError, jac
from wengert.autograd._losses import JacReport
from wengert.graph import Recorder

HEADS = 3


def network() -> tuple[Any, list[Any]]:
    wengert.manual_seed(0)
    trunk = nn.Sequential(
        nn.Conv2d(1, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 5),
        nn.LayerNorm(5), nn.Tanh(),
    )  # fmt: skip
    return trunk.double(), [nn.Linear(5, 2).double() for _ in range(HEADS)]


def losses_of(trunk: Any, heads: list[Any]) -> list[Any]:
    x = wengert.from_numpy(np.random.default_rng(0).normal(size=(4, 1, 4, 4)))
    features = trunk(x)
    targets = wengert.tensor([0, 1, 0, 1])
    return [
        nn.functional.cross_entropy(heads[0](features), targets),
        heads[1](features).pow(2).mean(),
        heads[2](features[:, :]).abs().sum(),
    ]


def params_of(trunk: Any, heads: list[Any]) -> list[Any]:
    return [p for part in (trunk, *heads) for p in part.parameters()]


def apart(losses: list[Any], params: list[Any]) -> list[np.ndarray]:
    """One walk for each loss."""
    rows = [
        wengert.autograd.grad(loss, params, retain_graph=True, materialize_grads=True)
        for loss in losses
    ]
    return [np.stack([g.numpy() for g in column]) for column in zip(*rows, strict=True)]


class TestJac:
    def test_rows_are_the_gradients_of_the_losses(self) -> None:
        trunk, heads = network()
        params, losses = params_of(trunk, heads), losses_of(trunk, heads)
        expected = apart(losses, params)
        for found, rows in zip(jac(losses, params), expected, strict=True):
            np.testing.assert_allclose(found.numpy(), rows, rtol=1e-9, atol=1e-12)

    def test_the_trunk_is_walked_once(self) -> None:
        trunk, heads = network()
        losses = losses_of(trunk, heads)
        _, report = jac(losses, list(trunk.parameters()), return_report=True)
        assert isinstance(report, JacReport)
        assert report.losses == HEADS
        layers = 7  # of the trunk, each of which is one node or two
        assert layers <= report.shared <= report.nodes < 2 * layers + 8 * HEADS

    def test_the_report_counts_the_results(self) -> None:
        w = wengert.ones(5, 4, requires_grad=True)
        y = w * 2
        _, report = jac([y.sum(), y.mean()], w, return_report=True)
        assert report.gradient_bytes == 2 * 5 * 4 * 4
        assert report.cotangent_bytes >= 2 * 5 * 4 * 4

    def test_a_vector_of_losses(self) -> None:
        x = wengert.tensor([1.0, 2.0, 3.0], requires_grad=True)
        (found,) = jac((x * x).cumsum(0), x)
        assert found.tolist() == [[2, 0, 0], [2, 4, 0], [2, 4, 6]]

    def test_a_loss_that_does_not_depend_gives_zeros(self) -> None:
        x, y = wengert.ones(2, requires_grad=True), wengert.ones(2, requires_grad=True)
        of_x, of_y = jac([x.sum(), (x * y).sum()], [x, y])
        assert of_x.tolist() == [[1, 1], [1, 1]]
        assert of_y.tolist() == [[0, 0], [1, 1]]

    def test_an_inner_tensor(self) -> None:
        x = wengert.tensor([1.0, 2.0], requires_grad=True)
        h = x.exp()
        (found,) = jac([h.sum(), h[1] * 2], [h])
        assert found.tolist() == [[1, 1], [0, 2]]

    def test_several_outputs_and_losses_that_meet_in_parts(self) -> None:
        x = wengert.arange(4.0).requires_grad_()
        a, b = (x * x).split(2)
        (found,) = jac([a.sum(), b.sum(), a[0] * b[0], x[3]], x)
        assert found.tolist() == [[0, 2, 0, 0], [0, 0, 4, 6], [0, 0, 0, 0], [0, 0, 0, 1]]

    def test_results_do_not_share_memory(self) -> None:
        x, y = wengert.ones(2, requires_grad=True), wengert.ones(2, requires_grad=True)
        of_x, of_y = jac([(x + y).sum(), (x + y).mean()], [x, y])
        of_x.zero_()
        assert of_y.tolist() == [[1, 1], [0.5, 0.5]]

    def test_what_a_user_function_keeps_is_not_the_result(self) -> None:
        kept = []

        class Double(wengert.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                kept.append(g * 2)
                return kept[-1]

        x = wengert.ones(2, requires_grad=True)
        (found,) = jac([Double.apply(x).sum()], x)
        found.zero_()
        assert kept[0].tolist() == [2, 2]

    def test_a_user_function_sees_one_loss_at_a_time(self) -> None:
        seen = []

        class Double(wengert.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                seen.append(tuple(g.shape))
                return g * 2

        x = wengert.ones(3, requires_grad=True)
        y = Double.apply(x)
        (found,) = jac([y.sum(), y[0] * 3], x)
        assert found.tolist() == [[2, 2, 2], [6, 0, 0]]
        assert seen == [(3,), (3,)]

    def test_hooks_see_one_loss_at_a_time(self) -> None:
        x = wengert.ones(2, requires_grad=True)
        y = x * 3
        y.register_hook(lambda g: g * 10)
        (found,) = jac([y.sum(), y[0]], x)
        assert found.tolist() == [[30, 30], [30, 0]]

    def test_it_releases_as_backward_does(self) -> None:
        x = wengert.ones(2, requires_grad=True)
        y = x.exp()
        losses = [y.sum(), y.mean()]
        jac(losses, x, retain_graph=True)
        jac(losses, x)
        with pytest.raises(GraphReleasedError, match=r"released by: jac\(\)"):
            jac(losses, x)

    def test_grad_is_left_alone(self) -> None:
        x = wengert.ones(2, requires_grad=True)
        jac([x.sum()], x)
        assert x.grad is None

    @pytest.mark.parametrize(
        ("losses", "kind", "text"),
        [
            (lambda x: [x * 2], NonScalarRootError, r"shape \[2\]"),
            (lambda x: [wengert.ones(())], NoGraphError, "element 0"),
            (lambda x: [3.0], TypeError, r"losses\[0\] must be Tensor, not float"),
            (lambda x: [], ValueError, "at least one loss"),
        ],
    )
    def test_errors(self, losses: Any, kind: type[Exception], text: str) -> None:
        x = wengert.ones(2, requires_grad=True)
        with pytest.raises(kind, match=text):
            jac(losses(x), [x])

    def test_nothing_stays(self) -> None:
        gc.disable()
        try:
            x = wengert.ones(2, requires_grad=True)
            y = x.exp()
            node = weakref.ref(y.grad_fn)
            jac([y.sum(), y.mean()], x)
            del y
            assert node() is None
        finally:
            gc.enable()


class TestBackwardOfAList:
    def test_one_walk_adds_the_gradients(self) -> None:
        trunk, heads = network()
        params, losses = params_of(trunk, heads), losses_of(trunk, heads)
        expected = [rows.sum(0) for rows in apart(losses, params)]
        recorder = Recorder()
        recorder.start()
        wengert.autograd.backward(losses)
        recorder.stop()
        assert recorder.report().backward_calls == 1
        for p, g in zip(params, expected, strict=True):
            np.testing.assert_allclose(p.grad.numpy(), g, rtol=1e-9, atol=1e-12)
