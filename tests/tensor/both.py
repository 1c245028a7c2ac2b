"""Running a program in wengert and in torch and comparing what comes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert

Program = Callable[..., Any]


def leaves_of(library: Any, shapes: list[tuple[int, ...]]) -> list[Any]:
    """Float64 leaves of the given shapes with the same distinct values in both libraries."""
    leaves = []
    for k, shape in enumerate(shapes):
        values = np.sin(np.arange(int(np.prod(shape)), dtype=float) * 1.7 + k + 1).reshape(shape)
        leaves.append(library.from_numpy(values).requires_grad_())
    return leaves


def run(library: Any, program: Program, shapes: list[tuple[int, ...]]) -> list[Any]:
    """The values of the program's results, whether they require grad, and the leaves' gradients."""
    leaves = leaves_of(library, shapes)
    results = program(library, *leaves)
    found: list[Any] = []
    total = None
    for k, result in enumerate(results if isinstance(results, tuple) else (results,)):
        found += [result.detach().numpy().copy(), result.requires_grad]
        if result.requires_grad:
            weight = np.cos(np.arange(result.numel()) + k).reshape(tuple(result.shape))
            term = (result * library.from_numpy(np.asarray(weight))).sum()
            total = term if total is None else total + term
    if total is not None:
        total.backward()
    return found + [None if x.grad is None else x.grad.numpy() for x in leaves]


def compare(program: Program, torch: Any, *shapes: tuple[int, ...]) -> None:
    """Values, requires_grad and gradients of a program must agree."""
    ours, theirs = (run(library, program, list(shapes)) for library in (wengert, torch))
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        if isinstance(b, np.ndarray):
            assert a is not None
            assert a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
        else:
            assert a == b


def numeric_gradients(program: Program, *shapes: tuple[int, ...]) -> None:
    """Gradients of wengert's program against central differences, in every element."""
    leaves = leaves_of(wengert, list(shapes))

    def value(changed: list[Any]) -> Any:
        result = program(wengert, *changed)
        weight = np.cos(np.arange(result.numel())).reshape(tuple(result.shape))
        return (result * wengert.from_numpy(weight)).sum()

    gradients = wengert.autograd.grad(value(leaves), leaves)
    for k, (leaf, gradient) in enumerate(zip(leaves, gradients, strict=True)):
        base = leaf.detach().numpy()
        for place in np.ndindex(base.shape):
            ends = []
            for step in (1e-6, -1e-6):
                moved = base.copy()
                moved[place] += step
                others = [wengert.from_numpy(moved) if j == k else x for j, x in enumerate(leaves)]
                ends.append(value(others).item())
            slope = (ends[0] - ends[1]) / 2e-6
            np.testing.assert_allclose(gradient.numpy()[place], slope, rtol=1e-5, atol=1e-7)
