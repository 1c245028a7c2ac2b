"""First and second derivatives of operations of every family, by gradcheck through the API."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import wengert
import wengert.nn.functional as F
from wengert.autograd import gradcheck, gradgradcheck


@dataclass
class Sample:
    """A function, and the shapes of its inputs, whose values lie in [low, high)."""

    func: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    low: float = -1.0
    high: float = 1.0
    complex: bool = False


def real(func: Callable[..., Any], *shapes: tuple[int, ...], bound: float = 1.0) -> Sample:
    return Sample(func, shapes, -bound, bound)


def positive(func: Callable[..., Any], *shapes: tuple[int, ...]) -> Sample:
    return Sample(func, shapes, 0.3, 2.0)


def complexes(func: Callable[..., Any], *shapes: tuple[int, ...]) -> Sample:
    return Sample(func, shapes, complex=True)


INDEX = wengert.tensor([[0, 2], [1, 1]])
LABELS = wengert.tensor([1, 0, 2])
TARGET = wengert.tensor([0.9, -0.9, 2.0, -2.0], dtype=wengert.float64)
MASK = wengert.tensor([[True, False, True], [False, False, True]])

SAMPLES = {
    # elementwise
    "mul": real(wengert.mul, (2, 3), (3,)),
    "div": positive(wengert.div, (2, 1), (2, 3)),
    "pow": positive(wengert.pow, (3,), (2, 3)),
    "exp": real(wengert.exp, (2, 3)),
    "log": positive(wengert.log, (2, 3)),
    "sqrt": positive(wengert.sqrt, ()),
    "sin": real(wengert.sin, (2, 3)),
    "tan": real(wengert.tan, (4,)),
    "asin": real(wengert.asin, (4,), bound=0.8),
    "atan2": positive(wengert.atan2, (2, 3), (3,)),
    "hypot": positive(wengert.hypot, (3,), (3,)),
    "erf": real(wengert.erf, (4,)),
    "where": real(lambda x, y: wengert.where(MASK, x * y, y**2), (2, 3), (3,)),
    "clamp": positive(lambda x: x.clamp(0.1, 3.0), (4,)),
    "lerp": real(wengert.lerp, (3,), (3,), (3,)),
    # activations
    "tanh": real(wengert.tanh, (2, 3)),
    "sigmoid": real(wengert.sigmoid, (2, 3)),
    "gelu": real(F.gelu, (4,)),
    "silu": real(F.silu, (4,)),
    "softplus": real(F.softplus, (4,)),
    "leaky_relu": positive(F.leaky_relu, (4,)),
    # reductions and scans
    "sum": real(lambda x: x.sum(dim=1) ** 2, (2, 3)),
    "mean": real(lambda x: x.mean(dim=(0, 2), keepdim=True), (2, 3, 2)),
    "prod": positive(lambda x: x.prod(dim=1), (2, 3)),
    "var": real(lambda x: x.var(dim=1), (2, 4)),
    "std": real(lambda x: x.std(), (2, 4)),
    "logsumexp": real(lambda x: x.logsumexp(dim=-1), (2, 3)),
    "norm": positive(lambda x: x.norm(dim=1), (2, 3)),
    "cumsum": real(lambda x: x.cumsum(dim=0), (3, 2)),
    "cumprod": positive(lambda x: x.cumprod(dim=1), (2, 3)),
    "amax": real(lambda x: x.amax(dim=1), (2, 3)),
    "softmax": real(lambda x: x.softmax(dim=1), (2, 3)),
    "log_softmax": real(lambda x: x.log_softmax(dim=0), (3, 2)),
    # products
    "matmul": real(wengert.matmul, (2, 2, 3), (3, 2)),
    "matrix times vector": real(wengert.mv, (2, 3), (3,)),
    "baddbmm": real(wengert.baddbmm, (2, 2), (2, 2, 3), (2, 3, 2)),
    "einsum": real(lambda x, y: wengert.einsum("bij,bkj->bik", x, y), (2, 2, 3), (2, 2, 3)),
    "linear": real(F.linear, (2, 3), (2, 3), (2,)),
    "bilinear": real(F.bilinear, (2, 2), (2, 3), (2, 2, 3)),
    # shapes and indices
    "reshape": real(lambda x: x.T.reshape(3, 2) ** 2, (2, 3)),
    "cat": real(lambda x, y: wengert.cat([x, y * x[:, :1]], dim=1), (2, 3), (2, 1)),
    "index": real(lambda x: x[INDEX, 1:] ** 2, (3, 2)),
    "gather": real(lambda x: x.gather(1, INDEX) ** 2, (2, 3)),
    "scatter_add": real(lambda x, y: x.scatter_add(1, INDEX, y) ** 2, (2, 3), (2, 2)),
    "pad": real(lambda x: F.pad(x, (1, 2), mode="reflect") ** 2, (1, 2, 4)),
    "sort": real(lambda x: x.sort(dim=1).values ** 2, (2, 3)),
    "split": real(lambda x: tuple(a**2 for a in x.split(2)), (3, 2)),
    # layers
    "conv1d": real(F.conv1d, (2, 2, 5), (2, 2, 3), (2,)),
    "conv2d": real(
        lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1), (1, 2, 4, 3), (2, 2, 3, 2), (2,)
    ),
    "conv2d, grouped": real(
        lambda x, w: F.conv2d(x, w, groups=2, dilation=2), (1, 2, 3, 4), (2, 1, 2, 2)
    ),
    "conv_transpose2d": real(
        lambda x, w: F.conv_transpose2d(x, w, stride=2), (1, 2, 2, 2), (2, 1, 2, 2)
    ),
    "max_pool2d": real(lambda x: F.max_pool2d(x, 2) ** 2, (1, 1, 4, 4)),
    "avg_pool2d": real(lambda x: F.avg_pool2d(x, 2) ** 2, (1, 2, 3, 4)),
    "interpolate": real(
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear") ** 2, (1, 1, 2, 3)
    ),
    "layer_norm": real(lambda x, w, b: F.layer_norm(x, (3,), w, b), (2, 3), (3,), (3,)),
    "group_norm": real(lambda x, w: F.group_norm(x, 2, w), (2, 4, 2), (4,)),
    "batch_norm": real(
        lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), (3, 2, 2), (2,), (2,)
    ),
    "embedding": real(lambda w: F.embedding(INDEX, w) ** 2, (3, 2)),
    "attention": real(F.scaled_dot_product_attention, (1, 2, 3), (1, 3, 3), (1, 3, 2)),
    # losses
    "mse_loss": real(F.mse_loss, (2, 3), (2, 3)),
    "cross_entropy": real(lambda x: F.cross_entropy(x, LABELS, label_smoothing=0.1), (3, 3)),
    "binary_cross_entropy_with_logits": real(
        lambda x, y: F.binary_cross_entropy_with_logits(x, y.sigmoid()), (4,), (4,)
    ),
    "smooth_l1_loss": real(lambda x: F.smooth_l1_loss(x, TARGET, beta=0.5), (4,)),
    "cosine_similarity": positive(F.cosine_similarity, (2, 3), (2, 3)),
    # complex numbers
    "complex mul": complexes(wengert.mul, (2, 2), (2,)),
    "complex div": complexes(lambda x, y: x / (y + 2), (2,), (2,)),
    "complex exp": complexes(wengert.exp, (3,)),
    "complex tanh": complexes(wengert.tanh, (3,)),
    "complex pow": complexes(lambda x: (x + 2) ** 2.5, (3,)),
    "complex abs": complexes(lambda x: (x + 2).abs(), (3,)),
    "complex angle": complexes(lambda x: (x + 2).angle(), (3,)),
    "complex conj": complexes(lambda x: x.conj() * x * x, (3,)),
    "complex matmul": complexes(wengert.matmul, (2, 2), (2, 2)),
    "complex sum": complexes(lambda x: (x * x).sum(dim=0), (2, 2)),
    "view_as_real": complexes(lambda x: wengert.view_as_real(x) ** 3, (2,)),
    "complex": real(lambda x, y: wengert.complex(x, y) ** 2, (3,), (3,)),
    "polar": positive(wengert.polar, (3,), (3,)),
}

by_name = pytest.mark.parametrize("name", SAMPLES)


def leaves(name: str) -> list[Any]:
    """The inputs of a sample; the same in every run."""
    sample = SAMPLES[name]
    rng = np.random.default_rng(sum(map(ord, name)))
    found = []
    for shape in sample.shapes:
        values = rng.uniform(sample.low, sample.high, shape)
        if sample.complex:
            values = values + 1j * rng.uniform(sample.low, sample.high, shape)
        found.append(wengert.from_numpy(np.asarray(values)).requires_grad_())
    return found


@by_name
def test_first_derivative(name: str) -> None:
    assert gradcheck(SAMPLES[name].func, leaves(name), check_grad_dtypes=True)


@by_name
def test_first_derivative_along_a_direction(name: str) -> None:
    assert gradcheck(SAMPLES[name].func, leaves(name), fast_mode=True)


@by_name
def test_second_derivative(name: str) -> None:
    assert gradgradcheck(SAMPLES[name].func, leaves(name), check_grad_dtypes=True)


@by_name
def test_forward_mode(name: str) -> None:
    assert gradcheck(SAMPLES[name].func, leaves(name), check_forward_ad=True)


@by_name
def test_forward_over_reverse(name: str) -> None:
    assert gradgradcheck(
        SAMPLES[name].func,
        leaves(name),
        check_fwd_over_rev=True,
        check_rev_over_rev=False,
        check_undefined_grad=False,
        fast_mode=True,
    )
