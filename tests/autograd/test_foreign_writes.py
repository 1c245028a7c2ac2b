"""Anomaly detection's `check_writes`: writes by NumPy to what operations saved."""

from __future__ import annotations

import contextlib
import gc
import re
import threading
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
from wengert.autograd import (
    Function,
    SavedTensorOverwrittenError,
    detect_anomaly,
    grad,
    set_detect_anomaly,
)
from wengert.autograd.engine import anomaly, observers
from wengert.autograd.graph import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    saved_tensors_hooks,
)
from wengert.autograd.saved import writes as module
from wengert.autograd.saved.packing import saver_stack
from wengert.utils.checkpoint import checkpoint

SITE = wengert.core.tensor.mode.where


@pytest.fixture(autouse=True)
def left_as_found() -> Any:
    yield
    assert wengert.core.tensor.mode.where is wengert.core.tensor.mode.site is SITE
    assert not anomaly.enabled
    assert not anomaly.check_writes
    assert saver_stack.witness is None
    assert module._verify not in observers


def watching() -> detect_anomaly:
    return detect_anomaly(check_writes=True)


def leaf(*values: float) -> Any:
    return wengert.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


def memory(tensor: Any) -> np.ndarray:
    """The tensor's memory, for NumPy to write to."""
    array: np.ndarray = tensor.detach().numpy()
    return array


def refused(root: Any, *leaves: Any) -> str:
    """The text of the error of a backward, which changes nothing."""
    before = [x.grad for x in leaves]
    with pytest.raises(SavedTensorOverwrittenError) as caught:
        root.backward()
    assert all(x.grad is g for x, g in zip(leaves, before, strict=True))
    return str(caught.value)


class Square(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * ctx.saved_tensors[0] * g


class TestWhatIsFound:
    @pytest.mark.parametrize("written", ["input", "weight", "output"])
    def test_a_write_to_whatever_was_saved(self, written: str) -> None:
        x, w = leaf(), leaf(4.0, 5.0, 6.0)
        with watching():
            p = x * w
            y = p.exp()
            loss = y.sum()
            memory({"input": x, "weight": w, "output": y}[written])[1] = 7
            text = refused(loss, x, w)
        name = {"input": "'input' of mul", "weight": "'other' of mul", "output": "'out' of exp"}
        assert text.startswith(
            "one of the variables needed for gradient computation has been modified by an inplace"
            f" operation: {name[written]}, float32 [3].\n"
        )

    def test_without_the_mode_nobody_sees_it(self) -> None:
        x = leaf()
        with detect_anomaly():
            loss = (x * x).sum()
            memory(x)[:] = 0
            loss.backward()
        assert x.grad.tolist() == [0.0, 0.0, 0.0]

    @pytest.mark.parametrize(
        "change",
        [
            lambda a: a.sort(),
            lambda a: a.__setitem__(slice(None), a[::-1].copy()),
            lambda a: a.view(np.uint8).__setitem__(5, a.view(np.uint8)[5] ^ 1),
            lambda a: np.negative(a, out=a),
            lambda a: np.copyto(a, np.nan, where=a == 2),
        ],
        ids=["sort", "reverse", "one bit", "sign", "nan"],
    )
    def test_changes_that_sums_would_miss(self, change: Callable[[np.ndarray], None]) -> None:
        x = leaf(3.0, 1.0, 2.0)
        with watching():
            loss = (x * x).sum()
            change(memory(x))
            refused(loss, x)

    def test_memory_that_came_from_numpy(self) -> None:
        a = np.ones((2, 3), np.float32)
        x, w = wengert.from_numpy(a), wengert.ones(3, 2, requires_grad=True)
        with watching():
            loss = (x @ w).sum()
            a[1, 2] = 0
            assert "'input' of matmul, float32 [2, 3]" in refused(loss, w)

    @pytest.mark.parametrize("dtype", ["bfloat16", "float64", "complex64"])
    def test_dtypes(self, dtype: str) -> None:
        x = wengert.ones(3, dtype=getattr(wengert, dtype), requires_grad=True)
        with watching():
            loss = (x * x).sum()
            x.detach()._array[0] = 2
            with pytest.raises(SavedTensorOverwrittenError, match=rf"of mul, {dtype} \[3\]"):
                loss.backward(wengert.ones_like(loss))

    def test_views_of_any_layout(self) -> None:
        base = wengert.zeros(4, 6)
        for view in (base.T, base[::2, ::3], base[1], base[:, 1:2].expand(4, 5)):
            w = wengert.ones(view.shape, requires_grad=True)
            with watching():
                loss = (w * view).sum()
                memory(base)[0, 0] += 1  # in the first two of them
                memory(base)[1, 1] += 1  # in the others
                refused(loss, w)

    def test_a_user_function_and_a_packed_value(self) -> None:
        x = leaf()
        with watching():
            loss = Square.apply(x).sum()
            memory(x)[0] = 7
            assert "'saved' of Square" in refused(loss, x)
        with watching(), saved_tensors_hooks(lambda t: t, lambda t: t):
            loss = (x * x).sum()
            memory(x)[0] = 8
            refused(loss, x)

    def test_after_an_inplace_operation_that_keeps_its_output(self) -> None:
        x = leaf()
        with watching():
            y = (x * 1).exp_()
            z = y.sum()
            memory(y)[0] = 0
            assert "'out' of exp" in refused(z, x)

    def test_a_module(self) -> None:
        net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
        with watching():
            loss = net(wengert.ones(2, 3)).sum()
            memory(net[2].weight)[0, 0] = 9
            assert re.search(r"saved by: +\w+ in Sequential\.2 ", refused(loss, *net.parameters()))

    def test_a_second_derivative(self) -> None:
        x = leaf()
        with watching():
            (first,) = grad((x**3).sum(), x, create_graph=True)
            memory(x)[0] = 9
            refused(first.sum(), x)

    def test_it_is_a_flag_as_well(self) -> None:
        x = leaf()
        setting = set_detect_anomaly(True, check_writes=True)
        loss = (x * x).sum()
        memory(x)[0] = 9
        refused(loss, x)
        with setting:
            pass
        loss.backward()
        assert x.grad.tolist() == [18.0, 4.0, 6.0]

    def test_flags_are_bools(self) -> None:
        with pytest.raises(TypeError, match=r"'check_writes' .position 3. must be bool"):
            set_detect_anomaly(True, check_writes=1)  # type: ignore[arg-type]


class TestWhatIsFine:
    @each(r for r in all_rows() if r.grad)
    def test_operations_that_write_to_nothing_that_is_saved(self, row: Row) -> None:
        """Neither forward nor backward: the second backward would see it."""
        with detect_anomaly(check_nan=False, check_writes=True):
            result, leaves = calls.call(wengert, row, row.make(calls.rng_of(row)), grad=True)
            loss = calls.scalar(wengert, result)
            first = calls.gradients(wengert, loss, leaves, retain_graph=True)
            again = calls.gradients(wengert, loss, leaves)
        for a, b in zip(first, again, strict=True):
            assert np.array_equal(a.numpy(), b.numpy(), equal_nan=True)

    def test_a_disjoint_part(self) -> None:
        base = wengert.zeros(4, 4)
        w = wengert.ones(4, requires_grad=True)
        with watching():
            loss = (w * base[1]).sum() + (w * base[:, 2]).sum()
            memory(base)[0, 0] = memory(base)[3, 3] = 9
            loss.backward()
        assert w.grad.tolist() == [0.0] * 4

    def test_a_write_before_the_save_and_one_after_backward(self) -> None:
        x = leaf()
        with watching():
            memory(x)[0] = 5
            loss = (x * x).sum()
            loss.backward()
            memory(x)[0] = 6
            (x * x).sum().backward()
        assert x.grad.tolist() == [22.0, 8.0, 12.0]

    def test_the_same_values_again(self) -> None:
        x = leaf()
        with watching():
            loss = (x * x).sum()
            memory(x)[:] = memory(x).copy()
            loss.backward()
        assert x.grad.tolist() == [2.0, 4.0, 6.0]

    def test_what_a_walk_does_not_pass(self) -> None:
        x, w = leaf(), leaf()
        with watching():
            y = x * x
            loss = (y * w).sum()
            memory(x)[0] = 9
            assert grad(loss, w, retain_graph=True)[0].tolist() == [1.0, 4.0, 9.0]
            assert grad(loss, y, retain_graph=True)[0].tolist() == [1.0, 2.0, 3.0]
            with pytest.raises(SavedTensorOverwrittenError):
                grad(loss, x)

    def test_an_optimizer(self) -> None:
        net = nn.Linear(3, 1)
        optimizer = wengert.optim.SGD(net.parameters(), lr=0.1)
        with watching():
            for _ in range(3):
                optimizer.zero_grad()
                net(wengert.ones(2, 3)).sum().backward()
                optimizer.step()
            assert not len(module._memories)

    def test_a_write_by_a_tensor_operation_has_its_own_error(self) -> None:
        x = leaf()
        with watching():
            loss = (x * x).sum()
            with wengert.no_grad():
                x.mul_(2)
            assert "written by: mul_  at" in refused(loss, x)


class TestTheMessage:
    def test_says_between_which_lines(self) -> None:
        x = leaf()
        with watching():
            y = x * x
            y.sum().backward(retain_graph=True)  # still
            z = x * 2 + x.sin()  # good
            memory(x)[0] = 9
            u = x.cos()  # changed
            text = refused((y + z + u).sum())
        assert re.search(r"this call: +backward\(\)  at .*root\.backward\(\)", text)
        assert re.search(r"saved by: +mul \(.*y = x \* x\)", text)
        assert "written by: no operation on tensors, but NumPy or other code that shares" in text
        assert re.search(r"after: +sin \(.*# good\)", text)
        assert re.search(r"before: +cos \(.*# changed\)", text)
        assert re.search(r"\n  Remedies:\n    1\. write to a copy: ", text)

    def test_a_backward_is_a_look_at_it(self) -> None:
        x = leaf()
        with watching():
            y = (x * x).sum()
            y.backward(retain_graph=True)  # still good
            memory(x)[0] = 9
            text = refused(y)
        assert re.search(r"after: +backward\(\)  at .*# still good", text)
        assert re.search(r"before: +backward\(\)  at .*root\.backward\(\)", text)

    def test_the_graph_stays_whole(self) -> None:
        x = leaf()
        with watching():
            loss = (x * x).sum()
            memory(x)[0] = 9
            refused(loss, x)
            memory(x)[0] = 1
            loss.backward()
        assert x.grad.tolist() == [2.0, 4.0, 6.0]


class TestWithOthers:
    def test_inside_and_around_hooks(self) -> None:
        """A hook that copies keeps the value; who records after it is told again."""
        x = leaf()
        with watching():
            with saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
                copied = (x * x).sum()
            memory(x)[0] = 9
            copied.backward()
            assert x.grad.tolist() == [2.0, 4.0, 6.0]
            loss = (x * x).sum()
            memory(x)[0] = 1
            refused(loss)
        with saved_tensors_hooks(lambda t: t, lambda t: t):
            with watching():
                loss = (x * x).sum()
                memory(x)[0] = 9
                refused(loss)
            loss = (x * x).sum()
            memory(x)[0] = 1
            loss.backward()

    def test_hooks_may_be_left_after_it_was_turned_on(self) -> None:
        x = leaf()
        with saved_tensors_hooks(lambda t: t, lambda t: t):
            setting = set_detect_anomaly(True, check_writes=True)
        with setting:
            loss = (x * x).sum()
            memory(x)[0] = 9
            refused(loss)

    def test_where_hooks_are_disabled(self) -> None:
        x = leaf()
        with watching(), disable_saved_tensors_hooks("no hooks"):
            loss = (x * x).sum()
            memory(x)[0] = 9
            refused(loss)

    def test_mutation_that_is_allowed(self) -> None:
        x = leaf()
        with watching(), allow_mutation_on_saved_tensors():
            y = x * 1
            loss = (y * y).sum() + (y.T.expand(2, 3) * x).sum()
            y.zero_()
            loss.backward()
            other = (x * x).sum()
            memory(x)[0] = 9
            refused(other)
        assert x.grad.tolist() == [6.0, 12.0, 18.0]

    @pytest.mark.parametrize("reentrant", [False, True])
    def test_checkpoint(self, reentrant: bool) -> None:
        """It computes its part again from whatever the inputs have become."""
        x, scale = leaf(), wengert.tensor([1.0, 1.0, 1.0])
        with watching():
            y = checkpoint(lambda t: (t * scale).sin(), x * 1, use_reentrant=reentrant)
            (y * y).sum().backward()
            want = 2 * np.sin([1, 2, 3]) * np.cos([1, 2, 3])
            assert np.allclose(x.grad.numpy(), want, rtol=1e-5)
            y = checkpoint(lambda t: (t * scale).sin(), x * 1, use_reentrant=reentrant)
            loss = (y * y).sum()
            memory(scale)[0] = 9
            loss.backward()

    def test_other_threads_are_checked_not_watched(self) -> None:
        x = leaf()
        found: list[Any] = []

        def work() -> None:
            found.append((x * x).sum())

        with watching():
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            memory(x)[0] = 9
            found[0].backward()
        assert x.grad.tolist() == [18.0, 4.0, 6.0]

    def test_a_context_inside_turns_it_off(self) -> None:
        x = leaf()
        with watching():
            with detect_anomaly():
                unseen = (x * x).sum()
            loss = (x * x).sum()
            memory(x)[0] = 9
            unseen.backward()
            refused(loss, x)

    def test_it_keeps_nothing_alive(self) -> None:
        gc.collect()
        gc.disable()
        try:
            before = len(module._memories)
            with watching():
                x = leaf()
                y = (x * x).exp()
                z = Square.apply(y)
                assert len(module._memories) == before + 3
                z.sum().backward(retain_graph=True)
                memory(y)[0] = 9
                with contextlib.suppress(SavedTensorOverwrittenError):
                    z.sum().backward()
                nodes = [weakref.ref(t.grad_fn) for t in (y, z)]
                array = weakref.ref(y._array)
                del y, z
                assert [ref() for ref in nodes] == [None, None]
                assert array() is None
                assert len(module._memories) == before
        finally:
            gc.enable()
