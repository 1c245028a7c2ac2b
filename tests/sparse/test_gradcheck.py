"""gradcheck of functions of sparse tensors."""

from __future__ import annotations

from typing import Any

import pytest

import wengert as w
from wengert.autograd import gradcheck
from wengert.autograd.errors import GradcheckError

FUNCTIONS = {
    "mm": lambda a, b: a @ b,
    "dense": lambda a, b: a.to_dense() * b.T,
    "sum": lambda a, b: (a * 3).sum() * b,
}


def inputs_of(torch: Any, layout: str, full: bool) -> tuple[Any, Any]:
    torch.manual_seed(0)
    dense = torch.arange(6.0, dtype=torch.float64).reshape(2, 3) + full
    sparse = dense.to_sparse() if layout == "coo" else dense.to_sparse_csr()
    other = torch.rand(3, 2, dtype=torch.float64, requires_grad=True)
    return sparse.requires_grad_(), other


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("layout", ["coo", "csr"])
@pytest.mark.parametrize("options", [{"masked": True}, {"masked": True, "fast_mode": True}])
def test_right_derivatives(name: str, layout: str, options: Any) -> None:
    inputs = inputs_of(w, layout, False)
    before = inputs[0].to_dense()
    assert gradcheck(FUNCTIONS[name], inputs, **options)
    assert w.equal(inputs[0].to_dense(), before)
    assert inputs[0].grad is None
    assert gradcheck(FUNCTIONS[name], inputs_of(w, layout, True), masked=False)


class Doubled(w.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 3


def test_wrong_derivatives() -> None:
    def wrong(a: Any, b: Any) -> Any:
        return Doubled.apply(a.to_dense()) + b.T

    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to"):
        gradcheck(wrong, inputs_of(w, "coo", False), masked=True)
    assert not gradcheck(wrong, inputs_of(w, "csr", False), masked=True, raise_exception=False)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled")
def test_as_in_pytorch(torch: Any) -> None:
    for library in (w, torch):
        check = library.autograd.gradcheck
        sparse, other = inputs_of(library, "coo", False)
        assert check(library.sparse.mm, (sparse, other), masked=True)
        with pytest.raises(library.autograd.gradcheck.__globals__["GradcheckError"]):
            check(library.sparse.mm, (sparse, other))
        dense = sparse.detach().to_dense().requires_grad_()
        with pytest.raises(ValueError, match="Sparse output is not supported at gradcheck yet"):
            check(lambda x: x.to_sparse(), (dense,), masked=True)
