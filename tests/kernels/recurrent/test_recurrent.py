"""Recurrent layers by kernels against NumPy in float64, and against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from wengert.kernels import jit, recurrent
from wengert.kernels.products import blas
from wengert.kernels.recurrent import Steps
from wengert.kernels.recurrent import native as recurrent_native

RNG = np.random.default_rng(0)
needs_kernels = pytest.mark.skipif(not jit.available(), reason="needs llvmlite")

# How many sequences run at each step.
SIZES = [[32] * 5, [17] * 9, [1] * 90, [40, 40, 33, 16, 15, 3, 1], [19, 2, 2]]
WIDTHS = [1, 7, 31, 64, 80]
GATES = {"lstm": 4, "gru": 3, "tanh": 1, "relu": 1}


def made(kind: str, steps: Steps, width: int, whole: bool) -> dict[str, Any]:
    """The arguments of a layer in float64; `whole` ones have states and biases."""
    rows, inputs = GATES[kind] * width, 45
    names = {
        "x": (steps.rows, inputs), "h0": (steps.batch, width), "c0": (steps.batch, width),
        "w_ih": (rows, inputs), "w_hh": (rows, width), "b_ih": (rows,), "b_hh": (rows,),
    }  # fmt: skip
    made: dict[str, Any] = {k: RNG.normal(size=s) / (2 * np.sqrt(s[-1])) for k, s in names.items()}
    if not whole:
        made |= dict.fromkeys(("h0", "c0", "b_ih", "b_hh"))
    return made


def run(kind: str, steps: Steps, a: dict[str, Any], g: np.ndarray) -> list[np.ndarray]:
    """What a layer returns, and the flow of a cotangent."""
    weights = (a["w_ih"], a["w_hh"], a["b_ih"], a["b_hh"])
    if kind == "lstm":
        out, gates, cells = recurrent.lstm(a["x"], a["h0"], a["c0"], *weights, None, steps)
        flow = recurrent.lstm_back(g, gates, cells, a["c0"], a["w_hh"], None, steps)
        return [out, gates, cells, flow.gates, flow.h0, flow.c0]
    if kind == "gru":
        out, gates, inner = recurrent.gru(a["x"], a["h0"], *weights, steps)
        flow = recurrent.gru_back(g, out, gates, inner, a["h0"], a["w_hh"], steps)
        return [out, gates, inner, flow.gates, flow.from_state, flow.h0]
    out = recurrent.rnn(a["x"], a["h0"], *weights, steps, kind == "relu")
    flow = recurrent.rnn_back(g, out, a["w_hh"], steps, kind == "relu")
    return [out, flow.gates, flow.h0]


def single(x: np.ndarray | None) -> np.ndarray | None:
    return None if x is None else x.astype(np.float32)


@needs_kernels
@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("reverse", [False, True])
def test_against_double_precision(kind: str, width: int, reverse: bool) -> None:
    for k, sizes in enumerate(SIZES):
        steps = Steps(sizes, reverse)
        double = made(kind, steps, width, whole=bool(k % 2))
        g = RNG.normal(size=(steps.rows, width))
        if kind == "lstm":
            g = RNG.normal(size=steps.rows * width + steps.batch * width)
        floats = {n: single(x) for n, x in double.items()}
        assert recurrent_native.native(floats["x"], floats["w_hh"]) == (
            steps.rows * GATES[kind] * width >= jit.LARGE
        )
        results = run(kind, steps, floats, g.astype(np.float32)), run(kind, steps, double, g)
        for ours, right in zip(*results, strict=True):
            assert ours.dtype == np.float32
            assert ours.shape == right.shape
            np.testing.assert_allclose(ours, right, rtol=0, atol=3e-6 * (1 + np.abs(right).max()))


def unwritten(shape: Any, dtype: Any = float, order: str = "C") -> np.ndarray:
    return np.full(shape, np.nan, dtype)


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("reverse", [False, True])
def test_kernels_in_python(kind: str, reverse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each access is within bounds, and nothing is read before it is written."""
    steps = Steps([18, 18, 17, 2], reverse)
    double = made(kind, steps, 3, whole=True)
    g = RNG.normal(size=(steps.rows, 3))
    if kind == "lstm":
        g = RNG.normal(size=(steps.rows + steps.batch) * 3)
    right = run(kind, steps, double, g)

    class Slow:
        def __init__(self, kernel: Any) -> None:
            self.kernel = kernel

        def f32(self, *arguments: Any) -> None:
            *first, count, chunk = arguments
            flat = [x.reshape(-1) if isinstance(x, np.ndarray) else x for x in first]
            for start in range(0, count, chunk):
                self.kernel.python(*flat, start, min(count, start + chunk))

    for name in ("_lstm", "_lstm_back", "_gru", "_gru_back", "_rnn", "_rnn_back"):
        monkeypatch.setattr(recurrent_native, name, Slow(getattr(recurrent_native, name)))
    monkeypatch.setattr(recurrent_native, "native", lambda *arrays: True)
    monkeypatch.setattr(np, "empty", unwritten)
    found = run(kind, steps, {n: single(x) for n, x in double.items()}, g.astype(np.float32))
    for ours, wanted in zip(found, right, strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=0, atol=1e-5)


@needs_kernels
def test_threads_do_not_change_results() -> None:
    steps = Steps([50] * 8, False)
    arrays = {n: single(x) for n, x in made("lstm", steps, 40, whole=True).items()}
    g = RNG.normal(size=steps.rows * 40 + 50 * 40).astype(np.float32)
    before, results = jit.get_threads(), []
    try:
        for threads in (1, 3):
            blas.set_threads(threads)
            results.append(run("lstm", steps, arrays, g))
    finally:
        blas.set_threads(before)
    for one, three in zip(*results, strict=True):
        np.testing.assert_array_equal(one, three)


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_layers_as_pytorch(kind: str, torch: Any) -> None:
    theirs = getattr(torch.nn, kind)(20, 36, num_layers=2, bidirectional=True)
    ours = getattr(wengert.nn, kind)(20, 36, num_layers=2, bidirectional=True)
    ours.load_state_dict({k: wengert.tensor(v.numpy()) for k, v in theirs.state_dict().items()})
    x = RNG.normal(size=(12, 18, 20)).astype(np.float32)
    lengths = RNG.integers(1, 13, 18)
    results = []
    for lib, net in ((wengert, ours), (torch, theirs)):
        given = lib.tensor(x, requires_grad=True)
        pack, unpack = lib.nn.utils.rnn.pack_padded_sequence, lib.nn.utils.rnn.pad_packed_sequence
        packed = pack(given, lib.tensor(lengths), enforce_sorted=False)
        out, _ = net(packed)
        total = unpack(out)[0].sin().sum() + (net(given)[0] ** 2).sum()
        total.backward()
        results.append([given.grad.numpy(), *(p.grad.numpy() for p in net.parameters())])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=2e-5 * (1 + np.abs(b).max()))


def step_of(kind: str, arrays: list[np.ndarray], g: np.ndarray) -> list[np.ndarray]:
    """What a single step returns, and the flow of a cotangent."""
    if kind == "lstm":
        out, gates = recurrent.lstm_step(*arrays)
        return [out, gates, *recurrent.lstm_step_back(g, out, gates, arrays[2])]
    out, gates, inner = recurrent.gru_step(*arrays)
    return [out, gates, inner, *recurrent.gru_step_back(g[0], gates, inner, arrays[2])]


@pytest.mark.parametrize("kind", ["lstm", "gru"])
@pytest.mark.parametrize("shape", [(0,), (1,), (5,), (300,), (6, 50)], ids=str)
@pytest.mark.parametrize("width", [1, 31, 64])
@pytest.mark.parametrize(("dtype", "atol"), [("float32", 2e-6), ("float64", 4e-15)])
def test_single_steps(
    kind: str, shape: tuple[int, ...], width: int, dtype: str, atol: float
) -> None:
    """Against NumPy's own functions of long doubles, of which there are no kernels."""
    count = GATES[kind] * width
    *arrays, g = (
        RNG.normal(size=size).astype(np.longdouble)
        for size in (*[(*shape, n) for n in (count, count, width)], (2, *shape, width))
    )
    narrow = [x.astype(dtype) for x in arrays], g.astype(dtype)
    for ours, right in zip(step_of(kind, *narrow), step_of(kind, arrays, g), strict=True):
        assert ours.shape == right.shape
        assert ours.dtype == dtype
        np.testing.assert_allclose(ours, right, rtol=0, atol=atol)


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["LSTMCell", "GRUCell"])
@pytest.mark.parametrize(
    ("batch", "dtype", "share"),
    [(3, "float32", 3e-5), (70, "float32", 3e-5), (70, "float64", 1e-13)],
)
def test_cells_as_pytorch(kind: str, batch: int, dtype: str, share: float, torch: Any) -> None:
    theirs = getattr(torch.nn, kind)(20, 36, dtype=getattr(torch, dtype))
    ours = getattr(wengert.nn, kind)(20, 36, dtype=getattr(wengert, dtype))
    ours.load_state_dict({k: wengert.tensor(v.numpy()) for k, v in theirs.state_dict().items()})
    x, start = (RNG.normal(size=(4, batch, n)).astype(dtype) for n in (20, 36))
    results = []
    for lib, cell in ((wengert, ours), (torch, theirs)):
        given = lib.tensor(x, requires_grad=True)
        h, c = lib.tensor(start[:2], requires_grad=True)
        for row in given:
            h, c = cell(row, (h, c)) if kind == "LSTMCell" else (cell(row, h), c)
        total = (h.sin() + c * h).sum()
        leaves = [given, *cell.parameters()]
        first = lib.autograd.grad(total, leaves, create_graph=True)
        second = lib.autograd.grad(sum((d * d).sum() for d in first), leaves)
        results.append([h.detach().numpy(), *(d.detach().numpy() for d in (*first, *second))])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=share * (1 + np.abs(b).max()))
