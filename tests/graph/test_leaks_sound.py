"""The leak lint on programs that keep graphs and are right to."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import wengert
from tests.graph.steps import a_loss, batch, fails, found, model, train
from wengert import nn
from wengert.graph import Leak

pytestmark = pytest.mark.usefixtures("clean")


# Each says at some points what the lint makes of it.


def training() -> Iterator[list[Leak]]:
    """Losses kept after their backward, numbers, a state that is detached."""
    cell, state = nn.RNNCell(4, 8), wengert.zeros(2, 8)
    optimizer = wengert.optim.Adam(cell.parameters())
    numbers, losses, total = [], [], 0.0
    for _ in range(30):
        state = cell(wengert.randn(2, 4), state.detach())
        loss = state.square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        numbers.append(loss.item())
        total += loss.item()
        losses.append(loss)
    yield found()


def accumulating_gradients() -> Iterator[list[Leak]]:
    """Many backward calls for each step, and losses that wait for their sum."""
    for _ in range(3):
        for _ in range(15):
            (a_loss() / 15).backward()
        yield found()
        waiting = [a_loss() for _ in range(30)]
        yield found()
        wengert.stack(waiting).sum().backward()
        del waiting


def a_trunk_in_use() -> Iterator[list[Leak]]:
    """One graph, and many backward calls that pass it."""
    trunk = model(batch()).exp()
    for k in range(40):
        (trunk * k).sum().backward(retain_graph=True)
    yield found()
    for k in range(40):
        wengert.autograd.grad((trunk * k).sum(), trunk, retain_graph=True)
        train()
    yield found()


def meta_learning() -> Iterator[list[Leak]]:
    """Inner steps that are differentiated through."""
    start = wengert.ones(6, requires_grad=True)
    for _ in range(2):
        fast, x = start, batch()
        for _ in range(25):
            (g,) = wengert.autograd.grad((x * fast).square().sum(), fast, create_graph=True)
            fast = fast - 0.001 * g
        yield found()
        (x * fast).sum().backward()


def meta_learning_of_first_order() -> Iterator[list[Leak]]:
    """Inner steps that are not differentiated through; the tasks' losses wait for their sum."""
    for _ in range(2):
        losses = []
        for _ in range(12):
            fast, x = model.weight.clone(), batch()
            for _ in range(3):
                (g,) = wengert.autograd.grad((x @ fast).square().sum(), fast)
                fast = fast - 0.001 * g
            losses.append((x @ fast).square().sum())
        yield found()
        wengert.stack(losses).sum().backward()


def momentum_encoder() -> Iterator[list[Leak]]:
    """A queue of keys and weights that are written in place, without recording."""
    online, target, queue = nn.Linear(6, 4), nn.Linear(6, 4), wengert.zeros(4, 20)
    for step in range(20):
        with wengert.no_grad():
            for p, q in zip(online.parameters(), target.parameters(), strict=True):
                q.mul_(0.9).add_(p, alpha=0.1)
        keys = target(batch()).detach()
        logits = online(batch()) @ queue.clone()
        logits.logsumexp(1).sum().backward()
        queue[:, step] = keys[0]
    yield found()


def micro_batches_in_flight() -> Iterator[list[Leak]]:
    """Each is finished fifteen steps after it was begun, by two backward calls."""
    head, waiting = nn.Linear(6, 6), deque[Any]()
    for _ in range(50):
        hidden = model(batch())
        received = hidden.detach().requires_grad_()
        waiting.append((hidden, received, head(received)))
        if len(waiting) > 15:
            hidden, received, out = waiting.popleft()
            out.square().sum().backward()
            hidden.backward(received.grad)
    yield found()


def gradient_penalty() -> Iterator[list[Leak]]:
    for _ in range(20):
        x = batch().requires_grad_()
        out = model(x).exp().sum()
        (g,) = wengert.autograd.grad(out, x, create_graph=True)
        (out + g.square().sum()).backward()
    yield found()


def average_of_weights() -> Iterator[list[Leak]]:
    average = model.weight.detach().clone()
    for _ in range(20):
        train()
        with wengert.no_grad():
            average = 0.9 * average + 0.1 * model.weight
    yield found()


def checkpoints() -> Iterator[list[Leak]]:
    for _ in range(20):
        y = wengert.utils.checkpoint.checkpoint(model, batch(), use_reentrant=False)
        y.exp().sum().backward()
    yield found()


def features_for_later() -> Iterator[list[Leak]]:
    """Kept without a graph."""
    features = []
    for _ in range(20):
        out = model(batch()).exp()
        features.append(out.detach())
        out.sum().backward()
    yield found()


def episodes() -> Iterator[list[Leak]]:
    """What was said in an episode is learned from at its end; a critic learns at each step."""
    for length in (9, 16, 30):
        said = []
        for _ in range(length):
            said.append(model(batch()).exp().sum())
            train()
        yield found()
        wengert.stack(said).sum().backward()


def windows() -> Iterator[list[Leak]]:
    """Each step's gradient goes back over the twelve steps before, by hand."""
    cell = nn.RNNCell(4, 8)
    before = deque([(None, wengert.zeros(2, 8))], maxlen=13)
    for _ in range(30):
        inside = before[-1][1].detach().requires_grad_()
        outside = cell(wengert.randn(2, 4), inside)
        before.append((inside, outside))
        outside.square().sum().backward(retain_graph=True)
        for k in range(1, len(before) - 1):
            gradient = before[-k][0].grad
            before[-k - 1][1].backward(gradient, retain_graph=True)
    yield found()


def exceptions_without_their_frames() -> Iterator[list[Leak]]:
    errors = []
    for _ in range(20):
        try:
            fails()
        except ValueError as error:
            errors.append(error.with_traceback(None))
        train()
    yield found()


SOUND = [
    training, accumulating_gradients, a_trunk_in_use, meta_learning,
    meta_learning_of_first_order, momentum_encoder, micro_batches_in_flight, gradient_penalty,
    average_of_weights, checkpoints, features_for_later, episodes, windows,
    exceptions_without_their_frames,
]  # fmt: skip


@pytest.mark.parametrize("program", SOUND, ids=lambda p: p.__name__)
def test_sound_programs_are_not_accused(program: Callable[[], Iterator[list[Leak]]]) -> None:
    for leaks in program():
        assert leaks == []
