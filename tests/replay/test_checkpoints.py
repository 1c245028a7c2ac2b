"""Checkpoints in compiled functions: parts of their programs, and the same as in eager mode."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import wengert
from tests.replay.harness import Log, Program, batch, compare, mlp, state
from wengert import autograd, nn
from wengert.compiler import compile as compiled
from wengert.compiler import explain
from wengert.nn import functional as F
from wengert.replay import run as replay_run
from wengert.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
    set_checkpoint_early_stop,
)

kept = partial(checkpoint, use_reentrant=False)
Wrap = Callable[[Any], Any]
Step = Callable[[nn.Sequential, Any, Log], Any]


def blocks(count: int = 3, width: int = 8) -> nn.Sequential:
    """So many residual parts."""
    return nn.Sequential(*[mlp(width, 64, width) for _ in range(count)])


def through(model: nn.Sequential, x: Any, log: Log) -> Any:
    for k, block in enumerate(model):

        def part(h: Any, block: Any = block, k: int = k) -> Any:
            log.append(f"part {k}")
            return h + block(h).tanh()

        x = kept(part, x)
    return x


def loss_of(model: nn.Sequential, x: Any, log: Log) -> Any:
    loss = through(model, x, log).square().mean()
    loss.backward()
    return loss


def retained(model: nn.Sequential, x: Any, log: Log) -> Any:
    loss = through(model, x, log).square().mean()
    loss.backward(retain_graph=True)
    log.append("again")
    (loss * 2).backward()
    return loss


def of_two_losses(model: nn.Sequential, x: Any, log: Log) -> Any:
    y = kept(lambda h: (model[0](h), model[1](h).exp()), x)
    a, b = (v.square().mean() for v in y)
    (a + b).backward()
    return a, b


def of_one_result(model: nn.Sequential, x: Any, log: Log) -> Any:
    a, b = kept(lambda h: (model[0](h).exp(), model[1](h).exp()), x)
    a.sum().backward()
    return b.detach()


def one_after_the_other(model: nn.Sequential, x: Any, log: Log) -> Any:
    def part(h: Any) -> Any:
        log.append("called")
        return model[0](h).exp(), model[1](h).exp()

    a, b = kept(part, x)
    a.mean().backward(retain_graph=True)
    b.mean().backward()
    return a.detach()


def to_some(model: nn.Sequential, x: Any, log: Log) -> Any:
    loss = through(model, x, log).square().mean()
    wanted = [*model[1].parameters()]
    return [g * 2 for g in autograd.grad(loss, wanted)]


def with_names(model: nn.Sequential, x: Any, log: Log) -> Any:
    loss = kept(lambda h, *, scale: (model(h) * scale).tanh(), x * 2, scale=x.exp()).sum()
    loss.backward()
    return loss


def to_its_end(model: nn.Sequential, x: Any, log: Log) -> Any:
    def part(h: Any) -> Any:
        y = model(h) * 2
        log.append("end")
        return y

    with set_checkpoint_early_stop(False):
        y = kept(part, x)
    y.square().sum().backward()
    return y.detach()


def of_a_closure(model: nn.Sequential, x: Any, log: Log) -> Any:
    h = model[0](x)
    y = kept(lambda v: (model[1](v) * h).tanh(), x.exp())
    y.square().sum().backward()
    return y.detach()


def in_sequence(model: nn.Sequential, x: Any, log: Log) -> Any:
    y = checkpoint_sequential(model, 3, x, use_reentrant=False)
    y.square().mean().backward()
    return y.detach()


def without_grad_inside(model: nn.Sequential, x: Any, log: Log) -> Any:
    def part(h: Any) -> Any:
        with wengert.no_grad():
            scale = h.abs().mean(1, keepdim=True)
        return model[0](h) / (scale + 1)

    y = kept(part, x)
    y.square().mean().backward()
    return y.detach()


def cast(model: nn.Sequential, x: Any, log: Log) -> Any:
    with wengert.autocast("cpu", dtype=wengert.bfloat16):
        y = kept(model[1], kept(model[0], x))
    y.float().square().mean().backward()
    return y.detach().float()


# Each is one program, whose functions run again in it.
WHOLE: dict[str, Step] = {
    "layers": loss_of,
    "a retained graph": retained,
    "two results": of_two_losses,
    "grad of some": to_some,
    "arguments by name": with_names,
    "no early stop": to_its_end,
    "a closure": of_a_closure,
    "a sequence": in_sequence,
    "no grad inside": without_grad_inside,
    "autocast": cast,
}


def nested(model: nn.Sequential, x: Any, log: Log) -> Any:
    def outer(h: Any) -> Any:
        log.append("outer")

        def inner(v: Any) -> Any:
            log.append("inner")
            return model[1](v).tanh()

        return model[2](kept(inner, model[0](h)))

    y = kept(outer, x)
    y.square().mean().backward()
    return y.detach()


def reentrant(model: nn.Sequential, x: Any, log: Log) -> Any:
    y = checkpoint(model, x.clone().requires_grad_(), use_reentrant=True)
    y.square().mean().backward()
    return y.detach()


def printing(model: nn.Sequential, x: Any, log: Log) -> Any:
    def part(h: Any) -> Any:
        y = model[0](h)
        log.append(round(y.mean().item(), 3))
        return model[1](y).tanh()

    y = kept(part, x)
    log.append(f"{y.norm().item():.3f}")
    y.square().mean().backward()
    return y.detach()


def changing_its_values(model: nn.Sequential, x: Any, log: Log) -> Any:
    y = kept(lambda h: F.relu(model[0](h), inplace=True).mul_(2), x * 1)
    y.square().mean().backward()
    return y.detach()


def with_hooks(model: nn.Sequential, x: Any, log: Log) -> Any:
    h = kept(model[0], x * 2)
    h.register_hook(lambda g: log.append(g.norm()))
    h.retain_grad()
    y = kept(model[1], h)
    log.append(y.grad_fn.name())
    log.append([e.name() for e, _ in y.grad_fn.next_functions if e is not None])
    y.square().mean().backward()
    return h.grad


def with_graph(model: nn.Sequential, x: Any, log: Log) -> Any:
    y = kept(model, x)
    (g,) = autograd.grad(y.square().sum(), model[0][0].weight, create_graph=True)
    g.square().sum().backward()
    return g.detach()


def selective(model: nn.Sequential, x: Any, log: Log) -> Any:
    context = partial(create_selective_checkpoint_contexts, [wengert.tanh])
    y = kept(lambda h: model(h).tanh().exp(), x, context_fn=context)
    y.square().mean().backward()
    return y.detach()


def without_backward(model: nn.Sequential, x: Any, log: Log) -> Any:
    return through(model, x, log).detach()


def looking_before(model: nn.Sequential, x: Any, log: Log) -> Any:
    y = through(model, x, log)
    log.append(y.detach().numpy().copy())
    y.square().mean().backward()
    return y.detach()


def an_error(model: nn.Sequential, x: Any, log: Log) -> Any:
    calls = []

    def part(h: Any) -> Any:
        calls.append(1)
        y = model[0](h).exp()
        if len(calls) > 1:
            raise ValueError("not again")
        return model[1](y)

    y = kept(part, x)
    with pytest.raises(ValueError, match="not again"):
        y.square().mean().backward()
    return y.detach()


def another_way(model: nn.Sequential, x: Any, log: Log) -> Any:
    calls = []

    def part(h: Any) -> Any:
        calls.append(1)
        y = model[0](h).exp()
        return model[1](y) if len(calls) == 1 else model[1](y.sum(0))

    y = kept(part, kept(model[2], x))
    with pytest.raises(CheckpointError) as caught:
        y.square().mean().backward()
    log.append(str(caught.value).splitlines()[0])
    return y.detach()


def overwritten(model: nn.Sequential, x: Any, log: Log) -> Any:
    h = x * 2
    y = kept(lambda v: (v + 1).tanh() * model[0](x), h)
    h.add_(1)
    with pytest.raises(RuntimeError, match=r"modified by an inplace") as caught:
        y.sum().backward()
    log.append(type(caught.value).__name__)
    return h.detach()


def kept_values(model: nn.Sequential, x: Any, log: Log) -> Any:
    values: list[Any] = []

    def part(h: Any) -> Any:
        values.append(model[0](h))
        return model[1](values[-1]).tanh()

    y = kept(part, x)
    y.square().mean().backward()
    return [v.detach() for v in values]


def caught_inside(model: nn.Sequential, x: Any, log: Log) -> Any:
    def part(h: Any) -> Any:
        model[0](h)
        raise ValueError("never")

    with pytest.raises(ValueError, match="never"):
        kept(part, x)
    return loss_of(model, x, log)


def with_a_sort(model: nn.Sequential, x: Any, log: Log) -> Any:
    y = kept(lambda h: model[1](wengert.cumprod(model[0](h).tanh(), 1)), x)
    y.square().mean().backward()
    return y.detach()


def backward_inside(model: nn.Sequential, x: Any, log: Log) -> Any:
    def part(h: Any) -> Any:
        with wengert.enable_grad():
            v = h.detach().requires_grad_()
            (g,) = autograd.grad(model[0](v).tanh().sum(), v)
        return model[1](h) * g

    y = kept(part, x)
    y.square().mean().backward()
    return y.detach()


ODD: dict[str, Step] = {
    "nested": nested,
    "reentrant": reentrant,
    "one of two results": of_one_result,
    "two results, one after the other": one_after_the_other,
    "values read inside": printing,
    "in-place inside": changing_its_values,
    "hooks": with_hooks,
    "a graph of gradients": with_graph,
    "selective": selective,
    "no backward": without_backward,
    "values read before": looking_before,
    "an error the second time": an_error,
    "another way the second time": another_way,
    "an argument overwritten": overwritten,
    "values kept": kept_values,
    "an error the first time": caught_inside,
    "an operation that no record holds": with_a_sort,
    "a backward inside": backward_inside,
}


def program_of(step: Step) -> Program:
    def program(wrap: Wrap, log: Log) -> None:
        model = blocks()
        optimizer = wengert.optim.AdamW(model.parameters(), lr=1e-2)
        call = wrap(lambda x: step(model, x, log))
        for k in range(6):
            found = call(batch())
            log.append(list(found) if isinstance(found, tuple) else found)
            log += state(model)
            if k % 3 != 1:
                optimizer.step()
                optimizer.zero_grad()

    return program


@pytest.mark.parametrize("name", [*WHOLE, *ODD])
def test_a_step_is_that_of_eager_mode(name: str) -> None:
    compare(program_of((WHOLE | ODD)[name]))


@pytest.mark.parametrize("limit", ["MOST_BRANCHES", "MOST_ENTRIES"])
@pytest.mark.parametrize("name", ["layers", "a retained graph", "another way the second time"])
def test_records_without_room(name: str, limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_run, limit, 1 if limit == "MOST_BRANCHES" else 40)
    compare(program_of((WHOLE | ODD)[name]))


@pytest.mark.parametrize("name", WHOLE)
def test_a_checkpoint_is_part_of_the_program(name: str) -> None:
    model, x, log = blocks(), batch(), Log()
    report = explain(lambda: WHOLE[name](model, x, log))()
    assert report.splits == []
    assert report.backwards > 0
    [*_, program] = report.programs
    assert any(i.name == "again" for i in program.instructions)


def test_random_numbers_are_those_of_the_first_time() -> None:
    def program(wrap: Wrap, log: Log) -> None:
        model = nn.Sequential(*[nn.Sequential(nn.Linear(8, 64), nn.Dropout(0.3)), nn.Linear(64, 8)])

        @wrap
        def step(x: Any, preserve: bool) -> Any:
            y = kept(lambda h: model(h).tanh(), x, preserve_rng_state=preserve)
            noise = wengert.randn(64, 8)
            loss = (y * noise).square().mean()
            loss.backward()
            return loss

        for k in range(8):
            log.append(step(batch(), k != 5))
            log += state(model)

    compare(program)


def test_running_statistics_are_written_both_times() -> None:
    def program(wrap: Wrap, log: Log) -> None:
        model = nn.Sequential(nn.Linear(8, 64), nn.BatchNorm1d(64), nn.Tanh(), nn.Linear(64, 8))

        @wrap
        def step(x: Any) -> Any:
            loss = kept(model, kept(model, x)).square().mean()
            loss.backward()
            return loss

        for _ in range(6):
            log.append(step(batch()))
            log += state(model)

    compare(program)


def test_a_transformer_is_trained_as_in_eager_mode() -> None:
    def program(wrap: Wrap, log: Log) -> None:
        layers = [nn.TransformerEncoderLayer(32, 4, 64, 0.1, batch_first=True) for _ in range(3)]
        model = nn.ModuleList([nn.Embedding(11, 32), *layers, nn.Linear(32, 11)])
        optimizer = wengert.optim.AdamW(model.parameters(), lr=1e-3, eps=1e-3)

        @wrap
        def step(x: Any) -> Any:
            h = model[0](x)
            for layer in model[1:-1]:
                h = kept(layer, h)
            loss = F.cross_entropy(model[-1](h).flatten(0, 1), x.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        for k in range(8):
            log.append(step(wengert.randint(0, 11, (4, 6 if k != 5 else 7))))
        log += state(model)

    compare(program)


def test_a_function_may_change_between_its_calls() -> None:
    def program(wrap: Wrap, log: Log) -> None:
        model, factor = mlp(8, 64, 8), [1.0]

        @wrap
        def step(x: Any, changed: bool) -> Any:
            factor[0] = 1.0
            y = kept(lambda h: (model(h) * factor[0]).exp(), x)
            factor[0] = 2.0 if changed else 1.0
            loss = y.mean()
            loss.backward()  # of the values that come now
            return loss

        for k in range(8):
            log.append(step(batch(), k in (2, 6)))
            log += state(model)

    compare(program)


def test_the_gradient_of_what_calls_another_function_of_itself() -> None:
    def program(wrap: Wrap, log: Log) -> None:
        model = blocks(2)
        step = wrap(lambda x: through(model, x, log).square().mean())
        for k in range(8):
            loss = step(batch())
            if k % 2:
                loss.backward()
            else:
                log += autograd.grad(loss, [*model.parameters()])
            log += state(model)

    compare(program)


def test_a_backward_behind_the_function_is_part_of_the_program() -> None:
    model, log = blocks(), Log()
    step = compiled(lambda x: through(model, x, log).square().mean())
    for _ in range(4):
        step(batch()).backward()
        assert all(p.grad.isfinite().all() for p in model.parameters())
        model.zero_grad()
    assert "= again(" in step.graph()


def test_it_takes_as_little_memory() -> None:
    def peak(part: Any) -> int:
        model = nn.Sequential(*[nn.Sequential(nn.Linear(64, 64), nn.GELU()) for _ in range(16)])

        def step(x: Any) -> None:
            for layer in model:
                x = part(lambda h, layer=layer: layer(layer(h)), x)
            x.square().mean().backward()

        [*_, program] = explain(step)(wengert.randn(512, 64)).programs
        return program.peak()

    assert peak(kept) < 0.5 * peak(lambda function, x: function(x))


def random_network(seed: int) -> Program:
    """Layers drawn at random, some of them in checkpoints, with changes between the steps."""

    def program(wrap: Wrap, log: Log) -> None:
        rng = random.Random(seed)
        layers = [_drawn(rng) for _ in range(rng.randint(3, 6))]
        model = nn.Sequential(*layers)
        ways = [rng.choice(["kept", "kept", "sum", "plain", "pair"]) for _ in layers]
        optimizer = wengert.optim.SGD(model.parameters(), lr=0.05)

        @wrap
        def step(x: Any) -> Any:
            for way, layer in zip(ways, layers, strict=True):
                x = _called(way, layer, x)
            loss = x.square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        for k in range(7):
            if k == 4:
                ways[0], ways[-1] = ways[-1], ways[0]
            if rng.random() < 0.3:
                log.append(round(step(batch()).item(), 4))
            else:
                log.append(step(batch()))
        log += state(model)

    return program


def _drawn(rng: random.Random) -> nn.Module:
    last = [nn.Tanh(), nn.GELU(), nn.Dropout(0.2), nn.LayerNorm(8), nn.ReLU(inplace=True)]
    return nn.Sequential(nn.Linear(8, 8), rng.choice(last), *[nn.Linear(8, 8)][: rng.randint(0, 1)])


def _called(way: str, layer: nn.Module, x: Any) -> Any:
    if way == "kept":
        return kept(layer, x)
    if way == "sum":
        return kept(lambda h: x + layer(h), x.tanh())
    if way == "pair":
        a, b = kept(lambda h: layer(h).chunk(2, 1), x)
        return wengert.cat([a, b * 2], 1)
    return layer(x)


@pytest.mark.parametrize("seed", range(6))
def test_random_networks(seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a function that is no faster
        compare(random_network(seed))


def test_nothing_is_left_behind() -> None:
    import gc
    import weakref

    model = blocks()
    step = compiled(lambda x: loss_of(model, x, []))
    gc.disable()
    try:
        for _ in range(6):
            x = batch()
            seen = weakref.ref(x)
            loss = step(x)
            loss.item()
            model.zero_grad()
            del x, loss
            step(batch())
        assert seen() is None
    finally:
        gc.enable()
