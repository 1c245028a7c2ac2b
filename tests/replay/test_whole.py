"""Programs of operations that there are kernels for are one native call."""

from __future__ import annotations

from typing import Any

import pytest

import wengert
from tests.replay.test_native import Function, plans, results
from wengert import compiler, nn
from wengert.replay.layout_forms import is_view

from .harness import check_same

F = nn.functional

ROWS_OF_A_TABLE = wengert.tensor([[3, 1, 4], [1, 0, 3]])


def lstm_steps(x: Any, w: Any, u: Any, b: Any) -> Any:
    state = wengert.zeros(4, 6), wengert.ones(4, 6)
    for now in x:
        state = wengert.lstm_cell(now, state, w, u, b, b)
    return wengert.cat(state)


def gru_steps(x: Any, w: Any, u: Any, b: Any) -> Any:
    h = wengert.ones(4, 6)
    for now in x:
        h = wengert.gru_cell(now, h, w, u, b, b)
    return h


RAMP = wengert.arange(48.0).reshape(8, 6).sin()

# Keys that queries do not see.
LATER = wengert.ones(9, 10).tril()


def moved(x: Any) -> Any:
    return (x * 2).view(2, 3, 4, 5).permute(2, 0, 3, 1)


WHOLE: dict[str, tuple[Function, list[tuple[int, ...]]]] = {
    "moved dimensions": (lambda x: moved(x) @ moved(x).mT, [(2, 3, 20)]),
    "moved dimensions, copied": (lambda x: moved(x).reshape(8, 15).tanh(), [(2, 3, 20)]),
    "moved dimensions, cloned": (lambda x: moved(x).contiguous().view(-1), [(2, 3, 20)]),
    "transposed": (lambda x: (x * 2).transpose(0, 2).reshape(-1) + x.reshape(-1), [(3, 4, 5)]),
    "products of a batch": (lambda a, b: a @ b, [(3, 4, 5), (3, 5, 6)]),
    "products of heads": (
        lambda q, k: (q.transpose(1, 2) @ k.transpose(1, 2).transpose(2, 3)).softmax(-1),
        [(2, 6, 3, 4), (2, 5, 3, 4)],
    ),
    "products of rows of a batch": (lambda a, b: a @ b, [(3, 4, 5), (5, 6)]),
    "a product of two, and of many": (
        lambda a, b: wengert.mm(a, b) + wengert.bmm(a[None].expand(2, 4, 5), b.expand(2, 5, 6))[0],
        [(4, 5), (5, 6)],
    ),
    "a product and a vector": (
        lambda b, x, w: wengert.addmm(b, x, w).tanh(),
        [(6,), (4, 5), (5, 6)],
    ),
    "joined": (lambda a, b: wengert.cat([a, b.tanh(), a], 1).exp(), [(3, 4), (3, 2)]),
    "stacked": (lambda a, b: wengert.stack([a, b * 2], -1).exp(), [(3, 4), (3, 4)]),
    "one row and some columns": (lambda x: x[1].exp() * x[:, 1:3].sum() + x[0], [(3, 4)]),
    "steps": (lambda x: x[::2, 1::2] * 2, [(5, 6)]),
    "taken apart": (lambda x: x.unbind(1)[0] * x.unbind(1)[2], [(3, 4, 5)]),
    "parts, of which one is not used": (lambda x: x.split([1, 2, 3], 1)[1] * 3, [(4, 6)]),
    "squeezed": (lambda x: (x * 2).unsqueeze(1).squeeze(1).tanh(), [(3, 4)]),
    "sums of dimensions apart": (lambda x: (x * 2).sum((0, 2)).exp(), [(3, 4, 5)]),
    "means that keep dimensions": (
        lambda x: x.mean((1, 2), keepdim=True) * x - x.mean(0),
        [(3, 4, 5)],
    ),
    "norms": (lambda x: x / (x.norm(dim=-1, keepdim=True) + 1) + x.norm(), [(3, 4)]),
    "expanded": (lambda x: x[:, None].expand(3, 5, 4).tanh() * x[0], [(3, 4)]),
    "maxima of windows": (
        lambda x: F.max_pool2d(x * 2, 3, 2, 1).exp() + F.max_pool2d(x, 2).sum(),
        [(2, 3, 9, 9)],
    ),
    "maxima of lines": (lambda x: F.max_pool1d(x * 2, 2), [(2, 3, 8)]),
    "means of windows": (
        lambda x: F.avg_pool2d(x * 2, 2).exp() * F.adaptive_avg_pool2d(x, 1),
        [(2, 3, 8, 8)],
    ),
    "rows of a table": (
        lambda w: F.embedding(ROWS_OF_A_TABLE, w, 3).tanh() + F.embedding(ROWS_OF_A_TABLE[0], w),
        [(5, 4)],
    ),
    "attention": (F.scaled_dot_product_attention, [(2, 3, 9, 4), (2, 3, 11, 4), (2, 3, 11, 5)]),
    "attention to what came before": (
        lambda x: (
            F.scaled_dot_product_attention(
                *x.view(2, 9, 3, 3, 20).permute(2, 0, 3, 1, 4), is_causal=True
            )
            .transpose(1, 2)
            .reshape(2, 9, 60)
            .tanh()
        ),
        [(2, 9, 180)],
    ),
    "attention whose rows eager mode has beside each other": (
        lambda x: (
            F.scaled_dot_product_attention(
                *[part.view(2, 9, 3, 20).transpose(1, 2) for part in x.split(60, 2)]
            )
            .transpose(1, 2)
            .contiguous()
            .view(2, 9, 60)
            .tanh()
        ),
        [(2, 9, 180)],
    ),
    "attention with a mask": (
        lambda q, k: F.scaled_dot_product_attention(q, k, k * 2, attn_mask=LATER),
        [(3, 9, 8), (3, 10, 8)],
    ),
    "linear of a vector": (lambda *xs: F.linear(*xs).tanh(), [(5,), (7, 5), (7,)]),
    "linear of one row": (lambda *xs: F.linear(*xs).tanh(), [(1, 5), (7, 5), (7,)]),
    "a vector times a matrix": (lambda a, b: (a @ b).tanh(), [(5,), (5, 7)]),
    "a matrix times a vector": (lambda a, b: (a @ b).tanh(), [(7, 5), (5,)]),
    "a turned matrix times a vector": (lambda a, b: (a.t() @ (b * 2)).tanh(), [(5, 7), (5,)]),
    "matrices times a vector": (lambda a, b: (a @ b).tanh(), [(3, 7, 5), (5,)]),
    "masked": (lambda x: x.masked_fill(x > 0.5, 2.0) * wengert.where(x < 0, x, x.tanh()), [(3, 4)]),
    "layer norm": (
        lambda x, w, b: F.layer_norm(x * 2, (5, 6), w, b).tanh(),
        [(4, 5, 6), (5, 6), (5, 6)],
    ),
    "layer norm without a bias": (
        lambda x, w: F.layer_norm(x * 2, (6,), w).tanh(),
        [(4, 5, 6), (6,)],
    ),
    "layer norm without a weight": (lambda x: F.layer_norm(x * 2, (6,)).tanh(), [(4, 5, 6)]),
    "layer norm of what takes no gradient": (
        lambda w, b: F.layer_norm(RAMP, (6,), w, b).tanh(),
        [(6,), (6,)],
    ),
    "layer norm of many rows": (
        lambda x, w, b: F.layer_norm(x * 2, (70,), w, b).tanh(),
        [(3000, 70), (70,), (70,)],
    ),
    "RMS norm": (lambda x, w: F.rms_norm(x * 2, (6,), w, 1e-5).tanh(), [(4, 5, 6), (6,)]),
    "RMS norm without a weight": (lambda x: F.rms_norm(x * 2, (5, 6)).tanh(), [(4, 5, 6)]),
    "RMS norm of what takes no gradient": (lambda w: F.rms_norm(RAMP, (6,), w).tanh(), [(6,)]),
    "group norm": (
        lambda x, w, b: F.group_norm(x * 2, 3, w, b).tanh(),
        [(4, 6, 5, 5), (6,), (6,)],
    ),
    "group norm without a weight": (lambda x: F.group_norm(x * 2, 2).tanh(), [(4, 6, 9)]),
    "group norm of vectors": (
        lambda x, w, b: F.group_norm(x * 2, 2, w, b).tanh(),
        [(7, 6), (6,), (6,)],
    ),
    "group norm of one group": (
        lambda x, w, b: F.group_norm(x * 2, 1, w, b).tanh(),
        [(3, 4, 4, 4, 3), (4,), (4,)],
    ),
    "group norm of what takes no gradient": (
        lambda w: F.group_norm(RAMP, 2, w).tanh(),
        [(6,)],
    ),
    "layer norm with a bias alone": (
        lambda x, b: F.layer_norm(x * 2, (6,), None, b).tanh(),
        [(4, 5, 6), (6,)],
    ),
    "group norm with a bias alone": (
        lambda x, b: F.group_norm(x * 2, 2, None, b).tanh(),
        [(4, 6, 9), (6,)],
    ),
    "instance norm": (lambda x: F.instance_norm(x * 2).tanh(), [(3, 4, 5, 6)]),
    "instance norm with weights": (
        lambda x, w, b: F.instance_norm(x * 2, None, None, w, b).tanh(),
        [(3, 4, 20), (4,), (4,)],
    ),
    "batch norm by given statistics": (
        lambda x, w, b: F.batch_norm(x * 2, RAMP[0, :4], RAMP[1, :4] + 2, w, b).tanh(),
        [(3, 4, 5, 6), (4,), (4,)],
    ),
    "batch norm by given statistics, without weights": (
        lambda x: F.batch_norm(x * 2, RAMP[0, :4], RAMP[1, :4] + 2).tanh(),
        [(3, 4, 7)],
    ),
    "batch norm of vectors by given statistics": (
        lambda x, w, b: F.batch_norm(x * 2, RAMP[0, :4], RAMP[1, :4] + 2, w, b).tanh(),
        [(9, 4), (4,), (4,)],
    ),
    **{
        f"resized, {mode}": (
            lambda x, mode=mode: F.interpolate(x * 2, (7, 9), mode=mode).tanh(),
            [(2, 3, 5, 4)],
        )
        for mode in ("nearest", "bilinear", "bicubic", "area", "nearest-exact")
    },
    "resized lines": (
        lambda x: F.interpolate(x * 2, scale_factor=2.0, mode="linear").tanh(),
        [(2, 3, 5)],
    ),
    "smaller volumes": (
        lambda x: F.interpolate(x * 2, (2, 3, 2), mode="trilinear").tanh(),
        [(1, 2, 5, 4, 6)],
    ),
    "smaller, nearest": (lambda x: F.interpolate(x * 2, (2, 3)).tanh(), [(2, 3, 5, 7)]),
    "adaptive means": (lambda x: F.adaptive_avg_pool2d(x * 2, (3, 2)).tanh(), [(2, 3, 7, 5)]),
    **{
        f"frame of elements, {mode}": (
            lambda x, mode=mode: F.pad(x * 2, (2, 1, 1, 3), mode=mode).tanh(),
            [(2, 3, 5, 4)],
        )
        for mode in ("reflect", "replicate", "circular")
    },
    "steps of an LSTM": (
        lambda x, w, u, b: lstm_steps(x, w, u, b),
        [(3, 4, 5), (24, 5), (24, 6), (24,)],
    ),
    "a step of an LSTM from nothing": (
        lambda x, h, c: wengert.stack(
            wengert.lstm_cell(x, (h, c), RAMP[:8, :4], RAMP[:8, :2])
        ).tanh(),
        [(3, 4), (3, 2), (3, 2)],
    ),
    "the state alone of an LSTM": (
        lambda x, c: wengert.lstm_cell(x, (x * 2, c), RAMP[:8, :2], RAMP[:8, :2])[0].tanh(),
        [(3, 2), (3, 2)],
    ),
    "steps of a GRU": (
        lambda x, w, u, b: gru_steps(x, w, u, b),
        [(3, 4, 5), (18, 5), (18, 6), (18,)],
    ),
    "a step of a GRU from nothing": (
        lambda x, h: wengert.gru_cell(x, h, RAMP[:6, :4], RAMP[:6, :2]).tanh(),
        [(3, 4), (3, 2)],
    ),
    "a frame": (lambda x: F.pad(x * 2, (1, 2, 0, 3), value=0.5).tanh(), [(2, 3, 5, 4)]),
    "a frame that cuts off": (lambda x: F.pad(x * 2, (-1, 2, 3, -2)).tanh(), [(2, 3, 5, 4)]),
    "a frame around nothing": (lambda x: F.pad(x * 2, (-4, 3)).tanh() + x[:, :3], [(3, 4)]),
    "rolled": (lambda x: wengert.roll(x * 2, (1, -2, 9), (1, 2, 1)).tanh(), [(2, 3, 5, 4)]),
    "rolled in flat order": (lambda x: wengert.roll(x * 2, -7).tanh(), [(3, 5)]),
    "rolled by nothing": (lambda x: wengert.roll(x * 2, 5, -1).tanh(), [(3, 5)]),
    "pixels of channels": (lambda x: F.pixel_shuffle(x * 2, 2).tanh(), [(2, 8, 3, 5)]),
    "channels of pixels": (lambda x: F.pixel_unshuffle(x * 2, 3).tanh(), [(2, 2, 6, 9)]),
    "shuffled channels": (lambda x: F.channel_shuffle(x * 2, 3).tanh(), [(2, 6, 3, 5)]),
    "repeated": (lambda x: (x * 2).repeat(2, 1, 3, 1).tanh(), [(3, 4, 2)]),
    "repeated once": (lambda x: (x * 2).repeat(1, 1).tanh(), [(3, 4)]),
    "repeated, of other order in memory": (lambda x: (x * 2).t().repeat(2, 3).tanh(), [(3, 4)]),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_program_is_one_segment(name: str) -> None:
    function, shapes = WHOLE[name]
    eager = results(function, *shapes)
    step = compiler.compile(lambda *inputs: results(function, *shapes))
    for _ in range(3):
        for a, b in zip(step(), eager, strict=True):
            check_same(a, b)
    native = [p.native for p in plans(step)]
    assert [p.problem for p in plans(step)] == [None] * len(native)
    left = [i.name for p in native if p for i in p.instructions if not is_view(i)]
    assert {*left} <= {"native", "number"}
