"""Calls that skip Python and compute at once: what others do between them is seen."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
from tests.replay.harness import Log, batch, compare_skipping, mlp, skipping, state
from wengert import nn
from wengert.nn import functional as F

pytestmark = pytest.mark.filterwarnings("ignore:torch.compile. .* runs as it is from here on")

FACTOR = 1.0


class Training:
    """A model, its optimizer and batches, with what a program may change of them."""

    def __init__(self, log: Log) -> None:
        self.model, self.log = mlp(8, 64, 3), log
        self.optimizer = wengert.optim.Adam(self.model.parameters(), lr=0.01)
        self.target = wengert.arange(64) % 3
        self.seen: list[Any] = []
        self.held: list[Any] = []

    @property
    def first(self) -> Any:
        """A parameter."""
        return self.model[0].weight

    def step(self, x: Any, target: Any) -> Any:
        self.optimizer.zero_grad()
        scores = self.model(x)
        loss = F.cross_entropy(scores, target) * FACTOR
        loss.backward()
        self.optimizer.step()
        return loss, scores.detach()


def _set_factor(t: Training) -> None:
    global FACTOR
    FACTOR *= 1.5


def _add_hook(t: Training) -> None:
    t.held.append(t.first.register_hook(lambda g: t.seen.append(float(g.sum())) or g * 2))


def _add_post_hook(t: Training) -> None:
    t.held.append(
        t.first.register_post_accumulate_grad_hook(lambda p: t.seen.append(float(p.grad.sum())))
    )


def _add_forward_hook(t: Training) -> None:
    t.held.append(t.model[0].register_forward_hook(lambda m, args, out: out * 0.5))


def _remove_hooks(t: Training) -> None:
    while t.held:
        t.held.pop().remove()


def _add_step_hook(t: Training) -> None:
    seen = t.seen
    t.held.append(t.optimizer.register_step_post_hook(lambda *_: seen.append("stepped")))


def _swap_data(t: Training) -> None:
    t.first.data = t.first.data * 2


def _move_data(t: Training) -> None:
    t.first.data = t.first.data.t().contiguous().t()


def _share_data(t: Training) -> None:
    t.model[2].bias.data = t.first.data[0, :3]
    t.seen.append(t.first.detach())


def _swap_state(t: Training) -> None:
    own = t.optimizer.state[t.first]
    own["exp_avg"] = own["exp_avg"] * 3


def _write_state(t: Training) -> None:
    t.optimizer.state[t.first]["exp_avg"].mul_(-1)
    t.optimizer.state[t.first]["step"].add_(5)


def _load(t: Training) -> None:
    t.optimizer.load_state_dict(t.optimizer.state_dict())
    t.optimizer.param_groups[0]["lr"] *= 0.5


def _forget_state(t: Training) -> None:
    t.optimizer.state.clear()


def _add_group(t: Training) -> None:
    extra = wengert.ones(3, requires_grad=True)
    extra.grad = wengert.ones(3)
    t.optimizer.add_param_group({"params": [extra], "lr": 0.1})
    t.seen.append(extra)


def _freeze(t: Training) -> None:
    t.model[2].bias.requires_grad_(not t.model[2].bias.requires_grad)


def _replace_layer(t: Training) -> None:
    t.model[2] = nn.Linear(64, 3)
    t.optimizer.param_groups[0]["params"][2:] = [*t.model[2].parameters()]


def _set_threads(t: Training) -> None:
    wengert.set_num_threads(3 - min(wengert.get_num_threads(), 2))


def _write_by_numpy(t: Training) -> None:
    t.first.detach().numpy()[0] = 1.0
    t.target.numpy()[0] = 2


def _accumulate(t: Training) -> None:
    for p in t.model.parameters():
        p.grad = wengert.full_like(p, 7.0)


def _replace_step(t: Training) -> None:
    step = t.optimizer.step
    t.optimizer.step = lambda: (t.seen.append("own"), step())[1]


def _train(t: Training) -> None:
    t.model.train()


CHANGES: list[Callable[[Training], None]] = [
    _train, _set_factor, _add_hook, _add_post_hook, _add_forward_hook, _add_step_hook, _swap_data,
    _move_data, _share_data, _swap_state, _write_state, _load, _forget_state, _freeze, _set_threads,
    _write_by_numpy, _accumulate, _add_group, _replace_layer, _replace_step,
]  # fmt: skip


def steps(training: Training, step: Any, count: int) -> None:
    """Some steps, with what can be seen of them in the log."""
    log, model = training.log, training.model
    for _ in range(count):
        before = [p._version for p in model.parameters()]
        loss, scores = step(batch(), training.target)
        log += [loss, scores, loss.grad_fn is not None, scores.grad_fn is None]
        log.append([p._version - n for p, n in zip(model.parameters(), before, strict=True)])
    log += state(model)


@pytest.mark.parametrize("change", CHANGES, ids=lambda f: f.__name__.strip("_"))
def test_changes_between_calls_are_seen(change: Callable[[Training], None]) -> None:
    def program(wrap: Any, log: Log) -> None:
        global FACTOR
        FACTOR = 1.0
        training, threads = Training(log), wengert.get_num_threads()
        step = wrap(training.step)
        steps(training, step, 4)
        if hasattr(step, "compiled"):
            assert step.compiled.skipped == 1
        try:
            for undo in (lambda: None, lambda: _remove_hooks(training)):
                change(training)
                steps(training, step, 3)
                undo()
        finally:
            wengert.set_num_threads(threads)
        steps(training, step, 3)
        log += training.seen

    compare_skipping(program)


def trained(model: nn.Module | None = None) -> tuple[Any, nn.Module, Any]:
    """A step that has been skipped, its model and the batch."""
    model = mlp(8, 64, 1) if model is None else model
    optimizer = wengert.optim.SGD(model.parameters(), lr=0.1)

    def step(x: wengert.Tensor) -> wengert.Tensor:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    compiled, x = skipping(step), batch()
    for _ in range(6):
        compiled(x)
    assert compiled.compiled.skipped
    return compiled, model, x


def test_nothing_is_deferred() -> None:
    step, model, x = trained()
    kept = [p.grad for p in model.parameters()]
    loss = step(x)
    assert type(loss) is wengert.Tensor
    assert all(type(p.grad) is wengert.Tensor for p in model.parameters())
    assert not any(p.grad is g for p, g in zip(model.parameters(), kept, strict=True))


def test_the_graph_is_released_by_the_line_of_its_backward() -> None:
    step, _, x = trained()
    with pytest.raises(
        RuntimeError, match=r"(?s)second time.*released by: backward.*loss.backward"
    ):
        step(x).backward()


def test_an_index_out_of_bounds_is_refused_as_in_eager_mode() -> None:
    model = mlp(8, 64, 3)

    def step(x: wengert.Tensor, target: wengert.Tensor) -> wengert.Tensor:
        model.zero_grad()
        loss = F.cross_entropy(model(x), target)
        loss.backward()
        return loss

    compiled, x, target = skipping(step), batch(), wengert.arange(64) % 3
    for _ in range(6):
        compiled(x, target)
    kept = [p.grad for p in model.parameters()]
    with pytest.raises(IndexError):
        compiled(x, target + 1)
    assert all(p.grad is None for p in model.parameters())
    assert all(g is not None for g in kept)
    skipped = compiled.compiled.skipped
    compiled(x, target)
    assert compiled.compiled.skipped == skipped + 1
    assert all(p.grad is not None for p in model.parameters())


def test_another_grad_mode_runs_python() -> None:
    step, _, x = trained()
    skipped = step.compiled.skipped
    with wengert.no_grad(), pytest.raises(RuntimeError, match="does not require grad"):
        step(x)
    assert step.compiled.skipped == skipped


def test_several_threads_call_it() -> None:
    """Each with its batch; nothing is written that the others read, which would be an error."""
    model = mlp(8, 64, 1)

    def gradients(x: wengert.Tensor) -> Any:
        loss = model(x).square().mean()
        return loss, wengert.autograd.grad(loss, [*model.parameters()])[0]

    step = skipping(gradients)
    for _ in range(6):
        step(batch())
    assert step.compiled.shortcuts[0].immediate is not None
    right: list[bool] = []

    def work() -> None:
        x = batch()
        expected = [value.tolist() for value in gradients(x)]
        for _ in range(40):
            found = [value.tolist() for value in step(x)]
            right.append(all(map(np.allclose, found, expected)))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 120


def test_arguments_that_share_memory() -> None:
    model = mlp(8, 64, 1)

    def step(x: wengert.Tensor, y: wengert.Tensor) -> wengert.Tensor:
        model.zero_grad()
        loss = (model(x) * model(y)).mean()
        loss.backward()
        return loss

    compiled = skipping(step)
    for k in range(8):
        x = batch()
        y = x.view(64, 8) if k % 2 else batch()
        loss = compiled(x, y)
        grads = [p.grad for p in model.parameters()]
        again = step(x, y)
        assert loss.item() == pytest.approx(again.item(), rel=1e-5)
        for p, g in zip(model.parameters(), grads, strict=True):
            np.testing.assert_allclose(g.numpy(), p.grad.numpy(), rtol=1e-4, atol=1e-6)
    assert compiled.compiled.skipped


def test_a_gradient_of_an_argument() -> None:
    weight = wengert.randn(8, 8, requires_grad=True)

    def step(x: wengert.Tensor) -> wengert.Tensor:
        loss = (x @ weight).tanh().sum()
        (gradient,) = wengert.autograd.grad(loss, x)
        return gradient

    compiled = skipping(step)
    for _ in range(6):
        x = wengert.randn(64, 8, requires_grad=True)
        np.testing.assert_allclose(compiled(x).numpy(), step(x).numpy(), rtol=1e-5, atol=1e-6)
    assert compiled.compiled.skipped
