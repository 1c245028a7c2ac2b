"""Rows of `wengert.ops.grouped`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.ops.rows import Row, inputs

NAME = "nn.functional.grouped_mm"


def twin(library: Any) -> Callable[..., Any]:
    """The same for doubles, which PyTorch's refuses: sums over masks of the groups."""

    def masks(ends: Any, size: int) -> Any:
        place = library.arange(size)
        starts = library.cat([ends.new_zeros(1), ends[:-1]])
        return ((starts[:, None] <= place) & (place < ends[:, None])).double()

    def grouped(mat_a: Any, mat_b: Any, offs: Any = None) -> Any:
        dtype = mat_a.dtype
        if offs is None:
            return library.einsum("gmk,gkn->gmn", mat_a, mat_b)
        if mat_b.ndim == 3:
            return library.einsum("mk,gkn,gm->mn", mat_a, mat_b, masks(offs, len(mat_a)).to(dtype))
        groups = masks(offs, mat_b.shape[1 if mat_a.ndim == 3 else 0]).to(dtype)
        formula = "gmk,kn,gn->mn" if mat_a.ndim == 3 else "mk,kn,gk->gmn"
        return library.einsum(formula, mat_a, mat_b, groups)

    return grouped


def row(tag: str, a: tuple[int, ...], b: tuple[int, ...], *ends: int) -> Row:
    """Products of matrices of these shapes, with the ends of their groups."""

    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        return (*inputs(a, b)(rng), *([np.array(ends, np.int32)] if ends else []))

    def through(f: Callable[..., Any]) -> Callable[..., Any]:
        return lambda a, b, offs=None: f(a, b, offs=offs)

    return Row(NAME, make, tag=tag, through=through, twin=twin)


ROWS = [
    row("rows", (5, 3), (3, 3, 2), 2, 2, 5),
    row("some rows", (5, 3), (2, 3, 2), 1, 4),
    row("columns", (2, 3, 4), (4, 5), 3, 4),
    row("sums", (3, 5), (5, 2), 2, 5),
    row("batches", (2, 3, 4), (2, 4, 2)),
]
