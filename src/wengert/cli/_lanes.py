"""What a rank of ``wengert run --nproc N --report`` notes: when it computed and when it waited."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import threading
from time import perf_counter
from typing import Any

from wengert.autograd import engine
from wengert.autograd.engine import Walk
from wengert.cli._data import Ending
from wengert.distributed.observers import Exchange, observers
from wengert.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from wengert.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

MOST = 200_000  # spans of a kind that a rank notes
_SHARE = 0.02  # of the time that writing may take
_PAUSE = 1.0  # seconds between two writes, at least


class RankLanes:
    """Notes spans of time of this rank, on a clock that the ranks of a machine share.

    What it has is also written while the script runs: a rank may be killed.
    """

    def __init__(self, folder: str) -> None:
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        rank = os.environ.get("RANK", "0")
        self._path = os.path.join(folder, f"{attempt}-{rank}.json")
        self._process, self._thread = os.getpid(), threading.get_ident()
        self._began = self._due = perf_counter()
        self._open: dict[int, float] = {}  # when each walk and each optimizer's step began
        self._depth, self._entered = 0, 0.0  # of calls of modules
        self._spans: dict[str, list[tuple[float, float]]] = {
            "forward": [], "backward": [], "optimizer": [], "waiting": [],
        }  # fmt: skip
        self._calls: dict[tuple[str, str, str], int] = {}
        self._exchanges: list[tuple[int, int, float, float, int]] = []
        self._complete = True

    def start(self) -> None:
        """Begin to note; write a first time, so that the rank is known."""
        observers.append(self)
        engine.observers.append(self._walked)
        self._hooks = [
            register_module_forward_pre_hook(self._module_entered),
            register_module_forward_hook(self._module_left, always_call=True),
            register_optimizer_step_pre_hook(self._step_entered),
            register_optimizer_step_post_hook(self._step_left),
        ]
        self._write(Ending("running", None))

    def stop(self, ending: Ending) -> None:
        """Note no longer, and write."""
        observers.remove(self)
        engine.observers.remove(self._walked)
        for hook in self._hooks:
            hook.remove()
        self._write(ending)

    def _mine(self) -> bool:
        return threading.get_ident() == self._thread and os.getpid() == self._process

    def _note(self, kind: str, begin: float, end: float) -> None:
        spans = self._spans[kind]
        if len(spans) < MOST:
            spans.append((begin, end))
        else:
            self._complete = False

    def exchanged(self, exchange: Exchange) -> None:
        """Note a collective or a message, in whatever thread."""
        if len(self._exchanges) >= MOST:
            self._complete = False
            return
        called = exchange.name, exchange.where, exchange.group
        index = self._calls.setdefault(called, len(self._calls))
        times = exchange.begin, exchange.end
        self._exchanges.append((index, exchange.number, *times, exchange.sent))

    def waited(self, begin: float, end: float) -> None:
        """Note that the script could not go on."""
        if self._mine():
            self._note("waiting", begin, end)

    def _module_entered(self, module: Any, inputs: Any) -> None:
        if self._mine():
            if not self._depth:
                self._entered = perf_counter()
            self._depth += 1

    def _module_left(self, module: Any, inputs: Any, output: Any) -> None:
        if self._mine() and self._depth:
            self._depth -= 1
            if not self._depth:
                self._note("forward", self._entered, perf_counter())

    def _step_entered(self, optimizer: Any, arguments: Any, options: Any) -> None:
        self._open[id(optimizer)] = perf_counter()

    def _step_left(self, optimizer: Any, arguments: Any, options: Any) -> None:
        begin = self._open.pop(id(optimizer), None)
        if begin is not None:
            self._note("optimizer", begin, perf_counter())

    def _walked(self, walk: Walk, when: str) -> None:
        if when == "before":
            self._open[id(walk)] = perf_counter()
            return
        begin = self._open.pop(id(walk), None)
        if begin is not None:
            self._note("backward", begin, perf_counter())
            self._write_sometimes()

    def _write_sometimes(self) -> None:
        begin = perf_counter()
        if begin > self._due and self._mine():
            self._write(Ending("running", None))
            end = perf_counter()
            self._due = end + max(_PAUSE, (end - begin) / _SHARE)

    def _write(self, ending: Ending) -> None:
        data = {
            "rank": int(os.environ.get("RANK", "0")),
            "began": self._began,
            "ended": perf_counter(),
            "ending": dataclasses.asdict(ending),
            "complete": self._complete,
            "spans": {kind: list(spans) for kind, spans in self._spans.items()},
            "calls": list(self._calls),
            "exchanges": list(self._exchanges),
        }
        with contextlib.suppress(OSError):  # the launcher may have gone, and its folder with it
            with open(self._path + ".new", "w") as file:
                json.dump(data, file)
            os.replace(self._path + ".new", self._path)
