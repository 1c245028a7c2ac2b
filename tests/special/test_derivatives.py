"""Derivatives that PyTorch lacks, or has for one of two inputs."""

from __future__ import annotations

from typing import Any

import pytest

import wengert
from wengert.autograd import gradcheck, gradgradcheck

LINEAR = ("spherical_bessel_j0", "airy_ai")
BESSEL = ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1")
MODIFIED = [f"modified_bessel_{n}" for n in ("i0", "i1", "k0", "k1")]
SCALED = [f"scaled_modified_bessel_{n}" for n in ("k0", "k1")]


def points() -> Any:
    return wengert.tensor([0.4, 1.3, 3.1], dtype=wengert.float64, requires_grad=True)


@pytest.mark.parametrize("name", [*LINEAR, *BESSEL, *MODIFIED, *SCALED])
def test_derivatives_equal_differences(name: str) -> None:
    function = getattr(wengert.special, name)
    assert gradcheck(function, (points(),))
    assert gradgradcheck(function, (points(),))


@pytest.mark.torch
@pytest.mark.parametrize("name", ["gammainc", "gammaincc", "zeta"])
def test_derivative_of_the_second_input(name: str, torch: Any) -> None:
    found = []
    for library in (wengert, torch):
        a, x = library.tensor([1.5, 2.0, 4.0]).double(), library.tensor([0.5, 2.5, 1.0]).double()
        y = getattr(library.special, name)(a, x.requires_grad_())
        found.append(library.autograd.grad(y.sum(), x)[0].numpy())
    assert found[0] == pytest.approx(found[1], rel=1e-10)


@pytest.mark.parametrize("name", ["gammainc", "gammaincc", "zeta", "legendre_polynomial_p"])
def test_other_derivatives_are_refused(name: str) -> None:
    y = getattr(wengert.special, name)(points(), wengert.tensor(2.0, dtype=wengert.float64))
    with pytest.raises(NotImplementedError, match="is not implemented"):
        y.sum().backward()
