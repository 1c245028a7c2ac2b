"""Weights that several products of a segment are by: each is packed once.

A product packs blocks of both factors as it needs them. For few rows, such as those of one time
step, that takes as long for the weight as the multiplications do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from wengert.kernels.jit.pace import pace
from wengert.kernels.products import packed, ready
from wengert.replay.emitting import Call, Emitter, View


def packed_once(calls: Sequence[Call], emitter: Emitter) -> list[Call]:
    """The calls, with one that packs before the first product by a factor that others are by."""
    keys = [_key(call) for call in calls]
    counts = Counter(key for key in keys if key is not None)
    if not counts or max(counts.values()) < 2:
        return [*calls]
    rights: dict[Any, View] = {}
    found: list[Call] = []
    for call, key in pace.over(zip(calls, keys, strict=True)):
        if key is None or counts[key] < 2:
            found.append(call)
            continue
        a, b, out, bias, scratch, busy, slots, _, sizes = call.arguments
        form = ready.form_of(sizes)
        if key not in rights:
            rights[key] = emitter.temporary([form.packed_size])
            packing = b, rights[key], form.sizes, form.padded
            found.append(Call(ready.pack.f32, packing, form.blocks, form.chunk))
        arguments = (a, rights[key], out, bias, scratch, busy, slots, form.sizes, form.padded)
        found.append(call._replace(kernel=ready.multiply.f32, arguments=arguments))
    return found


def _key(call: Call) -> Any:
    """What products by one packed factor have in common; None of other calls."""
    if call.kernel is not packed.product_kernel.f32:
        return None
    _, b, _, _, _, _, _, add, sizes = call.arguments
    if add or sizes.batch != 1:
        return None
    return b, ready.form_of(sizes).key
