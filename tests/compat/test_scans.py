"""Scans and maps: results, gradients and refusals as in PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from tests.parity.test_forms import differs
from wengert.compat._private import compiler_errors, scans
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


CALLS = """
scan(step,v,x) scan(step,v[:2],x,dim=1) scan(step,v[:2],x,dim=-1,reverse=True)
scan(step,v,x,reverse=3) scan(3,v,x) scan(step,v,x,dim=5) scan(step,v,x,dim='a') scan(step,3,x)
scan(step,[],x) scan(step,v,[]) scan(step,v,x[:0])
map(up,x) map(plus,x,v) map(up,x[:0]) map(up,3) map(up,x.sum()) map(pair,[x,x*2],2)
map(pair,[x,x[:1]],2)
"""


def outcome(lib: Any, functions: dict[str, Any], call: str) -> Any:
    x = lib.arange(6.0).reshape(2, 3)
    names = {
        "x": x, "v": lib.ones(3), "up": lambda x: x + 1, "plus": lambda x, y: x + y,
        "step": lambda c, x: (c + x, (c * x).sin()), "pair": lambda x, y: (x[0] + y, x[1].sum()),
    }  # fmt: skip
    try:
        return eval(call, names | functions)
    except Exception as error:
        return error


@pytest.mark.torch
def test_calls_are_as_in_pytorch(torch: Any) -> None:
    from torch._higher_order_ops.map import map
    from torch._higher_order_ops.scan import scan

    ours, theirs = {"scan": scans.scan, "map": scans.map}, {"scan": scan, "map": map}
    with torch.compiler.set_stance("force_eager"):
        found = {
            call: differs(outcome(wengert, ours, call), outcome(torch, theirs, call))
            for call in CALLS.split()
        }
    assert {call: text for call, text in found.items() if text} == {}


@pytest.mark.parametrize("combine", [
    lambda c, x: (c.sum() + x.sum(), c * x), lambda c, x: c + x, lambda c, x: ((c, c), x),
])  # fmt: skip
def test_carries_that_do_not_fit(combine: Any) -> None:
    with pytest.raises(compiler_errors.UncapturedHigherOrderOpError):
        scans.scan(combine, wengert.ones(3), wengert.ones(2, 3))


def test_what_is_mapped_gives_tensors() -> None:
    with pytest.raises(compiler_errors.UncapturedHigherOrderOpError, match="str"):
        scans.map(lambda x: "x", wengert.ones(2, 3))
