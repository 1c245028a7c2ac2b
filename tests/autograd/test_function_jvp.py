"""Functions in forward mode: `jvp` under a dual level."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import wengert
from wengert.autograd import GraphError

# By PyTorch's forward mode.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")


def cube(t: Any, setup: bool = False, **methods: Any) -> Any:
    """x**3 with its derivatives, with or without `setup_context`."""

    def keep(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)

    def forward(ctx: Any, x: Any) -> Any:
        keep(ctx, x)
        return x**3

    body: dict[str, Any] = {
        "forward": (lambda x: x**3) if setup else forward,
        "backward": lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2,
        "jvp": lambda ctx, tangent: tangent * 3 * ctx.saved_tensors[0] ** 2,
    }
    if setup:
        body["setup_context"] = lambda ctx, inputs, output: keep(ctx, *inputs)
    body |= methods
    return type("Cube", (t.autograd.Function,), {k: staticmethod(v) for k, v in body.items()})


def vector(t: Any) -> Any:
    return t.tensor([1.5, -2.0], dtype=t.float64)


def pushed(t: Any, function: Any, *args: Any) -> list[Any]:
    """The outputs of a function of duals, and their tangents."""
    fw = import_module(f"{t.__name__}.autograd.forward_ad")
    with fw.dual_level():
        duals = [fw.make_dual(a, a * 0 + 1) if isinstance(a, t.Tensor) else a for a in args]
        results = function.apply(*duals)
        results = results if isinstance(results, tuple) else (results,)
        pairs = [fw.unpack_dual(r) if isinstance(r, t.Tensor) else (r, None) for r in results]
        return [
            None if x is None else getattr(x, "tolist", lambda x=x: x)() for p in pairs for x in p
        ]


def several(t: Any) -> Any:
    """Two arguments, a number, an index that has no tangent, and no tangent for one argument."""
    seen: list[Any] = []

    def jvp(ctx: Any, a: Any, b: Any, n: None) -> Any:
        seen.append((b is None, n))
        return a * 2, None, None

    kind = cube(
        t,
        forward=lambda ctx, a, b, n: (a * n, a.argmax(), "text"),
        jvp=jvp,
    )
    fw = import_module(f"{t.__name__}.autograd.forward_ad")
    with fw.dual_level():
        results = kind.apply(fw.make_dual(vector(t), vector(t)), vector(t), 2)
        found = [fw.unpack_dual(r).tangent for r in results[:2]]
        integers = kind.apply(fw.make_dual(vector(t), vector(t)), t.tensor([1, 2]), 2)
        found.append(fw.unpack_dual(integers[0]).tangent)
    return [x if x is None else x.tolist() for x in found], results[2], seen


def not_materialized(t: Any) -> Any:
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.set_materialize_grads(False)
        return a * b

    def jvp(ctx: Any, a: Any, b: Any) -> Any:
        assert b is None
        return a * 3

    fw = import_module(f"{t.__name__}.autograd.forward_ad")
    with fw.dual_level():
        y = cube(t, forward=forward, jvp=jvp).apply(fw.make_dual(vector(t), vector(t)), vector(t))
        return fw.unpack_dual(y).tangent.tolist()


def reverse_over_forward(t: Any) -> Any:
    fw = import_module(f"{t.__name__}.autograd.forward_ad")
    x, found = vector(t).requires_grad_(), []
    for setup in (False, True):
        with fw.dual_level():
            dual = cube(t, setup).apply(fw.make_dual(x, t.ones_like(x)))
            y, tangent = fw.unpack_dual(dual)
            found += t.autograd.grad(tangent.sum(), x, retain_graph=True)
            found += t.autograd.grad(y.sum(), x)
    return [g.tolist() for g in found]


def written(t: Any) -> Any:
    double = cube(
        t,
        forward=lambda ctx, x: (x.mul_(2), ctx.mark_dirty(x))[0],
        jvp=lambda ctx, tangent: tangent.mul_(2),
    )
    fw = import_module(f"{t.__name__}.autograd.forward_ad")
    with fw.dual_level():
        dual = fw.make_dual(vector(t), vector(t))
        y = double.apply(dual)
        return y is dual, [x.tolist() for x in fw.unpack_dual(dual)]


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "forward with ctx": lambda t: pushed(t, cube(t), vector(t)),
    "setup_context": lambda t: pushed(t, cube(t, setup=True), vector(t)),
    "several": several,
    "not materialized": not_materialized,
    "reverse over forward": reverse_over_forward,
    "written": written,
    "an input as it went": lambda t: pushed(
        t, cube(t, forward=lambda ctx, x: x, jvp=lambda ctx, a: a.view_as(a)), vector(t)
    ),
    "a view": lambda t: pushed(
        t, cube(t, forward=lambda ctx, x: x.view(2, 1), jvp=lambda ctx, a: a.view(2, 1)), vector(t)
    ),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_torch(name: str, torch: Any) -> None:
    assert PROGRAMS[name](wengert) == PROGRAMS[name](torch)


def answering(answer: Any, forward: Any = lambda ctx, x: x * 2) -> Callable[[Any], Any]:
    return lambda t: pushed(t, cube(t, forward=forward, jvp=lambda ctx, a: answer(t, a)), vector(t))


ERRORS = {
    "shape": answering(lambda t, a: t.ones(7)),
    "a number": answering(lambda t, a: 3),
    "a list": answering(lambda t, a: [a]),
    "too many": answering(lambda t, a: (a, a)),
    "too few": answering(lambda t, a: a, lambda ctx, x: (x * 2, x * 3)),
    "for an index": answering(lambda t, a: (a, a), lambda ctx, x: (x * 2, x.argmax())),
    "no view": answering(lambda t, a: a * 1, lambda ctx, x: x.view_as(x)),
    "not in place": answering(lambda t, a: a * 2, lambda ctx, x: (x.mul_(2), ctx.mark_dirty(x))[0]),
    "no jvp": lambda t: pushed(t, cube(t, jvp=t.autograd.Function.jvp), vector(t)),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", ERRORS)
def test_errors_as_torch(name: str, torch: Any) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011 (which, PyTorch says)
        ERRORS[name](torch)
    with pytest.raises(theirs.type) as ours:
        ERRORS[name](wengert)
    assert str(theirs.value)[:20] in str(ours.value)


def test_an_intermediate_saved_for_jvp_is_refused_by_a_derivative() -> None:
    """PyTorch takes it for a constant."""

    def forward(ctx: Any, x: Any) -> Any:
        square = x * x
        ctx.save_for_forward(x, square)
        return square * square

    def jvp(ctx: Any, tangent: Any) -> Any:
        x, square = ctx.saved_tensors
        return tangent * 4 * x * square

    fw = wengert.autograd.forward_ad
    x = vector(wengert).requires_grad_()
    with fw.dual_level():
        y = cube(wengert, forward=forward, jvp=jvp).apply(fw.make_dual(x, wengert.ones_like(x)))
        tangent = fw.unpack_dual(y).tangent
        np.testing.assert_allclose(tangent.detach().numpy(), 4 * x.detach().numpy() ** 3)
        with pytest.raises(GraphError, match="computed and saved"):
            wengert.autograd.grad(tangent.sum(), x)


def test_a_tangent_is_nobody_elses() -> None:
    fw = wengert.autograd.forward_ad
    with fw.dual_level():
        x = fw.make_dual(vector(wengert), vector(wengert))
        y = cube(wengert, forward=lambda ctx, x: x * 1, jvp=lambda ctx, a: a).apply(x)
        y.mul_(3)
        assert fw.unpack_dual(x).tangent.tolist() == [1.5, -2.0]
        assert fw.unpack_dual(y).tangent.tolist() == [4.5, -6.0]


def test_after_the_level_its_duals_are_their_values() -> None:
    fw = wengert.autograd.forward_ad
    with fw.dual_level():
        x = fw.make_dual(vector(wengert), vector(wengert))
    y = cube(wengert).apply(x)
    assert type(y) is wengert.Tensor
    assert y.tolist() == [1.5**3, -8.0]
