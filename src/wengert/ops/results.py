"""Named tuples for operations with several results, printed like PyTorch's."""

from __future__ import annotations

from collections import namedtuple
from functools import cache
from typing import Any, NamedTuple

from wengert.core.tensor import Tensor


class ValuesIndices(NamedTuple):
    """Values, and their indices along a dimension."""

    values: Tensor
    indices: Tensor


class MinMax(NamedTuple):
    """The smallest and the largest elements."""

    min: Tensor
    max: Tensor


_VALUES_INDICES = (
    "cummax", "cummin", "kthvalue", "max", "median", "min", "mode", "nanmedian", "sort", "topk",
)  # fmt: skip
_FIELDS: dict[str, Any] = {
    **dict.fromkeys(_VALUES_INDICES, ValuesIndices),
    "aminmax": MinMax,
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


@cache
def kind_of(name: str) -> Any:
    """The result class of the function of that name. KeyError if it has none."""
    fields = _FIELDS[name]
    base = namedtuple(name, fields) if isinstance(fields, str) else fields

    def text(self: Any) -> str:
        fields = [f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True)]
        return f"torch.return_types.{name}(\n" + ",\n".join(fields) + ")"

    def reduce(self: Any) -> tuple[Any, ...]:
        return result_of, (name, *self)

    return type(name, (base,), {"__slots__": (), "__repr__": text, "__reduce__": reduce})


def result_of(name: str, *values: Any) -> Any:
    """The results of the function of that name."""
    return kind_of(name)(*values)
