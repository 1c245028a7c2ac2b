"""The switch between Winograd's ways of convolution."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import wengert
from wengert.backends import conv
from wengert.kernels.conv.route import WINOGRAD_CHOICES, WinogradSetting


@pytest.fixture(autouse=True)
def unchanged() -> Iterator[None]:
    before = conv.winograd
    yield
    conv.winograd = before


def test_what_is_set_is_what_kernels_look_at() -> None:
    assert wengert.backends.conv.winograd == "auto"
    for choice in WINOGRAD_CHOICES:
        conv.winograd = choice
        assert conv.winograd == WinogradSetting.choice == choice


@pytest.mark.parametrize("wrong", ["f3", "", None, 2])
def test_other_values_are_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"backends\.conv\.winograd: one of 'off', 'f2', .* got"):
        conv.winograd = wrong  # type: ignore[assignment]
    assert conv.winograd == "auto"
