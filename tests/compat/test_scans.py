"""`associative_scan`: results, gradients and refusals as in PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from wengert.compat._private.scans import associative_scan

COMBINE = {
    "sums": (lambda a, b: a + b, lambda x: x),
    "recurrences": (lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), lambda x: (x, x.sin())),
    "dictionaries": (lambda a, b: {"k": a["k"] * b["k"]}, lambda x: {"k": x}),
}


@pytest.mark.torch
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("case", COMBINE)
def test_scans_are_pytorchs(case: str, dim: int, reverse: bool, torch: Any) -> None:
    from torch._higher_order_ops.associative_scan import associative_scan as theirs

    combine_fn, tree = COMBINE[case]
    values = np.random.default_rng(0).normal(size=(3, 4, 2))

    def result(library: Any, scan: Any) -> list[Any]:
        x = library.tensor(values, requires_grad=True)
        leaves = library.utils._pytree.tree_leaves(
            scan(combine_fn, tree(x), dim, reverse, combine_mode="generic")
        )
        (grad,) = library.autograd.grad(sum((leaf**2).sum() for leaf in leaves), x)
        return [t.detach().numpy() for t in (*leaves, grad)]

    for ours, expected in zip(
        result(wengert, associative_scan), result(torch, theirs), strict=True
    ):
        np.testing.assert_allclose(ours, expected, rtol=1e-12)


@pytest.mark.torch
@pytest.mark.parametrize("arguments", [
    (lambda a, b: a + b, "x", 0, False, "pointwise"),
    (lambda a, b: a + b, "x", 0, False, "other"),
    (3, "x", 0, False, "generic"),
    (lambda a, b: a + b, "x", 5, False, "generic"),
    (lambda a, b: a + b, [], 0, False, "generic"),
    (lambda a, b: a + b, ["x", 3], 0, False, "generic"),
    (lambda a, b: (a, b), "x", 0, False, "generic"),
    (lambda a, b: a + b, "empty", 0, False, "generic"),
], ids=lambda arguments: str(arguments[1:]))  # fmt: skip
def test_what_pytorch_refuses(arguments: tuple[Any, ...], torch: Any) -> None:
    from torch._higher_order_ops.associative_scan import associative_scan as theirs

    def refusal(library: Any, scan: Any) -> type[Exception]:
        tensors = {"x": library.ones(3, 2), "empty": library.ones(0, 2)}

        def real(value: Any) -> Any:
            if isinstance(value, list):
                return [real(v) for v in value]
            return tensors.get(value, value) if isinstance(value, str) else value

        function, xs, dim, reverse, mode = arguments
        with pytest.raises((AssertionError, IndexError, ValueError)) as error:
            scan(function, real(xs), dim, reverse, mode)
        return error.type

    assert refusal(wengert, associative_scan) is refusal(torch, theirs)
