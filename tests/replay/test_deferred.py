"""Operations that compiled functions defer: none of them ends a program."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import wengert
from tests.replay.harness import check_same
from wengert import Tensor, compiler, nn
from wengert.nn import functional as F

SEQUENCES = {
    "gru": nn.GRU(12, 3, 2, bidirectional=True).requires_grad_(False),
    "lstm": nn.LSTM(12, 3, 2, batch_first=True).requires_grad_(False),
}
LSTM_CELL = nn.LSTMCell(12, 12).requires_grad_(False)
GRU_CELL = nn.GRUCell(12, 12).requires_grad_(False)
INDEX = wengert.tensor([2, 0])[:, None, None]
CALLS: dict[str, Callable[[Tensor], Tensor]] = {
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 1),
    "adaptive_avg_pool2d, uneven": lambda x: F.adaptive_avg_pool2d(x, 3),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, 5),
    "any": lambda x: (x > 0).any(1).float() * x[:, 0],
    "argsort": lambda x: x.argsort(2).float() * x,
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True).exp(),
    "batch_norm by running statistics": lambda x: F.batch_norm(
        x, wengert.zeros(3), wengert.ones(3)
    ),
    "binary_cross_entropy": lambda x: F.binary_cross_entropy_with_logits(x, (x > 0).float()),
    "cdist": lambda x: wengert.cdist(x[0, 0], x[0, 1]),
    "clone as channels last": lambda x: x.contiguous(memory_format=wengert.channels_last) * 2,
    "conv_transpose2d": lambda x: F.conv_transpose2d(x, x[:3, :2, :3, :3].clone(), stride=2),
    "count_nonzero": lambda x: (x > 1).count_nonzero().float() * x,
    "cross": lambda x: wengert.cross(x, x * 2, dim=1),
    "cummax": lambda x: x.cummax(1)[0],
    "cumprod": lambda x: x.cumprod(1),
    "diag": lambda x: x[0, 0].diag(),
    "diag_embed": lambda x: wengert.diag_embed(x[:, :, 0]),
    "diagonal": lambda x: x.diagonal(0, 2, 3),
    "float of bool": lambda x: (x > 0).float() * x,
    "flip": lambda x: x.flip((1, 2)).roll(3),
    "fold and unfold": lambda x: F.fold(F.unfold(x, 3), (12, 12), 3),
    "gather": lambda x: x.gather(1, INDEX.expand(4, 2, 12, 12)),
    "gru": lambda x: SEQUENCES["gru"](x[:, 0])[0],
    "gru_cell": lambda x: GRU_CELL(x[:, 0, 0], x[:, 0, 1]),
    "double and back": lambda x: x.double().exp().float() * x,
    "index_select": lambda x: x.index_select(1, INDEX.flatten()),
    "instance_norm": lambda x: F.instance_norm(x).exp(),
    "interpolate": lambda x: F.interpolate(x, size=(7, 9)),
    "interpolate, bicubic": lambda x: F.interpolate(x, scale_factor=1.5, mode="bicubic"),
    "glu": lambda x: F.glu(x, 3),
    "grid_sample": lambda x: F.grid_sample(
        x, wengert.linspace(-1, 1, 128).reshape(4, 4, 4, 2), align_corners=False
    ),
    "kron": lambda x: wengert.kron(x[0, 0], x[1, 0, :2]),
    "kthvalue": lambda x: x.kthvalue(2, 1)[0],
    "lerp": lambda x: wengert.lerp(x, x * 2, 0.5),
    "local_response_norm": lambda x: F.local_response_norm(x, 2),
    "logcumsumexp": lambda x: x.logcumsumexp(1),
    "max": lambda x: x.max(1)[0] * 2 + x.max(1)[1].float(),
    "max_pool2d with indices": lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True)[0],
    "lstm": lambda x: SEQUENCES["lstm"](x[:, 0])[0],
    "lstm_cell": lambda x: LSTM_CELL(x[:, 0, 0], (x[:, 0, 1], x[:, 1, 1]))[0],
    "masks and integers beside floats": lambda x: x * (x > 0) + x * x.argmax(1)[:, None],
    "masks": lambda x: ((x > 0) & ~(x > 1) | (x < -1)).float().sum() + (x > 0).sum().float() * x,
    "median": lambda x: x.median(1)[0],
    "mode": lambda x: x.round().mode(1)[0],
    "multi_margin_loss": lambda x: F.multi_margin_loss(
        x[:, 0, 0], wengert.tensor([3, 0, 11, 5]), reduction="none"
    ),
    "nansum": lambda x: x.nansum(1),
    "nll_loss": lambda x: F.nll_loss(
        x.log_softmax(1), wengert.ones(4, 12, 12, dtype=wengert.int64)
    ),
    "pad": lambda x: F.pad(x, (1, 2, 0, 1), value=3.0),
    "pad, reflect": lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"),
    "pairwise_distance": lambda x: F.pairwise_distance(x[0, 0], x[0, 1]),
    "pixel_shuffle": lambda x: F.pixel_shuffle(x.repeat(1, 4, 1, 1), 2),
    "prod": lambda x: x.prod(1),
    "renorm": lambda x: x.renorm(2, 1, 3.0),
    "rms_norm": lambda x: F.rms_norm(x, (12,)),
    "sort": lambda x: x.sort(2, descending=True)[0] * wengert.arange(12.0),
    "tensordot": lambda x: wengert.tensordot(x[0, 0], x[1, 0], 1),
    "topk": lambda x: x.topk(2, 1)[0] * x.topk(2, 1)[1].float(),
    "trace": lambda x: x[0, 0].trace(),
    "unfold": lambda x: x.unfold(2, 4, 2).unfold(3, 4, 2),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_operation_is_deferred(name: str) -> None:
    def step(x: Tensor) -> tuple[Tensor, Tensor]:
        w.grad = None
        y = CALLS[name]((x * w).relu() + x)
        loss = (y * 1.5).mean()  # of a sum, rounding would be relative to all terms
        loss.backward()
        return y, loss

    w = wengert.tensor([[[2.0]], [[1.0]], [[3.0]]], requires_grad=True)
    numbers = np.random.default_rng(0).standard_normal((6, 4, 3, 12, 12)).astype(np.float32)
    stepping = compiler.compile(step, fullgraph=True)
    for array in numbers:
        x = wengert.tensor(array)
        y, loss = stepping(x)
        ours = [y, loss, w.grad]
        y, loss = step(x)
        check_same(ours, [y, loss, w.grad])


def test_indices_out_of_bounds_are_refused_where_they_are_used() -> None:
    @compiler.compile
    def step(x: Tensor, index: Tensor) -> Tensor:
        y = (x * 2).gather(1, index)
        log.append("gathered")
        return y

    log: list[str] = []
    good = wengert.zeros(4, 2, dtype=wengert.int64)
    for _ in range(4):
        step(wengert.ones(4, 3), good)
    with pytest.raises(RuntimeError, match="out of bounds"):
        step(wengert.ones(4, 3), good + 3)
    assert len(log) == 4
    check_same(step(wengert.ones(4, 3), good), wengert.full((4, 2), 2.0))
