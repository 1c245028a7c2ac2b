"""In-place writes: values and gradients of everything that shares the memory."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import wengert
from tests.tensor.both import compare, numeric_gradients
from wengert.autograd import SavedTensorOverwrittenError


def non_leaf(lib: Any, x: Any) -> Any:
    y = x * 2
    y.mul_(3)
    return y


def value_with_gradient(lib: Any, x: Any, w: Any) -> Any:
    y = x + 1
    y.mul_(w)
    return y


def view_of_non_leaf(lib: Any, x: Any) -> Any:
    y = x * 2
    y[1].mul_(5)
    return y


def view_read_after_its_own_write(lib: Any, x: Any) -> Any:
    y = x * 2
    v = y[1]
    v.mul_(5)
    return y, v


def base_after_view(lib: Any, x: Any) -> Any:
    y = x * 2
    v = y[:, 1]
    y.mul_(3)
    return v, y


def view_of_view(lib: Any, x: Any) -> Any:
    y = x * 2
    v = y[1:]
    w = v[:, 0]
    w.mul_(7)
    return y, v, w


def sibling_views(lib: Any, x: Any) -> Any:
    y = x * 2
    a, b = y[:, 1:], y[1]
    a.mul_(3)
    b.add_(1)
    b.mul_(2)
    return a, b, y


def chained_views(lib: Any, x: Any) -> Any:
    y = x * 2
    y.t().unsqueeze(0)[0, 1].mul_(4)
    return y


def viewed_flat(lib: Any, x: Any) -> Any:
    y = x * 2
    y.view(-1).mul_(2)
    return y


def transposed(lib: Any, x: Any, w: Any) -> Any:
    y = x * 2
    y.t().add_(w)
    return y


def permuted_memory(lib: Any, x: Any) -> Any:
    y = x.t() * 2  # lies in column order
    y[1].mul_(3)
    y[:, 0].mul_(5)
    return y


def strided_slices(lib: Any, x: Any) -> Any:
    y = x * 2
    y[::2, 1::2].mul_(3)
    return y


def diagonal(lib: Any, x: Any) -> Any:
    y = x * 2
    y.diagonal(1).mul_(3)
    return y


def narrowed_and_selected(lib: Any, x: Any) -> Any:
    y = x * 2
    y.narrow(1, 1, 2).select(0, 1).mul_(3)
    return y


def augmented_item(lib: Any, x: Any) -> Any:
    y = x * 2
    y[0] += 1
    y[1] *= x[0]
    y[:, 2] -= 3
    return y


def copied_over(lib: Any, x: Any, w: Any) -> Any:
    y = x * 2
    y.copy_(w)
    return y


def copied_constant(lib: Any, x: Any) -> Any:
    y = x * 2
    y.copy_(lib.ones(3, dtype=lib.float64))
    return y


def copied_into_a_view(lib: Any, x: Any, w: Any) -> Any:
    y = x * 2
    y[1].copy_(w)
    return y


def copied_into_plain_memory(lib: Any, w: Any) -> Any:
    y = lib.zeros(2, 3, dtype=lib.float64)
    v = y[0]
    y.copy_(w)
    return y, v


def assigned_into_plain_memory(lib: Any, w: Any) -> Any:
    y = lib.zeros(2, 3, dtype=lib.float64)
    early = y[1]
    y[1] = w
    return early, y


def assigned_to_a_view_of_plain_memory(lib: Any, w: Any) -> Any:
    y = lib.zeros(4, dtype=lib.float64)
    v = y[1:]
    v[:2] = w
    return y, v


def rows_one_by_one(lib: Any, x: Any) -> Any:
    y = lib.zeros(3, 4, dtype=lib.float64)
    for i in range(3):
        y[i] = x[i] * (i + 1)
    return y


def expanded_without_repeating(lib: Any, x: Any) -> Any:
    y = x * 2
    y.expand(1, 2, 3).mul_(3)
    return y


def under_no_grad(lib: Any, x: Any) -> Any:
    y = x * 2
    with lib.no_grad():
        y[0] = 5
        y.mul_(2)
    return y


def detached_write(lib: Any, x: Any) -> Any:
    y = x * 2
    z = y.detach()
    z.add_(1)
    return y, z


def leaf_view_kept(lib: Any, x: Any) -> Any:
    flat = lib.zeros(4, dtype=lib.float64)
    part = flat[:2].requires_grad_()
    flat.add_(1)
    assert part.is_leaf
    return part * x


def reshaped_in_place(lib: Any, x: Any) -> Any:
    y = x * 2
    v = y[0]
    y.t_()
    y.unsqueeze_(0).squeeze_(0)
    y.transpose_(0, 1).mul_(3)
    return y, v


def writes_in_a_row(lib: Any, x: Any) -> Any:
    y = x.clone()
    for i in range(4):
        y[i].mul_(i + 1)
        y.add_(x)
    return y


PROGRAMS = [
    (non_leaf, (3,)), (value_with_gradient, (2, 3), (3,)), (view_of_non_leaf, (2, 3)),
    (view_read_after_its_own_write, (2, 3)), (base_after_view, (2, 3)), (view_of_view, (3, 2)),
    (sibling_views, (2, 3)), (chained_views, (2, 3)), (viewed_flat, (2, 3)),
    (transposed, (2, 3), (3, 2)), (permuted_memory, (2, 3)), (strided_slices, (4, 5)),
    (diagonal, (3, 4)), (narrowed_and_selected, (2, 4)), (augmented_item, (2, 3)),
    (copied_over, (2, 3), (3,)), (copied_constant, (2, 3)), (copied_into_a_view, (2, 3), (1,)),
    (copied_into_plain_memory, (3,)), (assigned_into_plain_memory, (3,)),
    (assigned_to_a_view_of_plain_memory, (2,)), (rows_one_by_one, (3, 4)),
    (expanded_without_repeating, (2, 3)), (under_no_grad, (2, 3)), (detached_write, (2,)),
    (leaf_view_kept, (2,)), (reshaped_in_place, (2, 3)), (writes_in_a_row, (4, 2)),
]  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("case", PROGRAMS, ids=lambda c: c[0].__name__)
def test_program_equals_torch(case: Any, torch: Any) -> None:
    compare(case[0], torch, *case[1:])


# PyTorch refuses to write to one of several views that one call returned, and to read a view
# made under no_grad after a write to its base. Here they are views like any others.


def one_chunk(lib: Any, x: Any) -> Any:
    y = x * 2
    a, b = y.chunk(2)
    a.mul_(3)
    a.mul_(b)
    return y * y


def rows_of_a_loop(lib: Any, x: Any) -> Any:
    y = x * 2
    for k, row in enumerate(y):
        row.mul_(k + 2)
    return y * x


def all_parts(lib: Any, x: Any) -> Any:
    y = x * 2
    a, b, c = y.split([1, 1, 2])
    b.mul_(a)
    c.mul_(b)
    return y * x


def view_made_under_no_grad(lib: Any, x: Any) -> Any:
    y = x * 2
    with lib.no_grad():
        v = y[0]
    y.mul_(x)
    return y * v


@pytest.mark.parametrize("program", [one_chunk, rows_of_a_loop, all_parts, view_made_under_no_grad])
def test_gradients_where_torch_refuses(program: Any) -> None:
    numeric_gradients(program, (4, 2))


LEAF = "a leaf Variable that requires grad is being used in an in-place operation"
VIEW_OF_LEAF = "a view of a leaf Variable that requires grad is being used in an in-place operation"


def leaf(lib: Any) -> None:
    lib.ones(2, requires_grad=True).add_(1)


def leaf_item(lib: Any) -> None:
    lib.ones(2, requires_grad=True)[lib.tensor([0])] = 1


def view_of_leaf(lib: Any) -> None:
    lib.ones(2, requires_grad=True)[0].add_(1)


def item_of_leaf(lib: Any) -> None:
    lib.ones(2, requires_grad=True)[0] = 1


def view_older_than_requires_grad(lib: Any) -> None:
    x = lib.ones(3)
    v = x[:2]
    x.requires_grad_()
    v.mul_(2)


def view_without_history(lib: Any) -> None:
    y = lib.ones(3, requires_grad=True) * 2
    with lib.no_grad():
        v = y[:2]
    v.mul_(2)


def larger_result(lib: Any) -> None:
    lib.zeros(3).add_(lib.zeros(2, 3))


def float_into_integers(lib: Any) -> None:
    lib.zeros(3, dtype=lib.int64).add_(1.5)


def repeated_memory(lib: Any) -> None:
    lib.zeros(3).expand(2, 3).add_(1)


def repeated_memory_rows(lib: Any) -> None:
    lib.zeros(3).expand(2, 3)[:, 0] = lib.ones(2)


def repeated_memory_recorded(lib: Any) -> None:
    (lib.zeros(3, requires_grad=True) * 2).expand(2, 3).masked_fill_(lib.tensor(True), 1.0)


def wrong_size(lib: Any) -> None:
    lib.zeros(2).copy_(lib.zeros(3))


def no_tensor(lib: Any) -> None:
    lib.zeros(2).copy_([1.0, 2.0])


def no_overflow(lib: Any) -> None:
    lib.zeros(2).copy_(1j)


def modulus_into_complex_numbers(lib: Any) -> None:
    lib.zeros(2, dtype=lib.complex64).abs_()


REFUSED = [
    (leaf, RuntimeError, LEAF), (leaf_item, RuntimeError, LEAF),
    (view_of_leaf, RuntimeError, VIEW_OF_LEAF), (item_of_leaf, RuntimeError, VIEW_OF_LEAF),
    (view_older_than_requires_grad, RuntimeError, VIEW_OF_LEAF),
    (view_without_history, RuntimeError, "A view was created in no_grad mode"),
    (larger_result, RuntimeError, r"output with shape \[3\] doesn't match the broadcast shape"),
    (float_into_integers, RuntimeError, "result type Float can't be cast to the desired output"),
    (repeated_memory, RuntimeError, "more than one element of the written-to tensor"),
    (repeated_memory_rows, RuntimeError, "more than one element of the written-to tensor"),
    (repeated_memory_recorded, None, "more than one element of the written-to tensor"),
    (wrong_size, RuntimeError, "must match the existing size"),
    (no_tensor, TypeError, "must be Tensor, not list"),
    (no_overflow, None, "without overflow"),
    (modulus_into_complex_numbers, RuntimeError, "In-place abs is not supported for complex"),
]  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize(
    ("program", "kind", "match"), REFUSED, ids=lambda v: getattr(v, "__name__", "")
)
def test_refusals(program: Any, kind: Any, match: str, torch: Any) -> None:
    if kind is not None:
        with pytest.raises(kind):
            program(torch)
    with pytest.raises(kind or RuntimeError, match=match):
        program(wengert)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64", "complex64"])
@pytest.mark.parametrize("length", [2, 4, 8, 16])
def test_a_column_is_negated(length: int, dtype: str) -> None:
    """NumPy 2.4's `np.negative(column, out=column)` is wrong for some lengths of a row."""
    x = wengert.arange(1, 9 * length + 1).to(getattr(wengert, dtype)).reshape(9, length)
    expected = x.numpy().copy()
    expected[:, 1] *= -1
    x[:, 1].neg_()
    np.testing.assert_array_equal(x.numpy(), expected)


def test_a_refused_write_changes_nothing() -> None:
    y = wengert.zeros(2, 3)
    v = y[0]
    for wrong in (wengert.zeros(4), wengert.zeros(2, 2, 3)):
        with pytest.raises(RuntimeError):
            v.copy_(wrong)
        with pytest.raises(RuntimeError):
            y[0] = wrong
    with pytest.raises(IndexError):
        y[wengert.tensor([0, 5])] = 1.0
    assert y.tolist() == [[0.0] * 3] * 2
    assert y._version == 0


def test_a_saved_value_written_later_is_an_error() -> None:
    x = wengert.ones(3, requires_grad=True)
    y = x * 2
    z = y * y
    y[1] = 0
    with pytest.raises(SavedTensorOverwrittenError, match="modified by an inplace"):
        z.sum().backward()
    assert x.grad is None


def test_disjoint_parts_do_not_disturb_each_other() -> None:
    x = wengert.ones(2, 3, requires_grad=True)
    y = x * 2
    z = y[0] * y[0]
    y[1].mul_(5)
    (z.sum() + y.sum()).backward()
    assert x.grad.tolist() == [[10.0] * 3, [10.0] * 3]


def test_retain_grad_follows_the_value() -> None:
    x = wengert.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    (y * 5).sum().backward()
    assert y.grad.tolist() == [5.0, 5.0]
    assert x.grad.tolist() == [30.0, 30.0]


def test_a_hook_stays_with_the_value_that_it_was_set_on() -> None:
    x = wengert.ones(2, requires_grad=True)
    y = x * 2
    seen: list[Any] = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.mul_(3)
    (y * 5).sum().backward()
    assert seen == [[15.0, 15.0]]


def test_an_operation_that_keeps_its_output_keeps_the_written_memory() -> None:
    x = wengert.ones(3, requires_grad=True)
    y = x * 0.5
    y.tanh_()
    saved = [getattr(y._edge, slot) for slot, _ in y._edge.saved]
    assert any(value is y._array for value in saved)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 0.5 * (1 - np.tanh(0.5) ** 2), rtol=1e-6)


def test_second_derivative_through_a_view() -> None:
    x = wengert.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * x
    y[1:].mul_(x[1:])
    (g,) = wengert.autograd.grad(y.sum(), x, create_graph=True)
    assert g.tolist() == [2.0, 12.0, 27.0]
    (h,) = wengert.autograd.grad(g.sum(), x)
    assert h.tolist() == [2.0, 12.0, 18.0]


def test_a_write_reaches_every_view_whatever_others_have_come_and_gone() -> None:
    for seed in range(30):
        choose = np.random.default_rng(seed)
        x = wengert.arange(1.0, 13.0).requires_grad_()
        y = x * 1
        counts, views = np.zeros(12), []
        for start in choose.integers(0, 11, choose.integers(3, 40)):
            views.append((start, y[start : start + 2]))
            if choose.random() < 0.3:
                views.pop(choose.integers(len(views)))
        y.mul_(3)
        for start, view in views:
            counts[start : start + 2] += 1
            view.sum().backward(retain_graph=True)
        assert x.grad is None or x.grad.tolist() == (3 * counts).tolist()


def test_writes_leave_no_cycle() -> None:
    gc.collect()
    gc.disable()
    try:
        x = wengert.ones(2, 3, requires_grad=True)
        y = x * 2
        v = y[0]
        v.mul_(2)
        y[1] = 3
        import weakref

        nodes = [weakref.ref(t._edge) for t in (y, v)]
        del y, v
        assert [n() for n in nodes] == [None, None]
    finally:
        gc.enable()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bfloat16"])
def test_writes_without_a_graph_are_those_of_operations(dtype):
    """Ufuncs write into the target where nothing is recorded: values, stamps and errors stay."""
    kind = getattr(wengert, dtype)
    x = wengert.arange(12).reshape(3, 4).to(kind)
    for change, expected in (
        (lambda t: t.__iadd__(x), x + x), (lambda t: t.mul_(x[1]), x * x[1]),
        (lambda t: t.sub_(2), x - 2), (lambda t: t.__iadd__(t), x + x),
        (lambda t: t.__imul__(t[0]), x * x[0]), (lambda t: t.__isub__(t.flip(0)), x - x.flip(0)),
        (lambda t: t.add_(x, alpha=3), x + 3 * x), (lambda t: t.add_(t, alpha=-1), x - x),
        (lambda t: t.sub_(x[1], alpha=2), x - 2 * x[1]), (lambda t: t.add_(2, alpha=3), x + 6),
    ):  # fmt: skip
        target = x.clone()
        version, address = target._version, target.data_ptr()
        assert change(target) is target
        assert target.tolist() == expected.tolist()
        assert (target.dtype, target.data_ptr(), target._version) == (kind, address, version + 1)
    with pytest.raises(RuntimeError):
        x.add_(wengert.ones(2, 3, 4, dtype=kind))
    if dtype != "float64":
        with pytest.raises(RuntimeError, match="alpha" if dtype == "int64" else "overflow"):
            x.add_(x, alpha=1e300)
    with pytest.raises(TypeError, match="alpha"):
        x.mul_(x, alpha=2)
    w = wengert.ones(4, requires_grad=True)
    saved = wengert.ones(4)
    loss = (w * saved).sum()
    saved += 1
    with pytest.raises(RuntimeError, match="inplace"):
        loss.backward()


@pytest.mark.parametrize("mode", [True, False])
@pytest.mark.parametrize("name", ["abs_", "addmv_", "exp_", "relu_", "sigmoid_"])
def test_arrays_are_refused(name: str, mode: bool) -> None:
    """As functions; that NumPy's arrays are taken by others does not make these write to them."""
    array = np.array([-1.0, 2.0])
    others = (np.eye(2), array) if name == "addmv_" else ()
    with wengert.set_grad_enabled(mode), pytest.raises(TypeError, match="must be Tensor, not nda"):
        getattr(wengert, name)(array, *others)
    assert array.tolist() == [-1.0, 2.0]


@pytest.mark.parametrize("dtype", ["float32", "int64", "bfloat16"])
@pytest.mark.parametrize("name", ["index_add", "index_copy", "masked_fill"])
def test_writes_without_a_copy_are_those_of_the_operation(name: str, dtype: str) -> None:
    x = (wengert.randn(9, 50) * 9).to(getattr(wengert, dtype))
    rows = wengert.tensor([3, 1, 3, 0, 8, 7, 1, 2, 5])
    args: tuple[Any, ...] = (0, rows, x * 2)
    if name == "masked_fill":
        args = (x > 1, -1)
    for target in (x.clone(), x.t().contiguous().t(), x.repeat(2, 1)[:9]):
        assert getattr(target, f"{name}_")(*args) is target
        assert target.equal(getattr(x, name)(*args))
    if name != "masked_fill":
        before = x.clone()
        with pytest.raises((IndexError, RuntimeError), match="out of bounds"):
            getattr(x, f"{name}_")(0, rows + 1, x * 2)
        assert x.equal(before)
        getattr(x, f"{name}_")(0, rows, x)  # reads what it writes to
        assert x.equal(getattr(before, name)(0, rows, before))


@pytest.mark.parametrize("name", ["sqrt_", "neg_", "abs_", "exp_", "relu_", "sigmoid_", "floor_"])
@pytest.mark.parametrize("size", [10, 5000])
def test_functions_of_elements_are_written_and_noted(name: str, size: int) -> None:
    """At once where nobody needs to know; the log of writes knows of it in any case."""
    start = wengert.rand(2, size) + 0.1
    for part in (np.s_[:], np.s_[:, 1:], np.s_[:, ::2]):
        x, expected = start.clone(), start.clone()
        expected[part] = getattr(start[part], name.strip("_"))()
        view = x[part]
        assert getattr(view, name)() is view
        np.testing.assert_allclose(x.numpy(), expected.numpy(), rtol=4e-7)
        weight = wengert.ones(2, size, requires_grad=True)
        product = weight * x
        getattr(view, name)()
        with pytest.raises(RuntimeError, match="modified"):
            product.sum().backward()


def test_quotients_in_place() -> None:
    x = wengert.rand(50, 400) + 1
    view, divisor = x[:, 3:], wengert.rand(50, 397) + 1
    expected = x.clone()
    expected[:, 3:] = x[:, 3:] / divisor / 3
    assert view.div_(divisor).div_(3) is view
    np.testing.assert_array_equal(x.numpy(), expected.numpy())
    with pytest.raises(RuntimeError, match="can't be cast"):
        wengert.ones(3, dtype=wengert.int64).div_(2)
