"""What kernels compute of few elements once they are in use."""

from __future__ import annotations

from tests.cli.process import python

PROGRAM = """
import numpy as np
import wengert as w
from wengert.kernels.jit import available, loaded


def results():
    w.manual_seed(3)
    found = []
    for dtype in (w.float32, w.float64):
        x = w.randn(3, 5, dtype=dtype) * 3
        index = w.tensor([[0, 2, 1, 1, 0], [2, 2, 0, 0, 1], [1, 0, 2, 1, 2]])
        row = w.tensor([2, 0, 2])
        bounds = w.empty(7, dtype=dtype)
        found += [
            x, w.rand(4, dtype=dtype), bounds.uniform_(-2, 5).clone(), bounds.normal_(1, 3).clone(),
            bounds.exponential_().clone(), bounds.log_normal_().clone(), bounds.cauchy_().clone(),
            w.randn_like(x), w.bernoulli(w.rand(9, dtype=dtype)), w.poisson(x.abs()),
            w.multinomial(w.rand(6, dtype=dtype), 3), w.normal(x, x.abs()),
            x.gather(0, index), x.scatter(0, index, x), x.scatter_add(0, index, x),
            x.index_add(0, row, x), x.index_select(0, row), x[row], x[:, [1, 1]],
            *[x.scatter_reduce(0, index, x, how) for how in ("sum", "prod", "mean", "amax")],
            *x.topk(2), *x.topk(3, dim=0, largest=False), *x.sort(), *x.sort(0, descending=True),
            x.argsort(), *x.unique(return_inverse=True),
            w.searchsorted(x.sort()[0], x), w.bucketize(x, x[0].sort()[0]), w.kron(x, x[:2, :2]),
            w.histc(x, 4, -3, 3), w.isin(x, x[0]), w.nn.init.xavier_uniform_(
            w.empty(3, 4, dtype=dtype)), w.nn.init.trunc_normal_(w.empty(3, 4, dtype=dtype)),
            w.take_along_dim(x, index, 0), x.masked_fill(x > 1, 0.5), x.put(row, x[0, :3], True),
        ]
    found += [w.randperm(9), w.randint(0, 9, (5,)), w.get_rng_state()]
    return [np.asarray(t) for t in found]


first = results()
assert not loaded(), "nothing here is to load the kernels"
w.softmax(w.randn(64, 64), 1)
assert loaded() or not available()
for k, (before, now) in enumerate(zip(first, results(), strict=True)):
    assert before.dtype == now.dtype and before.tobytes() == now.tobytes(), (k, before, now)
"""


def test_no_digit_depends_on_whether_kernels_are_in_use() -> None:
    result = python("-c", PROGRAM)
    assert result.returncode == 0, result.stderr
