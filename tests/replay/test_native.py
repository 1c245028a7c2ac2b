"""What kernels compute is one native call, with the values of eager mode."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
from wengert import compiler, nn
from wengert.kernels import transposition
from wengert.replay.fusion import FusedLoop
from wengert.replay.ir import Instruction
from wengert.replay.plans import Plan
from wengert.replay.segments import Segment

from .harness import check_same, compare

F = nn.functional
Function = Callable[..., Any]


def plans(function: Any) -> list[Plan]:
    return list(function.compiled.record.plans.values())


def segments(function: Any) -> list[Segment]:
    programs = [p.native for p in plans(function) if p.native is not None]
    return [i.compute for p in programs for i in p.instructions if isinstance(i.compute, Segment)]


def results(function: Function, *shapes: tuple[int, ...]) -> list[Any]:
    """A function's value and gradients, from inputs of these shapes."""
    wengert.manual_seed(0)
    inputs = [wengert.randn(shape, requires_grad=True) for shape in shapes]
    y = function(*inputs)
    y.square().mean().backward()
    return [y.detach(), *[x.grad for x in inputs]]


ROWS: dict[str, tuple[Function, list[tuple[int, ...]]]] = {
    "linear": (F.linear, [(8, 5), (7, 5), (7,)]),
    "linear with one bias for all": (F.linear, [(8, 5), (7, 5), (1,)]),
    "linear of one column": (F.linear, [(8, 5), (1, 5), (1,)]),
    "linear of one row": (F.linear, [(1, 5), (7, 5), (7,)]),
    "linear of three dimensions": (F.linear, [(4, 3, 5), (7, 5), (7,)]),
    "linear of a transposed weight": (lambda x, w: F.linear(x, w.t()), [(8, 5), (5, 7)]),
    "product": (lambda a, b: (a @ b).tanh(), [(6, 5), (5, 7)]),
    "broadcast rows": (lambda x, b: (x + b).sigmoid() * x, [(8, 5), (5,)]),
    "broadcast columns": (lambda x, b: (x * b).exp(), [(8, 5), (8, 1)]),
    "broadcast both": (lambda a, b: a * b + a, [(8, 1), (1, 6)]),
    "a number for all": (lambda x, s: (x * s).tanh(), [(8, 5), ()]),
    "sum": (lambda x: x.tanh() * x.sum(), [(8, 5)]),
    "mean of rows": (lambda x: (x * 2).mean(1).exp(), [(8, 5)]),
    "sum of columns": (lambda x: (x * 2).sum(0).exp(), [(8, 5)]),
    "sum of the middle": (lambda x: (x * 2).sum(1).exp(), [(4, 3, 5)]),
    "softmax": (lambda x: (x * 2).softmax(-1), [(8, 5)]),
    "log softmax": (lambda x: (x * 2).log_softmax(1), [(8, 5)]),
    "softmax of columns": (lambda x: (x * 2).softmax(0), [(8, 5)]),
    "layer norm": (lambda x, w, b: F.layer_norm(x * 2, (6,), w, b), [(4, 5, 6), (6,), (6,)]),
    "layer norm of a frozen weight": (
        lambda x, w, b: F.layer_norm(x * 2, (6,), w.detach(), b) + w.sum(),
        [(5, 6), (6,), (6,)],
    ),
    "chunks": (lambda x: x.chunk(3, 1)[2].tanh() * x.chunk(3, 1)[0], [(4, 9)]),
    "reshape": (lambda x: (x * 2).reshape(6, 4).tanh().view(4, 6), [(4, 6)]),
    "transpose": (lambda x: (x * 2).t().tanh() @ x, [(4, 6)]),
    "activations": (lambda x: F.gelu(x) + F.silu(x) + F.relu(x) + F.elu(x), [(8, 5)]),
    "masks": (lambda x, y: wengert.where(x > y, x, y * 2), [(8, 5), (8, 5)]),
    "losses of classes": (
        lambda x, w: (
            F.nll_loss((x * 2).log_softmax(1), wengert.arange(8) % 5, w.detach())
            + F.nll_loss(x * 3, wengert.arange(8) % 5 - 1, ignore_index=-1) * w.sum()
        ),
        [(8, 5), (5,)],
    ),
    "cross entropy of columns": (
        lambda x: F.cross_entropy((x * 2).t(), wengert.arange(8) % 5),
        [(5, 8)],
    ),
    "cross entropy": (
        lambda x: F.cross_entropy(x * 2, wengert.arange(8) % 5, reduction="none"),
        [(8, 5)],
    ),
    "losses that are ignored, and divided by nothing": (
        lambda x: F.cross_entropy(x * 2, FEW, reduction="none", ignore_index=3) / COUNTED,
        [(8, 5)],
    ),
}


FEW = wengert.arange(8) % 5
COUNTED = (FEW != 3).float()

# Rows of a table of five, some of them several times.
# Loops that sum what they compute, in rows, in columns, and over all, and where they do not.
SUMMED: dict[str, tuple[Function, list[tuple[int, ...]], str]] = {
    "all": (lambda a, b: (a - b).square().mean(), [(40, 90), (40, 90)], "sub+pow+mean"),
    "all, in several chunks": (lambda a, b: (a - b).abs().sum(), [(90, 400)] * 2, "sub+abs+sum"),
    "rows": (lambda a, b: (a * b).abs().sum(-1), [(20, 90), (90,)], "mul+abs+sum"),
    "rows of functions": (lambda a: F.gelu(a).sum(-1), [(20, 90)], "gelu+sum"),
    "all, of broadcast rows": (lambda a, b: (a * b).abs().sum(), [(9, 90), (9, 1)], "mul+abs+sum"),
    "a number for all": (lambda a, s: (a * s).abs().mean(), [(9, 90), ()], "mul+abs+mean"),
    "columns": (lambda a, b: (a * b).abs().mean(0), [(90, 40), (90, 1)], "mul+abs+mean"),
    "many columns": (lambda a, b: (a * b).sum(0), [(70, 1100), (1100,)], "mul+sum"),
    "the middle": (lambda a, b: (a * b).abs().sum(1), [(3, 80, 40), (3, 1, 40)], "mul+abs+sum"),
    "columns of functions": (lambda a: (a * 2).tanh().sum(0), [(90, 40)], "no tanh+sum"),
    "apart": (lambda a, b: (a * b).abs().sum((0, 2)), [(3, 20, 40), (3, 1, 40)], "mul+abs+sum"),
    "a norm": (lambda a, b: (a * b).norm(), [(30, 50), (30, 1)], "mul+norm"),
    "norms": (lambda a, b: (a * b).norm(dim=-1, keepdim=True), [(30, 50), (50,)], "mul+norm"),
    "masks": (lambda a, b: wengert.where(a > b, a, b * 2).mean(), [(9, 50)] * 2, "where+mean"),
    "two sums": (lambda a: (a * 2).square().mean() + (a * 2).abs().sum(), [(9, 50)], "mean+sum"),
    "what else is read": (lambda a: (a * 2).abs() * (a * 2).abs().mean(), [(9, 50)], "abs+mean"),
    "functions of what else is read": (
        lambda a: (a * 2).tanh() * (a * 2).tanh().sum(), [(9, 50)], "no tanh+sum",
    ),
    "the gradient of a bias": (
        lambda x, w, b: F.relu(F.linear(x, w, b)), [(70, 20), (40, 20), (40,)],
        "relu_backward_input+linear_backward_bias",
    ),
    "the gradient of a channel": (
        lambda x, w, b: F.relu(F.conv2d(x, w, b)), [(3, 4, 9, 9), (8, 4, 3, 3), (8,)],
        "relu_backward_input+conv_backward_bias",
    ),
    "narrow rows": (lambda a: (a * 2).tanh().sum(-1), [(70, 9)], "no tanh+sum"),
    "another order in memory": (lambda a: (a.t() * 2).tanh().sum(1), [(70, 90)], "no tanh+sum"),
}  # fmt: skip


@pytest.mark.parametrize("name", SUMMED)
def test_loops_sum_what_they_compute(name: str) -> None:
    function, shapes, expected = SUMMED[name]
    eager = results(function, *shapes)
    step = compiler.compile(lambda *inputs: results(function, *shapes))
    for _ in range(3):
        for a, b in zip(step(), eager, strict=True):
            check_same(a, b)
    found = [i.name for p in plans(step) for i in p.program.instructions]
    assert not any(p.problem for p in plans(step))
    assert any(n.endswith(expected.removeprefix("no ")) for n in found) != expected.startswith("no")


CONVOLUTIONS: dict[str, tuple[Function, list[tuple[int, ...]]]] = {
    "of lines": (F.conv1d, [(4, 8, 40), (5, 8, 3), (5,)]),
    "of images, by tiles": (
        lambda x, w: F.conv2d(x, w, padding=1), [(1, 64, 32, 32), (64, 64, 3, 3)],
    ),
    "of images, in windows": (
        lambda x, w, b: F.conv2d(x, w, b, 2, 1), [(3, 5, 20, 20), (7, 5, 4, 4), (7,)],
    ),
    "of many small images": (
        lambda x, w, b: F.conv2d(x, w, b, padding=1), [(40, 4, 5, 5), (6, 4, 3, 3), (6,)],
    ),
    "of groups, with gaps": (
        lambda x, w: F.conv2d(x, w, None, 1, 2, 2, 2), [(3, 4, 18, 18), (6, 2, 3, 3)],
    ),
    "of channels one by one": (
        lambda x, w, b: F.conv2d(x, w, b, 1, 1, 1, 6), [(3, 6, 18, 18), (6, 1, 3, 3), (6,)],
    ),
    "of every other place": (
        lambda x, w: F.conv2d(x, w, None, 2, 1, 1, 6), [(3, 6, 18, 18), (6, 1, 3, 3)],
    ),
    "of volumes": (F.conv3d, [(2, 3, 8, 8, 8), (4, 3, 3, 3, 3), (4,)]),
    "of single places": (F.conv2d, [(3, 32, 9, 8), (24, 32, 1, 1), (24,)]),
    "of single places of large images": (
        lambda x, w: F.conv2d(x, w), [(3, 32, 20, 20), (24, 32, 1, 1)],
    ),
    "of single places of many samples": (F.conv1d, [(9, 64, 260), (512, 64, 1), (512,)]),
    "of single places of one sample": (F.conv1d, [(1, 32, 300), (24, 32, 1), (24,)]),
    "of single places of groups": (
        lambda x, w, b: F.conv2d(x, w, b, groups=4), [(3, 32, 9, 9), (24, 8, 1, 1), (24,)],
    ),
    "of every other single place": (
        lambda x, w, b: F.conv2d(x, w, b, 2), [(3, 32, 17, 16), (24, 32, 1, 1), (24,)],
    ),
    "of patches": (
        lambda x, w, b: F.conv2d(x, w, b, 4), [(3, 6, 18, 16), (24, 6, 4, 4), (24,)],
    ),
    "of patches with gaps": (
        lambda x, w: F.conv2d(x, w, None, (5, 6), 0, (2, 5)), [(3, 6, 34, 100), (24, 6, 3, 2)],
    ),
    "of patches of volumes": (
        lambda x, w, b: F.conv3d(x, w, b, 2), [(2, 3, 8, 8, 8), (16, 3, 2, 2, 2), (16,)],
    ),
    "transposed, of single places": (
        F.conv_transpose2d, [(3, 32, 9, 9), (32, 24, 1, 1), (24,)],
    ),
    "transposed, of patches": (
        lambda x, w, b: F.conv_transpose2d(x, w, b, 2), [(3, 32, 9, 9), (32, 16, 2, 2), (16,)],
    ),
    "transposed": (
        lambda x, w, b: F.conv_transpose2d(x, w, b, 2, 1, 1), [(3, 5, 9, 9), (5, 4, 3, 3), (4,)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_are_in_segments(name: str) -> None:
    function, shapes = CONVOLUTIONS[name]
    eager = results(function, *shapes)
    step = compiler.compile(lambda *inputs: function(*inputs))
    for _ in range(3):
        for a, b in zip(results(step, *shapes), eager, strict=True):
            check_same(a, b)
    plan = plans(step)[-1]
    assert plan.native is not None
    assert not [i.name for i in plan.native.instructions if i.name.startswith("conv")]
    members = {m.name.replace("_transpose", "") for s in segments(step) for m in s.members}
    assert {"conv", "conv_backward_input", "conv_backward_weight"} <= members


@pytest.mark.parametrize("name", ROWS)
def test_values_and_gradients_are_those_of_eager_mode(name: str) -> None:
    function, shapes = ROWS[name]
    eager = results(function, *shapes)
    step = compiler.compile(lambda *inputs: function(*inputs))
    for _ in range(3):
        for a, b in zip(results(step, *shapes), eager, strict=True):
            check_same(a, b)
    assert [p.problem for p in plans(step)] == [None] * len(plans(step))
    assert segments(step)


def test_results_lie_in_memory_as_those_of_eager_mode() -> None:
    def step(x: Any, w: Any) -> Any:
        y = F.conv2d(x, w, padding=1)
        z = F.conv2d(y.relu() * 2, w, padding=1)
        return y.detach(), z.permute(0, 2, 3, 1).reshape(-1, 8).tanh(), z[1].exp(), z[:, 1:3]

    x = wengert.randn(2, 8, 9, 10).to(memory_format=wengert.channels_last)
    w = wengert.randn(8, 8, 3, 3)
    stepping = compiler.compile(step)
    for _ in range(4):
        for a, b in zip(stepping(x, w), step(x, w), strict=True):
            check_same(a, b)


def network() -> tuple[Any, Any, Any]:
    wengert.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 5))
    optimizer = wengert.optim.Adam(model.parameters(), lr=0.01)
    x, target = wengert.randn(12, 8), wengert.arange(12) % 5

    def step() -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), target)
        loss.backward()
        optimizer.step()
        return loss

    return model, x, step


def test_a_step_of_training_is_one_call() -> None:
    eager = [network()[2]() for _ in range(1)]
    _, _, step = network()
    step = compiler.compile(step)
    losses = [step().item() for _ in range(4)]
    assert losses[0] == pytest.approx(eager[0].item())
    (plan,) = plans(step)
    assert plan.native is not None
    assert [i.name for i in plan.native.instructions] == ["native"]
    assert compiler.explain(step)().calls == 1


def test_many_operations_in_one_loop_are_one_call() -> None:
    def chain(x: Any) -> Any:
        for _ in range(20):
            x = (x * 1.01).tanh()
        return x

    step = compiler.compile(chain)
    x = wengert.randn(10)
    for _ in range(8):
        found = step(x).tolist()
    (segment,) = segments(step)
    assert [len(i.members) for i in segment.members if i.members] == [40]
    assert found == pytest.approx(chain(x).tolist(), rel=1e-5)


def loops(function: Any) -> list[FusedLoop]:
    members = [m for segment in segments(function) for m in segment.members]
    return [m.compute for m in members if isinstance(m.compute, FusedLoop)]


def test_a_long_chain_is_several_loops_that_are_alike() -> None:
    def chain(y: Any, x: Any) -> Any:
        for _ in range(32):
            y = (y * x + x).tanh()
        return y

    x, y = wengert.randn(10), wengert.randn(10)
    step = compiler.compile(chain)
    for _ in range(2):
        np.testing.assert_allclose(step(y, x).numpy(), chain(y, x).numpy(), rtol=1e-5)
    assert [len(loop.members) for loop in loops(step)] == [48, 48]
    assert len({loop.identity() for loop in loops(step)}) == 1


def test_loops_that_compute_something_else_are_not_alike() -> None:
    functions: list[Function] = [
        lambda x: (x * 2.5).tanh(),
        lambda x: (x * 2.25).tanh(),
        lambda x: (x * x).tanh(),
        lambda x: (x + 2.5).tanh(),
        lambda x: F.hardtanh(x, 0.0, 1.0).exp(),
        lambda x: F.hardtanh(x, -0.0, 1.0).exp(),
        lambda x: F.elu(x, 1.0).exp(),
        lambda x: F.elu(x, 2.0).exp(),
    ]
    x = wengert.randn(10)
    steps = [compiler.compile(f) for f in functions]
    for step, function in zip(steps, functions, strict=True):
        for _ in range(2):
            np.testing.assert_allclose(step(x).numpy(), function(x).numpy(), rtol=1e-6)
    found = [loop.identity() for step in steps for loop in loops(step)]
    # The number of a product is an input of the program, and not part of the loop.
    assert len(found) == len(functions)
    assert None not in found
    assert len(set(found)) == len(functions) - 1


def test_outputs_of_a_loop_are_written_down_once() -> None:
    seen = list[int]()

    def member(k: int) -> Instruction:
        def pointwise(x: Any) -> Any:
            seen.append(k)
            return x + k

        return Instruction("add", pointwise, (k,), (k + 1,), pointwise=pointwise)

    loop = FusedLoop([member(k) for k in range(3)], [0], [1, 2, 3])
    functions = loop.functions()
    for x in (1.5, 2.5):
        assert [f(x) for f in functions] == [x, x + 1, x + 3]
    assert seen == [0, 1, 2] * 2


def test_other_ways_in_memory_are_copied_first() -> None:
    step = compiler.compile(lambda x, w: F.linear(x.tanh(), w).exp())
    x, w = wengert.randn(6, 4), wengert.randn(3, 4)
    for _ in range(3):
        check_same(step(x, w), F.linear(x.tanh(), w).exp())
    memory = bytearray(4 * 24 + 1)
    odd = wengert.from_numpy(np.frombuffer(memory, np.float32, 24, 0).reshape(6, 4))
    odd.copy_(x)
    check_same(step(odd, w), F.linear(x.tanh(), w).exp())


def test_two_threads_run_one_program() -> None:
    def several(x: Any) -> Any:
        for _ in range(4):
            x = (x @ x).tanh() + x
        return x.sum(0)

    step = compiler.compile(several)
    # In float64: these products of products make of float32's rounding what a mix-up could be.
    inputs = [wengert.randn(32, 32, dtype=wengert.float64) for _ in range(4)]
    expected = [several(x) for x in inputs]
    step(inputs[0]).tolist()
    step(inputs[0]).tolist()
    found: dict[int, list[Any]] = {}

    def work(k: int) -> None:
        found[k] = [step(inputs[k]).numpy().copy() for _ in range(50)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, y in enumerate(expected):
        for one in found[k]:
            np.testing.assert_allclose(one, y.numpy(), rtol=1e-9, atol=1e-9)


def test_results_keep_their_memory() -> None:
    step = compiler.compile(lambda x: (x * 2).tanh() @ x)
    x = wengert.randn(8, 8)
    first = step(x)
    values = [first.tolist()]
    kept = [step(x * k) for k in range(1, 4)]
    values += [y.tolist() for y in kept]
    assert [first.tolist(), *[y.tolist() for y in kept]] == values


def test_another_number_of_threads() -> None:
    step = compiler.compile(lambda x: (x @ x).tanh().sum())
    x = wengert.randn(64, 64)
    step(x).item()
    expected = step(x).item()
    (first,) = segments(step)
    before = wengert.get_num_threads()
    try:
        for more in (1, 3, 1):
            wengert.set_num_threads(before + more)
            assert first(x.numpy())[0] == pytest.approx(expected, rel=1e-5)  # one by one
            assert step(x).item() == pytest.approx(expected, rel=1e-5)
            (segment,) = segments(step)
            assert segment.threads == before + more
    finally:
        wengert.set_num_threads(before)
    assert step(x).item() == pytest.approx(expected, rel=1e-5)
    assert segments(step) == [first]  # which is still there


def test_another_number_of_threads_with_views_of_other_segments_values() -> None:
    def across(x: Any, y: Any) -> Any:
        shown = y.reshape(2, 6)
        return (((x * 2).sort(1)[0] + shown) * shown[1:]).tanh()

    step = compiler.compile(across)
    x, y = wengert.randn(2, 6), wengert.randn(3, 4)
    for _ in range(2):
        check_same(step(x, y), across(x, y))
    before = wengert.get_num_threads()
    wengert.set_num_threads(before + 1)
    try:
        check_same(step(x, y), across(x, y))
    finally:
        wengert.set_num_threads(before)


def test_intermediate_values_hand_on_their_memory() -> None:
    def deep(x: Any) -> Any:
        for _ in range(20):
            x = (x @ x).softmax(-1)
        return x

    step = compiler.compile(deep)
    for _ in range(2):
        step(wengert.randn(256, 256)).tolist()
    (segment,) = segments(step)
    assert segment.room < 6 * 4 * 256 * 256


@pytest.mark.parametrize("shape", [(2, 32, 24, 20), (3, 9, 8, 17), (1, 64, 9, 9)])
def test_transposed_copies_turn_in_registers(shape, monkeypatch):
    seen = []
    found = transposition.matrices_of
    monkeypatch.setattr(
        transposition, "matrices_of", lambda *given: seen.append(found(*given)) or seen[-1]
    )

    def step(x):
        rows = (x * 2).permute(0, 2, 3, 1).contiguous()
        images = (rows + 1).reshape(rows.shape).permute(0, 3, 1, 2).contiguous()
        loss = (images * images).sum()
        loss.backward()
        return loss

    def training(wrap, log):
        wengert.manual_seed(0)
        x = wengert.randn(*shape, requires_grad=True)
        wrapped = wrap(step)
        for _ in range(4):
            x.grad = None
            log.append(wrapped(x).item())
            log.append(x.grad)

    compare(training)
    assert any(one is not None for one in seen)
