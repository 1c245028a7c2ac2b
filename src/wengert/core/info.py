"""torch.finfo and torch.iinfo: the limits of dtypes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from wengert.core import dtypes
from wengert.core.dtypes import dtype


class finfo:  # noqa: N801 (PyTorch's name)
    """Limits of a floating-point dtype; of the parts of a complex dtype; of the default if None.

    Attributes:
        bits, dtype: width in bits, and the name.
        eps: the step from 1 to the next larger number.
        min, max: the smallest and the largest finite number.
        tiny, smallest_normal: the smallest positive number of full precision.
        resolution: the decimal resolution near 1, a power of ten.

    >>> import wengert
    >>> wengert.finfo(wengert.float16).max
    65504.0
    """

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")

    def __init__(self, type: dtype | None = None) -> None:
        kind = _checked("finfo", dtypes.defaults.dtype if type is None else type)
        if kind.category < dtypes.FLOAT:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle"
                f" 'torch.finfo' of {kind}"
            )
        kind = kind.to_real()
        limits: Any = ml_dtypes.finfo(kind.np)  # type: ignore[no-untyped-call]
        self.bits, self.dtype = 8 * kind.itemsize, kind.name
        self.eps, self.resolution = float(limits.eps), float(f"1e-{limits.precision}")
        self.min, self.max = float(limits.min), float(limits.max)
        self.tiny = self.smallest_normal = float(limits.smallest_normal)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash((finfo, self.dtype))

    def __repr__(self) -> str:
        names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        numbers = ", ".join(f"{name}={getattr(self, name):g}" for name in names)
        return f"finfo({numbers}, dtype={self.dtype})"


class iinfo:  # noqa: N801
    """Limits of an integer dtype.

    Attributes:
        bits, dtype: width in bits, and the name.
        min, max: the smallest and the largest number.

    >>> import wengert
    >>> wengert.iinfo(wengert.uint8).max
    255
    """

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, type: dtype) -> None:
        kind = _checked("iinfo", type)
        if kind.category >= dtypes.FLOAT:
            raise TypeError(
                "torch.iinfo() requires an integer input type. Use torch.finfo to handle"
                f" 'torch.iinfo' of {kind}"
            )
        if kind.category == dtypes.BOOL:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        limits = np.iinfo(kind.np)
        self.bits, self.dtype = limits.bits, kind.name
        self.min, self.max = int(limits.min), int(limits.max)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash((iinfo, self.dtype))

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


def _checked(name: str, kind: Any) -> dtype:
    if not isinstance(kind, dtype):
        raise TypeError(
            f"{name}(): argument 'type' (position 1) must be torch.dtype, not {type(kind).__name__}"
        )
    return kind
