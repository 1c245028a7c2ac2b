"""Functions with a derivative of the user's own."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import wengert
from wengert.autograd import Function, GraphError
from wengert.autograd.function import once_differentiable


class Cube(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * 3 * x**2


class Scale(Function):
    """With a number beside the tensor, and `setup_context`."""

    @staticmethod
    def forward(x: Any, factor: float) -> Any:
        return x * factor

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.factor, None


class SumAndProduct(Function):
    """Two inputs, two outputs."""

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(a, b)
        return a + b, a * b

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        a, b = ctx.saved_tensors
        return g + h * b, g + h * a


def leaf(*values: float) -> Any:
    return wengert.tensor(values, dtype=wengert.float64, requires_grad=True)


def test_first_and_higher_derivatives() -> None:
    x = leaf(2.0, 3.0)
    y = Cube.apply(x)
    assert type(y.grad_fn).__name__ == "CubeBackward"
    (g,) = wengert.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = wengert.autograd.grad(g.sum(), x, create_graph=True)
    (third,) = wengert.autograd.grad(h.sum(), x)
    assert g.tolist() == [12.0, 27.0]
    assert h.tolist() == [12.0, 18.0]
    assert third.tolist() == [6.0, 6.0]


def test_setup_context_and_numbers() -> None:
    x = leaf(1.0, 2.0)
    Scale.apply(x, 5.0).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]


def test_several_outputs_and_unused_ones() -> None:
    a, b = leaf(2.0), leaf(5.0)
    total, product = SumAndProduct.apply(a, b)
    (total * 10 + product).sum().backward()
    assert (a.grad.item(), b.grad.item()) == (15.0, 12.0)
    a.grad = None
    _, product = SumAndProduct.apply(a, b)
    (g,) = wengert.autograd.grad(product.sum(), a, create_graph=True)
    (h,) = wengert.autograd.grad(g.sum(), b)
    assert (g.item(), h.item()) == (5.0, 1.0)


def test_needs_input_grad() -> None:
    seen = []

    class Watch(Cube):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any, n: int) -> Any:
            seen.append(ctx.needs_input_grad)
            return a * b

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append(ctx.needs_input_grad)
            return None, g, None

    b = leaf(1.0)
    Watch.apply(wengert.ones(1, dtype=wengert.float64), b, 3).sum().backward()
    assert seen == [(False, True, False)] * 2
    assert b.grad.tolist() == [1.0]


def test_saving_the_output() -> None:
    class Exp(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (y,) = ctx.saved_tensors
            return g * y

    x = leaf(0.5)
    y = Exp.apply(x)
    for _ in range(3):
        (y,) = wengert.autograd.grad(y.sum(), x, create_graph=True)
        assert y.item() == pytest.approx(np.exp(0.5))


class SavesInner(Function):
    """f(x) = x**4 by way of x**2, which it saves."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        square = x * x
        ctx.save_for_backward(x, square)
        return square * square

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, square = ctx.saved_tensors
        return g * 4 * x * square


def test_a_saved_intermediate_serves_the_first_derivative_and_refuses_the_second() -> None:
    x = leaf(2.0)
    y = SavesInner.apply(x)
    (g,) = wengert.autograd.grad(y.sum(), x, create_graph=True)
    assert g.item() == 32.0
    with pytest.raises(GraphError, match=r"SavesInner.*computed and saved") as caught:
        g.sum().backward()
    assert __file__ in str(caught.value)
    assert x.grad is None


def test_once_differentiable() -> None:
    class Once(Cube):
        @staticmethod
        @once_differentiable
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return wengert.from_numpy(g.numpy() * 3 * x.detach().numpy() ** 2)

    x = leaf(2.0)
    Once.apply(x).sum().backward()
    assert x.grad.item() == 12.0
    (g,) = wengert.autograd.grad(Once.apply(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiate twice"):
        g.sum().backward()


def test_marks() -> None:
    class Marks(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            largest = x.argmax().double()
            ctx.mark_non_differentiable(largest)
            ctx.set_materialize_grads(False)
            return x * 2, largest, x * 3

        @staticmethod
        def backward(ctx: Any, g: Any, none: Any, h: Any) -> Any:
            assert none is None
            assert h is None
            return g * 2

    x = leaf(1.0, 5.0)
    y, largest, _ = Marks.apply(x)
    assert not largest.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_mark_dirty() -> None:
    class AddOne(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            with wengert.no_grad():
                x.add_(1)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 7

    x = leaf(1.0)
    y = x * 2
    z = AddOne.apply(y)
    assert z is y
    assert z.item() == 3.0
    z.sum().backward()
    assert x.grad.item() == 14.0
    with pytest.raises(RuntimeError, match="leaf"):
        AddOne.apply(x)


def test_an_input_that_comes_back_is_a_tensor_of_its_own() -> None:
    class Same(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 3

    x = leaf(1.0)
    y = Same.apply(x)
    assert y is not x
    y.sum().backward()
    assert x.grad.item() == 3.0


@pytest.mark.parametrize(
    ("answer", "kind", "match"),
    [
        (lambda g: (g, g), RuntimeError, "incorrect number of gradients"),
        (lambda g: 5, RuntimeError, r"expected Variable or None \(got int\)"),
        (lambda g: wengert.ones(7, dtype=wengert.float64), RuntimeError, "invalid gradient"),
    ],
)
def test_wrong_answers(answer: Any, kind: type[Exception], match: str) -> None:
    class Wrong(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return answer(g)

    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    loss = (Wrong.apply(x) * w).sum()
    with pytest.raises(kind, match=match):
        loss.backward()
    assert w.grad is None
    assert x.grad is None


def test_a_second_backward_is_refused_and_a_write_is_noticed() -> None:
    x = leaf(2.0)
    y = Cube.apply(x * 1)
    y.sum().backward()
    with pytest.raises(wengert.autograd.GraphReleasedError):
        y.sum().backward()
    h = x * 1
    y = Cube.apply(h)
    h.add_(1)
    with pytest.raises(wengert.autograd.SavedTensorOverwrittenError):
        y.sum().backward()


def test_nothing_leaks() -> None:
    gc.collect()
    gc.disable()
    try:
        x = leaf(2.0)
        y = Cube.apply(x)
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
        a, b = SumAndProduct.apply(x, x)
        whole = weakref.ref(a.grad_fn)
        del a, b
        assert whole() is None
    finally:
        gc.enable()


def test_missing_parts() -> None:
    class Nothing(Function):
        pass

    with pytest.raises(NotImplementedError, match="forward"):
        Nothing.apply(leaf(1.0))


@pytest.mark.torch
def test_against_torch(torch: Any) -> None:
    def program(t: Any) -> list[Any]:
        class Swish(t.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.save_for_backward(x)
                return x * t.sigmoid(x)

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                (x,) = ctx.saved_tensors
                s = t.sigmoid(x)
                return g * (s + x * s * (1 - s))

        x = t.linspace(-2, 2, 7, dtype=t.float64, requires_grad=True)
        (g,) = t.autograd.grad(Swish.apply(x * x).sum(), x, create_graph=True)
        (h,) = t.autograd.grad((g * g).sum(), x)
        return [g.detach().numpy(), h.numpy()]

    for ours, theirs in zip(program(wengert), program(torch), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-14)


@pytest.mark.torch
def test_a_saved_output_of_several_is_that_output(torch: Any) -> None:
    """The derivative of a derivative with respect to the output itself."""

    def run(m: Any) -> list[Any]:
        class ExpAndSin(m.autograd.Function):  # type: ignore[misc]
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                a, b = x.exp(), x.sin()
                ctx.save_for_backward(x, a)
                return a, b

            @staticmethod
            def backward(ctx: Any, ga: Any, gb: Any) -> Any:
                x, a = ctx.saved_tensors
                return ga * a + gb * x.cos()

        x = m.tensor([0.5, 1.0], dtype=m.float64, requires_grad=True)
        a, b = ExpAndSin.apply(x)
        (g,) = m.autograd.grad((a + b).sum(), x, create_graph=True)
        return [t.tolist() for t in m.autograd.grad(g.sum(), [a, x])]

    np.testing.assert_allclose(run(wengert), run(torch), rtol=1e-12)


class Spread(Function):
    """Keeps a sparse tensor of its arguments, in a list as well, and one of its own."""

    @staticmethod
    def forward(ctx: Any, x: Any, matrix: Any, others: Any) -> Any:
        own = x.to_sparse()
        ctx.save_for_backward(matrix, own)
        ctx.others, ctx.own = others, own
        return matrix.mm(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        matrix, own = ctx.saved_tensors
        assert own.to_dense().shape == ctx.own.shape
        return matrix.t().mm(g), None, None


@pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr"])
def test_sparse_tensors_are_kept(layout: str) -> None:
    dense = wengert.tensor([[1.0, 0.0], [2.0, 3.0]])
    matrix = getattr(dense, layout)()
    x = wengert.ones(2, 2, requires_grad=True)
    out = Spread.apply(x, matrix, [matrix])
    assert wengert.graph.describe(out) is not None  # counts the bytes of what is kept
    out.square().sum().backward()
    wengert.testing.assert_close(x.grad, dense.t() @ (2 * dense @ wengert.ones(2, 2)))
