"""The lists of operations that tests go through."""

from __future__ import annotations

from wengert.compat._private.harness.operations.binary import BINARY
from wengert.compat._private.harness.operations.creating import CREATING
from wengert.compat._private.harness.operations.elementwise import BinaryUfuncInfo, UnaryUfuncInfo
from wengert.compat._private.harness.operations.families import (
    ReductionOpInfo,
    ShapeFuncInfo,
    SpectralFuncInfo,
)
from wengert.compat._private.harness.operations.indexing import INDEXING
from wengert.compat._private.harness.operations.layers import LAYERS
from wengert.compat._private.harness.operations.losses import LOSSES
from wengert.compat._private.harness.operations.matrices import MATRICES
from wengert.compat._private.harness.operations.records import OpInfo
from wengert.compat._private.harness.operations.reducing import REDUCING
from wengert.compat._private.harness.operations.shapes import SHAPES
from wengert.compat._private.harness.operations.spectral import SPECTRAL
from wengert.compat._private.harness.operations.unary import UNARY

op_db: list[OpInfo] = [
    *UNARY, *BINARY, *SHAPES, *INDEXING, *REDUCING, *MATRICES, *SPECTRAL, *LAYERS, *LOSSES,
    *CREATING,
]  # fmt: skip

unary_ufuncs = [op for op in op_db if isinstance(op, UnaryUfuncInfo)]
binary_ufuncs = [op for op in op_db if isinstance(op, BinaryUfuncInfo)]
reduction_ops = [op for op in op_db if isinstance(op, ReductionOpInfo)]
spectral_funcs = [op for op in op_db if isinstance(op, SpectralFuncInfo)]
shape_funcs = [op for op in op_db if isinstance(op, ShapeFuncInfo)]

# There are no second implementations in Python, as PyTorch's `_refs` are.
python_ref_db: list[OpInfo] = []
ops_and_refs = op_db + python_ref_db

# Nor is it listed which operations take sparse tensors, and masked ones.
sparse_unary_ufuncs: list[OpInfo] = []
sparse_csr_unary_ufuncs: list[OpInfo] = []
sparse_masked_reduction_ops: list[OpInfo] = []
reference_masked_ops: list[OpInfo] = []

__all__ = [
    "binary_ufuncs", "op_db", "ops_and_refs", "python_ref_db", "reduction_ops",
    "reference_masked_ops", "shape_funcs", "sparse_csr_unary_ufuncs",
    "sparse_masked_reduction_ops", "sparse_unary_ufuncs", "spectral_funcs", "unary_ufuncs",
]  # fmt: skip
