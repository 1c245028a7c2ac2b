"""Products of matrices in groups of different lengths, as a mixture of experts computes them."""

from __future__ import annotations

from itertools import pairwise

from wengert.core import dtypes
from wengert.core.tensor import Tensor
from wengert.ops.joining import cat, stack
from wengert.ops.matmul import bmm, mm
from wengert.ops.padding import pad
from wengert.ops.splitting import split_with_sizes, unbind
from wengert.ops.variadic import require_tensor


def grouped_mm(
    mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None, bias: Tensor | None = None,
    out_dtype: dtypes.dtype | None = None,
) -> Tensor:  # fmt: skip
    """A product for each group of rows, columns or both; `offs` has the end of each, in int32.

    The groups are those of the dimension that a matrix (2D) has in place of the first one of a
    batch (3D): rows of `mat_a`, columns of `mat_b`, or what is summed over if both are matrices,
    which gives a batch. Two batches have no `offs`. What lies behind the last group is 0.

    >>> import wengert
    >>> tokens, experts = wengert.ones(3, 2), wengert.tensor([[[1.0], [2.0]], [[3.0], [4.0]]])
    >>> ends = wengert.tensor([1, 3], dtype=wengert.int32)
    >>> wengert.nn.functional.grouped_mm(tokens, experts, offs=ends)
    tensor([[3.],
            [7.],
            [7.]])
    """
    for position, (name, x) in enumerate((("mat_a", mat_a), ("mat_b", mat_b)), 1):
        require_tensor("grouped_mm", name, x, position)
    _check_operands(mat_a, mat_b)
    _check_options(mat_a, bias, out_dtype)
    if (mat_a.ndim == mat_b.ndim == 3) is not (offs is None):
        raise RuntimeError(
            "grouped_mm(): Have to provide offsets if there is a 2d matrix, or no offset if both"
            f" matrices are 3d: got mat_a of shape {list(mat_a.shape)}, mat_b of"
            f" {list(mat_b.shape)} and {'no offs' if offs is None else 'offs'}"
        )
    if offs is None:
        return bmm(mat_a, mat_b)
    grouped = mat_a.shape[0] if mat_b.ndim == 3 else mat_b.shape[1 if mat_a.ndim == 3 else 0]
    sizes = _sizes(offs, grouped)
    batch = mat_a if mat_a.ndim == 3 else mat_b
    if batch.ndim == 3 and batch.shape[0] != len(sizes) - 1:
        raise RuntimeError(
            f"grouped_mm(): matrix batch sizes have to match: got {batch.shape[0]} matrices and"
            f" {len(sizes) - 1} offsets"
        )
    return _products(mat_a, mat_b, sizes)


def _products(mat_a: Tensor, mat_b: Tensor, sizes: list[int]) -> Tensor:
    """The products of the groups, one beside the other; the last size is that of no group."""
    groups, rest = len(sizes) - 1, sizes[-1]
    if mat_b.ndim == 3:
        rows = split_with_sizes(mat_a, sizes)[:groups]
        product = cat([mm(a, b) for a, b in zip(rows, unbind(mat_b), strict=True)])
        return pad(product, [0, 0, 0, rest]) if rest else product
    if mat_a.ndim == 3:
        columns = split_with_sizes(mat_b, sizes, 1)[:groups]
        product = cat([mm(a, b) for a, b in zip(unbind(mat_a), columns, strict=True)], 1)
        return pad(product, [0, rest]) if rest else product
    parts = split_with_sizes(mat_a, sizes, 1)[:groups]
    rows = split_with_sizes(mat_b, sizes)[:groups]
    return stack([mm(a, b) for a, b in zip(parts, rows, strict=True)])


def _check_operands(mat_a: Tensor, mat_b: Tensor) -> None:
    for name, x in (("mat_a", mat_a), ("mat_b", mat_b)):
        if x.ndim not in (2, 3):
            raise RuntimeError(
                f"grouped_mm(): {name} has to be 2 or 3d, but got one of shape {list(x.shape)}"
            )
        if not x.dtype.is_floating_point:
            raise RuntimeError(
                f"grouped_mm(): Expected {name} to be a floating-point matrix, got {x.dtype.short}"
            )
    if mat_a.dtype is not mat_b.dtype:
        raise RuntimeError(
            "expected m1 and m2 to have the same dtype, but got:"
            f" {mat_a.dtype.short} != {mat_b.dtype.short} in grouped_mm()"
        )
    if mat_a.shape[-1] != mat_b.shape[-2]:
        raise RuntimeError(
            "grouped_mm(): contraction dimension of mat_a and mat_b must match, but got shapes"
            f" {list(mat_a.shape)} and {list(mat_b.shape)}"
        )
    if mat_a.ndim == mat_b.ndim == 3 and mat_a.shape[0] != mat_b.shape[0]:
        raise RuntimeError(
            f"grouped_mm(): batched dimension has to match, but got {mat_a.shape[0]} and"
            f" {mat_b.shape[0]} matrices"
        )


def _check_options(mat_a: Tensor, bias: Tensor | None, out_dtype: dtypes.dtype | None) -> None:
    if bias is not None:
        raise RuntimeError("grouped_mm(): Bias not supported yet; add it to the product")
    if out_dtype not in (None, mat_a.dtype):
        raise RuntimeError(
            f"Grouped gemm output dtype must match `mat_a` dtype: got out_dtype {out_dtype} for"
            f" {mat_a.dtype}"
        )


def _sizes(offs: Tensor, size: int) -> list[int]:
    """The lengths of the groups, and of what is in none."""
    if offs.dtype is not dtypes.int32:
        raise RuntimeError(f"grouped_mm(): Offsets have to be int32, but got {offs.dtype}")
    if offs.ndim != 1:
        raise RuntimeError(f"grouped_mm(): offs has to be 1D, but got shape {list(offs.shape)}")
    # Without values all groups are empty: what comes out has the same shape.
    ends = [0] * offs.shape[0] if offs.is_meta else offs.tolist()
    bounds = [0, *ends, size]
    if bounds != sorted(bounds):
        raise RuntimeError(
            f"grouped_mm(): offs has to increase from 0 to at most {size}, but got {ends}"
        )
    return [end - start for start, end in pairwise(bounds)]


__all__: list[str] = []
FUNCTIONAL = ("grouped_mm",)
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
