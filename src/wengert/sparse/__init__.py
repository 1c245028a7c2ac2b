"""Sparse tensors in coordinates and compressed layouts, as ``torch.sparse``.

SciPy computes products. A sparse tensor is an instance of Tensor whose values are an ordinary
Tensor with a place in the graph; operations on it are operations on those values. The modules
here are loaded with the first sparse tensor.
"""

from importlib import import_module as _import_module
from typing import Any as _Any

from wengert.core.sparse import SparseTensor as _SparseTensor
from wengert.sparse._tensor_methods import bind_to_tensor as _bind_to_tensor

_MODULES = {
    "addmm": "_products",
    "check_sparse_tensor_invariants": "invariants",
    "log_softmax": "_reductions",
    "mm": "_products",
    "sampled_addmm": "_products",
    "softmax": "_reductions",
    "spdiags": "construction",
    "sum": "_reductions",
}
__all__ = [
    "addmm", "check_sparse_tensor_invariants", "log_softmax", "mm", "sampled_addmm", "softmax",
    "spdiags", "sum",
]  # fmt: skip


def _bind() -> None:
    """Load what sparse tensors need, before the first of them is made."""
    _SparseTensor.bind = None
    for name in ("_arithmetic", "_products", "_reductions", "_shapes"):
        _import_module(f"wengert.sparse.{name}")
    table = _import_module("wengert.sparse._table")
    _SparseTensor.dispatch = table.dispatch
    _SparseTensor.dispatch_list = table.dispatch_list
    _import_module("wengert.sparse._methods").bind()


_SparseTensor.bind = _bind
_bind_to_tensor()


def __getattr__(name: str) -> _Any:
    if name in _MODULES:
        return getattr(_import_module(f"wengert.sparse.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'wengert.sparse' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
