"""`vmap` against torch: dimensions, structures, nesting, chunks, in-place writes, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from tests.func.compare import Scenario, same

A = np.random.default_rng(1).normal(size=(3, 4))


def data(m: Any) -> Any:
    return m.from_numpy(A.copy())


def written(m: Any) -> Any:
    def f(r: Any) -> Any:
        z = m.zeros_like(r)
        z[0] = r.sum()
        z += r
        return z

    return f


def into_new(r: Any) -> Any:
    z = r.new_zeros(2, 4)
    z[1] = r
    return z.sum(0) * r


def exp_then_write(r: Any) -> Any:
    y = r.exp()
    y.add_(r)
    return y.sum()


def write_then_use(r: Any) -> Any:
    y = r * 2
    y.mul_(r)
    return y.sum()


def vjp_closure(m: Any) -> Any:
    x = data(m)[0].requires_grad_()
    y = x.sin() * 2
    return m.vmap(lambda v: m.autograd.grad(y, x, v)[0])(m.eye(4, dtype=m.float64))


def captured_gradient(m: Any) -> Any:
    p = data(m)[0].requires_grad_()
    gradients = m.vmap(m.func.grad(lambda r: (r * r * p).sum()))(data(m))
    return m.autograd.grad(gradients.sum(), p)


SCENARIOS: dict[str, Scenario] = {
    "plain": lambda m: m.vmap(lambda a: a.sum() * a)(data(m)),
    "in_dims": lambda m: m.vmap(lambda a, b: a * b.sum(), (1, None))(data(m), data(m)),
    "negative": lambda m: m.vmap(lambda a: a * 2, in_dims=-1)(data(m)),
    "out_dims": lambda m: m.vmap(lambda a: (a, {"s": a.sum()}), out_dims=(1, 0))(data(m)),
    "negative_out": lambda m: m.vmap(lambda a: a, out_dims=-1)(data(m)),
    "none_out": lambda m: m.vmap(lambda a, b: (a, b), (0, None), (0, None))(data(m), data(m)),
    "tree": lambda m: m.vmap(lambda p: p["a"] * p["l"][0], in_dims=({"a": 0, "l": [1]},))(
        {"a": data(m), "l": [data(m).T]}
    ),
    "prefix": lambda m: m.vmap(lambda p, q: p[0] + p[1] * q, in_dims=(0, None))(
        (data(m), data(m)), 2.0
    ),
    "keywords_are_shared": lambda m: m.vmap(lambda a, k: a * k)(data(m), k=3),
    "nested": lambda m: m.vmap(m.vmap(lambda a, b: a * b, (None, 0)), (0, None))(
        data(m), data(m).T
    ),
    "outer_product": lambda m: m.vmap(m.vmap(lambda a, b: a * b, (None, 0)), (0, None))(
        data(m)[0], data(m)[1]
    ),
    "unbatched_result": lambda m: m.vmap(lambda a: m.ones(2))(data(m)),
    "chunks": lambda m: m.vmap(lambda a: (a.sum(), a), out_dims=(0, 1), chunk_size=2)(data(m)),
    "mixed_dtypes": lambda m: m.vmap(lambda a, b: a + b)(data(m).float(), data(m)),
    "zero_dim_promotion": lambda m: m.vmap(lambda a, b: a + b)(data(m).float(), data(m)[:, 0]),
    "integers": lambda m: m.vmap(lambda a: (a / 2, a.sum(), a > 1))(m.arange(6).reshape(2, 3)),
    "where": lambda m: m.vmap(lambda a: m.where(a > 0, a, -a))(data(m)),
    "zeros_like": lambda m: m.vmap(written(m))(data(m)),
    "new_zeros": lambda m: m.vmap(into_new)(data(m)),
    "grad_of_new_zeros": lambda m: m.vmap(m.func.grad(lambda a: into_new(a).sum()))(data(m)),
    "in_place": lambda m: m.vmap(lambda a: a.clone().add_(a).mul_(2))(data(m)),
    "in_place_in_grad": lambda m: m.vmap(m.func.grad(write_then_use))(data(m)),
    "relu_in_place": lambda m: m.vmap(
        m.func.grad(lambda a: m.nn.functional.relu(a - 0.5, inplace=True).sum())
    )(data(m)),
    "input_is_written": lambda m: [
        y for x in [data(m)] for y in (m.vmap(lambda a: a.add_(1))(x), x)
    ],
    "index": lambda m: m.vmap(lambda a, i: a[i])(data(m), m.tensor([0, 3, 1])),
    "index_of_shared": lambda m: m.vmap(lambda i: data(m)[i])(m.tensor([0, 2])),
    "vjp_closure": vjp_closure,
    "per_sample": lambda m: m.vmap(
        m.func.grad(lambda w, x: ((w @ x).tanh() ** 2).sum()), (None, 0)
    )(data(m), data(m)),
    "captured_gradient": captured_gradient,
    "gradient_through": lambda m: m.func.grad(
        lambda q: m.vmap(lambda a: a.softmax(0).log().sum())(q).sum()
    )(data(m)),
}  # fmt: skip

ERRORS: dict[str, Scenario] = {
    "sizes": lambda m: m.vmap(lambda a, b: a + b, in_dims=(0, 1))(data(m), m.ones(4, 4)),
    "not_a_tensor": lambda m: m.vmap(lambda a: 3)(data(m)),
    "none": lambda m: m.vmap(lambda a: None)(data(m)),
    "in_dim": lambda m: m.vmap(lambda a: a, in_dims=2)(data(m)),
    "structure": lambda m: m.vmap(lambda a: a, in_dims=(0, 0))(data(m)),
    "no_dims": lambda m: m.vmap(lambda a: a, in_dims=None)(data(m)),
    "all_none": lambda m: m.vmap(lambda a: a, in_dims=(None,))(data(m)),
    "text": lambda m: m.vmap(lambda a: a, in_dims="x")(data(m)),
    "out_structure": lambda m: m.vmap(lambda a: a, out_dims=(0, 0))(data(m)),
    "out_dim": lambda m: m.vmap(lambda a: a, out_dims=5)(data(m)),
    "number": lambda m: m.vmap(lambda a, b: a * b, in_dims=(0, 0))(data(m), 2.0),
    "no_input": lambda m: m.vmap(lambda a: a)(),
    "item": lambda m: m.vmap(lambda a: a.sum().item())(data(m)),
    "condition": lambda m: m.vmap(lambda a: a if a.sum() > 0 else -a)(data(m)),
    "numpy": lambda m: m.vmap(lambda a: a.numpy())(data(m)),
    "chunk_size": lambda m: m.vmap(lambda a: a, chunk_size=0)(data(m)),
    "randomness": lambda m: m.vmap(lambda a: a, randomness="foo")(data(m)),
    "scalar": lambda m: m.vmap(lambda a: a)(m.tensor(3.0)),
    "write_to_unbatched": lambda m: m.vmap(lambda a: m.zeros(4, dtype=m.float64).add_(a))(data(m)),
    "write_to_saved": lambda m: m.func.grad(exp_then_write)(data(m)),
    "write_to_saved_in_batch": lambda m: m.vmap(m.func.grad(exp_then_write))(data(m)),
    "mask": lambda m: m.vmap(lambda a: a[a > 0])(data(m)),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", SCENARIOS)
def test_equals_torch(name: str, torch: Any) -> None:
    same(SCENARIOS[name], torch)


@pytest.mark.torch
@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_of_torchs_class(name: str, torch: Any) -> None:
    same(ERRORS[name], torch)


def test_elements_are_not_read() -> None:
    with pytest.raises(RuntimeError, match=r"calling \.item\(\)"):
        wengert.vmap(lambda a: a.sum().item())(wengert.ones(2, 3))


def test_a_tensor_that_leaked_is_refused() -> None:
    kept: list[Any] = []
    wengert.vmap(lambda a: kept.append(a) or a)(wengert.ones(2, 3))
    with pytest.raises(RuntimeError, match="vmap that has ended"):
        kept[0] + 1


def test_what_a_tensor_of_a_transform_stands_for() -> None:
    x = wengert.arange(6.0).reshape(2, 3)
    shapes = []

    def inner(value: wengert.Tensor) -> wengert.Tensor:
        once = wengert.func.debug_unwrap(value, recurse=False)
        shapes.append((once.shape, wengert.func.debug_unwrap(value).shape))
        return value

    wengert.vmap(wengert.vmap(inner))(x)
    assert shapes == [((3,), (2, 3))]
    assert wengert.func.debug_unwrap(x) is x
