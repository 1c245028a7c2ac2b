"""`nn.grad`: gradients of convolutions by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
import wengert.nn.grad

GEOMETRIES: list[dict[str, Any]] = [
    {},
    {"stride": 2, "padding": 1},
    {"dilation": 2, "padding": 2, "groups": 2},
    {"stride": 3, "padding": 1, "groups": 4},
]
NUMBERS = np.random.default_rng(0)


def sizes(n: int, options: dict[str, Any]) -> tuple[Any, Any]:
    return (2, 4, *(7,) * n), (8, 4 // options.get("groups", 1), *(3,) * n)


@pytest.mark.torch
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("options", GEOMETRIES, ids=str)
def test_equals_torch(n: int, options: dict[str, Any], torch: Any) -> None:
    import torch.nn.grad

    size, shape = sizes(n, options)
    x, w = NUMBERS.normal(size=size), NUMBERS.normal(size=shape)
    conv = getattr(torch.nn.functional, f"conv{n}d")
    out = conv(torch.from_numpy(x), torch.from_numpy(w), **options).shape
    g = NUMBERS.normal(size=tuple(out))
    found = []
    for library in (wengert, torch):
        values = [library.from_numpy(a.copy()).requires_grad_() for a in (x, w, g)]
        of_input = getattr(library.nn.grad, f"conv{n}d_input")
        of_weight = getattr(library.nn.grad, f"conv{n}d_weight")
        dx = of_input(size, values[1], values[2], **options)
        dw = of_weight(values[0], shape, values[2], **options)
        (dx.sin().sum() + dw.cos().sum()).backward()
        found.append([dx.detach(), dw.detach(), *[v.grad for v in values]])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda g, t: g.conv2d_input((2, 5, 5), t(4, 1, 3, 3), t(1, 4, 3, 3)), "4-dimensional"),
        (lambda g, t: g.conv2d_input((1, 2, 5, 5), t(4, 1, 3, 3), t(1, 4, 3, 3)), "groups=1"),
        (lambda g, t: g.conv2d_input((1, 1, 5, 5), t(4, 1, 3, 3), t(1, 4, 4, 3)), "'grad_output'"),
        (lambda g, t: g.conv1d_weight(t(2, 1, 5), (3, 1, 2), t(1, 3, 4)), "'grad_output'"),
    ],
)
def test_shapes_are_checked(call: Any, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        call(wengert.nn.grad, wengert.ones)
