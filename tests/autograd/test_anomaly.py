"""Anomaly detection: which derivative made the first nan, and what is said of it."""

from __future__ import annotations

import contextlib
import gc
import inspect
import weakref
from typing import Any

import numpy as np
import pytest

import wengert
from wengert import nn
from wengert.autograd import Function, detect_anomaly, grad, set_detect_anomaly
from wengert.autograd.anomaly_mode import (
    _has_nan,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    set_anomaly_enabled,
)
from wengert.autograd.engine import anomaly
from wengert.autograd.errors import GraphError, NanGradientError

INF, NAN = float("inf"), float("nan")


@pytest.fixture(autouse=True)
def off_afterwards() -> Any:
    yield
    assert not is_anomaly_enabled()
    assert is_anomaly_check_nan_enabled()
    assert anomaly.check is None


def leaf(*values: float, dtype: Any = None) -> Any:
    return wengert.tensor(values, requires_grad=True, dtype=dtype)


def line() -> int:
    """The caller's line."""
    return inspect.currentframe().f_back.f_lineno  # type: ignore[union-attr]


def report(run: Any) -> str:
    """The error of a backward under anomaly detection."""
    with detect_anomaly(), pytest.raises(NanGradientError) as caught:
        run()
    assert isinstance(caught.value, RuntimeError)
    assert isinstance(caught.value, GraphError)
    assert not hasattr(caught.value, "__notes__")
    return str(caught.value)


class TestSwitches:
    @pytest.mark.torch
    @pytest.mark.filterwarnings("ignore:Anomaly Detection")
    def test_contexts_and_calls_equal_torchs(self, torch: Any) -> None:
        def program(t: Any, enabled: Any, checks: Any) -> list[Any]:
            states: list[Any] = []

            def note() -> None:
                states.append((enabled(), checks()))

            note()
            with t.autograd.detect_anomaly():
                note()
                with t.autograd.set_detect_anomaly(False):
                    note()
                    with t.autograd.detect_anomaly(check_nan=False):
                        note()
                    note()
                note()
            note()
            t.autograd.set_detect_anomaly(True, check_nan=False)
            note()
            t.autograd.set_detect_anomaly(False)
            note()
            context = t.autograd.set_detect_anomaly(True)
            note()
            with context:
                note()
            note()
            for wrong in (3, "on", None):
                with pytest.raises(TypeError, match="must be bool"):
                    t.autograd.set_detect_anomaly(wrong)
            note()
            return states

        assert program(wengert, is_anomaly_enabled, is_anomaly_check_nan_enabled) == program(
            torch, torch.is_anomaly_enabled, torch.is_anomaly_check_nan_enabled
        )

    def test_the_mode_ends_with_an_exception(self) -> None:
        with pytest.raises(KeyError), detect_anomaly():
            raise KeyError

    def test_without_check_nan_nothing_is_looked_at(self) -> None:
        x = leaf(0.0)
        with detect_anomaly(check_nan=False):
            (x.sqrt() * 0).sum().backward()
        assert np.isnan(x.grad.item())

    def test_entering_does_not_warn(self, recwarn: Any) -> None:
        with detect_anomaly(), set_detect_anomaly(True):
            pass
        assert not recwarn.list

    def test_wrong_flags(self) -> None:
        with pytest.raises(TypeError, match=r"argument 'check_nan' \(position 2\) must be bool"):
            set_anomaly_enabled(True, 1)  # type: ignore[arg-type]


# Programs that give nan gradients, or do not.
PROGRAMS = {
    "sqrt at 0": lambda t, x: (x.sqrt() * 0).sum(),
    "inf only": lambda t, x: x.sqrt().sum(),
    "0 / 0": lambda t, x: (x / (x * 0)).sum(),
    "log": lambda t, x: (x.log() * 0).sum(),
    "masked": lambda t, x: t.where(x > 0, x.sqrt(), t.zeros(())).sum(),
    "inf - inf": lambda t, x: (x.sqrt() - (x * 1).sqrt()).sum(),
    "norm": lambda t, x: (x * 0).norm(),
    "pow": lambda t, x: (x**0.5 * 0).sum(),
    "fine": lambda t, x: (x.exp() * x).sum(),
    "nan forward": lambda t, x: ((x - 1).log() * x).sum(),
    "double": lambda t, x: (x.double().sqrt() * 0).sum(),
}


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Anomaly Detection")
@pytest.mark.filterwarnings("ignore:Error detected")
@pytest.mark.parametrize("name", PROGRAMS)
def test_who_is_blamed_equals_torch(torch: Any, name: str) -> None:
    def program(t: Any) -> str | None:
        x = t.tensor([4.0, 0.0, 1.0], requires_grad=True)
        try:
            with t.autograd.detect_anomaly():
                PROGRAMS[name](t, x).backward()
        except RuntimeError as error:
            return str(error).splitlines()[0]
        return None

    ours = program(wengert)
    if name == "inf - inf":  # PyTorch lets the nan into x.grad
        assert ours is not None
        assert "AccumulateGrad" in ours
    else:
        assert ours == program(torch)


class TestReport:
    def test_says_where_what_and_why(self) -> None:
        x = leaf(4.0, 9.0, 0.0, 0.0)
        here = line() + 1
        y = x.sqrt()
        loss = (y * 0).sum()
        text = report(loss.backward)
        assert text.splitlines()[0] == (
            "Function 'SqrtBackward0' returned nan values in its 0th output."
        )
        assert f"made by:   sqrt ({__file__}:{here}  y = x.sqrt())" in text
        assert "this call: backward()  at" in text
        assert "first nan: [2], shape [4], 2 of 4 elements" in text
        assert "arrived:   0.0 at [2] (shape [4], all finite)" in text
        assert "saved:     out = 0.0 at [2] (shape [4], all finite)" in text
        assert "nothing that went in was nan; it arose in this derivative" in text

    def test_names_the_module(self) -> None:
        class Root(nn.Module):
            def forward(self, x: Any) -> Any:
                return x.sqrt()

        net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU(), Root()))
        with wengert.no_grad():
            for p in net.parameters():
                p.zero_()
        text = report((net(wengert.ones(3, 2)) * 0).sum().backward)
        assert "made by:   sqrt in Sequential.1.1 (" in text
        assert "first nan: [0, 0], shape [3, 2], 6 of 6 elements" in text

    def test_blames_the_forward(self) -> None:
        x = leaf(-1.0, 2.0)
        w = leaf(1.0, 1.0)
        here = line() + 1
        bad = x.log()
        text = report((bad * w).sum().backward)
        assert "Function 'MulBackward0' returned nan values in its 1th output." in text
        assert "saved:     input = nan at [0] (shape [2], nan)" in text
        assert "Cause: the forward was nan already: input, after log (" in text
        assert f":{here}  bad = x.log())" in text

    def test_blames_data(self) -> None:
        text = report((leaf(NAN, 1.0) * leaf(1.0, 1.0)).sum().backward)
        assert "the forward was nan already: input, in mul (" in text

    def test_blames_a_given_gradient_and_hooks(self) -> None:
        x = leaf(1.0, 2.0)
        y = x * 3
        text = report(lambda: y.backward(wengert.tensor([1.0, NAN]), retain_graph=True))
        assert "what arrived was nan already" in text
        assert "arrived:   nan at [1]" in text
        with y.register_hook(lambda g: g * NAN):
            text = report(y.sum().backward)
        assert "what arrived was nan already" in text
        x.register_hook(lambda g: g * NAN)
        text = report(y.sum().backward)
        assert "AccumulateGrad" in text
        assert "a hook" in text

    def test_infinities_that_cancel(self) -> None:
        x = leaf(0.0, 1.0)
        text = report((x.sqrt() - (x * 1).sqrt()).sum().backward)
        assert "'torch::autograd::AccumulateGrad' returned nan values" in text
        assert "some were inf and some -inf" in text
        y = x * 2
        z = y.sqrt() - (y * 1).sqrt()
        text = report(z.sum().backward)
        assert "Function 'MulBackward0'" in text
        assert "inf and -inf were added on the way here" in text

    def test_broadcast_and_other_shapes(self) -> None:
        x = wengert.zeros(2, 3, requires_grad=True)
        scale = wengert.tensor(0.0, requires_grad=True)
        text = report((x.sqrt() * scale).sum().backward)
        assert "first nan: [0, 0], shape [2, 3], 6 of 6" in text
        text = report((x.log() @ wengert.zeros(3, 1)).sum().backward)
        assert "LogBackward0" in text


class TestWalks:
    def test_nothing_changes_and_the_graph_stays(self) -> None:
        x, w = leaf(0.0), leaf(2.0)
        loss = (x.sqrt() * 0 + w.exp()).sum()
        for _ in range(2):
            report(loss.backward)
            assert x.grad is None
            assert w.grad is None
        loss.backward()
        assert np.isnan(x.grad.item())
        assert w.grad.item() == pytest.approx(np.exp(2.0))

    def test_a_good_walk_releases_and_is_the_same(self) -> None:
        def gradients() -> list[Any]:
            wengert.manual_seed(0)
            net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
            x = wengert.randn(5, 3, requires_grad=True)
            parts = net(x).split(1, dim=1)
            loss = parts[0].sum() + x[1:3].pow(2).sum() + parts[1].max()
            loss.backward()
            with pytest.raises(wengert.autograd.GraphReleasedError):
                loss.backward()
            return [p.grad.tolist() for p in [*net.parameters(), x]]

        plain = gradients()
        with detect_anomaly():
            assert gradients() == plain

    def test_grad_create_graph_and_second_order(self) -> None:
        x = leaf(0.0, 1.0)
        report(lambda: grad((x.sqrt() * 0).sum(), x))
        report(lambda: grad((x.sqrt() * 0).sum(), x, create_graph=True))
        with detect_anomaly():
            (g,) = grad((x**1.5).sum(), x, create_graph=True)
        text = report(lambda: grad((g * 0).sum(), x))
        assert "PowBackward0" in text

    def test_a_users_function(self) -> None:
        class Bad(Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.save_for_backward(x)
                return x * 2

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g * NAN

        text = report(Bad.apply(leaf(1.0)).sum().backward)
        assert "Function 'BadBackward' returned nan values in its 0th output." in text

    def test_an_exception_of_a_function_names_the_forward_line(self) -> None:
        class Raising(Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                raise ValueError("no derivative")

        here = line() + 1
        y = Raising.apply(leaf(1.0))
        with detect_anomaly(), pytest.raises(ValueError, match="no derivative") as caught:
            y.sum().backward()
        (note,) = caught.value.__notes__
        assert str(caught.value) == "no derivative"
        assert f"in the derivative of Raising ({__file__}:{here}" in note

    def test_no_leak(self) -> None:
        gc.collect()
        gc.disable()
        try:
            x = leaf(0.0)
            y = x.sqrt() * 0
            node = weakref.ref(y.grad_fn)
            with contextlib.suppress(RuntimeError), detect_anomaly():
                y.sum().backward()
            del y
            assert node() is None
        finally:
            gc.enable()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16", "complex64"])
def test_nan_is_found_and_infinity_is_not(dtype: str) -> None:
    make = wengert.zeros(3, 4, dtype=getattr(wengert, dtype))._array
    for values in (make.copy(), make.copy().T, make.copy()[:, ::2], make.copy()[0, 0]):
        values = np.asarray(values)
        assert not _has_nan(values)
        values.flat[0] = INF
        values.flat[-1] = -INF if values.size > 1 else INF
        assert not _has_nan(values)
        values.flat[values.size // 2] = NAN
        assert _has_nan(values)
    huge = np.finfo(np.float32).max
    assert not _has_nan(np.full(64, huge, np.float32))  # sums and squares overflow


def test_what_is_looked_at() -> None:
    assert _has_nan(np.float32(NAN))
    assert not _has_nan(np.float32(INF))
    assert _has_nan(np.broadcast_to(np.float32(NAN), (1000, 1000)))
    assert not _has_nan(np.broadcast_to(np.float32(1), (1000, 1000)))
    assert not _has_nan(np.zeros((0, 3)))
    assert not _has_nan(np.zeros((3, 0)).T)
    assert _has_nan(wengert.tensor([1.0, NAN]))
    assert _has_nan(np.array([1, complex(0, NAN)]))
