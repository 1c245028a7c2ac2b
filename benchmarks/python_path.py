"""What calls cost beside their arithmetic: modules, indexing, joining, optimizers, data loading.

    python benchmarks/python_path.py

Tensors are tiny, both libraries run in one process, on one thread, in turns. `+` stands for a sum
and its backward.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from _measure import Row, calls_compared, in_clean_process, shown

import wengert

Call = Callable[[], Any]
SECONDS = 0.006  # a turn


def forward_calls(lib: Any) -> Iterator[tuple[str, Call]]:
    """Modules and functions."""
    F = lib.nn.functional  # noqa: N806
    x, w, b = lib.randn(4, 8), lib.randn(8, 8, requires_grad=True), lib.randn(8)
    identity, linear = lib.nn.Identity(), lib.nn.Linear(8, 8)
    net = lib.nn.Sequential(lib.nn.Linear(8, 8), lib.nn.ReLU(), lib.nn.Linear(8, 8))
    norm = lib.nn.LayerNorm(8)
    labels = lib.arange(4)
    yield "nn.Identity()(x)", lambda: identity(x)
    yield "nn.Linear()(x)", lambda: linear(x)
    yield "nn.Sequential: 2 linear, relu", lambda: net(x)
    yield "nn.LayerNorm()(x)", lambda: norm(x)
    yield "F.linear", lambda: F.linear(x, w, b)
    yield "F.relu", lambda: F.relu(w)
    yield "F.gelu", lambda: F.gelu(w)
    yield "F.softmax", lambda: F.softmax(w, -1)
    yield "F.dropout", lambda: F.dropout(w, 0.1)
    yield "F.cross_entropy", lambda: F.cross_entropy(w[:4], labels)
    yield "F.mse_loss", lambda: F.mse_loss(w, w.detach())
    yield "net(x).sum().backward()", lambda: net(x).sum().backward()


def indexing_calls(lib: Any) -> Iterator[tuple[str, Call]]:
    """Reading parts of tensors."""
    x = lib.randn(8, 16, requires_grad=True)
    plain = x.detach()
    rows, mask = lib.tensor([0, 3, 5]), lib.arange(8) % 2 == 0
    number = lib.tensor(3.5)
    yield "x[2]", lambda: x[2]
    yield "x[2:5]", lambda: x[2:5]
    yield "x[:, 3]", lambda: x[:, 3]
    yield "x[1:3, ::2]", lambda: x[1:3, ::2]
    yield "x[None]", lambda: x[None]
    yield "x[..., 0]", lambda: x[..., 0]
    yield "x[rows]", lambda: x[rows]
    yield "x[mask]", lambda: x[mask]
    yield "plain[2:5]", lambda: plain[2:5]
    yield "plain[2, 3].item()", lambda: plain[2, 3].item()
    yield "number.item()", lambda: number.item()
    yield "float(number)", lambda: float(number)
    yield "plain[2] = 1", lambda: plain.__setitem__(2, 1.0)
    yield (
        "plain[:, 1:3] = plain[:, 3:5]",
        lambda: plain.__setitem__((slice(None), slice(1, 3)), plain[:, 3:5]),
    )
    yield "x[2:5].sum() +", lambda: x[2:5].sum().backward()
    yield "x[rows].sum() +", lambda: x[rows].sum().backward()


def joining_calls(lib: Any) -> Iterator[tuple[str, Call]]:
    """Cutting and joining."""
    x, y = lib.randn(8, 16, requires_grad=True), lib.randn(8, 16, requires_grad=True)

    def last(parts: Any) -> None:
        parts[-1].sum().backward()

    def all_parts(parts: Any) -> None:
        lib.cat(list(parts), -1).sum().backward()

    yield "cat([x, y])", lambda: lib.cat([x, y])
    yield "cat([x, y], 1)", lambda: lib.cat([x, y], 1)
    yield "stack([x, y])", lambda: lib.stack([x, y])
    yield "split(4, 1)", lambda: x.split(4, 1)
    yield "chunk(4, 1)", lambda: x.chunk(4, 1)
    yield "unbind(0)", lambda: x.unbind(0)
    yield "chunk(4, 1), one part +", lambda: last(x.chunk(4, 1))
    yield "chunk(4, 1), all parts +", lambda: all_parts(x.chunk(4, 1))
    yield "split(4, 1), one part +", lambda: last(x.split(4, 1))
    yield "cat([x, y]).sum() +", lambda: lib.cat([x, y]).sum().backward()
    yield "stack([x, y]).sum() +", lambda: lib.stack([x, y]).sum().backward()
    yield "view, transpose, reshape", lambda: x.view(4, 32).transpose(0, 1).reshape(-1)
    yield "unsqueeze, expand", lambda: x.unsqueeze(0).expand(2, 8, 16)


def training_calls(lib: Any) -> Iterator[tuple[str, Call]]:
    """Optimizers, data loading, a recurrent cell."""
    for name, options in (
        ("SGD", {"lr": 0.1}),
        ("SGD, momentum", {"lr": 0.1, "momentum": 0.9}),
        ("Adam", {}),
        ("AdamW", {}),
    ):
        net = lib.nn.Sequential(*[lib.nn.Linear(8, 8) for _ in range(3)])
        net(lib.randn(4, 8)).sum().backward()
        optimizer = getattr(lib.optim, name.partition(",")[0])(net.parameters(), **options)
        yield f"{name}.step(), 6 parameters", optimizer.step
    yield "zero_grad() of 6 without", optimizer.zero_grad

    def again() -> None:
        for p in net.parameters():
            p.grad = p.detach()
        optimizer.zero_grad()

    yield "zero_grad() of 6", again
    data = lib.utils.data.TensorDataset(lib.randn(256, 8), lib.arange(256))
    loader = lib.utils.data.DataLoader(data, batch_size=16, shuffle=True)
    yield "DataLoader: 16 batches of 16", lambda: list(loader)
    cell = lib.nn.LSTMCell(16, 16)
    x = lib.randn(4, 16)

    def cells() -> None:
        h = c = lib.zeros(4, 16)
        for _ in range(10):
            h, c = cell(x, (h, c))
        h.sum().backward()

    yield "nn.LSTMCell, 10 steps +", cells
    linear = lib.nn.Linear(32, 64)

    def written_out() -> None:
        h = c = lib.zeros(4, 16)
        for _ in range(10):
            i, f, g, o = linear(lib.cat([x, h], 1)).chunk(4, 1)
            c = lib.sigmoid(f) * c + lib.sigmoid(i) * lib.tanh(g)
            h = lib.sigmoid(o) * lib.tanh(c)
        h.sum().backward()

    yield "LSTM cell by hand, 10 steps +", written_out


GROUPS = (forward_calls, indexing_calls, joining_calls, training_calls)


def measure() -> list[Row]:
    """All calls."""
    torch.set_num_threads(1)
    wengert.set_num_threads(1)
    return [
        shown(calls_compared(name, ours, theirs, SECONDS, rounds=9, at_once=3))
        for group in GROUPS
        for (name, ours), (_, theirs) in zip(group(wengert), group(torch), strict=True)
    ]


if __name__ == "__main__":
    in_clean_process(__file__, measure)
