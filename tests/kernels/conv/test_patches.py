"""Convolutions of channels-last images whose windows do not overlap."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import wengert
from wengert.kernels import conv
from wengert.kernels.conv import patches
from wengert.kernels.geometry import Geometry

rng = np.random.default_rng(0)

WINDOWS = [  # kernel, stride, dilation
    ((1, 1), (1, 1), (1, 1)),
    ((1, 1), (2, 3), (4, 1)),
    ((2, 2), (2, 2), (1, 1)),
    ((4, 3), (4, 3), (1, 1)),
    ((1, 2), (1, 2), (1, 1)),
]


def images(*shape: int, dtype: str) -> np.ndarray:
    n, c, *space = shape
    return rng.normal(size=(n, *space, c)).astype(dtype).transpose(0, 3, 1, 2)


@pytest.mark.parametrize(("kernel", "stride", "dilation"), WINDOWS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_maps(
    kernel: tuple[int, int], stride: tuple[int, int], dilation: tuple[int, int], dtype: str
) -> None:
    """As by another route, in any dtype; also where images have a rest that no window meets."""
    geometry = Geometry(stride, ((0, 0), (0, 0)), dilation)
    for shape, outputs in product([(2, 30, 12, 12), (1, 80, 9, 11)], (1, 24)):
        x = images(*shape, dtype=dtype)
        weight = rng.normal(size=(outputs, shape[1], *kernel)).astype(dtype)
        bias = rng.normal(size=outputs).astype(dtype)
        out = geometry.out_size(shape[2:], kernel)
        g = images(shape[0], outputs, *out, dtype=dtype)
        found = (
            patches.forward(x, weight, geometry, bias),
            patches.grad_input(g, weight, shape[2:], geometry, rng.normal(size=shape[1]) * 0),
            patches.grad_weight(g, x, kernel, geometry),
        )
        wide_x, wide_g, wide = (np.ascontiguousarray(a, "f8") for a in (x, g, weight))
        expected = (
            conv.forward(wide_x, wide, geometry, bias.astype("f8")),
            conv.grad_input(wide_g, wide, shape[2:], geometry),
            conv.grad_weight(wide_g, wide_x, kernel, geometry),
        )
        for got, right in zip(found, expected, strict=True):
            if got is None:
                assert g.size < patches.SOME
                continue
            assert got.dtype == dtype
            tolerance = 1e-5 if dtype == "f4" else 1e-13
            np.testing.assert_allclose(got, right, rtol=0, atol=tolerance * np.abs(right).max())


def test_whatever_lies_otherwise_takes_a_route() -> None:
    unit = Geometry((1, 1), ((0, 0), (0, 0)), (1, 1))
    x, weight = images(2, 8, 16, 16, dtype="f4"), np.ones((4, 8, 1, 1), "f4")
    assert patches.forward(x, weight, unit, None) is not None
    assert patches.forward(np.ascontiguousarray(x), weight, unit, None) is None
    assert patches.forward(x, np.ones((4, 8, 3, 3), "f4"), unit, None) is None
    assert patches.forward(x, weight.astype("f8"), unit, None) is None
    assert patches.forward(x, weight[:, :2], unit._replace(groups=4), None) is None
    padded = unit._replace(padding=((1, 0), (0, 0)))
    assert patches.forward(x, weight, padded, None) is None


def test_windows_that_an_image_does_not_have_take_a_route() -> None:
    """What is written stays inside: a gradient may be of any size."""
    geometry = Geometry((2, 2), ((0, 0), (0, 0)), (1, 1))
    g, weight = images(2, 16, 16, 16, dtype="f4"), np.ones((16, 8, 2, 2), "f4")
    assert patches.grad_input(g, weight, (32, 33), geometry, None) is not None
    assert patches.grad_input(g, weight, (32, 31), geometry, None) is None
    x = images(2, 8, 32, 31, dtype="f4")
    assert patches.grad_weight(g, x, (2, 2), geometry) is None


def test_images_with_more_windows_than_outputs() -> None:
    """As the gradient of a transposed convolution with output padding meets them."""
    geometry = Geometry((1, 1), ((0, 0), (0, 0)), (3, 3))
    g, x = images(2, 8, 16, 16, dtype="f4"), images(2, 16, 18, 17, dtype="f4")
    found = patches.grad_weight(g, x, (1, 1), geometry)
    assert found is not None
    right = np.einsum("nkab,ncab->kc", g.astype("f8"), x[:, :, :16, :16].astype("f8"))
    np.testing.assert_allclose(found[:, :, 0, 0], right, rtol=0, atol=1e-3)


@pytest.mark.parametrize("options", [{}, {"stride": 2}, {"stride": 4}])
def test_public_results_are_channels_last(options: dict[str, int]) -> None:
    size = 4 if options.get("stride") == 4 else 1
    x = wengert.randn(2, 16, 16, 16).contiguous(memory_format=wengert.channels_last)
    x.requires_grad_(True)
    weight = wengert.randn(5, 16, size, size, requires_grad=True)
    y = wengert.nn.functional.conv2d(x, weight, **options)
    assert y.is_contiguous(memory_format=wengert.channels_last)
    gx, gw = wengert.autograd.grad(y.square().sum(), [x, weight])
    assert gx.is_contiguous(memory_format=wengert.channels_last)
    plain = x.detach().contiguous().requires_grad_(True)
    other = wengert.nn.functional.conv2d(plain, weight, **options)
    wengert.testing.assert_close(y.contiguous(), other)
    others = wengert.autograd.grad(other.square().sum(), [plain, weight])
    wengert.testing.assert_close(gx.contiguous(), others[0], rtol=1e-4, atol=1e-3)
    wengert.testing.assert_close(gw, others[1], rtol=1e-4, atol=1e-3)
