"""Matrix products, linear layers, einsum and attention."""

from __future__ import annotations

import string
from typing import Any

import numpy as np

from wengert.onnx.builder import Builder, Value, converts
from wengert.onnx.conversions.activations import masked_softmax


@converts("matmul", "mm", "bmm", "dot")
def _matmul(
    b: Builder, input: Value, other: Any = None, mat2: Any = None, tensor: Any = None
) -> str:
    second = next(x for x in (other, mat2, tensor) if x is not None)
    return b("MatMul", input, second)


@converts("outer")
def _outer(b: Builder, input: Value, vec2: Value) -> str:
    return b("Mul", b.reshape(input, (-1, 1)), b.reshape(vec2, (1, -1)))


def _transposed(b: Builder, value: Any, rank: int) -> str:
    return b("Transpose", value, perm=[*range(rank - 2), rank - 1, rank - 2])


@converts("linear")
def linear(b: Builder, input: Value, weight: Value, bias: Value | None = None) -> str:
    """``x @ weight.T + bias``."""
    if weight.rank == 1:
        out = b("MatMul", input, weight)
        return out if bias is None else b("Add", out, bias)
    if input.rank == 2 and bias is not None and bias.rank == 1:
        return b("Gemm", input, weight, bias, transB=1)
    out = b("MatMul", input, _transposed(b, weight, 2))
    return out if bias is None else b("Add", out, bias)


@converts("addmm")
def _addmm(
    b: Builder, input: Value, mat1: Value, mat2: Value, beta: float = 1, alpha: float = 1
) -> str:
    if b.out.dtype.kind == "f":
        return b("Gemm", mat1, mat2, input, alpha=float(alpha), beta=float(beta))
    return _weighed(b, input, b("MatMul", mat1, mat2), beta, alpha)


@converts("baddbmm")
def _baddbmm(
    b: Builder, input: Value, batch1: Value, batch2: Value, beta: float = 1, alpha: float = 1
) -> str:
    return _weighed(b, input, b("MatMul", batch1, batch2), beta, alpha)


def _weighed(b: Builder, input: Value, product: str, beta: float, alpha: float) -> str:
    dtype = b.out.dtype
    if alpha != 1:
        product = b("Mul", product, b.scalar(alpha, dtype))
    if not beta:
        return product
    added = input.name if beta == 1 else b("Mul", input, b.scalar(beta, dtype))
    return b("Add", added, product)


def _equation(*labels: Any) -> str:
    """Labels as ONNX writes them: the inputs', and the output's."""
    letters = iter(string.ascii_letters)
    names: dict[Any, str] = {}
    texts = [
        "".join(names.setdefault(x, next(letters)) if x not in names else names[x] for x in part)
        for part in labels
    ]
    return f"{','.join(texts[:-1])}->{texts[-1]}"


@converts("contract")
def _contract(b: Builder, input: Value, other: Value, la: Any, lb: Any, lo: Any) -> str:
    return b("Einsum", input, other, equation=_equation(la, lb, lo))


@converts("rearrange")
def _rearrange(b: Builder, input: Value, source: Any, target: Any) -> str:
    if len(set(source)) == len(source) == len(target):
        return b("Transpose", input, perm=[list(source).index(x) for x in target])
    return b("Einsum", input, equation=_equation(source, target))


@converts("_attention")
def _attention(
    b: Builder, query: Value, key: Value, value: Value, mask: Value | None = None,
    factor: float = 1.0, is_causal: bool = False,
) -> str:  # fmt: skip
    scaled = b("Mul", query, b.cast(factor, query.dtype))
    scores = b("MatMul", scaled, _transposed(b, key, key.rank))
    if is_causal:
        sizes = [b("Shape", x, start=-2, end=x.rank - 1) for x in (query, key)]
        ones = b("Expand", b.constant(1, np.int64), b("Concat", *sizes, axis=0))
        seen = b("Cast", b("Trilu", ones, upper=0), to=b.type_of(bool))
        visible = Value(seen, np.dtype(bool), ((query.shape[-2], key.shape[-2]),))
        return b("MatMul", masked_softmax(b, scores, visible), value)
    return b("MatMul", masked_softmax(b, scores, mask), value)


@converts("_kron")
def _kron(b: Builder, input: Value, other: Value) -> str:
    (m, n), (tall, wide) = input.shape, other.shape
    parts = b("Mul", b.reshape(input, [m, 1, n, 1]), b.reshape(other, [1, tall, 1, wide]))
    return b.reshape(parts, [m * tall, n * wide])
