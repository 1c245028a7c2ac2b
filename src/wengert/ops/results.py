"""What operations with several results return, printed like PyTorch's."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple

from wengert.core.tensor import Tensor


class ValuesIndices(NamedTuple):
    """Values, and their indices along a dimension, to type checkers."""

    values: Tensor
    indices: Tensor


class MinMax(NamedTuple):
    """The smallest and the largest elements, to type checkers."""

    min: Tensor
    max: Tensor


_VALUES_INDICES = (
    "cummax", "cummin", "kthvalue", "max", "median", "min", "mode", "nanmedian", "sort", "topk",
)  # fmt: skip
_FIELDS: dict[str, str] = {
    **dict.fromkeys(_VALUES_INDICES, "values indices"),
    "aminmax": "min max",
    "frexp": "mantissa exponent",
    "geqrf": "a tau",
    "histogram": "hist bin_edges",
    "histogramdd": "hist bin_edges",
    "linalg_cholesky_ex": "L info",
    "linalg_eig": "eigenvalues eigenvectors",
    "linalg_eigh": "eigenvalues eigenvectors",
    "linalg_inv_ex": "inverse info",
    "linalg_ldl_factor": "LD pivots",
    "linalg_ldl_factor_ex": "LD pivots info",
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


class Results(tuple[Any, ...]):
    """Results with names, made of one sequence as PyTorch's are: no `namedtuple`."""

    __slots__ = ()
    __match_args__: tuple[str, ...] = ()
    n_fields = n_sequence_fields = n_unnamed_fields = 0

    def __new__(cls, sequence: Iterable[Any], dict: Any = None) -> Results:
        values = tuple(sequence)
        if len(values) != cls.n_fields:
            raise TypeError(
                f"{cls.__module__}.{cls.__name__}() takes a {cls.n_fields}-sequence"
                f" ({len(values)}-sequence given)"
            )
        return tuple.__new__(cls, values)

    def __repr__(self) -> str:
        fields = [
            f"{name}={value!r}" for name, value in zip(self.__match_args__, self, strict=True)
        ]
        return f"torch.return_types.{type(self).__name__}(\n" + ",\n".join(fields) + ")"

    def __reduce__(self) -> tuple[Any, ...]:
        return result_of, (type(self).__name__, *self)


@cache
def kind_of(name: str) -> Any:
    """The result class of the function of that name. KeyError if it has none."""
    fields = tuple(_FIELDS[name if name == "histogramdd" else name.removesuffix("_out")].split())
    attributes: dict[str, Any] = {f: property(itemgetter(i)) for i, f in enumerate(fields)}
    counts = {"n_fields": len(fields), "n_sequence_fields": len(fields)}
    return type(
        name,
        (Results,),
        {
            "__slots__": (),
            "__module__": "torch.return_types",
            "__match_args__": fields,
            **attributes,
            **counts,
        },
    )


def result_of(name: str, *values: Any) -> Any:
    """The results of the function of that name."""
    return tuple.__new__(kind_of(name), values)
