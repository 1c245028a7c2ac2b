"""Operations on sparse tensors: the results of PyTorch, in its layouts."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import wengert
from tests.sparse.samples import DTYPES, LAYOUTS, assert_same, described, hybrid, sample
from wengert import compiler

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:Sparse"),
    pytest.mark.filterwarnings("ignore::UserWarning:torch"),
]
Case = Callable[[Any, Any], Any]


def dense(t: Any, x: Any, *shape: int) -> Any:
    """A dense tensor of a shape, in the dtype of another."""
    count = 1
    for n in shape:
        count *= n
    return ((t.arange(count) % 7) - 3).reshape(shape).to(x.dtype)


ANY: dict[str, Case] = {
    "to_dense": lambda t, x: x.to_dense(),
    "to_sparse_coo": lambda t, x: x.to_sparse_coo(),
    "neg": lambda t, x: -x,
    "abs": lambda t, x: x.abs(),
    "sgn": lambda t, x: x.sgn(),
    "mul number": lambda t, x: x * 3,
    "number mul": lambda t, x: 3 * x,
    "mul 0-d": lambda t, x: x * t.tensor(2),
    "div number": lambda t, x: x / 4,
    "clone": lambda t, x: x.clone(),
    "detach": lambda t, x: x.detach(),
    "attributes": lambda t, x: [
        x._nnz(), x.sparse_dim(), x.dense_dim(), x.is_sparse, x.is_sparse_csr, tuple(x.shape),
        x.dim(), x.numel(), x.size(1), str(x.layout), str(x.dtype), x.element_size(), len(x),
        x.is_floating_point(), x.is_complex(), x.ndim, x.requires_grad, x.is_leaf,
    ],
    "sum": lambda t, x: x.sum(),
    "zeros_like": lambda t, x: t.zeros_like(x).to_dense(),
    "mask dense": lambda t, x: dense(t, x, 4, 5).sparse_mask(x),
}  # fmt: skip
NOT_BLOCKED: dict[str, Case] = {
    "to_sparse_csr": lambda t, x: x.to_sparse_csr(),
    "to_sparse_csc": lambda t, x: x.to_sparse_csc(),
    "to_sparse_bsr": lambda t, x: x.to_sparse_bsr((2, 1)),
    "to double": lambda t, x: x.to(t.complex128 if x.is_complex() else t.float64),
    "t": lambda t, x: x.t(),
    "transpose": lambda t, x: x.transpose(0, -1),
    "matmul": lambda t, x: x @ dense(t, x, 5, 3),
    "mm": lambda t, x: t.mm(x, dense(t, x, 5, 3)),
    "sparse.mm": lambda t, x: t.sparse.mm(x, dense(t, x, 5, 3)),
    "mv": lambda t, x: x.mv(dense(t, x, 5)),
    "matmul vector": lambda t, x: x @ dense(t, x, 5),
    "addmm": lambda t, x: t.addmm(dense(t, x, 4, 3), x, dense(t, x, 5, 3), beta=2, alpha=3),
    "dense add": lambda t, x: dense(t, x, 4, 5) + x,
}
COO: dict[str, Case] = {
    "coalesce": lambda t, x: x.coalesce(),
    "sparse.addmm": lambda t, x: t.sparse.addmm(dense(t, x, 4, 3), x, dense(t, x, 5, 3)),
    "dense sub": lambda t, x: dense(t, x, 4, 5) - x,
    "dense matmul": lambda t, x: dense(t, x, 2, 4) @ x,
    "add": lambda t, x: x + x,
    "add coalesced": lambda t, x: x.coalesce() + (x * x).coalesce(),
    "add alpha": lambda t, x: t.add(x, x, alpha=2),
    "sub": lambda t, x: x - x * 2,
    "mul": lambda t, x: x * x,
    "mul dense": lambda t, x: x * dense(t, x, 4, 5),
    "dense mul": lambda t, x: dense(t, x, 4, 5) * x,
    "mul row": lambda t, x: x.coalesce() * dense(t, x, 5),
    "sparse @ sparse": lambda t, x: t.sparse.mm(x, x.t()),
    "sum 0": lambda t, x: t.sparse.sum(x, 0),
    "sum -1": lambda t, x: x.sum(-1),
    "sum both": lambda t, x: t.sparse.sum(x, (0, 1)),
    "sum keepdim": lambda t, x: x.sum(1, keepdim=True),
    "select": lambda t, x: x.select(0, 3),
    "item 0": lambda t, x: x[0],
    "item column": lambda t, x: x[:, 2],
    "item number": lambda t, x: x[3, 1],
    "item slice": lambda t, x: x[1:3],
    "item None": lambda t, x: x[None],
    "iterate": lambda t, x: [y.to_dense() for y in x],
    "index_select": lambda t, x: x.index_select(0, t.tensor([3, 0, 0])),
    "index_select 1": lambda t, x: t.index_select(x, 1, t.tensor([1, 4])),
    "narrow": lambda t, x: x.narrow(1, 1, 3),
    "narrow_copy": lambda t, x: x.narrow_copy(0, 1, 3),
    "unsqueeze": lambda t, x: x.unsqueeze(1),
    "permute": lambda t, x: x.permute(1, 0),
    "cat": lambda t, x: t.cat([x, x * 2]),
    "cat 1": lambda t, x: t.cat([x, x * 2], 1),
    "stack": lambda t, x: t.stack([x, x * 2]),
    "empty_like": lambda t, x: t.empty_like(x)._nnz(),
    "mask sparse": lambda t, x: (x * 2).coalesce().sparse_mask(x.coalesce()),
    "isnan": lambda t, x: x.isnan(),
    "equal dtype": lambda t, x: [str(x.int().dtype), str(x.float().dtype), str(x.bool().dtype)],
    "add_": lambda t, x: x.clone().add_(x),
    "mul_": lambda t, x: x.clone().mul_(2),
    "iadd": lambda t, x: x.clone().__iadd__(x),
    "zero_": lambda t, x: x.clone().zero_(),
    "dense add_": lambda t, x: dense(t, x, 4, 5).add_(x),
    "dense add_ alpha": lambda t, x: dense(t, x, 4, 5).add_(x, alpha=2),
    "copy_": lambda t, x: x.clone().copy_(x * 2),
    "clear": lambda t, x: x.clone().sparse_resize_and_clear_((3, 2), 1, 1),
    "bmm": lambda t, x: t.bmm(t.stack([x, x]), dense(t, x, 2, 5, 3)),
}
UNARY = (
    "asin asinh atan atanh ceil erf erfinv expm1 floor frac log1p round sign sin sinh tan tanh"
    " trunc deg2rad rad2deg relu nan_to_num signbit isposinf isneginf isinf"
)
FLOAT: dict[str, Case] = {
    name: (lambda t, x, name=name: getattr(x * 0.1, name)()) for name in UNARY.split()
} | {
    "sqrt": lambda t, x: x.abs().sqrt(),
    "pow": lambda t, x: x**2,
    "pow method": lambda t, x: x.pow(3),
    "t.sin": lambda t, x: t.sin(x),
    "norm": lambda t, x: x.norm(),
    "softmax": lambda t, x: t.sparse.softmax(x, 1),
    "softmax 0": lambda t, x: t.sparse.softmax(x, 0),
    "log_softmax": lambda t, x: t.sparse.log_softmax(x, 1),
    "smm": lambda t, x: t.smm(x, dense(t, x, 5, 3)).to_dense(),
    "sspaddmm": lambda t, x: t.sspaddmm(
        t.eye(4, 3).to(x.dtype).to_sparse(), x.coalesce(), dense(t, x, 5, 3), beta=2, alpha=3
    ),
    "hspmm": lambda t, x: t.hspmm(x.coalesce(), dense(t, x, 5, 3)),
    "floor divide": lambda t, x: t.div(x, 0.3, rounding_mode="floor"),
}
HYBRID: dict[str, Case] = {
    "to_dense": lambda t, x: x.to_dense(),
    "attributes": lambda t, x: [x.sparse_dim(), x.dense_dim(), x._nnz()],
    "sum sparse": lambda t, x: t.sparse.sum(x, 1),
    "sum dense": lambda t, x: t.sparse.sum(x, 2),
    "sum all sparse": lambda t, x: t.sparse.sum(x, (0, 1)),
    "sum mixed": lambda t, x: t.sparse.sum(x, (1, 2)),
    "softmax dense": lambda t, x: t.sparse.softmax(x, 2),
    "softmax sparse": lambda t, x: t.sparse.softmax(x, 1),
    "select dense": lambda t, x: x.select(2, 1),
    "index_select dense": lambda t, x: x.index_select(2, t.tensor([1, 1])),
    "narrow dense": lambda t, x: x.narrow_copy(2, 0, 1),
    "unsqueeze dense": lambda t, x: x.unsqueeze(3),
    "cat dense": lambda t, x: t.cat([x, x], 2),
    "mul": lambda t, x: x * x,
    "add": lambda t, x: x + x,
    "mask": lambda t, x: dense(t, x, 4, 5, 2).sparse_mask(x),
    "transpose": lambda t, x: x.transpose(0, 1),
    "to_sparse(2)": lambda t, x: x.to_dense().to_sparse(2),
    "to_sparse(1)": lambda t, x: x.to_dense().to_sparse(1),
}  # fmt: skip


def compare(torch: Any, case: Case, make: Callable[[Any], Any]) -> None:
    """PyTorch's result; where it raises, there is nothing to compare."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = case(torch, make(torch))
    assert_same(described(case(wengert, make(wengert))), described(expected))


PRODUCTS = ("matmul", "mm", "sparse.mm", "mv", "matmul vector", "addmm")


def lacks(name: str, layout: str, dtype: str) -> bool:
    """Whether PyTorch 2.13 does not compute this on a CPU: dense tensors say what is expected."""
    if layout in ("coo", "uncoalesced"):
        return name in ("item slice", "narrow") or (name == "sparse @ sparse" and dtype == "int64")
    return name == "div number" or (name in PRODUCTS and dtype == "int64")


def combinations() -> tuple[list[Any], list[Any]]:
    """Each operation with the layouts and dtypes for which PyTorch has it, and with the others."""
    rows: list[Any] = []
    lacking: list[Any] = []
    for dtype in DTYPES:
        for layout in LAYOUTS:
            tables = [ANY] if layout in ("bsr", "bsc") else [ANY, NOT_BLOCKED]
            if layout in ("coo", "uncoalesced"):
                tables += [COO, *([FLOAT] if dtype.startswith("float") else [])]
            rows += [
                pytest.param(case, layout, dtype, id=f"{name}-{layout}-{dtype}")
                for table in tables
                for name, case in table.items()
                if not lacks(name, layout, dtype)
            ]
            lacking += [
                pytest.param(case, layout, dtype, id=f"{name}-{layout}-{dtype}")
                for table in tables
                for name, case in table.items()
                if lacks(name, layout, dtype)
            ]
    return rows, lacking


COMPARED, BEYOND = combinations()


@pytest.mark.parametrize(("case", "layout", "dtype"), COMPARED)
def test_results(torch: Any, case: Case, layout: str, dtype: str) -> None:
    compare(torch, case, lambda t: sample(t, layout, dtype))


@pytest.mark.parametrize(("case", "layout", "dtype"), BEYOND)
def test_more_than_pytorch_has(torch: Any, case: Case, layout: str, dtype: str) -> None:
    result = case(wengert, sample(wengert, layout, dtype))
    if case is COO["sparse @ sparse"]:
        x = sample(torch, layout, dtype).to_dense()
        expected = x @ x.t()
    else:
        expected = case(torch, sample(torch, layout, dtype).to_dense())
    assert_same(described(result.to_dense()), described(expected))


@pytest.mark.parametrize("name", HYBRID)
def test_hybrid_results(torch: Any, name: str) -> None:
    compare(torch, HYBRID[name], hybrid)


def test_rows_are_taken_after_something_was_compiled() -> None:
    compiled = compiler.compile(lambda x: x[wengert.tensor([0])].sum())
    for _ in range(3):
        compiled(wengert.ones(3)).item()
    rows = wengert.eye(3).to_sparse().index_select(0, wengert.tensor([1]))
    assert rows.to_dense().tolist() == [[0.0, 1.0, 0.0]]
