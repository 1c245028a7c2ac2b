"""Random programs on arrays that are large enough for compiled kernels, in both libraries.

Of several layouts: whole, transposed, cut, broadcast, one number over and over.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import wengert

ROWS, COLUMNS = 70, 80

UNARY = {
    "tanh": lambda m, a: a.tanh(),
    "exp": lambda m, a: (a * 0.1).exp(),
    "log": lambda m, a: (a * a + 1).log(),
    "sigmoid": lambda m, a: a.sigmoid(),
    "relu": lambda m, a: a.relu(),
    "gelu": lambda m, a: m.nn.functional.gelu(a),
    "silu": lambda m, a: m.nn.functional.silu(a),
    "softplus": lambda m, a: m.nn.functional.softplus(a),
    "leaky": lambda m, a: m.nn.functional.leaky_relu(a, 0.2),
    "sqrt": lambda m, a: (a.abs() + 1).sqrt(),
    "square": lambda m, a: a**2,
    "sin": lambda m, a: a.sin(),
    "erf": lambda m, a: a.erf(),
    "twice": lambda m, a: a * 2,
    "shift": lambda m, a: 1.5 - a,
    "half": lambda m, a: a / 2,
    "inverse": lambda m, a: 1 / (a * a + 2),
    "clamp": lambda m, a: a.clamp(-0.9, 1.1),
    "softmax": lambda m, a: a.softmax(-1),
    "of columns": lambda m, a: a.softmax(0),
    "log_softmax": lambda m, a: a.log_softmax(1),
    "layer_norm": lambda m, a: m.nn.functional.layer_norm(a, (a.shape[-1],)),
    "less mean": lambda m, a: a - a.mean(0),
    "over sum": lambda m, a: a / (a.abs().sum(1, keepdim=True) + 1),
    "less max": lambda m, a: a - a.amax(1, keepdim=True),
    "deviation": lambda m, a: a / (a.std() + 1),
    "variance": lambda m, a: a * a.var(0, unbiased=False),
    "cumsum": lambda m, a: a.cumsum(1) * 0.1,
    "norm": lambda m, a: a / (a.norm() + 1),
    "copied turn": lambda m, a: a.t().contiguous().t(),
    "flip": lambda m, a: a.flip(0),
    "roll": lambda m, a: a.roll(1, 1),
    "halves": lambda m, a: m.cat([a[:, 40:], a[:, :40]], 1),
    "interleaved": lambda m, a: m.stack([a[::2], a[1::2]], 1).reshape(ROWS, COLUMNS),
    "number": lambda m, a: a.mean().expand(ROWS, COLUMNS),
    "row": lambda m, a: a[3].expand(ROWS, COLUMNS),
    "column": lambda m, a: a[:, :1].expand(ROWS, COLUMNS),
    "masked": lambda m, a: a.masked_fill(a > 0.5, 0.25),
    "tril": lambda m, a: a.tril(2),
    "gather": lambda m, a: a.gather(1, m.arange(COLUMNS).flip(0).expand(ROWS, COLUMNS)),
    "picked": lambda m, a: a[m.arange(ROWS) // 2],
    "detached": lambda m, a: a.detach(),
    "product": lambda m, a: (a @ a.t()) @ a * 1e-3,
}
BINARY = {
    "add": lambda m, a, b: a + b,
    "mul": lambda m, a, b: a * b,
    "sub": lambda m, a, b: a - b,
    "div": lambda m, a, b: a / (b * b + 1),
    "where": lambda m, a, b: m.where(a > b, a * 0.5, b),
    "maximum": lambda m, a, b: m.maximum(a, b),
    "lerp": lambda m, a, b: a.lerp(b, 0.3),
    "addcmul": lambda m, a, b: m.addcmul(a, a, b, value=0.1),
    "hypot": lambda m, a, b: m.hypot(a, b + 3),
    "pow": lambda m, a, b: (a.abs() + 1).pow(b.clamp(-1, 1)),
    "huber": lambda m, a, b: m.nn.functional.smooth_l1_loss(a, b, reduction="none"),
    "written": lambda m, a, b: (a * 1).mul_(b).add_(1),
    "partly": lambda m, a, b: _put(a.clone(), b),
    "outer": lambda m, a, b: a.mean(1, keepdim=True) * b.mean(0, keepdim=True),
}
LOSSES = {
    "sum": lambda a: a.sum(),
    "mean": lambda a: a.mean(),
    "squares": lambda a: (a * a).sum(),
    "rows": lambda a: (a.sum(1) ** 2).mean(),
    "row": lambda a: a[5].sum(),
    "largest": lambda a: a.amax(0).sum(),
    "weighted": lambda a: (a * 0.5).sum(0).dot(a[0]),
}


def _put(a: Any, b: Any) -> Any:
    a[10:40] = b[10:40] * 2
    return a


index = st.integers(0, 1_000)
step = st.one_of(
    st.tuples(st.sampled_from(sorted(UNARY)), index),
    st.tuples(st.sampled_from(sorted(BINARY)), index, index),
)
programs = st.lists(step, min_size=1, max_size=8)


def run(
    library: Any, program: list[Any], loss: str, way: str, dtype: Any = np.float32
) -> list[np.ndarray]:
    """The value and the gradients of a program."""
    rng = np.random.default_rng(0)
    shapes = (ROWS, COLUMNS), (ROWS, COLUMNS), (COLUMNS,), (ROWS, 1), ()
    arrays = [np.asarray(rng.standard_normal(s), np.float32).astype(dtype) for s in shapes]
    leaves = [library.from_numpy(a).requires_grad_() for a in arrays]
    plain = library.from_numpy(rng.standard_normal((COLUMNS, ROWS)).astype(dtype)).t()
    pool = [leaves[0] * leaves[4], leaves[1] + leaves[2], leaves[0] * leaves[3], plain]
    for name, *where in program:
        inputs = [pool[k % len(pool)] for k in where]
        pool.append({**UNARY, **BINARY}[name](library, *inputs))
    total = LOSSES[loss](pool[-1]) + (pool[0] * pool[1]).mean()
    if way == "hook":
        pool[0].register_hook(lambda g: g * 1)
    if way == "grad":
        found = library.autograd.grad(total, leaves[:3], allow_unused=True)
    else:
        total.backward()
        found = [x.grad for x in leaves]
    return [total.detach().numpy(), *(g.numpy() for g in found if g is not None)]


def errors(found: list[np.ndarray], exact: list[np.ndarray]) -> list[float]:
    """The largest error of each array, relative to its largest value."""
    assert [a.shape for a in found] == [a.shape for a in exact]
    with np.errstate(all="ignore"):
        pairs = zip(found, exact, strict=True)
        return [float(np.max(abs(a - b)) / (np.max(abs(b)) + 1e-6)) for a, b in pairs]


@pytest.mark.torch
@settings(max_examples=80, deadline=None, database=None, derandomize=True)
@given(programs, st.sampled_from(sorted(LOSSES)), st.sampled_from(["backward", "grad", "hook"]))
@example([("twice", 0)], "sum", "backward")
def test_values_and_gradients_are_pytorchs(program: list[Any], loss: str, way: str) -> None:
    """Where those of float32 are near those of float64: programs may be ill-conditioned."""
    import torch

    exact = run(torch, program, loss, way, np.float64)
    theirs = errors(run(torch, program, loss, way), exact)
    ours = errors(run(wengert, program, loss, way), exact)
    for error, limit in zip(ours, theirs, strict=True):
        assert error < 2e-3 or limit > 2e-4 or np.isnan(limit)
