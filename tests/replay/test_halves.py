"""Compiled functions of halves and under autocast: values are those of eager mode, to rounding."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import wengert
from tests.replay.harness import Log, run
from wengert import nn
from wengert.compiler import compile as compiled
from wengert.compiler import explain, reset
from wengert.kernels.jit import available
from wengert.nn import functional
from wengert.replay import widening
from wengert.replay.segments import Segment
from wengert.utils.checkpoint import checkpoint

kernels = pytest.mark.skipif(not available(), reason="no llvmlite")
BRAIN, HALF, SINGLE = wengert.bfloat16, wengert.float16, wengert.float32
WAYS: dict[str, Callable[[Any], Any]] = {
    "exact": partial(compiled, options={"exact": True}),
    "default": compiled,
    "reduce-overhead": partial(compiled, mode="reduce-overhead"),
}


def check_alike(ours: Any, eager: Any, exact: bool) -> None:
    """Tensors of the same kind; their elements are the same, or differ by some roundings."""
    if not isinstance(eager, wengert.Tensor):
        assert ours == eager or (isinstance(eager, float) and ours == pytest.approx(eager, rel=0.1))
        return
    assert (ours.dtype, ours.shape, ours.stride()) == (eager.dtype, eager.shape, eager.stride())
    assert ours.requires_grad == eager.requires_grad
    names = [x.grad_fn and x.grad_fn.name() for x in (ours, eager)]
    assert names[0] == names[1]
    a, b = (x.detach().double().numpy() for x in (ours, eager))
    if exact:
        np.testing.assert_array_equal(a, b)
    else:
        assert np.linalg.norm(a - b) <= 0.04 * np.linalg.norm(b) + 1e-3


def compare(program: Callable[..., Any], *ways: str) -> None:
    """Run a program eager and compiled."""
    for way in ways or WAYS:
        made: list[Any] = []

        def wrap(function: Any, wrap: Any = WAYS[way], made: list[Any] = made) -> Any:
            made.append(wrap(function))
            return made[-1]

        reset()
        eager, ours = run(program, lambda f: f), run(program, wrap)
        assert not any(p.problem for f in made for p in f.compiled.record.plans.values())
        assert len(ours) == len(eager)
        for a, b in zip(ours, eager, strict=True):
            check_alike(a, b, way == "exact")


def training(
    model: nn.Module, loss_of: Callable[..., Any], optimizer: Any, wrap: Any, log: Log,
    dtype: wengert.dtype | None = BRAIN, steps: int = 6,
) -> Any:  # fmt: skip
    """Steps of training, in a region if it has a `dtype`."""

    @wrap
    def step() -> Any:
        optimizer.zero_grad()
        with wengert.autocast("cpu", dtype=dtype or BRAIN, enabled=dtype is not None):
            loss = loss_of(model)
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(steps):
        log.append(step().detach())
    log += [p.detach().clone() for p in model.parameters()]
    log += [p.grad.clone() for p in model.parameters()]
    return step


def mlp(wrap: Any, log: Log) -> Any:
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.GELU(),
                          nn.Linear(64, 4))  # fmt: skip
    x, y = wengert.randn(32, 16), wengert.randint(0, 4, (32,))
    optimizer = wengert.optim.AdamW(model.parameters(), lr=1e-3)
    return training(model, lambda m: functional.cross_entropy(m(x), y), optimizer, wrap, log)


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.first, self.second, self.heads = nn.LayerNorm(width), nn.LayerNorm(width), heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.inner, self.back = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Any) -> Any:
        b, t, d = x.shape
        qkv = self.qkv(self.first(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(*qkv, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, d))
        return x + self.back(functional.gelu(self.inner(self.second(x))))


def gpt(wrap: Any, log: Log) -> Any:
    layers = nn.Sequential(nn.Embedding(16, 32), Block(32, 4), Block(32, 4), nn.LayerNorm(32),
                           nn.Linear(32, 16, bias=False))  # fmt: skip
    model = layers.to(BRAIN)
    tokens, targets = wengert.randint(0, 16, (4, 12)), wengert.randint(0, 16, (48,))
    optimizer = wengert.optim.AdamW(model.parameters(), lr=1e-3)

    def loss_of(m: Any) -> Any:
        return functional.cross_entropy(m(tokens).flatten(0, 1), targets)

    return training(model, loss_of, optimizer, wrap, log, None)


class Residual(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x: Any) -> Any:
        return functional.relu(x + self.norm(self.conv(x)))


def images(wrap: Any, log: Log) -> Any:
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                          Residual(8), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                          nn.Linear(8, 4))  # fmt: skip
    model = model.to(memory_format=wengert.channels_last)
    x = wengert.randn(16, 3, 10, 10).to(memory_format=wengert.channels_last)
    y = wengert.randint(0, 4, (16,))
    optimizer = wengert.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    step = training(
        model, lambda m: functional.cross_entropy(m(x), y), optimizer, wrap, log, steps=4
    )
    log += [b.clone() for b in model.buffers()]
    return step


def recurrent(wrap: Any, log: Log) -> Any:
    model = nn.ModuleList([nn.LSTM(6, 16, batch_first=True), nn.Linear(16, 4)])
    x, y = wengert.randn(8, 5, 6), wengert.randint(0, 4, (8,))
    optimizer = wengert.optim.Adam(model.parameters(), lr=1e-3)

    def loss_of(m: Any) -> Any:
        return functional.cross_entropy(m[1](m[0](x)[0][:, -1]), y)

    return training(model, loss_of, optimizer, wrap, log)


def scaled(wrap: Any, log: Log) -> Any:
    model = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 4))
    optimizer = wengert.optim.Adam(model.parameters(), lr=1e-3)
    scaler = wengert.amp.GradScaler("cpu", init_scale=2.0**14, growth_interval=3)
    y = wengert.randn(32, 4)

    @wrap
    def step(x: Any) -> Any:
        optimizer.zero_grad()
        with wengert.autocast("cpu", dtype=HALF):
            loss = (model(x) - y).square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    for k in range(8):  # one of which overflows
        log += [step(wengert.randn(32, 16) * (1e4 if k == 5 else 1)), scaler.get_scale()]
    log += [p.detach().clone() for p in model.parameters()]
    return step


@pytest.mark.parametrize("program", [mlp, gpt, images, recurrent, scaled])
def test_training(program: Any) -> None:
    compare(program)


@pytest.mark.parametrize(("program", "segments", "others"), [(mlp, 1, 0), (gpt, 1, 2),
                                                             (images, 1, 0)])  # fmt: skip
@kernels
def test_a_step_is_one_program_of_kernels(
    program: Any, segments: int, others: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for question in ("has_amx", "has_pair_dots"):
        monkeypatch.setattr(widening, question, lambda: False)
    step = program(compiled, [])
    assert not explain(step)().splits
    (plan,) = [p for p in step.compiled.record.plans.values() if p.native is not None]
    native = [isinstance(i.compute, Segment) for i in plan.native.instructions]
    assert (native.count(True), native.count(False)) == (segments, others)


@kernels
def test_products_are_called_where_the_processor_multiplies_bfloat16(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(widening, "has_pair_dots", lambda: True)
    compare(mlp)
    step = mlp(compiled, [])
    (plan,) = [p for p in step.compiled.record.plans.values() if p.native is not None]
    called = [i.name for i in plan.native.instructions if not isinstance(i.compute, Segment)]
    assert {*called} == {
        "linear", "linear_backward_input", "linear_backward_weight", "linear_backward_bias",
    }  # fmt: skip


def test_regions_and_what_they_ask_for_change_between_calls_and_in_them() -> None:
    def program(wrap: Any, log: Log) -> None:
        model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2))
        flags = {"inside": True, "dtype": BRAIN}

        @wrap
        def f(x: Any) -> Any:
            y = model[0](x)
            with wengert.autocast("cpu", dtype=flags["dtype"], enabled=flags["inside"]):
                y = model[1](model[0](x)) + y
                with wengert.autocast("cpu", enabled=False):
                    y = model[1](y.float())
                y = model[2](y)
            y.float().sum().backward()
            return y

        x = wengert.randn(16, 8)
        for k in range(30):
            flags["inside"] = k % 6 != 4
            flags["dtype"] = (None, BRAIN, HALF)[k // 10]
            if k == 7:
                wengert.set_autocast_dtype("cpu", HALF)
            model.zero_grad()
            with wengert.autocast("cpu", enabled=k % 10 in (5, 6, 7)):
                y = f(x)
            log += [y, model[0].weight.grad.clone()]
        wengert.set_autocast_dtype("cpu", BRAIN)

    compare(program)


def test_a_function_in_a_region_skips_its_python() -> None:
    def program(wrap: Any, log: Log) -> Any:
        model = nn.Linear(8, 8)
        f = wrap(lambda x: model(x).tanh())
        for k in range(24):
            dtype = HALF if k >= 16 else BRAIN
            with wengert.no_grad(), wengert.autocast("cpu", dtype=dtype, enabled=k != 12):
                log.append(f(wengert.ones(4, 8)))
        return f

    compare(program)
    reset()
    assert program(WAYS["reduce-overhead"], []).compiled.skipped > 6


def test_functions_with_casts_of_their_own() -> None:
    class Square(wengert.autograd.Function):
        @staticmethod
        @wengert.amp.custom_fwd(device_type="cpu", cast_inputs=SINGLE)
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @wengert.amp.custom_bwd(device_type="cpu")
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * g * ctx.saved_tensors[0]

    def program(wrap: Any, log: Log) -> None:
        layer = nn.Linear(8, 8)

        @wrap
        def f(x: Any) -> Any:
            with wengert.autocast("cpu", dtype=BRAIN):
                y = Square.apply(layer(x))
                return layer(y * 0.5), y

        for _ in range(5):
            layer.zero_grad()
            y, inner = f(wengert.ones(4, 8))
            y.sum().backward()
            log += [y, inner.detach(), layer.weight.grad.clone()]

    compare(program)


def conversions(x: Any, w: Any) -> Any:
    y = (x.to(HALF) @ w.to(HALF)).float() + x.bfloat16().to(SINGLE)
    return y.to(BRAIN).to(HALF) * y.long().clamp(0, 3).to(HALF), y.double().to(BRAIN)


def promotions(x: Any, w: Any) -> Any:
    a, b, c = (x @ w).to(BRAIN), (x * 2).to(HALF), x + 1
    scalar = wengert.tensor(0.3, dtype=SINGLE)
    return a + b, a * c, b - c, a * scalar, wengert.where(a > b, a, c), wengert.lerp(c, c * 2, 0.3)


def numbers(x: Any, w: Any) -> Any:
    y = (x @ w).to(BRAIN)
    return y * 2, y * 0.3, 0.3 * y, y / 3, 2 / (y * y + 1), 0.3 / (y * y + 1), y + 0.3, y > 0.3


def reductions(x: Any, w: Any) -> Any:
    y = (x @ w).to(HALF)
    return (
        y.sum(), y.mean(), y.sum(0), y.mean(1, keepdim=True) + y, y.std(1), y.norm(),
        y.softmax(1), y.log_softmax(0), y.logsumexp(1), y.amax(1), y.cumsum(1), y.prod(1),
    )  # fmt: skip


def scalars(x: Any, w: Any) -> Any:
    y = (x @ w).to(BRAIN).mean()
    return y, y * 0.3, y.tanh() + 1, y * wengert.tensor(0.5), (y + wengert.ones(3)) * y


def masks(x: Any, w: Any) -> Any:
    y = (x @ w).to(BRAIN)
    mask = (y > 0.1) & (y != y.t())
    return mask, mask * y, y.masked_fill(mask, 0.3), mask.to(HALF).mean(), (y >= 0).sum(), y.sign()


def written(x: Any, w: Any) -> Any:
    y = (x @ w).to(BRAIN)
    view = y[:, ::2]
    view.mul_(0.3).add_(x[:, ::2])
    y[0] = 1
    return y, view, y.t().contiguous(), wengert.cat([y, y.t()]), wengert.stack(y.unbind(1)[::-1])


def checkpointed(x: Any, w: Any) -> Any:
    y = (x @ w).to(BRAIN)
    return checkpoint(lambda v: (v * 0.5).tanh() * 2 + v, y, use_reentrant=False)


def convolved(x: Any, w: Any) -> Any:
    image = (x @ w).to(BRAIN).view(1, 4, 4, 16)
    kernel = w[:4, :4].reshape(1, 4, 2, 2).to(BRAIN)
    y = functional.conv2d(image, kernel)
    return y, functional.max_pool2d(image, 2), functional.avg_pool2d(image, 2), y.flip(3)


FUNCTIONS = [conversions, promotions, numbers, reductions, scalars, masks, written, checkpointed,
             convolved]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_operations(function: Any) -> None:
    def program(wrap: Any, log: Log) -> None:
        w = (wengert.randn(16, 16) / 4).requires_grad_()

        @wrap
        def f(x: Any) -> Any:
            results = function(x, w)
            results = results if isinstance(results, tuple) else (results,)
            terms = [y.float().square().mean() for y in results if y.requires_grad]
            sum(terms).backward()
            return results

        for k in range(5):
            w.grad = None
            log += [*f(wengert.randn(16, 16)), w.grad.clone()]
            if k == 3:
                w = w.detach().requires_grad_()

    compare(program)


def test_second_derivatives() -> None:
    def program(wrap: Any, log: Log) -> None:
        model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))

        @wrap
        def f(x: Any) -> Any:
            with wengert.autocast("cpu", dtype=BRAIN):
                y = model(x).float().sum()
                (g,) = wengert.autograd.grad(y, x, create_graph=True)
                loss = g.float().square().sum() + y.square()
            loss.backward()
            return loss.detach()

        for _ in range(5):
            model.zero_grad()
            x = wengert.randn(16, 8, requires_grad=True)
            log += [f(x), *[p.grad.clone() for p in model.parameters()]]

    compare(program)


def test_numbers_that_no_half_is_equal_to_come_and_go() -> None:
    def program(wrap: Any, log: Log) -> None:
        f = wrap(lambda x, factor: (x * factor).tanh() / factor)
        for factor in (2.0, 2.0, 0.5, 0.3, 0.3, 4.0, 0.1, 2.0, 3, 257, 3):
            log.append(f(wengert.randn(40).to(BRAIN), factor))

    compare(program)


def test_loops_round_after_each_operation() -> None:
    @compiled
    def f(x: Any) -> Any:
        y = x * 1.0078125  # which bfloat16 has
        return y - x

    x = (1 + wengert.arange(64) / 128).to(BRAIN)
    for _ in range(4):
        wengert.testing.assert_close(f(x), x * 1.0078125 - x, rtol=0, atol=0)


def test_gradients_of_several_uses_are_added_in_float32() -> None:
    weight = (wengert.eye(16) + wengert.randn(16, 16) / 64).requires_grad_()
    x = wengert.rand(16, 16)

    def step() -> Any:
        weight.grad = None
        with wengert.autocast("cpu", dtype=BRAIN):
            loss = sum(((x + k / 8) @ weight).float().square().mean() for k in range(64))
        loss.backward()
        return weight.grad

    eager, function = step().clone(), compiled(step)
    for _ in range(4):
        wengert.testing.assert_close(function(), eager, rtol=1e-4, atol=1e-4)
