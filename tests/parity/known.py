"""Where results differ from PyTorch's on purpose: record, what the failure says, and why.

Each stands in docs/differences.md too. A failure that none of these explains fails the tests;
`make parity` names those that explain nothing any more.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Difference(NamedTuple):
    """A pattern for names of records, one for failures, and the reason."""

    record: str
    failure: str
    why: str


KNOWN: tuple[Difference, ...] = (
    Difference(
        r"complex|view_as_complex", r"float16", "complex numbers of halves: NumPy has none"
    ),
    Difference(
        r"nn\.functional\.grid_sample", r"^b?float16",
        "positions are computed in float32, where PyTorch rounds",
    ),
    Difference(r"polygamma\..*", r"(function|method): np\.\w+\(-?inf\)", "infinite at poles"),
    Difference(
        r"nn\.functional\.(nll_loss|multi_head_attention_forward)", r"^b?float16",
        "computed in float32 and rounded once",
    ),
    Difference(r"matrix_exp", r"^b?float16", "PyTorch's of halves is nan"),
    Difference(
        r"linalg\.norm.*", r"gradient of order 2: .* in PyTorch np\.\w+\(nan",
        "second derivatives of norms are 0 at 0, as the first are, where PyTorch's are nan",
    ),
    Difference(
        r"linalg\.eig", r"^complex64 .* function", "eigenvalues come in LAPACK's order"
    ),
    Difference(r"__rdiv__", r"^error", "Tensor's methods are functions, which take a number"),
    Difference(r"amax|amin", r"no arguments: .*64", "NumPy's arrays have up to 64 dimensions"),
    Difference(
        r"nn\.functional\.soft_margin_loss", r"^float16", "computed in float32: no overflow"
    ),
    Difference(
        r"nn\.functional\.batch_norm", r"at least 2 dimensions, got \[0\]",
        "an empty vector has no channels to normalise",
    ),
    Difference(
        r"histc", r"^b?float16", "bins of halves are found in float32, where PyTorch rounds"
    ),
    Difference(
        r"nn\.functional\.interpolate\.bi(linear|cubic)", r"^uint8",
        "computed in float32 and rounded once, where PyTorch rounds weights and rows",
    ),
    Difference(
        r"(scatter|index)_reduce\.prod", r"gradient of order 2",
        "exact where factors are zero, as the first derivative is",
    ),
    Difference(
        r"__radd__|__rmul__", r"^error [01]: None",
        "Tensor's methods are functions, which take a number for the tensor",
    ),
    Difference(r"as_strided_scatter", r"gradient", "PyTorch's gradient is of the wrong places"),
)  # fmt: skip


def explanation(record: str, failure: str) -> Difference | None:
    """The known difference behind a failure, if there is one."""
    for known in KNOWN:
        if re.fullmatch(known.record, record) and re.search(known.failure, failure):
            return known
    return None
