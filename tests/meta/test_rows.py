"""Every operation on meta tensors: the shapes, dtypes and strides of the same call on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert
from tests.ops import calls
from tests.ops.each import each
from tests.ops.rows import Row, all_rows


def on_meta(value: Any) -> Any:
    if isinstance(value, wengert.Tensor):
        return value.to("meta")
    if type(value) in (list, tuple):
        return type(value)(on_meta(v) for v in value)
    return value


@each(all_rows())
def test_outlines(row: Row) -> None:
    args = row.make(calls.rng_of(row))
    expected, _ = calls.call(wengert, row, args, grad=False)
    tensors = calls.convert(args, wengert.from_numpy)
    kwargs = {
        k: v if isinstance(v, np.dtype) else calls.convert(v, wengert.from_numpy)
        for k, v in row.kwargs.items()
    }
    kwargs = {
        k: getattr(wengert, v[6:]) if isinstance(v, str) and v.startswith("torch.") else v
        for k, v in kwargs.items()
    }
    function = calls.function_of(wengert, row)
    result = function(*on_meta(tensors), **{k: on_meta(v) for k, v in kwargs.items()})
    for a, b in zip(calls.outputs(result), calls.outputs(expected), strict=True):
        if isinstance(b, wengert.Tensor):
            assert (a.shape, a.dtype, a.device.type) == (b.shape, b.dtype, "meta")
            assert a.stride() == b.stride()
        else:
            assert a == b
