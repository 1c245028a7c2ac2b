"""The leak lint: programs that keep graphs, and the line that does it."""

from __future__ import annotations

import queue
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import wengert
from tests.graph.steps import a_loss, batch, fails, found, found_as_told, model, train
from wengert import nn
from wengert.graph import Leak, live

STEPS = 20
Program = Callable[[], list[Leak]]


@pytest.fixture(autouse=True)
def _kept(clean: None) -> Iterator[None]:
    global kept
    kept = []  # a new one, which the collector knows
    yield
    kept = []


kept: list[Any]


# Programs with a leak: at the end of the docstring the kind, then the remedy. The line that
# stores is the one with a mark.


def sum_of_released_losses() -> list[Leak]:
    """sum: total += loss.item()"""
    total = wengert.zeros(())
    for _ in range(STEPS):
        loss = a_loss()
        total = total + loss  # HERE
        loss.backward()
    return found()


def sum_in_place() -> list[Leak]:
    """sum: total += (loss / 2).item()"""
    total: Any = 0.0
    for _ in range(STEPS):
        loss = a_loss()
        total += loss / 2  # HERE
        train()
    return found()


def sum_of_several() -> list[Leak]:
    """sum: total = total + first.item() - second.item()"""
    total: Any = 0
    for _ in range(STEPS):
        first, second = a_loss(), a_loss()
        total = total + first - second  # HERE
        train()
    return found()


def sum_below_a_mean() -> list[Leak]:
    """sum: total += loss.item()"""
    total: Any = 0
    for step in range(STEPS):
        loss = a_loss()
        total = loss + total  # HERE
        loss.backward()
        mean = total / (step + 1)
    assert mean.shape == ()
    return found()


def sum_of_vectors() -> list[Leak]:
    """sum: total += rows.detach()"""
    total: Any = 0
    for _ in range(STEPS):
        rows = model(batch()).exp().sum(1)
        total += rows  # HERE
        train()
    return found()


def sum_in_a_dict() -> list[Leak]:
    """sum: totals["a"] += loss.item()"""
    totals: dict[str, Any] = defaultdict(float)
    for _ in range(STEPS):
        loss = a_loss()
        totals["a"] += loss  # HERE
        train()
    return found()


def average() -> list[Leak]:
    """average: ema = 0.9 * ema + 0.1 * loss.item()"""
    ema: Any = 0.0
    for _ in range(STEPS):
        loss = a_loss()
        ema = 0.9 * ema + 0.1 * loss  # HERE
        loss.backward()
    return found()


def average_with_names() -> list[Leak]:
    """average: ema = decay * ema + (1 - decay) * loss.item()"""
    ema: Any = 0.0
    decay = 0.9
    for _ in range(STEPS):
        loss = a_loss()
        ema = decay * ema + (1 - decay) * loss  # HERE
        loss.backward()
    return found()


def average_by_lerp() -> list[Leak]:
    """state: ema = ema.detach().lerp(loss, 0.1)"""
    ema = wengert.zeros(())
    for _ in range(STEPS):
        loss = a_loss()
        ema = ema.lerp(loss, 0.1)  # HERE
        loss.backward()
    return found()


def a_list() -> list[Leak]:
    """container: losses.append(loss.item())"""
    losses: list[Any] = []
    for _ in range(STEPS):
        loss = a_loss()
        losses.append(loss)  # HERE
        train()
    return found()


def a_list_of_what_is_no_number() -> list[Leak]:
    """container: outputs.append(model(batch()).exp().detach())"""
    outputs: list[Any] = []
    for _ in range(STEPS):
        outputs.append(model(batch()).exp())  # HERE
        train()
    return found()


def a_list_of_pairs() -> list[Leak]:
    """container: log.append((step, loss.item()))"""
    log: list[Any] = []
    for step in range(STEPS):
        loss = a_loss()
        log.append((step, loss))  # HERE
        train()
    return found()


def a_list_of_dicts() -> list[Leak]:
    """container: log.append({"loss": loss.item(), "step": step})"""
    log: list[Any] = []
    for step in range(STEPS):
        loss = a_loss()
        log.append({"loss": loss, "step": step})  # HERE
        train()
    return found()


def a_list_that_is_added_to() -> list[Leak]:
    """container: losses += [loss.item()]"""
    losses: list[Any] = []
    for _ in range(STEPS):
        loss = a_loss()
        losses += [loss]  # HERE
        train()
    return found()


def a_dict_by_number() -> list[Leak]:
    """container: losses[step] = loss.item()"""
    losses = {}
    for step in range(STEPS):
        loss = a_loss()
        losses[step] = loss  # HERE
        train()
    return found()


def a_deque() -> list[Leak]:
    """container: window.append(loss.item())"""
    window = deque[Any](maxlen=50)
    for _ in range(STEPS):
        loss = a_loss()
        window.append(loss)  # HERE
        train()
    return found()


@dataclass
class Episode:
    loss: wengert.Tensor


def objects_in_a_list() -> list[Leak]:
    """container: episodes.append(Episode(loss.detach()))"""
    episodes = []
    for _ in range(STEPS):
        loss = a_loss()
        episodes.append(Episode(loss))  # HERE
        train()
    assert episodes
    return found()


def a_list_under_another_name() -> list[Leak]:
    """container: store.append(value.detach())"""
    losses: list[Any] = []
    for _ in range(STEPS):
        note(losses)
        train()
    return found()


def note(store: list[Any]) -> None:
    value = model(batch()).exp()
    store.append(value)  # HERE for a_list_under_another_name


@dataclass
class Pair:
    first: Any
    second: Any


def exceptions_in_a_list() -> list[Leak]:
    """container: keep str(error), or error.with_traceback(None), instead of the exception: \
its traceback keeps the variables of all calls that it ended"""
    errors = []
    for _ in range(STEPS):
        try:
            fails()
        except ValueError as error:
            errors.append(error)  # HERE
        train()
    return found()


def objects_of_several_parts() -> list[Leak]:
    """container: put value.item() there instead of value

    Those that are drawn from the buffer belong to the buffer.
    """
    buffer: list[Pair] = []
    drawn: list[Pair] = []
    for step in range(STEPS):
        parts = step, a_loss()
        buffer.append(Pair(*parts))  # HERE
        train()
        drawn = buffer[:3]
    assert drawn
    return found()


def a_global_list() -> list[Leak]:
    """container: kept.append(loss.item())"""
    for _ in range(STEPS):
        loss = a_loss()
        kept.append(loss)  # HERE
        train()
    return found()


def a_state() -> list[Leak]:
    """state: state = cell(wengert.ones(2, 4), state.detach())"""
    cell, state = nn.RNNCell(4, 8), wengert.zeros(2, 8)
    for _ in range(STEPS):
        state = cell(wengert.ones(2, 4), state)  # HERE
        train()
    return found()


def a_state_whose_graph_is_retained() -> list[Leak]:
    """state: state = cell(batch()[:, :4], state.detach())"""
    cell, state = nn.RNNCell(4, 8), wengert.zeros(3, 8)
    for _ in range(STEPS):
        state = cell(batch()[:, :4], state)  # HERE
        state.square().sum().backward(retain_graph=True)
    return found()


def a_state_of_two() -> list[Leak]:
    """state: state = tuple(s.detach() for s in state)"""
    cell: Any = nn.LSTMCell(4, 8)
    state = None
    for _ in range(STEPS):
        state = cell(wengert.ones(2, 4), state)  # HERE
        train()
    return found()


def a_state_beside_an_output() -> list[Leak]:
    """state: _, state = layer(wengert.ones(1, 2, 4), state.detach())"""
    layer, state = nn.GRU(4, 8), None
    for _ in range(STEPS):
        _, state = layer(wengert.ones(1, 2, 4), state)  # HERE
        train()
    return found()


def states_in_two_names() -> list[Leak]:
    """state: h, c = cell(wengert.ones(2, 4), (h.detach(), c.detach()))"""
    cell = nn.LSTMCell(4, 8)
    h = c = wengert.zeros(2, 8)
    for _ in range(STEPS):
        h, c = cell(wengert.ones(2, 4), (h, c))  # HERE
        train()
    return found()


def a_queue() -> list[Leak]:
    """container: waiting.put(a_loss().item())"""
    waiting: queue.Queue[Any] = queue.Queue()
    for _ in range(STEPS):
        waiting.put(a_loss())  # HERE
        train()
    return found()


def several_lines() -> list[Leak]:
    """container: losses.append((a_loss() / 2).item())"""
    losses: list[Any] = []
    for _ in range(STEPS):
        losses.append(  # HERE
            a_loss() / 2  # the half
        )
        train()
    return found()


def other_ways_to_add() -> list[Leak]:
    """container: losses = losses + [loss.item()]"""
    losses: list[Any] = []
    for _ in range(STEPS):
        loss = a_loss()
        losses = losses + [loss]  # HERE # noqa: RUF005
        train()
    return found()


def updated() -> list[Leak]:
    """container: losses.update({step: loss.item()})"""
    losses: dict[int, Any] = {}
    for step in range(STEPS):
        loss = a_loss()
        losses.update({step: loss})  # HERE
        train()
    return found()


class Agent:
    last = None

    def __init__(self) -> None:
        self.cell = nn.RNNCell(4, 8)
        self.hidden = wengert.zeros(2, 8)
        self.history: dict[str, list[Any]] = {"penalty": []}

    def step(self) -> None:
        h = self.cell(wengert.ones(2, 4), self.hidden)
        self.hidden = h  # HERE for a_state_in_an_attribute

    def log(self) -> None:
        p = model(batch()).exp().sum()
        self.history["penalty"].append(p)  # HERE for a_list_in_an_attribute


def a_state_in_an_attribute() -> list[Leak]:
    """state: self.hidden = h.detach()"""
    agent = Agent()
    for _ in range(STEPS):
        agent.step()
        train()
    return found()


def a_list_in_an_attribute() -> list[Leak]:
    """container: self.history["penalty"].append(p.item())"""
    agent = Agent()
    for _ in range(STEPS):
        agent.log()
        train()
    return found()


def a_state_set_from_outside() -> list[Leak]:
    """state: agent.hidden = agent.cell(wengert.ones(2, 4), agent.hidden.detach())"""
    agent = Agent()
    for _ in range(STEPS):
        agent.hidden = agent.cell(wengert.ones(2, 4), agent.hidden)  # HERE
        train()
    return found()


def a_closure() -> list[Leak]:
    """sum: total += loss.item()"""
    total: Any = 0.0

    def add() -> None:
        nonlocal total
        loss = a_loss()
        total = total + loss  # HERE
        loss.backward()

    for _ in range(STEPS):
        add()
    return found()


def a_graph_that_nobody_uses() -> list[Leak]:
    """kept: best = a_loss().detach()"""
    best = a_loss()  # HERE
    for _ in range(STEPS):
        train()
    assert best.shape == ()
    return found()


LEAKING = [
    sum_of_released_losses, sum_in_place, sum_of_several, sum_below_a_mean, sum_of_vectors,
    sum_in_a_dict, average, average_with_names, average_by_lerp, a_list,
    a_list_of_what_is_no_number, a_list_of_pairs, a_list_of_dicts, a_list_that_is_added_to,
    a_dict_by_number, a_deque, objects_in_a_list, objects_of_several_parts, exceptions_in_a_list,
    a_list_under_another_name, a_global_list, a_state, a_state_whose_graph_is_retained,
    a_state_of_two, a_state_in_an_attribute, a_list_in_an_attribute, a_state_set_from_outside,
    a_closure, a_state_beside_an_output, states_in_two_names, a_queue, several_lines,
    other_ways_to_add, updated, a_graph_that_nobody_uses,
]  # fmt: skip


@pytest.mark.parametrize("program", LEAKING, ids=lambda p: p.__name__)
def test_the_line_that_holds_and_its_remedy(program: Program) -> None:
    found_as_told(program, STEPS)


def test_gradients_with_a_graph_that_are_never_reset() -> None:
    weight = wengert.ones(3, requires_grad=True)
    for _ in range(STEPS):
        weight.exp().sum().backward(create_graph=True)
        train()
    (leak,) = found()
    assert (leak.kind, leak.held) == ("grad", "weight.grad")
    assert "zero_grad()" in leak.remedy


def test_sums_in_one_container_are_one_leak() -> None:
    totals: dict[str, Any] = {"a": 0.0, "b": 0.0}
    for _ in range(STEPS):
        for name in totals:
            totals[name] += a_loss()
        train()
    (leak,) = found()
    assert (leak.kind, leak.held, leak.graphs) == ("sum", "totals[*]", 2)
    assert leak.remedy == "totals[name] += a_loss().item()"


def test_how_many_calls_are_many() -> None:
    losses = []
    for _ in range(8):
        losses.append(a_loss())
        train()
    census = live()
    assert census.leaks() == []
    assert [leak.graphs for leak in census.leaks(8)] == [8]
    assert [leak.graphs for leak in census.leaks(calls=9)] == []
