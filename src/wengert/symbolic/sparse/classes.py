"""Theano's classes of operations on sparse matrices, for programs that make them by class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.symbolic.expressions.wrapped import Composed
from wengert.symbolic.sparse import basic, items, products


def _beside(*blocks: Any, format: str | None = None, dtype: Any = None) -> Any:
    return items.hstack(blocks, format, dtype)


def _below(*blocks: Any, format: str | None = None, dtype: Any = None) -> Any:
    return items.vstack(blocks, format, dtype)


def _sorted(x: Any, inplace: bool = False) -> Any:
    return basic.ensure_sorted_indices(x)


def _without_zeros(x: Any, inplace: bool = False) -> Any:
    return basic.remove0(x)


def _product(x: Any, y: Any, grad_preserves_dense: bool = True) -> Any:
    return products.true_dot(x, y, grad_preserves_dense)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "AddSD": basic.add, "AddSS": basic.add_s_s, "AddSSData": basic.add_s_s_data,
    "ColScaleCSC": basic.col_scale,
    "ConstructSparseFromList": basic.construct_sparse_from_list,
    "DenseFromSparse": basic.dense_from_sparse, "Diag": basic.diag, "Dot": products.dot,
    "EnsureSortedIndices": _sorted, "GetItem2Lists": items.get_item_2lists,
    "GetItem2d": items.item, "GetItemList": items.get_item_list,
    "GetItemScalar": items.get_item_scalar, "HStack": _beside, "MulSD": basic.mul_s_d,
    "MulSS": basic.mul_s_s, "MulSV": basic.mul_s_v, "Neg": basic.neg, "Remove0": _without_zeros,
    "RowScaleCSC": basic.row_scale, "SamplingDot": products.sampling_dot, "SpSum": basic.sp_sum,
    "SquareDiagonal": basic.square_diagonal, "StructuredAddSV": basic.structured_add_s_v,
    "StructuredDot": products.structured_dot, "Transpose": basic.transpose, "TrueDot": _product,
    "Usmm": products.usmm, "VStack": _below,
}  # fmt: skip
globals().update(
    {
        name: type(
            name,
            (Composed,),
            {
                "function": staticmethod(f),
                "__module__": __name__,
                "__doc__": f"An operation of sparse matrices, ``{name}(...)(x, ...)``.",
            },
        )
        for name, f in FUNCTIONS.items()
    }
)
__all__ = list(FUNCTIONS)
