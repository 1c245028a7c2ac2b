"""`allow_mutation_on_saved_tensors`: writes inside of it change no gradient."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
from tests.ops import calls
from tests.ops.each import each
from tests.ops.rows import Row, all_rows
from wengert import nn
from wengert.autograd import Function, SavedTensorOverwrittenError, grad
from wengert.autograd.graph import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    saved_tensors_hooks,
)
from wengert.autograd.saved.mutation import _SWEEP
from wengert.autograd.saved.packing import saver_stack
from wengert.core import storage


def context_of(library: Any) -> Any:
    if library is wengert:
        return allow_mutation_on_saved_tensors()
    return library.autograd.graph.allow_mutation_on_saved_tensors()


def leaf(library: Any = wengert, values: tuple[float, ...] = (1.0, 2.0, 3.0)) -> Any:
    return library.tensor(list(values), requires_grad=True)


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
    assert storage.guards == []


def no_grad_write(m: Any, a: Any) -> Any:
    y = (a * a).sum()
    with m.no_grad():
        a.mul_(5)
    return y


def of_the_square(write: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A program that saves a tensor, writes to it, and goes on with it."""

    def program(m: Any, a: Any) -> Any:
        b = a.clone()
        y = (b**2).sum() + b.exp().sum()
        write(m, b)
        return y + (b * b).sum()

    return program


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "sin_": of_the_square(lambda m, b: b.sin_()),
    "exp_ twice": of_the_square(lambda m, b: b.mul_(0.1).exp_().exp_()),
    "zero_ of detached": of_the_square(lambda m, b: b.detach().zero_()),
    "item": of_the_square(lambda m, b: b.__setitem__(0, 7.0)),
    "mask": of_the_square(lambda m, b: b.__setitem__(b.detach() > 1.5, 7.0)),
    "view": of_the_square(lambda m, b: b.view(3, 1).add_(1)),
    "copy_": of_the_square(lambda m, b: b.copy_(m.ones(3))),
    "masked_fill_": of_the_square(lambda m, b: b.masked_fill_(m.tensor([True, False, True]), 0)),
    "clamp_": of_the_square(lambda m, b: b.clamp_(max=2)),
    "leaf under no_grad": no_grad_write,
    "output": lambda m, a: (lambda y: (y.mul_(2), (y * a).sum())[1])(a.exp()),
    "saved by several": lambda m, a: (lambda b, y: (b.neg_(), y)[1])(
        *(lambda b: (b, (b * b).sum() + (b / a).sum()))(a.clone())
    ),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_pytorchs(name: str, torch: Any) -> None:
    found = []
    for library in (wengert, torch):
        with context_of(library):
            a = leaf(library)
            PROGRAMS[name](library, a).backward()
            found.append(a.grad.tolist())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (lambda b: b[1:].mul_(3), [2 + np.e + 2, 4 + np.e**2 + 36, 6 + np.e**3 + 54]),
        (lambda b: b.data.fill_(7), [2 + np.e + 14, 4 + np.e**2 + 14, 6 + np.e**3 + 14]),
    ],
)
def test_writes_to_other_tensors_of_the_memory(write: Any, expected: list[float]) -> None:
    """PyTorch looks for the address of the first element, and gives wrong gradients here."""
    with allow_mutation_on_saved_tensors():
        a = leaf()
        of_the_square(lambda m, b: write(b))(wengert, a).backward()
    np.testing.assert_allclose(a.grad.tolist(), expected, rtol=1e-6)


ROWS = [r for r in all_rows() if r.grad]


def erase(tensors: list[Any]) -> None:
    with wengert.no_grad():
        for t in tensors:
            if not t._array.flags.writeable:
                continue
            t.zero_()


@each(ROWS)
def test_inputs_and_outputs_may_be_erased(row: Row) -> None:
    """Of every operation: all its inputs and outputs, before backward."""

    def gradients(erased: bool) -> list[np.ndarray]:
        wengert.manual_seed(0)
        result, leaves = calls.call(wengert, row, row.make(calls.rng_of(row)), grad=True)
        outputs = [t for t in calls.outputs(result) if isinstance(t, wengert.Tensor)]
        loss = calls.scalar(wengert, result)
        if erased:
            erase([*leaves, *outputs])
        return [g.numpy() for g in calls.gradients(wengert, loss, leaves)]

    expected = gradients(erased=False)
    with allow_mutation_on_saved_tensors():
        found = gradients(erased=True)
    for ours, plain in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, plain)


@pytest.mark.parametrize("kind", ["SGD", "Adam", "RMSprop"])
def test_optimizers_may_step_between(kind: str) -> None:
    def steps(separate: bool) -> list[float]:
        wengert.manual_seed(0)
        a, b = leaf(), wengert.tensor([3.0, 1.0, 2.0])
        optimizer = getattr(wengert.optim, kind)([a], lr=0.1)
        first, second = (a * b).sum(), (a * a * a).sum()
        if separate:
            return grad(second, a)[0].tolist()
        first.backward()
        optimizer.step()
        optimizer.zero_grad()
        second.backward()
        return a.grad.tolist()

    expected = steps(separate=True)
    with allow_mutation_on_saved_tensors():
        assert steps(separate=False) == expected
    with pytest.raises(SavedTensorOverwrittenError):
        steps(separate=False)


def test_writes_that_are_no_operation() -> None:
    layer = nn.Linear(3, 3, bias=False)
    x = wengert.randn(2, 3, requires_grad=True)
    weight = layer.weight.detach().clone()
    writes = [
        lambda: nn.init.zeros_(layer.weight),
        lambda: layer.load_state_dict({"weight": wengert.ones(3, 3)}),
        lambda: nn.init.normal_(layer.weight),
        lambda: layer.weight.data.random_(),
    ]
    for write in writes:
        with allow_mutation_on_saved_tensors():
            layer.weight.data.copy_(weight)
            y = layer(x).sum()
            write()
            (g,) = grad(y, x)
        assert wengert.equal(g, weight.sum(0).expand(2, 3))


def test_gradients_may_be_clipped() -> None:
    a = leaf()
    a.grad = wengert.full((3,), 10.0)
    with allow_mutation_on_saved_tensors():
        y = (a * a.grad).sum()
        nn.utils.clip_grad_norm_([a], 1.0)
        nn.utils.clip_grad_value_([a], 0.1)
        assert grad(y, a)[0].tolist() == [10.0] * 3


def test_second_derivatives() -> None:
    with allow_mutation_on_saved_tensors():
        a = leaf()
        b = a.clone()
        (g,) = grad((b**3).sum(), a, create_graph=True)
        b.mul_(4)
        assert grad(g.sum(), a)[0].tolist() == [6.0, 12.0, 18.0]


def test_functions_of_the_user() -> None:
    class Cube(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x, x * x)
            return x**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            _, square = ctx.saved_tensors
            return 3 * square * g

    with allow_mutation_on_saved_tensors():
        a = leaf()
        b = a.clone()
        y = Cube.apply(b)
        b.zero_()
        y.grad_fn.saved_tensors[1].mul_(2)
        y.sum().backward()
        assert a.grad.tolist() == [3.0, 12.0, 27.0]


class TestRestrictions:
    @pytest.mark.torch
    def test_backward_outside(self, torch: Any) -> None:
        for library in (wengert, torch):
            with context_of(library):
                a = leaf(library)
                y = (a**2).sum()
                linear = (a + 1).sum()
            with pytest.raises(AssertionError, match="Trying to backward outside of the"):
                y.backward()
            assert a.grad is None
            linear.backward()
            assert a.grad.tolist() == [1.0] * 3
            with context_of(library), pytest.raises(AssertionError):
                y.backward()

    @pytest.mark.torch
    def test_clear(self, torch: Any) -> None:
        for library in (wengert, torch):
            with context_of(library) as context:
                a = leaf(library)
                y = (a**2).sum()
                context.clear()
                z = (a**2).sum()
                with pytest.raises(AssertionError, match="Trying to backward outside of the"):
                    y.backward()
                z.backward()
            assert a.grad.tolist() == [2.0, 4.0, 6.0]

    @pytest.mark.torch
    def test_no_nesting(self, torch: Any) -> None:
        for library in (wengert, torch):
            with (
                context_of(library),
                pytest.raises(RuntimeError, match="contexts cannot be nested"),
                context_of(library),
            ):
                pass

    @pytest.mark.torch
    def test_leaves_are_as_protected_as_ever(self, torch: Any) -> None:
        for library in (wengert, torch):
            with context_of(library), pytest.raises(RuntimeError, match="a leaf Variable that"):
                leaf(library).add_(1)

    @pytest.mark.torch
    def test_what_was_saved_before_is_not_covered(self, torch: Any) -> None:
        for library in (wengert, torch):
            b = leaf(library).clone()
            y = (b * b).sum()
            with context_of(library):
                b.mul_(5)
                with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                    y.backward()

    def test_disabled(self) -> None:
        with (
            disable_saved_tensors_hooks("none here"),
            pytest.raises(RuntimeError, match="none here"),
            allow_mutation_on_saved_tensors(),
        ):
            pass

    def test_reading_outside(self) -> None:
        with allow_mutation_on_saved_tensors():
            y = leaf() ** 2
        with pytest.raises(AssertionError, match=r"It recorded pow \(.*test_saved_mutation"):
            _ = y.grad_fn._saved_self

    def test_hooks_of_the_user_inside(self) -> None:
        with allow_mutation_on_saved_tensors():
            b = leaf().clone()
            with saved_tensors_hooks(lambda t: t, lambda t: t):
                y = (b * b).sum()
            b.zero_()
            with pytest.raises(SavedTensorOverwrittenError, match="zero_"):
                y.backward()


class TestCopies:
    def test_only_what_is_overwritten_is_copied(self) -> None:
        with allow_mutation_on_saved_tensors():
            b = leaf().clone()
            first, second = b[:2] * 2.0, b[1:].exp()
            z = b[:1] * b[:1]
            before = z.grad_fn._saved_self._array
            with wengert.no_grad():
                b[2].zero_()
            assert z.grad_fn._saved_self._array is before
            with wengert.no_grad():
                b[0].zero_()
            assert z.grad_fn._saved_self._array is not before
            assert z.grad_fn._saved_self.tolist() == [1.0]
            (first.sum() + second.sum()).backward()

    def test_one_copy_for_all(self) -> None:
        with allow_mutation_on_saved_tensors():
            b = leaf().clone()
            x, y = b * b, b * b
            b.zero_()
            arrays = {
                id(v._array)
                for node in (x.grad_fn, y.grad_fn)
                for v in (node._saved_self, node._saved_other)
            }
            assert len(arrays) == 1

    def test_layout_stays(self) -> None:
        with allow_mutation_on_saved_tensors():
            b = wengert.randn(3, 4, requires_grad=True).clone().t()
            y = b * b
            b.zero_()
            assert y.grad_fn._saved_self.stride() == (1, 4)

    def test_many_steps_leave_nothing_behind(self) -> None:
        a, constant = leaf(), wengert.ones(3)
        with allow_mutation_on_saved_tensors() as context:
            for _ in range(_SWEEP):
                (a * constant).exp().sum().backward()
                with wengert.no_grad():
                    a.sub_(a.grad * 0)
            assert sum(map(len, context._filed.values())) <= _SWEEP + 2


class TestLifetime:
    def test_nothing_is_kept_alive(self, no_gc: None) -> None:
        alive: list[weakref.ref[Any]] = []

        def run() -> None:
            a = leaf()
            with allow_mutation_on_saved_tensors() as context:
                b = a.clone()
                y = (b * b).exp()
                b.mul_(2).exp_()
                alive.extend(weakref.ref(t) for t in (y.grad_fn, b.grad_fn, y._array, context))
                kept = y.grad_fn.next_functions[0][0]._saved_self._array
                alive.append(weakref.ref(kept))
                del y, b, kept
                assert [r() is None for r in alive] == [True, True, True, False, True]

        run()
        assert alive[3]() is None

    def test_on_exit_saved_values_go(self, no_gc: None) -> None:
        with allow_mutation_on_saved_tensors():
            y = leaf().exp() * 1.0
            saved = weakref.ref(y.grad_fn.next_functions[0][0]._saved_result._array)
            assert saved() is not None
        assert saved() is None
        assert y.grad_fn is not None
