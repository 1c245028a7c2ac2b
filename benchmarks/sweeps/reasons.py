"""Why functions take longer than PyTorch's: what the table of the slowest rows says beside them."""

from __future__ import annotations

import re

# The first pattern that a row's name matches counts.
REASONS = (
    (r"lstsq", "a decomposition, a product and the rank as calls of their own"),
    (r"\bqr\b|cholesky|eigh|eig,|svd|matrix_rank", "NumPy's LAPACK, with its copies"),
    (r"fft|stft", "SciPy's transforms; PyTorch has MKL's"),
    (r"^(cum)?(max|min) \(dim|^cum(max|min)|median|mode|kthvalue|topk",
     "indices first, then the elements there: two operations"),
    (r"unique", "NumPy sorts and compares, in passes"),
    (r"^(nan)?(sum|mean) \(dim=0\)|^expand$|^broadcast_to$",
     "columns are added up in float64, block by block"),
    (r"^(view|view_as|reshape_as|flatten|unflatten|unsqueeze|squeeze)$",
     "the cost of a call; a gradient is an array of its own, PyTorch's is a view of the given one"),
    (r"^conj$", "PyTorch's conjugation is lazy"),
    (r"ctc_loss|CTCLoss|index_put of|max_unpool|scatter_reduce by (amax|prod)|Multivariate|Cosine",
     "made of several operations, each with the cost of a call"),
    (r"^cum(sum|prod) of integers", "NumPy's running sums, on one thread"),
    (r"cdist", "each side of a pair in a pass of its own"),
    (r"Gamma|Beta|Dirichlet|Chi2|StudentT|Fisher",
     "derivatives of quantiles by integrals, to 1e-6; PyTorch's formulas are off by up to 1e-3"),
    (r"random_", "numbers of int64 are made of the stream, and converted"),
    (r"normal|randn",
     "PyTorch's stream of numbers; NumPy's logarithm, sine and cosine, in float64 one at a time"),
    (r"multinomial", "Python around a check, a draw and a search"),
    (r"^add of (transposed|channels last) and contiguous",
     "NumPy's order of the result, copied into PyTorch's"),
    (r"^(cat|stack) of", "the order of the result is looked at in Python; NumPy's concatenate"),
    (r"^(neg|relu|add|sub|mul|where|exp|gelu) of (heads|halves|columns|every|transposed|expanded)",
     "the order of the result is looked at in Python; NumPy's loops over gaps"),
    (r"^(scatter_add|scatter_reduce)", "indices are checked in a pass of their own"),
    (r"^(float|long|int|double)$", "NumPy's conversion, on one thread"),
    (r"^(to (bfloat16|float64)|mean|max|layer_norm|matmul).* of ", "what has gaps is copied first"),
    (r"^reshape of", "a copy on one thread"),
    (r"^erfinv$", "both of its formulas are computed for every element"),
    (r"matrix_norm", "squares are added up in float64"),
    (r"^(interpolate|pad by).*, channels last$",
     "in runs of channels, which are short where there are few; gradients by one thread an image"),
    (r"^(adaptive_)?avg_pool.*, channels last$", "sums and their division in passes of their own"),
    (r"^(pixel_|cat|roll).*, channels last$", "a copy of strided parts, on one thread"),
    (r"^(add|mul|zero|copy)_ of", "a write to a view is noted by region; NumPy goes by rows"),
)  # fmt: skip
FIXED = "the cost of a call, in Python"


def reason(name: str, exponent: int) -> str:
    """Why such a row is slow; empty where nobody has looked."""
    for pattern, text in REASONS:
        if re.search(pattern, name):
            return text
    return FIXED if exponent == 3 or name in CONSTANT else ""


# What costs the same at any size: views, and what writes or compares few bytes.
CONSTANT = frozenset({
    "__setitem__ of a slice", "broadcast_tensors", "expand_as", "nn.functional.nll_loss", "trace",
    "tril_indices", "triu_indices",
})  # fmt: skip
