"""How numbers are mapped to integers: ``torch.qscheme``, and the dtypes that stand for both."""

from __future__ import annotations

from wengert.core.dtypes import INT, NamedDtype, dtype, int8, int16, int32, uint8, uint16

# Quantized dtypes, as tables of dtypes name them: no tensor has one.
quint8 = NamedDtype("quint8", 1, INT, "QUInt8")
qint8 = NamedDtype("qint8", 1, INT, "QInt8")
qint32 = NamedDtype("qint32", 4, INT, "QInt32")
quint4x2 = NamedDtype("quint4x2", 1, INT, "QUInt4x2")
quint2x4 = NamedDtype("quint2x4", 1, INT, "QUInt2x4")


class qscheme:  # noqa: N801 (PyTorch's name)
    """A way to map numbers to integers."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name


per_tensor_affine = qscheme("per_tensor_affine")
per_tensor_symmetric = qscheme("per_tensor_symmetric")
per_channel_affine = qscheme("per_channel_affine")
per_channel_symmetric = qscheme("per_channel_symmetric")
per_channel_affine_float_qparams = qscheme("per_channel_affine_float_qparams")

PER_TENSOR = (per_tensor_affine, per_tensor_symmetric)
PER_CHANNEL = (per_channel_affine, per_channel_symmetric, per_channel_affine_float_qparams)
SYMMETRIC = (per_tensor_symmetric, per_channel_symmetric)

RANGES: dict[dtype, tuple[int, int]] = {
    quint8: (0, 255), uint8: (0, 255), qint8: (-128, 127), int8: (-128, 127),
    int16: (-(2**15), 2**15 - 1), uint16: (0, 2**16 - 1), qint32: (-(2**31), 2**31 - 1),
    int32: (-(2**31), 2**31 - 1), quint4x2: (0, 15),
}  # fmt: skip


def calculate_qmin_qmax(
    quant_min: int | None, quant_max: int | None, has_customized_qrange: bool, dtype: dtype,
    reduce_range: bool,
) -> tuple[int, int]:  # fmt: skip
    """The smallest and the largest integer: those that are given, or those of the dtype.

    With `reduce_range` a range of 256 integers is halved, as old processors want it.
    """
    if has_customized_qrange and quant_min is not None and quant_max is not None:
        low, high = quant_min, quant_max
        if reduce_range:
            low, high = low // 2, high // 2
        return low, high
    low, high = RANGES[dtype]
    return (low // 2, high // 2) if reduce_range and high - low == 255 else (low, high)


def validate_qmin_qmax(quant_min: int, quant_max: int) -> None:
    """AssertionError for integers that do not include 0, or none at all."""
    if not quant_min <= 0 <= quant_max:
        raise AssertionError(
            f"Used-specified quantization range must include 0, got {quant_min} to {quant_max}"
        )
    if quant_min >= quant_max:
        raise AssertionError(f"qmin must be less than qmax, got {quant_min} and {quant_max}")
