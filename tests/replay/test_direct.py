"""Traced functions: calls that run the program of their first, and nothing else."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
from wengert import nn
from wengert.jit import trace
from wengert.replay.direct import Direct
from wengert.replay.trial import Trial

F = nn.functional


@pytest.fixture(autouse=True)
def never_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    """No call is run as it is because programs of small arrays do not pay."""
    monkeypatch.setattr(Trial, "is_slower", lambda self: False)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows with each call that runs Python."""
    seen: list[int] = []
    recorded = Direct._recorded

    def note(self: Direct, form: Any, args: Any) -> Any:
        seen.append(len(self.straights))
        return recorded(self, form, args)

    monkeypatch.setattr(Direct, "_recorded", note)
    return seen


def direct_of(traced: Any) -> Direct:
    methods = traced.__dict__.get("_methods")
    method = traced.method() if methods is None else methods["forward"]
    direct: Direct = method._direct[1]
    return direct


def ways(traced: Any) -> list[bool]:
    """Of each form of arguments, whether its calls are a program."""
    return [straight is not None for straight in direct_of(traced).straights.values()]


def network() -> nn.Sequential:
    wengert.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.LayerNorm(16), nn.Linear(16, 3))


def gradients(model: Any, x: Any) -> list[Any]:
    for p in model.parameters():
        p.grad = None
    model(x).square().sum().backward()
    return [p.grad.clone() for p in model.parameters()]


def test_values_are_those_of_the_module_for_all_sizes() -> None:
    model = network()
    traced = trace(model, wengert.randn(4, 6))
    for n in (4, 1, 9, 4, 1) * 12:
        x = wengert.randn(n, 6)
        wengert.testing.assert_close(traced(x), model(x))
    assert all(ways(traced))


def test_gradients_are_those_of_the_module() -> None:
    model = network()
    traced = trace(model, wengert.randn(4, 6))
    for _ in range(12):
        x = wengert.randn(4, 6)
        expected = gradients(model, x)
        wengert.testing.assert_close(gradients(traced, x), expected)
    assert all(ways(traced))


def test_a_backward_releases_and_a_second_one_raises() -> None:
    traced = trace(network(), wengert.randn(4, 6))
    for _ in range(6):
        loss = traced(wengert.randn(4, 6)).sum()
        loss.backward(retain_graph=True)
        loss.backward()
        with pytest.raises(RuntimeError, match="second time"):
            loss.backward()


def write_optimizer(model: Any) -> None:
    gradients(model, wengert.ones(4, 6))
    wengert.optim.SGD(model.parameters(), lr=0.01).step()


def write_numpy(model: Any) -> None:
    model[0].weight.detach().numpy()[...] += 0.01


def write_in_place(model: Any) -> None:
    with wengert.no_grad():
        model[3].bias.mul_(2).add_(1)


def write_data(model: Any) -> None:
    model[0].bias.data = wengert.ones(16)


def freeze(model: Any) -> None:
    model[0].weight.requires_grad_(not model[0].weight.requires_grad)


@pytest.mark.parametrize(
    "write", [write_optimizer, write_numpy, write_in_place, write_data, freeze]
)
def test_writes_between_calls_are_seen(write: Callable[[Any], None]) -> None:
    model = network()
    traced = trace(model, wengert.randn(4, 6))
    for _ in range(10):
        x = wengert.randn(4, 6)
        wengert.testing.assert_close(traced(x), model(x))
        write(model)
        result, expected = traced(x), model(x)
        wengert.testing.assert_close(result, expected)
        assert result.requires_grad == expected.requires_grad


def test_results_that_are_views_and_arguments(calls: list[int]) -> None:
    def function(x: Any, y: Any) -> Any:
        z = (x + y).tanh()
        return z.t(), y, x.reshape(-1), z[1:], z

    x, y = wengert.randn(3, 4), wengert.randn(3, 4)
    traced = trace(function, (x, y))
    del calls[:]
    for _ in range(8):
        found, expected = traced(x, y), function(x, y)
        wengert.testing.assert_close(found, expected)
        assert found[1] is y
        assert [t._is_view() for t in found] == [t._is_view() for t in expected]
        found[2][0] += 1  # shows x
        assert x[0, 0].item() == found[2][0].item()
        found[0][0, 1] = 7  # shows z
        assert found[3][0, 0].item() == found[4][1, 0].item() == 7
    assert len(calls) == 1
    assert all(ways(traced))


def test_what_others_see_is_computed_by_operations() -> None:
    model = network()
    traced = trace(model, wengert.randn(4, 6))
    x = wengert.randn(4, 6)
    for _ in range(5):
        traced(x)
    derivative = wengert.func.jacrev(lambda x: traced(x).sum(0))(x)
    wengert.testing.assert_close(derivative, wengert.func.jacrev(lambda x: model(x).sum(0))(x))
    with wengert.autocast("cpu"):
        assert traced(x).dtype == model(x).dtype
    with wengert.inference_mode():
        assert traced(x).is_inference()
    with wengert.no_grad():
        assert not traced(x).requires_grad
    compiled = wengert.compiler.compile(lambda x: traced(x * 2).sum())
    for _ in range(6):
        wengert.testing.assert_close(compiled(x), model(x * 2).sum())


def test_autocast_regions_have_programs_of_their_own() -> None:
    model, x = network(), wengert.randn(4, 6)
    traced = trace(model, x)
    before = ways(traced)
    for k in range(12):
        dtype = wengert.float16 if k % 3 == 2 else wengert.bfloat16
        with wengert.autocast("cpu", dtype=dtype, enabled=k % 3 > 0):
            ours, eager = traced(x), model(x)
        assert ours.dtype is eager.dtype
        wengert.testing.assert_close(ours, eager)
    assert ways(traced) == [*before, True, True, True]


def test_random_numbers_and_buffers_that_are_written_are_no_programs() -> None:
    def noisy(x: Any) -> Any:
        return F.dropout(x.tanh().exp(), 0.5)

    traced = trace(noisy, wengert.ones(8), check_trace=False)
    wengert.manual_seed(1)
    found = [traced(wengert.ones(8)) for _ in range(6)]
    wengert.manual_seed(1)
    wengert.testing.assert_close(found, [noisy(wengert.ones(8)) for _ in range(6)])
    assert not any(ways(traced))

    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh())
    twin = copy.deepcopy(model)
    traced = trace(model, wengert.randn(5, 3), check_trace=False)
    for _ in range(6):
        x = wengert.randn(5, 3)
        twin[1].load_state_dict(model[1].state_dict())
        wengert.testing.assert_close(traced(x), twin(x))
        wengert.testing.assert_close(model[1].running_mean, twin[1].running_mean)
    assert not any(ways(traced))


def test_one_tensor_for_two_arguments() -> None:
    traced = trace(lambda x, y: (x * 3 + y).tanh(), (wengert.ones(4), wengert.zeros(4)))
    for k in range(6):
        x = wengert.full((4,), float(k), requires_grad=True)
        wengert.testing.assert_close(traced(x, x), (x * 4).tanh())
        wengert.testing.assert_close(traced(x, -x), (x * 2).tanh())


def test_zeros_with_signs_are_numbers_of_their_own() -> None:
    positive = trace(lambda x: 1 / (x * 0.0).exp().log(), wengert.ones(3))
    negative = trace(lambda x: 1 / (x * -0.0 * 1.0), wengert.ones(3))
    for _ in range(6):
        assert negative(wengert.ones(3)).tolist() == [-np.inf] * 3
        assert positive(wengert.ones(3)).tolist() == [np.inf] * 3


def test_copies_and_threads() -> None:
    traced = trace(network(), wengert.randn(4, 6))
    for _ in range(5):
        traced(wengert.randn(4, 6))
    twin = copy.deepcopy(traced)
    x = wengert.randn(4, 6)
    expected, found = traced(x), list[Any]()

    def work() -> None:
        found.extend(twin(x) for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wengert.testing.assert_close(found, [expected] * 60)


def test_programs_that_write_to_their_values() -> None:
    def added(x: Any, w: Any) -> Any:
        y = (x @ w).tanh() * 2
        y += x
        y.mul_(3)
        return y.relu_()

    def of_a_view(x: Any, w: Any) -> Any:
        y = (x @ w).tanh() * 2
        row = y[0]
        y += x
        row.mul_(3)
        return y * 2, row

    def saved(x: Any, w: Any) -> Any:
        y = (x @ w).exp()
        z = y * y
        y += x
        return z, y

    x, w = wengert.randn(4, 4), wengert.randn(4, 4)
    for function, programs in ((added, True), (of_a_view, False), (saved, True)):
        traced = trace(function, (x, w))
        for _ in range(8):
            wengert.testing.assert_close(traced(x, w), function(x, w))
        assert any(ways(traced)) == programs

    weight, other = (w.clone().requires_grad_() for _ in range(2))
    traced = trace(added, (x, weight))
    for _ in range(8):
        traced(x, weight).sum().backward()
        added(x, other).sum().backward()
    wengert.testing.assert_close(weight.grad, other.grad)
    traced = trace(saved, (x, weight))  # the program keeps what a graph has saved
    weight.grad = other.grad = None
    for _ in range(6):
        sum(t.sum() for t in traced(x, weight)).backward()
        y = (x @ other).exp()
        (y * y + y + x).sum().backward()
        wengert.testing.assert_close(weight.grad, other.grad)


def test_programs_that_write_to_their_arguments() -> None:
    def function(x: Any, y: Any) -> Any:
        y.add_(x.tanh().exp())
        return (y * 2).tanh().exp()

    traced = trace(function, (wengert.ones(4), wengert.zeros(4)), check_trace=False)
    mine, other = wengert.zeros(4), wengert.zeros(4)
    for k in range(6):
        x = wengert.full((4,), k / 8)
        wengert.testing.assert_close(traced(x, mine), function(x, other))
        wengert.testing.assert_close(mine, other)
    assert not any(ways(traced))


@pytest.mark.parametrize("wrong", [77, -3])
def test_indices_out_of_bounds_are_refused(wrong: int) -> None:
    def losses(x: Any, t: Any) -> Any:
        return F.cross_entropy((x * 2).tanh(), t)

    def picked(x: Any, t: Any) -> Any:
        return F.nll_loss((x * 2).tanh().log_softmax(1), t)

    def rows(x: Any, t: Any) -> Any:
        return F.embedding(t, x * 2).tanh() * 2

    x, t = wengert.randn(8, 5, requires_grad=True), wengert.arange(8) % 5
    for function in (losses, picked, rows) if wrong > 0 else (losses,):
        traced = trace(function, (x, t))
        for _ in range(4):
            assert traced(x, t).sum().item() == pytest.approx(function(x, t).sum().item())
            for place in range(8):
                other = t.clone()
                other[place] = wrong
                with pytest.raises(IndexError):
                    traced(x, other).sum().item()


def test_gradients_of_parts() -> None:
    def function(x: Any, w: Any) -> Any:
        a, b = (x @ w).tanh().chunk(2, -1)
        c, *_ = (a * b).exp().unbind(0)
        return c, b

    x, weight, other = wengert.randn(4, 4), *(wengert.randn(4, 4) for _ in range(2))
    other = weight.clone().requires_grad_()
    weight.requires_grad_()
    traced = trace(function, (x, weight))
    for _ in range(8):
        sum(t.square().sum() for t in traced(x, weight)).backward()
        sum(t.square().sum() for t in function(x, other)).backward()
        wengert.testing.assert_close(weight.grad, other.grad)
    assert all(ways(traced))


def test_programs_are_timed_beside_calls_that_run_as_they_are() -> None:
    traced, x = trace(network(), wengert.randn(4, 6)), wengert.randn(4, 6)
    for _ in range(50):
        traced(x)
    ((plain, runs),) = direct_of(traced).trial.periods.values()
    assert (len(plain), len(runs)) == (6, 10)
