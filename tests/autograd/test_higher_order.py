"""Derivatives of derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from tests.nn.both import agree


def test_every_order_of_a_power() -> None:
    x = wengert.tensor(2.0, dtype=wengert.float64, requires_grad=True)
    y = x**5
    expected = [5 * 2.0**4, 20 * 2.0**3, 60 * 2.0**2, 120 * 2.0, 120.0]
    for value in expected:
        (y,) = wengert.autograd.grad(y, x, create_graph=True)
        assert y.item() == pytest.approx(value)


def test_third_derivative_of_tanh() -> None:
    x = wengert.tensor([0.3, 0.5], dtype=wengert.float64, requires_grad=True)
    y = x.tanh()
    for _ in range(3):
        (y,) = wengert.autograd.grad(y.sum(), x, create_graph=True)
    t = np.tanh(x.detach().numpy())
    np.testing.assert_allclose(y.detach().numpy(), -2 * (1 - t * t) * (1 - 3 * t * t), rtol=1e-12)


def test_gradient_penalty() -> None:
    w = wengert.tensor([1.0, -2.0], dtype=wengert.float64, requires_grad=True)
    x = wengert.tensor([0.5, 0.25], dtype=wengert.float64, requires_grad=True)
    (g,) = wengert.autograd.grad((w * x * x).sum(), x, create_graph=True)
    (g * g).sum().backward()  # sum 4 w^2 x^2
    np.testing.assert_allclose(w.grad.numpy(), 8 * np.array([1.0, -2.0]) * [0.25, 0.0625])
    np.testing.assert_allclose(x.grad.numpy(), 8 * np.array([1.0, 4.0]) * [0.5, 0.25])


def test_backward_with_create_graph_leaves_a_differentiable_grad() -> None:
    x = wengert.tensor(3.0, requires_grad=True)
    (x**3).backward(create_graph=True)
    g = x.grad
    assert g.requires_grad
    x.grad = None
    g.backward()
    assert x.grad.item() == 18.0


def test_create_graph_retains() -> None:
    x = wengert.tensor(3.0, requires_grad=True)
    y = x**3
    wengert.autograd.grad(y, x, create_graph=True)
    y.backward()
    assert x.grad.item() == 27.0


@pytest.mark.torch
def test_hessian_vector_product_of_an_mlp(torch: Any) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(s) for s in ((4, 5), (5, 6), (6,), (6, 1))]

    def product(t: Any) -> list[np.ndarray]:
        x, a, b, c = (t.from_numpy(v.copy()).requires_grad_() for v in arrays)
        loss = (((x @ a + b).tanh() @ c) ** 2).mean()
        grads = t.autograd.grad(loss, [a, b, c], create_graph=True)
        dot = sum((g * t.cos(p)).sum() for g, p in zip(grads, [a, b, c], strict=True))
        return [g.numpy() for g in t.autograd.grad(dot, [x, a, b, c])]

    for ours, theirs in zip(product(wengert), product(torch), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_recorded_gradients_are_tensors_of_their_own() -> None:
    x = wengert.ones(3, requires_grad=True)
    y = wengert.ones(3, requires_grad=True)
    (x + y).sum().backward(create_graph=True)
    assert x.grad is not y.grad
    with wengert.no_grad():
        x.grad.zero_()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]
    assert y.grad.tolist() == [1.0, 1.0, 1.0]


SMOOTH = {
    "exp": (lambda t, x: x.exp(), (3,)),
    "log": (lambda t, x: (x + 2).log(), (3,)),
    "sqrt": (lambda t, x: (x + 2).sqrt(), (3,)),
    "rsqrt": (lambda t, x: (x + 2).rsqrt(), (3,)),
    "reciprocal": (lambda t, x: (x + 2).reciprocal(), (3,)),
    "square": (lambda t, x: x.square() * x, (3,)),
    "pow": (lambda t, x, y: (x + 2) ** y, (3,), (2, 1)),
    "mul": (lambda t, x, y, z: x * y * z, (2, 3), (3,), (2, 1)),
    "div": (lambda t, x, y: x / (y + 2), (2, 3), (3,)),
    "sin": (lambda t, x: x.sin(), (3,)),
    "tan": (lambda t, x: x.tan(), (3,)),
    "atan": (lambda t, x: x.atan(), (3,)),
    "asin": (lambda t, x: (x * 0.5).asin(), (3,)),
    "atan2": (lambda t, x, y: t.atan2(x + 2, y + 2), (3,), (3,)),
    "sinh": (lambda t, x: x.sinh(), (3,)),
    "tanh": (lambda t, x: x.tanh(), (3,)),
    "sigmoid": (lambda t, x: x.sigmoid(), (3,)),
    "erf": (lambda t, x: x.erf(), (3,)),
    "expm1": (lambda t, x: x.expm1(), (3,)),
    "log1p": (lambda t, x: (x + 1.5).log1p(), (3,)),
    "gelu": (lambda t, x: t.nn.functional.gelu(x), (3,)),
    "gelu, tanh": (lambda t, x: t.nn.functional.gelu(x, approximate="tanh"), (3,)),
    "silu": (lambda t, x: t.nn.functional.silu(x), (3,)),
    "softplus": (lambda t, x: t.nn.functional.softplus(x), (3,)),
    "logsigmoid": (lambda t, x: t.nn.functional.logsigmoid(x), (3,)),
    "mish": (lambda t, x: t.nn.functional.mish(x), (3,)),
    "elu": (lambda t, x: t.nn.functional.elu(x), (4,)),
    "sum": (lambda t, x: (x**3).sum(1), (2, 3)),
    "mean": (lambda t, x: (x**3).mean(0), (2, 3)),
    "prod": (lambda t, x: (x + 2).prod(1), (2, 4)),
    "var": (lambda t, x: x.var(1) ** 2, (2, 4)),
    "std": (lambda t, x: x.std(1), (2, 4)),
    "norm": (lambda t, x: x.norm(dim=1), (2, 3)),
    "norm of order 3": (lambda t, x: (x + 2).norm(3, dim=1), (2, 3)),
    "logsumexp": (lambda t, x: x.logsumexp(1), (2, 3)),
    "cumsum": (lambda t, x: x.exp().cumsum(1), (2, 3)),
    "cumprod": (lambda t, x: (x + 2).cumprod(1), (2, 3)),
    "softmax": (lambda t, x: x.softmax(1), (2, 3)),
    "log_softmax": (lambda t, x: x.log_softmax(1), (2, 3)),
    "matmul": (lambda t, x, y: x @ y @ x, (2, 3), (3, 2)),
    "batched matmul": (lambda t, x, y: (x @ y).sin(), (2, 2, 3), (3, 2)),
    "matrix times vector": (lambda t, x, y: (x @ y) ** 3, (2, 3), (3,)),
    "linear": (lambda t, x, w, b: t.nn.functional.linear(x, w, b).tanh(), (2, 3), (2, 3), (2,)),
    "einsum": (lambda t, x, y: t.einsum("ij,kj,ij->ik", x, y, x), (2, 3), (2, 3)),
    "layer_norm": (
        lambda t, x, w, b: t.nn.functional.layer_norm(x, (3,), w, b), (2, 3), (3,), (3,)
    ),
    "group_norm": (
        lambda t, x, w, b: t.nn.functional.group_norm(x, 2, w, b), (2, 4, 2), (4,), (4,)
    ),
    "batch_norm": (
        lambda t, x, w: t.nn.functional.batch_norm(x, None, None, w, training=True),
        (3, 2, 2), (2,),
    ),
    "normalize": (lambda t, x: t.nn.functional.normalize(x, dim=1), (2, 3)),
    "conv1d": (lambda t, x, w: t.nn.functional.conv1d(x, w, stride=2) ** 3, (1, 2, 5), (2, 2, 2)),
    "conv2d": (
        lambda t, x, w, b: t.nn.functional.conv2d(x, w, b, padding=1).tanh(),
        (1, 2, 3, 3), (2, 2, 2, 2), (2,),
    ),
    "conv2d, grouped": (
        lambda t, x, w: t.nn.functional.conv2d(x, w, groups=2, dilation=2).exp(),
        (1, 2, 3, 4), (2, 1, 2, 2),
    ),
    "conv_transpose2d": (
        lambda t, x, w: t.nn.functional.conv_transpose2d(x, w, stride=2).sin(),
        (1, 2, 2, 2), (2, 1, 2, 2),
    ),
    "avg_pool2d": (lambda t, x: t.nn.functional.avg_pool2d(x, 2) ** 3, (1, 1, 4, 4)),
    "max_pool2d": (lambda t, x: t.nn.functional.max_pool2d(x, 2) ** 3, (1, 1, 4, 4)),
    "interpolate": (
        lambda t, x: t.nn.functional.interpolate(x, scale_factor=2, mode="bilinear") ** 3,
        (1, 1, 2, 3),
    ),
    "attention": (
        lambda t, q, k, v: t.nn.functional.scaled_dot_product_attention(q, k, v),
        (1, 2, 3), (1, 3, 3), (1, 3, 2),
    ),
    "cross_entropy": (
        lambda t, x: t.nn.functional.cross_entropy(x, t.tensor([1, 0])), (2, 3)
    ),
    "bce with logits": (
        lambda t, x: t.nn.functional.binary_cross_entropy_with_logits(x, t.full_like(x, 0.3)),
        (4,),
    ),
    "mse_loss": (lambda t, x, y: t.nn.functional.mse_loss(x**2, y), (2, 3), (2, 3)),
    "cosine_similarity": (
        lambda t, x, y: t.nn.functional.cosine_similarity(x + 2, y + 2), (2, 3), (2, 3)
    ),
    "gather": (lambda t, x: x.gather(1, t.tensor([[0, 0, 2]])) ** 3, (2, 3)),
    "index_put": (lambda t, x, y: x.index_put((t.tensor([0, 1]),), y * y) ** 3, (3,), (2,)),
    "cat": (lambda t, x, y: t.cat([x, y * x[:, :1]], 1) ** 3, (2, 3), (2, 1)),
    "view, transpose, slice": (lambda t, x: x.T.reshape(2, 3)[:, 1:] ** 3, (2, 3)),
    "in place": (lambda t, x: x.clone().mul_(x).add_(x).exp_(), (3,)),
    "complex mul": (lambda t, x, y: (t.complex(x, y) ** 3).abs(), (3,), (3,)),
    "complex exp": (lambda t, x, y: t.complex(x, y).exp().real, (3,), (3,)),
}  # fmt: skip


def layer_norm(t: Any, x: Any, w: Any, b: Any) -> Any:
    centred = x - x.mean(1, keepdim=True)
    return centred / ((centred**2).mean(1, keepdim=True) + 1e-5).sqrt() * w + b


def batch_norm(t: Any, x: Any, w: Any) -> Any:
    centred = x - x.mean((0, 2), keepdim=True)
    return centred / ((centred**2).mean((0, 2), keepdim=True) + 1e-5).sqrt() * w[:, None]


# PyTorch's double backward of these takes the saved mean and deviation for constants, so that
# its third derivative is wrong. Written out with elementary operations it is right.
WRITTEN_OUT = {"layer_norm": layer_norm, "batch_norm": batch_norm}


def third(library: Any, name: str, written_out: bool = False) -> list[np.ndarray]:
    """Derivatives of the first three orders along directions, and the gradients of the last."""
    func, *shapes = SMOOTH[name]
    func = WRITTEN_OUT.get(name, func) if written_out else func
    rng = np.random.default_rng(sum(map(ord, name)))
    arrays = [np.asarray(rng.uniform(-1, 1, s)) for s in shapes]
    leaves = [library.from_numpy(a).requires_grad_() for a in arrays]

    def weighted(values: Any, salt: float) -> Any:
        total = library.zeros((), dtype=library.float64)
        for v in values:
            weight = np.cos(np.arange(v.numel()) + salt).reshape(tuple(v.shape))
            total = total + (v * library.from_numpy(weight)).sum()
        return total

    value = weighted([func(library, *leaves)], 0.0)
    found = [value]
    for order in (1, 2, 3):
        grads = library.autograd.grad(
            value, leaves, create_graph=order < 3, allow_unused=True, materialize_grads=True
        )
        value = weighted(grads, 0.5 * order)
        found.append(value)
    return [x.detach().numpy() for x in (*found, *grads)]


@pytest.mark.torch
@pytest.mark.parametrize("name", SMOOTH)
def test_third_derivative_equals_torch(name: str, torch: Any) -> None:
    for ours, theirs in zip(third(wengert, name), third(torch, name, True), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-9)


@pytest.mark.torch
@pytest.mark.parametrize("name", WRITTEN_OUT)
def test_torch_needs_the_formula(name: str, torch: Any) -> None:
    """This fails with a torch whose third derivatives are right: then WRITTEN_OUT can go."""
    fused, written = third(torch, name), third(torch, name, True)
    for a, b in zip(fused[:3], written[:3], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8)
    assert abs(fused[3] - written[3]) > 0.1


@pytest.mark.torch
@pytest.mark.parametrize("create_graph", [False, True])
def test_zeros_for_unused_inputs_are_recorded_like_the_rest(torch: Any, create_graph: bool) -> None:
    def answers(lib: Any) -> list[Any]:
        x, unused = lib.ones(2, requires_grad=True), lib.ones(3, requires_grad=True)
        options = {"materialize_grads": True, "create_graph": create_graph}
        _, zeros = lib.autograd.grad((x * x).sum(), [x, unused], **options)
        found = [zeros, zeros.requires_grad, zeros.is_leaf]
        if create_graph:
            found += lib.autograd.grad(zeros.sum(), [x, unused], **options)
        return found

    agree(torch, answers)
