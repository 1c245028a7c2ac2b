"""``torch.testing._internal.opinfo.refs``: operations that PyTorch writes twice, of which none is
written twice here; the classes tell tests apart."""

from __future__ import annotations

from wengert.compat._private.harness.operations.elementwise import BinaryUfuncInfo, UnaryUfuncInfo
from wengert.compat._private.harness.operations.families import (
    ReductionOpInfo,
    SpectralFuncInfo,
)
from wengert.compat._private.harness.operations.records import OpInfo


class PythonRefInfo(OpInfo):
    """A second form of an operation."""


class ReductionPythonRefInfo(ReductionOpInfo):
    """A second form of a reduction."""


class ElementwiseUnaryPythonRefInfo(UnaryUfuncInfo):
    """A second form of a function of elements."""


class ElementwiseBinaryPythonRefInfo(BinaryUfuncInfo):
    """A second form of a function of pairs of elements."""


class SpectralFuncPythonRefInfo(SpectralFuncInfo):
    """A second form of a transform."""


__all__ = [
    "ElementwiseBinaryPythonRefInfo", "ElementwiseUnaryPythonRefInfo", "PythonRefInfo",
    "ReductionPythonRefInfo", "SpectralFuncPythonRefInfo",
]  # fmt: skip
