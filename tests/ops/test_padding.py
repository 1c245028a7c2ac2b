"""Lengths of padding."""

from __future__ import annotations

from typing import Any

import pytest

import wengert


@pytest.mark.torch
def test_lengths_may_be_tensors_of_one_integer(torch: Any) -> None:
    def program(t: Any) -> list[Any]:
        x, pad = t.ones(1, 2), t.nn.functional.pad
        with pytest.raises(TypeError):
            pad(x, (0, t.tensor([1, 2])))
        return [pad(x, (0, t.tensor(1))).tolist(), pad(x, (0, t.tensor([2]))).tolist()]

    assert program(wengert) == program(torch)
