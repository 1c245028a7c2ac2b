"""``torch.utils._dtype_abbrs``: short names of dtypes."""

from __future__ import annotations

import wengert

dtype_abbrs = {
    wengert.bfloat16: "bf16", wengert.float64: "f64", wengert.float32: "f32",
    wengert.float16: "f16", wengert.complex32: "c32", wengert.complex64: "c64",
    wengert.complex128: "c128", wengert.int8: "i8", wengert.int16: "i16", wengert.int32: "i32",
    wengert.int64: "i64", wengert.bool: "b8", wengert.uint8: "u8", wengert.uint16: "u16",
    wengert.uint32: "u32", wengert.uint64: "u64",
}  # fmt: skip


__all__ = ["dtype_abbrs"]
