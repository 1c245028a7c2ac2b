"""Steps of programs for the leak lint, with leaks and without."""

from __future__ import annotations

import asyncio
import linecache
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import wengert
from wengert import nn
from wengert.graph import Leak, live

Result = TypeVar("Result")

model = nn.Linear(6, 6)


def batch() -> wengert.Tensor:
    return wengert.randn(3, 6)


def train() -> None:
    """A backward that has nothing to do with what is kept."""
    model(batch()).square().sum().backward()


def a_loss() -> wengert.Tensor:
    return model(batch()).exp().sum()


def found() -> list[Leak]:
    return live().leaks()


def fails() -> None:
    loss = a_loss()
    raise ValueError(loss.item())


def marked(program: Callable[[], list[Leak]]) -> int:
    """The number of the line with a program's mark."""
    code = program.__code__
    lines = linecache.getlines(code.co_filename)
    named = [k for k, line in enumerate(lines, 1) if f"# HERE for {program.__name__}\n" in line]
    start = code.co_firstlineno
    return named[0] if named else next(k for k in range(start, 999) if "# HERE" in lines[k - 1])


def found_as_told(program: Callable[[], list[Leak]], steps: int) -> None:
    """Whether a program has the one leak that its docstring tells: the kind, then the remedy.

    The line that stores is the one with a mark.
    """
    kind, _, remedy = (program.__doc__ or "").split("\n")[0].partition(": ")
    file, line = program.__code__.co_filename, marked(program)
    (leak,) = program()
    assert (leak.kind, leak.remedy) == (kind, remedy)
    assert leak.where == f"{file}:{line}"
    assert leak.line == linecache.getline(file, line).strip()
    assert leak.graphs == (steps if kind == "container" else 1)
    assert leak.calls in (steps, steps - 1)
    assert leak.remedy in leak.text
    assert leak.remedy in str(leak)


def result_of(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """What a coroutine returns, in a thread: a browser's tests may have a loop on this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()
