"""Hooks on saved tensors: what they get and when, against PyTorch; what they leave unchanged."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest

import wengert
from tests.ops import calls
from tests.ops.each import each
from tests.ops.rows import Row, all_rows
from wengert import nn
from wengert.autograd import Function, GraphReleasedError, SavedTensorOverwrittenError, grad
from wengert.autograd.graph import (
    disable_saved_tensors_hooks,
    save_on_cpu,
    saved_tensors_hooks,
)
from wengert.autograd.saved.packing import saver_stack


def hooks_of(library: Any) -> Any:
    return saved_tensors_hooks if library is wengert else library.autograd.graph.saved_tensors_hooks


def pair(library: Any = wengert, values: tuple[float, ...] = (1.0, 2.0)) -> tuple[Any, Any]:
    a = library.tensor(list(values), requires_grad=True)
    return a, library.tensor([v + 2.0 for v in values], requires_grad=True)


@pytest.fixture
def no_gc() -> Any:
    """Reference counting alone has to do."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(autouse=True)
def left_as_found() -> Any:
    yield
    assert saver_stack.entries == []
    assert saver_stack.refusal is None


def logged(library: Any, program: Any) -> list[Any]:
    """What pack and unpack were called with, in order, by a program's forward and backward."""
    log: list[Any] = []

    def pack(t: Any) -> Any:
        log.append(("pack", tuple(t.shape), str(t.dtype), round(float(t.sum()), 4)))
        return t.detach()

    def unpack(t: Any) -> Any:
        log.append(("unpack", tuple(t.shape)))
        return t

    a, b = pair(library)
    with hooks_of(library)(pack, unpack):
        result = program(library, a, b)
    log.append("backward")
    result.sum().backward()
    return log


PROGRAMS = {
    "mul": lambda m, a, b: a * b,
    "square": lambda m, a, b: a * a,
    "mul by a number": lambda m, a, b: a * 3.0,
    "mul by a constant": lambda m, a, b: a * m.ones(2),
    "add": lambda m, a, b: a + b,
    "exp": lambda m, a, b: a.exp(),
    "sin": lambda m, a, b: a.sin(),
    "tanh": lambda m, a, b: a.tanh(),
    "sigmoid": lambda m, a, b: a.sigmoid(),
    "sqrt": lambda m, a, b: a.sqrt(),
    "relu": lambda m, a, b: a.relu(),
    "log": lambda m, a, b: a.log(),
    "softmax": lambda m, a, b: a.softmax(0),
    "pow of a number": lambda m, a, b: a**3,
    "matmul": lambda m, a, b: a.view(1, 2) @ b.view(2, 1),
    "frozen factor": lambda m, a, b: a * b.detach(),
    "where": lambda m, a, b: m.where(a > 1.5, a, b),
    "chain": lambda m, a, b: ((a * b).exp() + a).tanh(),
    "in place": lambda m, a, b: a.clone().exp_(),
    "sum": lambda m, a, b: a.sum(0),
    "views": lambda m, a, b: a.view(2, 1).t().reshape(-1),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", PROGRAMS)
def test_hooks_see_what_pytorchs_see(name: str, torch: Any) -> None:
    ours, theirs = (logged(m, PROGRAMS[name]) for m in (wengert, torch))
    assert ours == theirs


@pytest.mark.torch
def test_leaves_come_as_they_are_and_inputs_with_their_history(torch: Any) -> None:
    for library in (wengert, torch):
        seen: list[Any] = []
        a, b = pair(library)
        y = a * b
        with hooks_of(library)(lambda t, seen=seen: seen.append(t), lambda t: t):
            y * b
        assert seen[0] is b
        assert seen[1].grad_fn is y.grad_fn
        assert seen[1].requires_grad


def test_an_output_comes_without_its_node() -> None:
    a, _ = pair()
    seen: list[Any] = []
    with saved_tensors_hooks(lambda t: seen.append(t), lambda t: a.exp().detach()):
        y = a.exp()
    assert seen[0].grad_fn is None
    assert wengert.equal(seen[0], y)
    (g,) = grad(y.sum(), a, create_graph=True)
    assert wengert.equal(grad(g.sum(), a)[0], y)


ROWS = [r for r in all_rows() if r.grad]


def derivatives(row: Row, order: int) -> list[np.ndarray]:
    """The gradients of a row, and of their sum of squares."""
    wengert.manual_seed(0)
    result, leaves = calls.call(wengert, row, row.make(calls.rng_of(row)), grad=True)
    found = calls.gradients(wengert, calls.scalar(wengert, result), leaves, create_graph=order > 1)
    if order > 1:
        total = sum((g * g.conj()).real.sum() for g in found)
        if isinstance(total, wengert.Tensor) and total.requires_grad:
            found = [*found, *calls.gradients(wengert, total, leaves)]
    return [g.detach().numpy() for g in found]


def as_bytes(t: Any) -> Any:
    return t._array.dtype, t._array.shape, t._array.tobytes()


def from_bytes(packed: Any) -> Any:
    dtype, shape, data = packed
    return wengert.from_numpy(np.frombuffer(data, dtype).reshape(shape).copy())


@each(ROWS)
def test_derivatives_are_the_same_through_hooks(row: Row) -> None:
    """Of every operation, to the second order."""
    order = 2 if row.second else 1
    expected = derivatives(row, order)
    with saved_tensors_hooks(as_bytes, from_bytes):
        found = derivatives(row, order)
    for ours, plain in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, plain, rtol=1e-12, atol=1e-12)


class TestUnpacked:
    @pytest.mark.parametrize("answer", [None, 3, [1.0, 2.0]])
    def test_no_tensor(self, answer: Any) -> None:
        a, b = pair()
        with saved_tensors_hooks(lambda t: t, lambda t: answer):
            y = a * b
        with pytest.raises(TypeError, match="Output of saved tensor unpack_hook expected to be a"):
            y.sum().backward()
        assert a.grad is None

    @pytest.mark.parametrize("shape", [(3,), (5, 2), ()])
    def test_another_shape(self, shape: tuple[int, ...]) -> None:
        a, b = pair()
        with saved_tensors_hooks(lambda t: t, lambda t: wengert.ones(shape)):
            y = a * b
        with pytest.raises(RuntimeError, match=r"has shape \[2\]"):
            y.sum().backward()
        assert a.grad is None

    def test_another_dtype_is_converted(self) -> None:
        a, b = pair()
        with saved_tensors_hooks(lambda t: t.to(wengert.bfloat16), lambda t: t):
            y = a * b
        y.sum().backward()
        assert a.grad.dtype is wengert.float32
        assert wengert.equal(a.grad, b)

    def test_raises(self) -> None:
        a, b = pair()
        with saved_tensors_hooks(lambda t: t, lambda t: 1 / 0):
            y = a * b
        with pytest.raises(ZeroDivisionError):
            y.sum().backward()
        assert a.grad is None

    def test_is_unpacked_for_each_backward(self) -> None:
        a, b = pair()
        calls_ = []
        with saved_tensors_hooks(lambda t: t, lambda t: calls_.append(1) or t):
            y = (a * b).sum()
        y.backward(retain_graph=True)
        y.backward()
        assert len(calls_) == 4
        with pytest.raises(GraphReleasedError):
            y.backward()

    @pytest.mark.torch
    def test_grad_mode_is_pytorchs(self, torch: Any) -> None:
        for library in (wengert, torch):
            a, b = pair(library)
            modes: list[bool] = []

            def note(t: Any, library: Any = library, modes: list[bool] = modes) -> Any:
                modes.append(library.is_grad_enabled())
                return t.detach()

            with hooks_of(library)(note, note):
                y = (a * b).sum()
                assert library.is_grad_enabled()
            y.backward(retain_graph=True)
            library.autograd.grad(y, a, create_graph=True)
            assert modes[:4] == [False] * 4
            assert modes[4:] == [True] * len(modes[4:]) != []


class TestPack:
    def test_raises(self) -> None:
        a, b = pair()
        with saved_tensors_hooks(lambda t: 1 / 0, lambda t: t):
            with pytest.raises(ZeroDivisionError):
                a * b
            assert wengert.is_grad_enabled()
            assert (a + b).requires_grad

    @pytest.mark.parametrize("write", [lambda t: t.mul_(2), lambda t: t.detach()[0].zero_()])
    def test_writing_in_place(self, write: Any) -> None:
        a = pair()[0]
        for run in (lambda: a * a, lambda: a.exp()):
            with (
                saved_tensors_hooks(write, lambda t: t),
                pytest.raises(RuntimeError, match="pack hook is modifying its input in place"),
            ):
                run()

    def test_is_not_called_where_nothing_is_recorded(self) -> None:
        a, b = pair()
        with saved_tensors_hooks(lambda t: 1 / 0, lambda t: t), wengert.no_grad():
            a * b
        with wengert.no_grad(), saved_tensors_hooks(lambda t: 1 / 0, lambda t: t):
            a * b
            with wengert.enable_grad(), pytest.raises(ZeroDivisionError):
                a * b

    @pytest.mark.parametrize("hooks", [(3, abs), (abs, 3)])
    def test_hooks_must_be_callable(self, hooks: tuple[Any, Any]) -> None:
        with pytest.raises(TypeError, match="must be callable"), saved_tensors_hooks(*hooks):
            pass


class TestNesting:
    @pytest.mark.torch
    def test_the_innermost_counts(self, torch: Any) -> None:
        logs = []
        for library in (wengert, torch):
            log: list[str] = []

            def named(n: str, library: Any = library, log: list[str] = log) -> Any:
                return hooks_of(library)(
                    lambda t: log.append(f"p{n}") or t, lambda t: log.append(f"u{n}") or t
                )

            a, b = pair(library)
            with named("1"):
                y = a * b
                with named("2"):
                    y = y * b
                y = y.exp()
            y.sum().backward()
            logs.append(log)
        assert logs[0] == logs[1] != []

    def test_one_context_twice(self) -> None:
        count = []
        a, _ = pair()
        context = saved_tensors_hooks(lambda t: count.append(1) or t, lambda t: t)
        with context:
            with context:
                a.exp()
            a.exp()
        a.exp()
        assert len(count) == 2

    def test_an_exception_leaves_it(self) -> None:
        a, _ = pair()
        with pytest.raises(KeyError), saved_tensors_hooks(lambda t: 1 / 0, lambda t: t):
            raise KeyError
        a.exp()

    def test_grad_mode_inside_outlives_it(self) -> None:
        with saved_tensors_hooks(lambda t: t, lambda t: t):
            wengert.set_grad_enabled(False)
        assert not wengert.is_grad_enabled()
        wengert.set_grad_enabled(True)

    def test_other_threads_have_their_own(self) -> None:
        a, _ = pair()
        count: list[int] = []
        with saved_tensors_hooks(lambda t: count.append(1) or t, lambda t: t):
            thread = threading.Thread(target=a.exp)
            thread.start()
            thread.join()
            assert count == []
            a.exp()
        assert count == [1]

    def test_disabled(self) -> None:
        with disable_saved_tensors_hooks("none here"):
            with pytest.raises(RuntimeError, match="none here"), save_on_cpu():
                pass
            with (
                disable_saved_tensors_hooks("nor here"),
                pytest.raises(RuntimeError, match="nor here"),
                save_on_cpu(),
            ):
                pass
            with pytest.raises(RuntimeError, match="none here"), save_on_cpu():
                pass
        with (
            save_on_cpu(),
            pytest.raises(RuntimeError, match="none here"),
            disable_saved_tensors_hooks("none here"),
        ):
            pass
        with save_on_cpu():
            pass

    def test_disabled_wants_a_text(self) -> None:
        with pytest.raises(TypeError, match="error_message"), disable_saved_tensors_hooks(3):
            pass


class TestModules:
    def test_every_module_inside_is_covered_and_named(self) -> None:
        net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Sequential(nn.Linear(3, 1)))
        count: list[int] = []
        with saved_tensors_hooks(lambda t: count.append(1) or t.clone(), lambda t: t):
            y = net(wengert.ones(4, 2))
        # Two inputs, a weight (the first layer's input wants no gradient), the output of tanh.
        assert len(count) == 4
        assert y.grad_fn.site.path() == "Sequential.2.0"
        assert type(net(wengert.ones(4, 2)).grad_fn.site).__name__ == "Site"

    def test_entered_inside_a_module(self) -> None:
        count: list[int] = []

        class Net(nn.Module):
            def forward(self, x: Any) -> Any:
                with saved_tensors_hooks(lambda t: count.append(1) or t, lambda t: t):
                    y = x.exp()
                return y.sin()

        a, _ = pair()
        net = Net()
        y = net(a)
        assert len(count) == 1
        assert y.grad_fn.site.path() == y.grad_fn.next_functions[0][0].site.path() == "Net"

    def test_parameters_are_recognized(self) -> None:
        layer = nn.Linear(2, 2)
        kinds: list[type] = []
        with saved_tensors_hooks(lambda t: kinds.append(type(t)) or t, lambda t: t):
            layer(wengert.ones(1, 2, requires_grad=True))
        assert nn.Parameter in kinds


class Square(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x * x
        ctx.save_for_backward(x, None, y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, nothing, y = ctx.saved_tensors
        assert nothing is None
        assert wengert.equal(y, x * x)
        return 2 * x * g


class TestFunction:
    def test_is_packed(self) -> None:
        a, _ = pair()
        log: list[Any] = []
        with saved_tensors_hooks(lambda t: log.append(t) or t.tolist(), wengert.tensor):
            y = Square.apply(a)
        assert log[0] is a
        assert log[1].grad_fn is None
        (g,) = grad(y.sum(), a, create_graph=True)
        assert wengert.equal(grad(g.sum(), a)[0], wengert.full((2,), 2.0))

    def test_pack_raises(self, no_gc: None) -> None:
        a, _ = pair()
        with saved_tensors_hooks(lambda t: 1 / 0, lambda t: t), pytest.raises(ZeroDivisionError):
            Square.apply(a)

    @pytest.mark.torch
    def test_saved_tensors_of_the_node(self, torch: Any) -> None:
        for library in (wengert, torch):
            a, _ = pair(library)

            class Own(library.autograd.Function):  # type: ignore[name-defined, misc]
                forward = staticmethod(Square.forward)

                @staticmethod
                def backward(ctx: Any, g: Any) -> Any:
                    return 2 * ctx.saved_tensors[0] * g

            y = Own.apply(a)
            x, nothing, result = y.grad_fn.saved_tensors
            assert x is a
            assert nothing is None
            assert result.grad_fn is y.grad_fn
            raw = y.grad_fn._raw_saved_tensors
            raw[0].register_hooks(lambda t: t.tolist(), library.tensor)
            with pytest.raises(RuntimeError, match="value None is forbidden"):
                raw[1].register_hooks(abs, abs)
            assert raw[0].data == [1.0, 2.0]
            y.sum().backward()
            assert a.grad.tolist() == [2.0, 4.0]
            with pytest.raises(RuntimeError, match="a second time"):
                _ = y.grad_fn.saved_tensors


class TestInPlace:
    @pytest.mark.torch
    @pytest.mark.parametrize(
        "write",
        [
            lambda c, b: c.mul_(b), lambda c, b: c.exp_(), lambda c, b: c.sigmoid_(),
            lambda c, b: c.div_(b), lambda c, b: c.pow_(2), lambda c, b: c.sin_(),
            lambda c, b: c.relu_(), lambda c, b: c.__setitem__(0, b[1]),
            lambda c, b: c[:1].mul_(b[:1]), lambda c, b: c.addcmul_(b, b),
        ],
    )  # fmt: skip
    def test_packed_values_are_those_before(self, write: Any, torch: Any) -> None:
        found = []
        for library in (wengert, torch):
            a, b = pair(library)
            with hooks_of(library)(lambda t: t.detach(), lambda t: t):
                c = a * 1.5
                write(c, b)
            c.sum().backward()
            found.append([t.grad.tolist() for t in (a, b) if t.grad is not None])
        np.testing.assert_allclose(found[0], found[1], rtol=1e-6)

    def test_identity_does_not_hide_a_write(self) -> None:
        a, b = pair()
        c = b.detach().clone()
        with saved_tensors_hooks(lambda t: t, lambda t: t):
            y = (a * c).sum()
        c.add_(1)
        with pytest.raises(SavedTensorOverwrittenError, match="add_"):
            y.backward()
        assert a.grad is None

    def test_a_copy_survives_a_write(self) -> None:
        a, b = pair()
        c = b.detach().clone()
        with saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
            y = (a * c).sum()
        c.add_(1)
        y.backward()
        assert wengert.equal(a.grad, b)


class TestRawSaved:
    @pytest.mark.torch
    def test_hooks_on_one_value(self, torch: Any) -> None:
        for library in (wengert, torch):
            a, b = pair(library)
            y = a * b
            raw = y.grad_fn._raw_saved_self
            assert raw.unpack_hook is None
            assert raw.data.tolist() == a.tolist()
            seen: list[Any] = []
            raw.register_hooks(lambda t, seen=seen: seen.append(t) or t * 2, lambda t: t / 2)
            assert seen[0] is not a
            assert not seen[0].requires_grad
            assert raw.data.tolist() == [2.0, 4.0]
            assert raw.unpack_hook is not None
            assert y.grad_fn._saved_self.tolist() == [1.0, 2.0]
            with pytest.raises(RuntimeError, match="whose hooks have already been set"):
                y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
            y.grad_fn._raw_saved_other.register_hooks(lambda t: t.tolist(), library.tensor)
            y.sum().backward()
            assert (a.grad.tolist(), b.grad.tolist()) == ([3.0, 4.0], [1.0, 2.0])
            with pytest.raises(RuntimeError, match="after it has been freed"):
                raw.register_hooks(lambda t: t, lambda t: t)

    @pytest.mark.torch
    def test_what_is_not_there(self, torch: Any) -> None:
        for library in (wengert, torch):
            a, b = pair(library)
            y = a * b.detach()
            assert y.grad_fn._saved_self is None
            with pytest.raises(RuntimeError, match="with value None is forbidden"):
                y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
            with pytest.raises(TypeError):
                y.grad_fn._raw_saved_other.register_hooks(3, lambda t: t)
            with pytest.raises(AttributeError):
                _ = y.grad_fn._saved_nothing

    def test_failing_pack_leaves_the_value(self) -> None:
        a, b = pair()
        y = a * b
        with pytest.raises(ZeroDivisionError):
            y.grad_fn._raw_saved_self.register_hooks(lambda t: 1 / 0, lambda t: t)
        y.sum().backward()
        assert wengert.equal(b.grad, a)

    def test_written_values_are_refused(self) -> None:
        a, b = pair()
        c = b.detach().clone()
        y = a * c
        c.zero_()
        with pytest.raises(SavedTensorOverwrittenError, match="zero_"):
            y.grad_fn._raw_saved_other.register_hooks(lambda t: t, lambda t: t)
        with pytest.raises(SavedTensorOverwrittenError, match="zero_"):
            _ = y.grad_fn._saved_other
