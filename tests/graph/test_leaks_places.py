"""The leak lint on what keeps tensors in less usual places: in a tensor, in objects, in tasks."""

from __future__ import annotations

import asyncio
import heapq
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

import wengert
from tests.graph.steps import a_loss, batch, found, found_as_told, model, result_of, train
from wengert.graph import Leak

STEPS = 20
Program = Callable[[], list[Leak]]


pytestmark = pytest.mark.usefixtures("clean")


def written_into_a_tensor() -> list[Leak]:
    """state: losses[step] = loss.detach()"""
    losses = wengert.zeros(STEPS)
    for step in range(STEPS):
        loss = a_loss()
        losses[step] = loss  # HERE
        train()
    return found()


def handed_to_a_function() -> list[Leak]:
    """container: callbacks.append(reporting(loss.detach()))"""
    callbacks = []
    for _ in range(STEPS):
        loss = a_loss()
        callbacks.append(reporting(loss))  # HERE
        train()
    return found()


def reporting(loss: wengert.Tensor) -> Callable[[], float]:
    return lambda: loss.item()


def written_by_a_function() -> list[Leak]:
    """state: queue[start : start + 3] = keys.detach()"""
    bank = wengert.zeros(3 * STEPS, 6)
    for step in range(STEPS):
        enqueue(bank, 3 * step)
        train()
    return found()


def enqueue(queue: wengert.Tensor, start: int) -> None:
    keys = model(batch()).exp()
    queue[start : start + 3] = keys  # HERE for written_by_a_function


def added_by_a_method() -> list[Leak]:
    """sum: total.add_(a_loss().item())"""
    total = wengert.zeros(())
    for _ in range(STEPS):
        total.add_(a_loss())  # HERE
        train()
    return found()


class Average:
    def __init__(self) -> None:
        self.shadow = {"weight": model.weight.detach().clone()}

    def update(self) -> None:
        weight = model.weight
        self.shadow["weight"].mul_(0.9).add_(weight, alpha=0.1)  # HERE for weights_in_place


def weights_in_place() -> list[Leak]:
    """state: with torch.no_grad(): self.shadow["weight"].mul_(0.9).add_(weight, alpha=0.1)"""
    average = Average()
    for _ in range(STEPS):
        average.update()
        train()
    return found()


class Linked:
    def __init__(self, value: Any) -> None:
        self.value = value


def objects_with_a_constructor() -> list[Leak]:
    """container: links.append(Linked(loss.detach()))"""
    links = []
    for _ in range(STEPS):
        loss = a_loss()
        links.append(Linked(loss))  # HERE
        train()
    return found()


def functions_in_a_list() -> list[Leak]:
    """container: put value.item() there instead of value"""
    calls: list[Any] = []
    for _ in range(STEPS):
        loss = a_loss()
        calls.append(lambda loss=loss: loss)  # HERE
        train()
    return found()


def generators_in_a_list() -> list[Leak]:
    """container: put value.item() there instead of value"""

    def waits(loss: wengert.Tensor) -> Iterator[wengert.Tensor]:
        while True:
            yield loss

    waiting = []
    for _ in range(STEPS):
        generator = waits(a_loss())
        next(generator)
        waiting.append(generator)  # HERE
        train()
    return found()


def a_list_of_a_class() -> list[Leak]:
    """container: registry().losses.append(loss.item())"""

    class Registry:  # here, since the collector leaves out what is older than the test
        losses: ClassVar[list[Any]] = []

    def registry() -> type[Registry]:
        return Registry

    for _ in range(STEPS):
        loss = a_loss()
        registry().losses.append(loss)  # HERE
        train()
    return found()


def a_heap() -> list[Leak]:
    """container: heapq.heappush(heap, (step, loss.item()))"""
    heap: list[Any] = []
    for step in range(STEPS):
        loss = a_loss()
        heapq.heappush(heap, (step, loss))  # HERE
        train()
    return found()


def a_slice() -> list[Leak]:
    """container: losses[step:] = [a_loss().item()]"""
    losses: list[Any] = []
    for step in range(STEPS):
        losses[step:] = [a_loss()]  # HERE
        train()
    return found()


def a_counter() -> list[Leak]:
    """state: totals.update({"loss": loss.item()})"""
    totals: Counter[str] = Counter()
    for _ in range(STEPS):
        loss = a_loss()
        totals.update({"loss": loss})  # type: ignore[dict-item]  # HERE
        train()
    return found()


def an_array_of_objects() -> list[Leak]:
    """container: losses[step] = a_loss().item()"""
    losses = np.empty(STEPS, dtype=object)
    for step in range(STEPS):
        losses[step] = a_loss()  # HERE
        train()
    return found()


def a_simple_namespace() -> list[Leak]:
    """container: put value.item() there instead of value"""
    log: list[SimpleNamespace] = []
    for step in range(STEPS):
        entry = SimpleNamespace(step=step, loss=a_loss())
        log.append(entry)  # HERE
        train()
    return found()


def tasks() -> list[Leak]:
    """container: put value.item() there instead of value"""

    async def waits(loss: wengert.Tensor) -> wengert.Tensor:
        await asyncio.sleep(60)
        return loss

    async def run() -> list[Leak]:
        started = []
        for _ in range(STEPS):
            started.append(asyncio.create_task(waits(a_loss())))  # HERE
            await asyncio.sleep(0)
            train()
        return found()

    return result_of(run())


def a_pair_of_which_one_is_a_number() -> list[Leak]:
    """kept: best = (loss.item(), loss.item())"""
    best = None
    for _ in range(STEPS):
        loss = a_loss()
        if best is None:
            best = (loss.item(), loss)  # HERE
        train()
    return found()


LEAKING = [
    written_into_a_tensor, handed_to_a_function,
    written_by_a_function, added_by_a_method, weights_in_place, objects_with_a_constructor,
    functions_in_a_list, generators_in_a_list, a_list_of_a_class, a_heap, a_slice, a_counter,
    an_array_of_objects, a_simple_namespace, tasks, a_pair_of_which_one_is_a_number,
]  # fmt: skip


@pytest.mark.parametrize("program", LEAKING, ids=lambda p: p.__name__)
def test_the_line_that_holds_and_its_remedy(program: Program) -> None:
    found_as_told(program, STEPS)


def test_what_ipython_has_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    shell = ModuleType("shell")
    monkeypatch.setitem(sys.modules, "shell", shell)
    shell.Out = {}  # type: ignore[attr-defined]
    for cell in range(STEPS):
        shell.Out[cell] = a_loss()
        train()
    (leak,) = found()
    assert (leak.kind, leak.held, leak.scope) == (
        "container", "Out[*]", "kept by IPython because it was shown"
    )  # fmt: skip
    assert leak.remedy.startswith("IPython keeps each result that it shows")
    assert leak.where == leak.made.partition("(")[2].partition("  ")[0]
