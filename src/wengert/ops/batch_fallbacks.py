"""Fallback batching rules that compute sample by sample."""

from __future__ import annotations

from typing import Any

from wengert.ops.batching import Batch, Rule
from wengert.ops.joining import stack


def one_by_one(b: Batch) -> Any:
    """Each sample separately: correct for every operation, and slow."""
    results = [b(**{i: v[k] for i, v in b.values.items() if i in b.batched}) for k in range(b.size)]
    if not results:
        raise ValueError(f"vmap: {b.op.public_name}() has no rule for an empty batch")
    return stack(results)


def folded(rank: int) -> Rule:
    """Operations that treat each entry of dimension 0 of the first input independently.

    The batch joins that dimension if a sample has `rank` dimensions; with fewer it becomes it.
    Other inputs must not differ between samples.
    """

    def rule(b: Batch) -> Any:
        first = b.op.inputs[0]
        if b.batched != {first}:
            return one_by_one(b)
        value, shape = b.values[first], b.shape(first)
        if len(shape) < rank:
            return b()
        out = b(**{first: value.reshape((b.size * shape[0], *shape[1:]))})
        return out.reshape((b.size, shape[0], *out.shape[1:]))

    return rule
