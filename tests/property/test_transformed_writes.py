"""Random programs of views and in-place writes, under every transform.

Whatever a program writes to, and through which view, each transform gives the derivative of
the values that the program computes without one: central differences in float64 say which.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wengert
from wengert import func
from wengert.autograd import SavedTensorOverwrittenError, forward_ad

VIEWS = {
    "row": lambda t: t[0],
    "last": lambda t: t[..., -1],
    "front": lambda t: t[: max(1, t.shape[0] - 1)],
    "every other": lambda t: t[::2],
    "transpose": lambda t: t.transpose(0, -1),
    "diagonal": lambda t: t.diagonal() if t.dim() == 2 else t[None],
    "unbind": lambda t: t.unbind(-1)[0],
    "chunk": lambda t: t.chunk(2)[0],
    "window": lambda t: t.unfold(0, 1, 1),
    "same": lambda t: t.view_as(t),
}
WRITES = {
    "copy": lambda t, s: t.copy_(s),
    "add": lambda t, s: t.add_(s),
    "mul": lambda t, s: t.mul_(s),
    "set": lambda t, s: t.__setitem__(..., s),
    "set first": lambda t, s: t.__setitem__(0, s.sum()) if t.dim() else t.copy_(s.sum()),
    "put": lambda t, s: t.index_put_((wengert.tensor([0]),), s.sum()) if t.dim() else t.add_(1),
    "zero": lambda t, s: t.zero_(),
    "fill": lambda t, s: t.masked_fill_(wengert.tensor(True), s.sum()),
}

number = st.integers(0, 1_000)
step = st.one_of(
    st.tuples(st.just("clone"), number),
    st.tuples(st.just("view"), st.sampled_from(sorted(VIEWS)), number),
    st.tuples(st.just("scale"), number, number),
    st.tuples(st.just("write"), st.sampled_from(sorted(WRITES)), number, number),
)
programs = st.lists(step, min_size=1, max_size=7)

X = np.array([[1.3, -0.7, 0.4], [0.9, 1.1, -1.6]])
T = np.array([[0.5, 1.0, -1.0], [2.0, 0.3, 0.7]])
C = np.array([[0.2, 0.5, -0.3], [-1.1, 0.8, 0.6]])


def run(program: list[Any], x: Any, c: Any) -> Any:
    """A weighted sum of all tensors of a program; `x` and its views are not written to."""
    pool, fixed = [x, x.clone(), c.clone()], {0}
    for kind, *rest in program:
        if kind == "write":
            name, i, j = rest
            i, source = i % len(pool), pool[j % len(pool)]
            if i not in fixed:
                target = pool[i]
                fits = source.shape == target.shape and source is not target
                WRITES[name](target, (source * 0.5) if fits else source.sum() * 0.5)
        elif kind == "view":
            name, i = rest
            if pool[i % len(pool)].dim():
                if i % len(pool) in fixed:
                    fixed.add(len(pool))
                pool.append(VIEWS[name](pool[i % len(pool)]))
        elif kind == "scale":
            i, j = rest
            pool.append(pool[i % len(pool)] * pool[j % len(pool)].sum())
        else:
            pool.append(pool[rest[0] % len(pool)].clone())
    total = x.sum() * 0.0
    for k, t in enumerate(pool):
        total = total + (t * t).sum() * (k + 1)
    return total


Function = Callable[..., Any]


def batch(*arrays: np.ndarray) -> Any:
    return wengert.tensor(np.stack(arrays))


def eager(f: Function, x: Any, c: Any, t: Any) -> Any:
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(f(forward_ad.make_dual(x, t), c)).tangent


def along(f: Function) -> Function:
    """The derivative of a function in its first argument along T."""
    return lambda x, c: func.jvp(lambda x: f(x, c), (x,), (wengert.tensor(T),))[1]


FIRST: dict[str, Callable[[Function, Any, Any], Any]] = {
    "backward": lambda f, x, c: (func.grad(f)(x, c) * T).sum(),
    "jvp": lambda f, x, c: along(f)(x, c),
    "dual": lambda f, x, c: eager(f, x, c, wengert.tensor(T)),
    "columns": lambda f, x, c: (func.jacfwd(f)(x, c) * T).sum(),
    "vmap of grad": lambda f, x, c: (func.vmap(func.grad(f))(x[None], c[None])[0] * T).sum(),
    "vmap of jvp": lambda f, x, c: func.vmap(along(f))(x[None], c[None])[0],
    "jvp of vmap": lambda f, x, c: func.jvp(
        lambda x: func.vmap(f)(x, c[None]), (x[None],), (wengert.tensor(T)[None],)
    )[1][0],
}
SECOND: dict[str, Callable[[Function, Any, Any], Any]] = {
    "hessian": lambda f, x, c: (func.hessian(f)(x, c).reshape(6, 6) @ T.ravel()).reshape(2, 3),
    "jvp of grad": lambda f, x, c: along(func.grad(f))(x, c),
    "grad of jvp": lambda f, x, c: func.grad(along(f))(x, c),
    "grad of grad": lambda f, x, c: func.grad(lambda x: (func.grad(f)(x, c) * T).sum())(x),
    "vmap of jvp of grad": lambda f, x, c: func.vmap(along(func.grad(f)))(x[None], c[None])[0],
    "vmap of grad of jvp": lambda f, x, c: func.vmap(func.grad(along(f)))(x[None], c[None])[0],
}


def derivative(value: Callable[[np.ndarray], Any], at: np.ndarray, step: float) -> Any:
    return (value(at + step * T) - value(at - step * T)) / (2 * step)


def gradient(value: Callable[[np.ndarray], float], at: np.ndarray, step: float) -> np.ndarray:
    found = np.zeros_like(at)
    for place in np.ndindex(*at.shape):
        unit = np.zeros_like(at)
        unit[place] = step
        found[place] = (value(at + unit) - value(at - unit)) / (2 * step)
    return found


@settings(max_examples=40, deadline=None)
@given(programs)
def test_derivatives_are_those_of_the_values(program: list[Any]) -> None:
    c = wengert.tensor(C)

    def value(x: np.ndarray) -> float:
        return run(program, wengert.tensor(x), c).item()

    def of_tensors(x: Any, c: Any) -> Any:
        return run(program, x, c)

    first = derivative(value, X, 1e-6)
    second = derivative(lambda x: gradient(value, x, 1e-3), X, 1e-3)
    scale = 1 + abs(value(X))
    for transforms, expected, tolerance in ((FIRST, first, 1e-6), (SECOND, second, 1e-3)):
        for name, transform in transforms.items():
            try:
                found = transform(of_tensors, wengert.tensor(X), c).numpy()
            except SavedTensorOverwrittenError:
                with pytest.raises(SavedTensorOverwrittenError):
                    func.grad(of_tensors)(wengert.tensor(X), c)
                continue
            error = np.abs(found - expected).max()
            assert error < tolerance * (scale + np.abs(expected).max()), name
