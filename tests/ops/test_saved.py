"""What nodes keep, for every subset of inputs that want gradients: exact names and bytes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import wengert
from wengert.nn import functional as F

N, C, K, S = 2, 3, 5, 6  # samples, channels in and out, width of the image


def kept(node: Any) -> dict[str, int]:
    """The arrays that a node keeps, by name, and their bytes."""
    found = {slot.removeprefix("s_"): getattr(node, slot) for slot, _ in node.saved}
    return {name: value.nbytes for name, value in found.items() if isinstance(value, np.ndarray)}


def small(node: Any) -> int:
    """Bytes of arrays among the parameters, which `saved` does not list."""
    return sum(
        value.nbytes
        for slot in type(node).__slots__
        if slot.startswith("s_") and slot not in dict(node.saved)
        and isinstance(value := getattr(node, slot), np.ndarray)
    )  # fmt: skip


SHAPES = {
    "image": (N, C, S, S), "kernel": (K, C, 3, 3), "bias": (K,),
    "rows": (N, C), "matrix": (K, C), "channels": (C,), "last": (S,),
}  # fmt: skip
BYTES = {name: 4 * int(np.prod(shape)) for name, shape in SHAPES.items()}


def tensors(names: tuple[str, ...], wanted: tuple[bool, ...]) -> list[Any]:
    rng = np.random.default_rng(0)
    return [
        wengert.from_numpy(rng.standard_normal(SHAPES[n]).astype(np.float32)).requires_grad_(w)
        for n, w in zip(names, wanted, strict=True)
    ]


def conv2d(x: Any, w: Any, b: Any) -> Any:
    return F.conv2d(x, w, b, padding=1)


def batch_norm_eval(x: Any, w: Any, b: Any) -> Any:
    return F.batch_norm(x, wengert.zeros(C), wengert.ones(C), w, b)


def batch_norm_training(x: Any, w: Any, b: Any) -> Any:
    return F.batch_norm(x, wengert.zeros(C), wengert.ones(C), w, b, training=True)


def layer_norm(x: Any, w: Any, b: Any) -> Any:
    return F.layer_norm(x, (S,), w, b)


STAT = 4 * C
ROW = 4 * N * C * S

# Function, its inputs, and what the first and the second keep when they want a gradient;
# the third, a bias, keeps nothing.
LINEAR_LIKE: list[tuple[Callable[..., Any], tuple[str, ...], dict[str, int], dict[str, int]]] = [
    (F.linear, ("rows", "matrix", "bias"),
     {"weight": BYTES["matrix"]}, {"input": BYTES["rows"]}),
    (conv2d, ("image", "kernel", "bias"),
     {"weight": BYTES["kernel"]}, {"input": BYTES["image"]}),
    (batch_norm_eval, ("image", "channels", "channels"),
     {"weight": STAT, "rstd": STAT}, {"input": BYTES["image"], "mean": STAT, "rstd": STAT}),
    (batch_norm_training, ("image", "channels", "channels"),
     {"input": BYTES["image"], "weight": STAT, "mean": STAT, "rstd": STAT},
     {"input": BYTES["image"], "mean": STAT, "rstd": STAT}),
    (layer_norm, ("image", "last", "last"),
     {"input": BYTES["image"], "weight": BYTES["last"], "mean": ROW, "rstd": ROW},
     {"input": BYTES["image"], "mean": ROW, "rstd": ROW}),
]  # fmt: skip


@pytest.mark.parametrize("wanted", list(product([True, False], repeat=3)), ids=str)
@pytest.mark.parametrize(("function", "names", "first", "second"), LINEAR_LIKE,
                         ids=lambda v: getattr(v, "__name__", ""))  # fmt: skip
def test_every_subset(function: Any, names: Any, first: Any, second: Any, wanted: Any) -> None:
    out = function(*tensors(names, wanted))
    if not any(wanted):
        assert out.grad_fn is None
        return
    expected = (first if wanted[0] else {}) | (second if wanted[1] else {})
    assert kept(out.grad_fn) == expected
    assert small(out.grad_fn) == 0


def test_frozen_parameters_of_a_network_keep_no_activations() -> None:
    """What a hidden layer with frozen weights holds is its weights, which exist anyway."""
    x = wengert.ones(N, C, S, S, requires_grad=True)
    w, b = wengert.ones(C, C, 3, 3), wengert.ones(C)
    out = batch_norm_eval(conv2d(x, w, b), b, b)
    nodes = [out.grad_fn, out.grad_fn.next_functions[0][0]]
    assert sum(sum(kept(node).values()) for node in nodes) == w.numel() * 4 + 2 * STAT


def test_dropout_keeps_a_mask_of_booleans() -> None:
    (x,) = tensors(("image",), (True,))
    assert kept(F.dropout(x).grad_fn) == {"mask": N * C * S * S}
    assert kept(F.dropout2d(x).grad_fn) == {"mask": N * C}


def test_max_pooling_keeps_positions() -> None:
    (x,) = tensors(("image",), (True,))
    assert kept(F.max_pool2d(x, 2).grad_fn) == {"indices": 4 * N * C * (S // 2) ** 2}
    assert kept(F.adaptive_max_pool2d(x, 4).grad_fn) == {"indices": 8 * N * C * 16}


def test_linear_maps_keep_shapes_only() -> None:
    (x,) = tensors(("image",), (True,))
    for out in (
        F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, 5), F.pad(x, (1, 1)), F.unfold(x, 2),
        F.pad(x, (1, 1, 1, 1), mode="reflect"), F.interpolate(x, size=9, mode="bilinear"),
    ):  # fmt: skip
        assert kept(out.grad_fn) == {}


def test_cross_entropy_keeps_no_second_array_of_scores() -> None:
    scores = wengert.ones(8, 100, requires_grad=True)
    out = F.cross_entropy(scores, wengert.zeros(8, dtype=wengert.int64))
    node = out.grad_fn
    assert kept(node) == {"input": 3200, "index": 64, "share": 4, "lse": 64}
    assert node.s_input is scores._array


def test_embedding_keeps_indices() -> None:
    table = wengert.ones(100, 8, requires_grad=True)
    out = F.embedding(wengert.zeros(4, 5, dtype=wengert.int64), table)
    assert kept(out.grad_fn) == {"input": 8 * 20}
