"""What tests of ``torch.empty``, ``torch.full`` and their kin have in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import wengert
from wengert import Tensor
from wengert.core.dtypes import dtype as dtype_type

_SHAPE = (2, 3)


def do_test_dtypes(self: Any, dtypes: Iterable[dtype_type], layout: Any, device: Any) -> None:
    """``torch.zeros`` has the dtype, the layout and the device that it is asked for."""
    for dtype in dtypes:
        _check(
            self, wengert.zeros(_SHAPE, dtype=dtype, layout=layout, device=device), dtype, layout
        )


def do_test_empty_full(self: Any, dtypes: Iterable[dtype_type], layout: Any, device: Any) -> None:
    """So have tensors of one value and those without values, however they are asked for."""
    for dtype in dtypes:
        for tracked in sorted({False, dtype.is_floating_point}):
            options: dict[str, Any] = {"layout": layout, "device": device, "requires_grad": tracked}
            empty = wengert.empty(_SHAPE, dtype=dtype, **options)
            made = [empty, wengert.empty_like(empty, dtype=dtype, **options)]
            made.append(empty.new_empty(_SHAPE, dtype=dtype, **options))
            if layout is wengert.strided:
                full = wengert.full(_SHAPE, 1, dtype=dtype, **options)
                filled = [full, wengert.full_like(empty, 1, dtype=dtype, **options)]
                filled.append(empty.new_full(_SHAPE, 1, dtype=dtype, **options))
                for value in filled:
                    self.assertTrue(bool((value == 1).all()))
                made += filled
            for value in made:
                _check(self, value, dtype, layout)
                self.assertEqual(value.requires_grad, tracked)
            if layout is wengert.strided and not tracked:
                out = wengert.empty(0, dtype=dtype, device=device)
                self.assertIs(wengert.full(_SHAPE, 1, dtype=dtype, out=out), out)
                _check(self, out, dtype, layout)


def _check(self: Any, value: Tensor, dtype: dtype_type, layout: Any) -> None:
    self.assertEqual(tuple(value.shape), _SHAPE)
    self.assertIs(value.dtype, dtype)
    self.assertIs(value.layout, layout)


__all__ = ["do_test_dtypes", "do_test_empty_full"]
