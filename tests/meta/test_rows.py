"""Every operation on meta tensors: the shapes, dtypes and strides of the same call on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from tests.ops import calls
from tests.ops.each import each
from tests.ops.rows import Row, all_rows

# What depends on elements raises, as on PyTorch's meta device.
OF_ELEMENTS = {
    "allclose", "argwhere", "bincount", "equal", "histogram", "histogramdd", "istft",
    "linalg.lstsq", "masked_select", "nn.functional.ctc_loss", "nonzero", "unique",
    "unique_consecutive",
}  # fmt: skip
ROWS_OF_ELEMENTS = {
    "index_put-mask", "narrow-tensor", "nn.functional.one_hot", "repeat_interleave-counts",
    "repeat_interleave-each", "tensor_split-tensor", "where-indices",
}  # fmt: skip
WITHOUT_TENSORS = {"tril_indices", "triu_indices", "fft.fftfreq", "fft.rfftfreq"}
# Strides are not part of what einsum promises: there are several ways to contract.
OTHER_STRIDES = {"einsum-...ij,...jk->...ik"}


def on_meta(value: Any) -> Any:
    if isinstance(value, wengert.Tensor):
        return value.to("meta")
    if type(value) in (list, tuple):
        return type(value)(on_meta(v) for v in value)
    return value


def tensors_of(value: Any) -> Any:
    if isinstance(value, np.dtype):
        return value
    if isinstance(value, str) and value.startswith("torch."):
        return getattr(wengert, value[6:])
    return calls.convert(value, lambda array: wengert.from_numpy(array.copy()))


def call_on_meta(row: Row) -> Any:
    args = on_meta(tensors_of(row.make(calls.rng_of(row))))
    kwargs = {name: on_meta(tensors_of(value)) for name, value in row.kwargs.items()}
    return calls.function_of(wengert, row)(*args, **kwargs)


@each(row for row in all_rows() if row.name not in WITHOUT_TENSORS)
def test_outlines(row: Row) -> None:
    if row.name == "equal" and "shape" in str(row):
        return  # tensors of two shapes are not equal, whatever their elements
    if row.name in OF_ELEMENTS or str(row) in ROWS_OF_ELEMENTS:
        with pytest.raises(NotImplementedError, match="meta"):
            call_on_meta(row)
        return
    expected, _ = calls.call(wengert, row, row.make(calls.rng_of(row)), grad=False)
    for a, b in zip(calls.outputs(call_on_meta(row)), calls.outputs(expected), strict=True):
        if isinstance(b, wengert.Tensor):
            assert (a.shape, a.dtype, a.device.type) == (b.shape, b.dtype, "meta")
            assert str(row) in OTHER_STRIDES or a.stride() == b.stride()
        else:
            assert a == b
