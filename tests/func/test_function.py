"""Users' Functions under transforms: the same programs with both libraries."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import wengert

# By PyTorch's forward mode.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")

Program = Callable[[Any, Any], Any]


def cube(t: Any) -> Any:
    class Cube(t.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x**3

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 3 * x**2

        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            (x,) = ctx.saved_tensors
            return tangent * 3 * x**2

    return Cube


def exp(t: Any) -> Any:
    class Exp(t.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x.exp()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(output)
            ctx.save_for_forward(output)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[0]

        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            return tangent * ctx.saved_tensors[0]

    return Exp


def mul(t: Any) -> Any:
    class Mul(t.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any, y: Any, n: Any) -> Any:
            return x * y * n

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            x, y, ctx.n = inputs
            ctx.save_for_backward(x, y)
            ctx.save_for_forward(x, y)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y = ctx.saved_tensors
            needs = ctx.needs_input_grad
            return g * y * ctx.n if needs[0] else None, g * x * ctx.n if needs[1] else None, None

        @staticmethod
        def jvp(ctx: Any, a: Any, b: Any, _: None) -> Any:
            x, y = ctx.saved_tensors
            return (a * y + b * x) * ctx.n

    return Mul


def two(t: Any) -> Any:
    class Two(t.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any, y: Any) -> Any:
            return x + y, x * y, x.argmax(-1)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)
            ctx.mark_non_differentiable(output[2])

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any, _: Any) -> Any:
            x, y = ctx.saved_tensors
            return g + h * y, g + h * x

        @staticmethod
        def jvp(ctx: Any, a: Any, b: Any) -> Any:
            x, y = ctx.saved_tensors
            return a + b, a * y + b * x, None

    return Two


def dot(t: Any) -> Any:
    class Dot(t.autograd.Function):
        """With a `vmap` of its own."""

        @staticmethod
        def forward(x: Any, w: Any) -> Any:
            return x @ w

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, w = ctx.saved_tensors
            return g * w, g * x

        @staticmethod
        def vmap(info: Any, in_dims: Any, *inputs: Any) -> Any:
            x, w = (
                v.expand(info.batch_size, *v.shape) if d is None else v.movedim(d, 0)
                for v, d in zip(inputs, in_dims, strict=True)
            )
            return (x * w).sum(-1), 0

    return Dot


def attributes(t: Any) -> Any:
    class Attributes(t.autograd.Function):
        """Keeps tensors on the context, in containers too."""

        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x.sin()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.x = inputs[0]
            ctx.pair = [inputs[0], {"out": output}]

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.x.cos() * ctx.pair[1]["out"]

    return Attributes


def doubled(t: Any) -> Any:
    class Doubled(t.autograd.Function):
        """Writes to its input."""

        @staticmethod
        def forward(x: Any) -> Any:
            return x.mul_(2)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.mark_dirty(inputs[0])

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 7

    return Doubled


def old(t: Any) -> Any:
    class Old(t.autograd.Function):
        """Without `setup_context`."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 3 * ctx.saved_tensors[0] ** 2

        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            return tangent

    return Old


def functions(t: Any) -> Any:
    """Functions of a library, by name."""
    makers = (cube, exp, mul, two, dot, attributes, doubled, old)
    made = [make(t) for make in makers]
    return SimpleNamespace(**{kind.__name__: kind for kind in made})


def vector(t: Any, *values: float) -> Any:
    return t.tensor(values or (1.5, -2.0, 0.5), dtype=t.float64)


def matrix(t: Any) -> Any:
    return t.arange(6.0).reshape(2, 3)


def shared_leaf(t: Any, f: Any) -> Any:
    w, x = t.ones(3, requires_grad=True), matrix(t).requires_grad_()
    y = t.func.vmap(lambda q: f.Mul.apply(q, w, 3))(x)
    y.sum().backward(retain_graph=True)
    (g,) = t.autograd.grad((y**2).sum(), x, create_graph=True)
    return x.grad, w.grad, t.autograd.grad((g**2).sum(), [x, w])


def batched_cotangents(t: Any, f: Any) -> Any:
    x = vector(t).requires_grad_()
    y = f.Old.apply(x)
    eye = t.eye(3, dtype=t.float64)
    rows = t.func.vmap(lambda g: t.autograd.grad(y, x, g, retain_graph=True)[0])(eye)
    _, pull = t.func.vjp(lambda a: f.Two.apply(a, a)[:2], vector(t))
    return rows, t.func.vmap(pull)((eye, eye * 2))


def through_a_gradient(t: Any, f: Any) -> Any:
    w = t.arange(3.0).requires_grad_()
    inner = t.func.grad(lambda x: (f.Mul.apply(x, w, 2) ** 2).sum())
    return t.autograd.grad((t.func.vmap(inner)(t.ones(2, 3)) ** 2).sum(), w)


PROGRAMS: dict[str, Program] = {
    "grad": lambda t, f: t.func.grad(lambda x: f.Cube.apply(x).sum())(vector(t)),
    "third derivative": lambda t, f: t.func.grad(t.func.grad(t.func.grad(f.Cube.apply)))(
        t.tensor(2.0)
    ),
    "third derivative of exp": lambda t, f: t.func.grad(t.func.grad(t.func.grad(f.Exp.apply)))(
        t.tensor(2.0)
    ),
    "jvp": lambda t, f: t.func.jvp(f.Cube.apply, (vector(t),), (vector(t, 1, 2, 3),)),
    "jacrev": lambda t, f: t.func.jacrev(f.Cube.apply)(vector(t)),
    "jacfwd": lambda t, f: t.func.jacfwd(f.Cube.apply)(vector(t)),
    "hessian": lambda t, f: t.func.hessian(lambda x: f.Cube.apply(x).sum())(vector(t)),
    "hessian of exp": lambda t, f: t.func.hessian(lambda x: f.Exp.apply(x).sum())(vector(t)),
    "jacrev of jacrev": lambda t, f: t.func.jacrev(t.func.jacrev(lambda x: f.Cube.apply(x).sum()))(
        vector(t)
    ),
    "jacrev of jacfwd": lambda t, f: t.func.jacrev(
        t.func.jacfwd(lambda x: f.Mul.apply(x, x, 2).sum())
    )(vector(t)),
    "vmap": lambda t, f: t.func.vmap(lambda x, y: f.Mul.apply(x, y, 3))(vector(t), vector(t)),
    "vmap, one shared": lambda t, f: t.func.vmap(
        lambda x, y: f.Mul.apply(x, y, 3), in_dims=(0, None)
    )(vector(t), vector(t)),
    "vmap, other dimensions": lambda t, f: t.func.vmap(
        lambda x, y: f.Mul.apply(x, y, 3), in_dims=(1, None), out_dims=1
    )(matrix(t), t.ones(2)),
    "vmap of vmap": lambda t, f: t.func.vmap(t.func.vmap(lambda x: f.Mul.apply(x, x, 2)))(
        matrix(t)
    ),
    "vmap of grad": lambda t, f: t.func.vmap(
        t.func.grad(lambda x, y: f.Mul.apply(x, y, 3).sum(), argnums=(0, 1)), in_dims=(0, None)
    )(matrix(t), t.ones(3)),
    "vmap of vmap of grad": lambda t, f: t.func.vmap(t.func.vmap(t.func.grad(f.Cube.apply)))(
        matrix(t)
    ),
    "grad of vmap, shared": lambda t, f: t.func.grad(
        lambda y: t.func.vmap(lambda x: f.Mul.apply(x, y, 3))(matrix(t)).sum()
    )(t.ones(3)),
    "vmap of hessian": lambda t, f: t.func.vmap(t.func.hessian(lambda x: f.Cube.apply(x).sum()))(
        matrix(t)
    ),
    "vmap of jvp": lambda t, f: t.func.vmap(lambda x: t.func.jvp(f.Cube.apply, (x,), (x,)))(
        matrix(t)
    ),
    "jvp of vmap": lambda t, f: t.func.jvp(t.func.vmap(f.Cube.apply), (matrix(t),), (matrix(t),)),
    "a vmap of its own": lambda t, f: [
        t.func.vmap(f.Dot.apply, in_dims=(0, None))(matrix(t), t.ones(3)),
        t.func.vmap(f.Dot.apply, in_dims=(1, None))(t.arange(6.0).reshape(3, 2), t.ones(3)),
        t.func.vmap(f.Dot.apply, in_dims=(None, 0))(t.ones(3), matrix(t)),
    ],
    "grad of a vmap of its own": lambda t, f: t.func.grad(
        lambda w: t.func.vmap(f.Dot.apply, in_dims=(0, None))(matrix(t), w).sum()
    )(t.ones(3)),
    "several outputs": lambda t, f: [
        t.func.grad(lambda x, y: f.Two.apply(x, y)[1].sum(), argnums=(0, 1))(
            vector(t), vector(t, 2, 3, 4)
        ),
        t.func.jacrev(lambda x, y: f.Two.apply(x, y)[:2], argnums=(0, 1))(vector(t), vector(t)),
        t.func.jacfwd(lambda x, y: f.Two.apply(x, y)[:2], argnums=(0, 1))(vector(t), vector(t)),
        t.func.vmap(f.Two.apply)(matrix(t), t.ones(2, 3)),
    ],
    "one of several outputs in a batch": lambda t, f: t.func.vmap(
        t.func.grad(lambda x, y: f.Two.apply(x, y)[0].sum(), argnums=(0, 1)), in_dims=(0, None)
    )(matrix(t), t.ones(3)),
    "leaves beside a vmap": shared_leaf,
    "batches of cotangents": batched_cotangents,
    "a leaf through a gradient": through_a_gradient,
    "written in place": lambda t, f: t.func.grad(
        lambda x: (lambda y: (f.Doubled.apply(y) * y).sum())(x * 1)
    )(vector(t)),
    "attributes": lambda t, f: [
        t.func.grad(lambda x: f.Attributes.apply(x).sum())(vector(t)),
        t.func.vmap(t.func.grad(lambda x: f.Attributes.apply(x).sum()))(matrix(t)),
        t.func.jacrev(t.func.grad(lambda x: f.Attributes.apply(x).sum()))(vector(t)),
        t.func.vmap(t.func.jacrev(t.func.grad(lambda x: f.Attributes.apply(x).sum())))(matrix(t)),
    ],
}


def values(tree: Any, t: Any) -> list[np.ndarray]:
    if isinstance(tree, tuple | list):
        return [v for item in tree for v in values(item, t)]
    return [tree.detach().numpy()]


@pytest.mark.torch
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_torch(name: str, torch: Any) -> None:
    ours = values(PROGRAMS[name](wengert, functions(wengert)), wengert)
    theirs = values(PROGRAMS[name](torch, functions(torch)), torch)
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def without_rule(t: Any, f: Any) -> Any:
    return t.func.vmap(type("NoRule", (f.Cube,), {"generate_vmap_rule": False}).apply)(vector(t))


def two_rules(t: Any, f: Any) -> Any:
    both = type("Both", (f.Dot,), {"generate_vmap_rule": True})
    return t.func.vmap(both.apply, in_dims=(0, None))(t.ones(2, 3), t.ones(3))


def answering(answer: Callable[[Any], Any]) -> Program:
    def program(t: Any, f: Any) -> Any:
        body = {"generate_vmap_rule": False, "vmap": staticmethod(lambda info, dims, x: answer(x))}
        return t.func.vmap(type("Answers", (f.Cube,), body).apply)(vector(t))

    return program


ERRORS: dict[str, Program] = {
    "vmap of forward with ctx": lambda t, f: t.func.vmap(f.Old.apply)(vector(t)),
    "jvp of forward with ctx": lambda t, f: t.func.jvp(f.Old.apply, (vector(t),), (vector(t),)),
    "no jvp": lambda t, f: t.func.jvp(lambda x: f.Dot.apply(x, x), (vector(t),), (vector(t),)),
    "no rule": without_rule,
    "two rules": two_rules,
    "one return": answering(lambda x: x),
    "three returns": answering(lambda x: (x, 0, 0)),
    "out_dims": answering(lambda x: (x, (0, 0))),
    "wrong number of gradients": lambda t, f: t.func.grad(
        type("Wrong", (f.Cube,), {"backward": staticmethod(lambda ctx, g: (g, g))}).apply
    )(t.tensor(1.0)),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", ERRORS)
def test_errors_as_torch(name: str, torch: Any) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011 (which, PyTorch says)
        ERRORS[name](torch, functions(torch))
    with pytest.raises(theirs.type) as ours:
        ERRORS[name](wengert, functions(wengert))
    assert str(ours.value)[:14] == str(theirs.value)[:14]


def test_forward_mode_in_forward_mode() -> None:
    """PyTorch loses the tangents of what was saved for jvp, and returns zeros."""
    f = functions(wengert)
    x = vector(wengert)
    second = wengert.func.jacfwd(wengert.func.jacfwd(lambda x: f.Mul.apply(x, x, 2).sum()))(x)
    assert second.tolist() == [[4, 0, 0], [0, 4, 0], [0, 0, 4]]
    inner = lambda x: wengert.func.jvp(f.Cube.apply, (x,), (vector(wengert, 1, 1, 1),))[1]  # noqa: E731
    _, along = wengert.func.jvp(inner, (x,), (vector(wengert, 1, 2, 3),))
    np.testing.assert_allclose(along.numpy(), 6 * x.numpy() * [1, 2, 3])


def test_what_setup_context_computes_inside_a_transform_has_its_derivative() -> None:
    """d2(x**4) by way of x**2, which PyTorch takes for a constant."""

    class Fourth(wengert.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x**4

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.square = inputs[0] ** 2
            ctx.save_for_backward(inputs[0])

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 4 * ctx.saved_tensors[0] * ctx.square

    second = wengert.func.grad(wengert.func.grad(Fourth.apply))
    with pytest.raises(wengert.autograd.GraphError, match="computed and saved"):
        second(wengert.tensor(2.0))
    # Inside of another transform the outer derivative's level saw it computed.
    assert wengert.func.vmap(second)(wengert.tensor([2.0])).tolist() == [48.0]


def test_unbatched_gradients_are_summed_to_their_shape() -> None:
    class Add(wengert.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any, b: Any) -> Any:
            return x + b

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g, g

    w = wengert.ones(3, requires_grad=True)
    wengert.func.vmap(lambda x: Add.apply(x, w))(wengert.ones(4, 2, 3)).sum().backward()
    assert w.grad.tolist() == [8.0, 8.0, 8.0]


def test_nothing_is_materialized_in_a_batch() -> None:
    seen = []

    class First(wengert.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x * 2, x * 3

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.set_materialize_grads(False)

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            seen.append((g is None, h is None))
            return g * 2

    gradient = wengert.func.grad(lambda x: First.apply(x)[0].sum())
    assert gradient(vector(wengert)).tolist() == [2.0, 2.0, 2.0]
    assert wengert.func.vmap(gradient)(wengert.ones(2, 3)).tolist() == [[2.0] * 3] * 2
    assert seen == [(False, True)] * 2


def test_once_differentiable_is_refused_inside_too() -> None:
    class Once(functions(wengert).Cube):  # type: ignore[misc]
        backward = staticmethod(
            wengert.autograd.function.once_differentiable(
                lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2
            )
        )

    first = wengert.func.grad(Once.apply)
    second = wengert.func.grad(first)
    assert wengert.func.vmap(first)(wengert.tensor([2.0])).tolist() == [12.0]
    with pytest.raises(RuntimeError, match="differentiate twice"):
        second(wengert.tensor(2.0))
    with pytest.raises(RuntimeError, match="differentiate twice"):
        wengert.func.vmap(second)(wengert.tensor([2.0]))


def test_nothing_leaks() -> None:
    f = functions(wengert)
    nodes: list[weakref.ref[Any]] = []

    class Watched(f.Attributes):  # type: ignore[misc, name-defined]
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            nodes.append(weakref.ref(ctx))
            return f.Attributes.backward(ctx, g)

    gc.collect()
    gc.disable()
    try:
        gradient = wengert.func.grad(lambda x: Watched.apply(x).sum())
        wengert.func.vmap(gradient)(matrix(wengert))
        wengert.func.jacrev(gradient)(vector(wengert))
        wengert.func.vmap(wengert.func.jacrev(gradient))(matrix(wengert))
        assert len(nodes) >= 3
        assert [ref for ref in nodes if ref() is not None] == []
    finally:
        gc.enable()
