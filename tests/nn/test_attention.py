"""``nn.attention``: wishes for kernels are taken."""

from __future__ import annotations

import pytest

import wengert
from wengert.nn.attention import SDPBackend, sdpa_kernel


@pytest.mark.parametrize("wish", [SDPBackend.MATH, [SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]])
def test_wishes_change_nothing(wish: SDPBackend | list[SDPBackend]) -> None:
    x = wengert.arange(6.0).reshape(3, 2)
    free = wengert.nn.functional.scaled_dot_product_attention(x, x, x)
    with sdpa_kernel(wish):
        assert wengert.equal(wengert.nn.functional.scaled_dot_product_attention(x, x, x), free)


def test_a_wish_names_kernels() -> None:
    with pytest.raises(AssertionError, match="SDPBackend"), sdpa_kernel(3):  # type: ignore[arg-type]
        pass
