"""Rows of `wengert.ops.einsum`."""

from typing import Any

import numpy as np

from tests.ops.rows import ErrorRow, Row


def of(equation: str, *shapes: tuple[int, ...], tag: str = "", **options: Any) -> Row:
    """A row of one equation."""
    return Row(
        "einsum",
        lambda rng: (equation, *(np.asarray(rng.standard_normal(s)) for s in shapes)),
        tag=tag or equation,
        **options,
    )


ROWS = [
    of("ij,jk->ik", (2, 3), (3, 4), dtypes=("float32", "int64", "float16", "complex64")),
    of("ij,jk", (2, 3), (3, 4)),
    of("ij,kj->ki", (2, 3), (4, 3)),
    of("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    of("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)),
    of("bqhd,bkhd->bhqk", (2, 3, 2, 4), (2, 5, 2, 4)),
    of("ij->ji", (2, 3)),
    of("ij->", (2, 3)),
    of("ij->j", (2, 3)),
    of("ij", (2, 3), tag="identity"),
    of("bA", (2, 3), tag="alphabetical"),
    of("ii->i", (3, 3)),
    of("ii", (3, 3), tag="trace"),
    of("iij->j", (3, 3, 2)),
    of("ii,ij->j", (3, 3), (3, 2)),
    of("i,j->ij", (2,), (3,)),
    of("i,i->i", (3,), (3,)),
    of("i,i->", (3,), (3,)),
    of("ij,j->", (2, 3), (3,)),
    of("ij,kl->il", (2, 3), (4, 5)),
    of("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    of("ij,jk,ki->", (2, 3), (3, 4), (4, 2)),
    of("bn,anm,bm->ba", (2, 3), (5, 3, 4), (2, 4)),
    of("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)),
    of("...ij->...ji", (2, 3, 4)),
    of("...i->i", (2, 3)),
    of("...ij,jk", (2, 3, 4), (4, 5)),
    of("i...j,j->i...", (2, 3, 4), (4,)),
    of("ij,ij->ij", (2, 3), (1, 3), tag="size-1"),
    of("ij,jk->ik", (2, 1), (3, 4), tag="size-1-summed"),
    of("ij,ij->", (1, 3), (2, 1), tag="size-1-both"),
    of(" i j , j k -> i k ", (2, 3), (3, 4), tag="spaces"),
    of(",ij->ij", (), (2, 3), tag="scalar"),
    of("ij,jk->ik", (2, 0), (0, 3), tag="empty", second=False),
    of("ij,jk,kl,lm,mn->in", (2, 3), (3, 2), (2, 4), (4, 3), (3, 2), tag="chain"),
    Row("einsum", lambda rng: (rng.standard_normal((2, 3)), [0, 1], rng.standard_normal((3, 4)),
                               [1, 2], [0, 2]), tag="lists"),
    Row("einsum", lambda rng: (rng.standard_normal((2, 3)), [1, 0]), tag="list-implicit"),
    Row("einsum", lambda rng: (rng.standard_normal((2, 3, 4)), [..., 0, 1], [..., 1, 0]),
        tag="list-ellipsis"),
    Row("einsum", lambda rng: ("ij,jk", [rng.standard_normal((2, 3)), rng.standard_normal((3, 4))]),
        tag="operand-list"),
    Row("einsum", lambda rng: ("ij,jk->ik", rng.standard_normal((3, 2)).T,
                               rng.standard_normal((4, 3)).T), tag="strided"),
    Row("einsum", lambda rng: ("ij,jk->ki", *(rng.standard_normal((3, 3)) + 1j for _ in range(2))),
        tag="complex", second=False, dtypes=()),
]  # fmt: skip


def error(equation: str, match: str, *shapes: tuple[int, ...]) -> ErrorRow:
    return ErrorRow(
        "einsum", lambda rng: (equation, *(np.zeros(s) for s in shapes)), RuntimeError, match,
        tag=equation,
    )  # fmt: skip


ERRORS = [
    error("ij,jk", "does not broadcast", (2, 3), (4, 5)),
    error("ij,jk->ik", "fewer operands", (2, 3)),
    error("ij", "more operands", (2, 3), (2, 3)),
    error("ij->ijj", "more than once", (2, 3)),
    error("ij->k", "does not appear", (2, 3)),
    error("i->i", "does not match the number of dimensions", (2, 3)),
    error("...ijk->i", "does not match the number of dimensions", (2, 3)),
    error("i1->i", "invalid subscript", (2, 3)),
    error("i..->i", "not part of any ellipsis", (2, 3)),
    error("ii->i", "sizes don't match", (2, 3)),
    ErrorRow("einsum", lambda rng: ("ij,ij", np.zeros((2, 2)), np.zeros((2, 2), np.float32)),
             RuntimeError, "expected scalar type Double but found Float", tag="dtype"),
    ErrorRow("einsum", lambda rng: ("ij", 2.0), TypeError, "expected Tensor", tag="number"),
    ErrorRow("einsum", lambda rng: ("ij",), ValueError, "at least one operand", tag="none"),
]  # fmt: skip
