"""Weights that several products are by are packed once."""

from __future__ import annotations

import numpy as np
import pytest

import wengert
from tests.replay.harness import compare
from wengert import nn
from wengert.kernels import jit
from wengert.kernels.products import packed, ready
from wengert.replay import packing, segments
from wengert.replay.emitting import F32, Emitter, View, dense
from wengert.replay.ir import Program

pytestmark = pytest.mark.skipif(not jit.available(), reason="no kernels")


def product(emitter: Emitter, a: View, b: View, out: View, add: int = 0) -> None:
    """A call of a product."""
    (m, k), (_, n) = a.shape, b.shape
    plan = packed.plan(packed.Factors(m, n, k, *a.strides, *b.strides), 1)
    scratch, busy = emitter.temporary([plan.scratch]), np.zeros(plan.slots, np.int64)
    emitter.call(
        packed.product_kernel.f32, a, b, out, None, scratch, busy, plan.slots, add, plan.sizes,
        total=plan.tasks, chunk=plan.chunk,
    )  # fmt: skip


def kernels(calls):
    return [call.kernel for call in calls]


def test_only_what_is_used_again_is_packed():
    emitter = Emitter(Program(), {}, 1)
    x, w, v, out = (dense(k, (n, 8), F32) for k, n in enumerate((4, 8, 8, 4)))
    product(emitter, x, w, out)
    product(emitter, x, v, out)
    once = packing.packed_once(emitter.calls, emitter)
    assert once == emitter.calls
    product(emitter, out, w, x)
    product(emitter, out, w.turned, x)
    product(emitter, out, v, x, add=1)
    product(emitter, out, v, x, add=1)
    many, one = ready.multiply.f32, packed.product_kernel.f32
    calls = packing.packed_once(emitter.calls, emitter)
    assert kernels(calls) == [ready.pack.f32, many, one, many, one, one, one]
    assert calls[1].arguments[1] == calls[3].arguments[1] == calls[0].arguments[1]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("rows", [1, 2, 7, 33])
def test_products_are_as_before(threads, rows, monkeypatch):
    found = []

    def watched(calls, emitter):
        again = packing.packed_once(calls, emitter)
        found.append(len(again) - len(calls))
        return again

    monkeypatch.setattr(segments, "packed_once", watched)

    def training(wrap, log):
        wengert.manual_seed(0)
        cell = nn.Linear(37, 37)

        @wrap
        def step(x):
            cell.zero_grad()
            h = x
            for _ in range(4):
                h = cell(h).tanh()
            h.square().sum().backward()
            return h

        for k in range(4):
            log += [step(wengert.full((rows, 37), 0.1 * k)), cell.weight.grad, cell.bias.grad]

    before = wengert.get_num_threads()
    wengert.set_num_threads(threads)
    try:
        compare(training)
    finally:
        wengert.set_num_threads(before)
    assert max(found) >= 1
