"""A program that forks while a thread works: run by test_forks, so that a deadlock ends only it.

Its arguments are a seed and the number of forks. For each it draws what the thread works at and
what the child computes, whose results have to be those of the parent; the thread has to go on.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import wengert
from wengert import linalg, nn
from wengert.kernels import jit
from wengert.nn import functional as F

PATIENCE = 60  # seconds for anything

wengert.manual_seed(0)
A, B = wengert.randn(500, 500), wengert.randn(40, 40)
V, D = wengert.randn(3, 1 << 15), wengert.randn(260, 260, dtype=wengert.float64)
SPD = D @ D.T + 300 * wengert.eye(260, dtype=wengert.float64)
C = wengert.randn(260, 260, dtype=wengert.complex64)
IMAGES, FILTERS = wengert.randn(4, 16, 32, 32), wengert.randn(16, 16, 3, 3)
QUERY = wengert.randn(2, 4, 128, 32)
NET = nn.Sequential(nn.Conv2d(16, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 900, 10))
LSTM = nn.LSTM(40, 40)


def backward() -> Any:
    v = V.detach().requires_grad_()
    (v * 2).sin().sum().backward()
    return v.grad


def train() -> Any:
    net = nn.Linear(40, 3)
    nn.init.constant_(net.weight, 0.1)
    nn.init.zeros_(net.bias)
    optimizer = wengert.optim.Adam(net.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        net(B).square().sum().backward()
        optimizer.step()
    return net.weight


def draw() -> Any:
    return wengert.randn(50_000, generator=wengert.Generator().manual_seed(3))


def compile_anew() -> Any:
    """A kernel that no process has compiled before."""
    name = f"double_{os.getpid()}_{next(COUNT)}"
    source = (
        f"def {name}(x: f32s, out: f32s, start: i64, stop: i64) -> None:\n"
        "    for i in range(start, stop):\n"
        "        out[i] = x[i] + x[i]\n"
    )
    out = np.zeros(1000, np.float32)
    jit.compiled(source)(np.ones(1000, np.float32), out, 1000, 100)
    return wengert.from_numpy(out)


COUNT = iter(range(1_000_000))
WORK: dict[str, Callable[[], Any]] = {
    "product": lambda: A @ A,
    "small product": lambda: B @ B,
    "product with a vector": lambda: A @ A[0],
    "complex product": lambda: C @ C,
    "kernel and backward": backward,
    "convolution": lambda: F.conv2d(IMAGES, FILTERS),
    "network": lambda: NET(IMAGES),
    "training": train,
    "lstm": lambda: LSTM(B[:, None].expand(40, 3, 40))[0],
    "attention": lambda: F.scaled_dot_product_attention(QUERY, QUERY, QUERY),
    "transform": lambda: wengert.fft.fft(V).abs(),
    "inverse": lambda: linalg.inv(SPD),
    "eigenvalues": lambda: linalg.eigvalsh(SPD),
    "singular values": lambda: linalg.svdvals(D[:150]),
    "cholesky": lambda: linalg.cholesky(SPD),
    "solve": lambda: linalg.solve(SPD, D),
    "lu": lambda: linalg.lu_factor(D)[0],
    "sort": lambda: V.sort().values,
    "random numbers": draw,
    "compilation": compile_anew,
}


class Worker(threading.Thread):
    """Works at one thing after the other, for ever."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.work, self.calls = WORK["product"], 0

    def run(self) -> None:
        while True:
            self.work()
            self.calls += 1

    def wait(self, calls: int) -> bool:
        """Whether it goes on."""
        until, end = self.calls + calls, time.monotonic() + PATIENCE
        while self.calls < until and time.monotonic() < end:
            time.sleep(0.0005)
        return self.calls >= until


def child(name: str, expected: np.ndarray) -> None:
    """What a child does instead of the parent."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(PATIENCE)
    code = 2
    try:
        found = WORK[name]().detach().numpy()
        code = 0 if np.allclose(found, expected, rtol=1e-4, atol=1e-4) else 1
    finally:
        os._exit(code)


def batches() -> list[Any]:
    """Those of a DataLoader, whose workers are forked."""
    data = wengert.utils.data.TensorDataset(B)
    loader = wengert.utils.data.DataLoader(
        data, batch_size=10, num_workers=2, multiprocessing_context="fork"
    )
    return [batch[0] for batch in loader]


def product_of(row: int) -> float:
    return float((B @ B)[row].sum())


def main(seed: int, forks: int) -> None:
    expected = {name: work().detach().numpy() for name, work in WORK.items()}
    choose, worker, wrong = random.Random(seed), Worker(), []
    worker.start()
    for _ in range(forks):
        busy, name = choose.choice(list(WORK)), choose.choice(list(WORK))
        worker.work = WORK[busy]
        worker.wait(2)
        time.sleep(choose.random() * 0.005)
        pid = os.fork()
        if pid == 0:
            child(name, expected[name])
        status = os.waitpid(pid, 0)[1]
        if status or not worker.wait(1):
            wrong.append(f"{busy}, in the child {name}: {status}")
            break
    worker.work = WORK["inverse"]
    if not np.array_equal(wengert.cat(batches()).numpy(), B.numpy()):
        wrong.append("a DataLoader's batches")
    if not worker.wait(1):
        wrong.append("the thread after a DataLoader")
    with multiprocessing.get_context("fork").Pool(2) as pool:
        sums = pool.map(product_of, range(40))
    if not np.allclose(sums, expected["small product"].sum(1), rtol=1e-3, atol=1e-3):
        wrong.append("a pool's results")
    if not worker.wait(1):
        wrong.append("the thread after a pool")
    print("\n".join(wrong) or "all went on", flush=True)
    os._exit(0)  # the thread works to the end


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
