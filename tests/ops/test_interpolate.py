"""Sizes as programs compute them: tensors of one integer."""

from __future__ import annotations

from typing import Any

import pytest

import wengert


def sizes(library: Any) -> list[Any]:
    """Tensors that count as sizes."""
    narrow = library.tensor([6], dtype=library.int32)
    return [narrow, [narrow, 5], [library.tensor(6), library.tensor(5)], library.tensor(6)]


def refused(library: Any) -> list[Any]:
    """Tensors that do not, and what is no number."""
    several = library.tensor([6, 6])
    return [[library.tensor(6.0), 5], [several, 5], several, [True, 6], True]


@pytest.mark.torch
def test_sizes_may_be_tensors_of_one_integer(torch: Any) -> None:
    image = [[[[1.0, 2.0], [3.0, 5.0]]]]
    results = []
    for library in (wengert, torch):
        resize = library.nn.functional.interpolate
        x = library.tensor(image)
        results.append([resize(x, size=s, mode="nearest").tolist() for s in sizes(library)])
        for size in refused(library):
            with pytest.raises(TypeError):
                resize(x, size=size, mode="nearest")
    assert results[0] == results[1]
