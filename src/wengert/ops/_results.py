"""What operations with several results return: named tuples that print as PyTorch's do."""

from __future__ import annotations

from collections import namedtuple
from typing import Any, NamedTuple

from wengert._core import Tensor


class ValuesIndices(NamedTuple):
    """Values, and their indices along a dimension."""

    values: Tensor
    indices: Tensor


class MinMax(NamedTuple):
    """The smallest and the largest elements."""

    min: Tensor
    max: Tensor


def _kind(name: str, fields: Any) -> Any:
    def text(self: Any) -> str:
        parts = [f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True)]
        return f"torch.return_types.{name}(\n" + ",\n".join(parts) + ")"

    def reduce(self: Any) -> tuple[Any, ...]:
        return result_of, (name, *self)

    return type(name, (fields,), {"__slots__": (), "__repr__": text, "__reduce__": reduce})


_VALUES_INDICES = (
    "cummax", "cummin", "kthvalue", "max", "median", "min", "mode", "nanmedian", "sort", "topk",
)  # fmt: skip
_KINDS = {name: _kind(name, ValuesIndices) for name in _VALUES_INDICES}
_KINDS["aminmax"] = _kind("aminmax", MinMax)

_OTHERS = {
    "frexp": "mantissa exponent",
    "geqrf": "a tau",
    "histogram": "hist bin_edges",
    "histogramdd": "hist bin_edges",
    "linalg_cholesky_ex": "L info",
    "linalg_eig": "eigenvalues eigenvectors",
    "linalg_eigh": "eigenvalues eigenvectors",
    "linalg_inv_ex": "inverse info",
    "linalg_lstsq": "solution residuals rank singular_values",
    "linalg_lu": "P L U",
    "linalg_lu_factor": "LU pivots",
    "linalg_lu_factor_ex": "LU pivots info",
    "linalg_qr": "Q R",
    "linalg_slogdet": "sign logabsdet",
    "linalg_solve_ex": "result info",
    "linalg_svd": "U S Vh",
    "lu_unpack": "P L U",
    "qr": "Q R",
    "slogdet": "sign logabsdet",
    "svd": "U S V",
    "triangular_solve": "solution cloned_coefficient",
}
_KINDS |= {name: _kind(name, namedtuple(name, fields)) for name, fields in _OTHERS.items()}


def result_of(name: str, *values: Any) -> Any:
    """The results of the function of that name."""
    return _KINDS[name](*values)
