"""What `--report` and `--report-json` look at while a script runs, and what they found."""

from __future__ import annotations

import dataclasses
import gc
import os
import sys
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from threading import RLock
from time import perf_counter
from typing import Any

import wengert
from wengert.autograd import engine
from wengert.autograd.engine import Walk
from wengert.autograd.gc_queries import live_tensors_and_nodes
from wengert.core.storage import location_of
from wengert.graph import Finding, Held, Leak, Profile, Recorder, Timeline, live, profile
from wengert.graph.captures import Capture, Captures
from wengert.graph.formatting import format_bytes
from wengert.graph.hotness import Hotness, StackSampler
from wengert.graph.memory import without_collecting
from wengert.graph.nodes import is_released
from wengert.graph.unreached import Unreached
from wengert.nn.modules.module import register_module_forward_hook

_PROFILED = 30  # backward calls
_FIRST_CENSUS = 32  # backward calls; the profile is through by then, which a census would disturb
OLD = 10  # backward calls, as of `Census.leaks`
_CENSUS_SHARE = 0.01  # of the time since the one before


@dataclass(frozen=True, slots=True)
class Observations:
    """What a run has shown beside its `Report`.

    Attributes:
        leaks: what outlives its step, each with the number of backward calls until it was seen.
        captures: the first graphs.
        timeline: the memory that graphs held from the first backward call on, for some calls.
        hotness: where the time went.
    """

    leaks: tuple[tuple[int, Leak], ...]
    captures: tuple[Capture, ...]
    timeline: Timeline | None
    hotness: Hotness

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers."""
        return dataclasses.asdict(self)


class Watch:
    """Looks at the backward calls and the time of this process.

    Nothing that goes wrong in here may end the script: then the watch ends. `recorder` is told
    of what graphs were seen to hold, so that its peak is that of all figures.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._process = os.getpid()
        self._lock = RLock()  # a module may call others for its parameters
        self._sampler = StackSampler()
        self._captures = Captures()
        self._unreached = Unreached(wengert.nn.Module)
        self._profile: Profile | None = None
        self._leaks: dict[str, tuple[int, list[Leak]]] = {}  # by line: at which call, which
        self._unused: list[Finding] = []
        self._calls, self._next_census = 0, _FIRST_CENSUS
        self._marks: deque[int] = deque(maxlen=OLD)  # the latest node of each of the last calls
        self._rested = perf_counter()
        self._failed = False
        self.after_call: Callable[[], None] | None = None  # by whom each backward is followed

    def start(self) -> None:
        """Begin to watch."""
        engine.observers.append(self._observe)
        self._hook = register_module_forward_hook(self._called)
        self._sampler.start()

    def stop(self) -> Observations:
        """Watch no longer; what was seen."""
        self.after_call = None
        self._sampler.stop()
        engine.observers.remove(self._observe)
        timeline = self._timeline()
        self._take_census()
        if not self._calls:
            self._unused = _unused()
        return Observations(
            leaks=tuple(self._leaks_found()),
            captures=tuple(self._captures.found),
            timeline=timeline,
            hotness=self._sampler.hotness(),
        )

    def so_far(self) -> Observations:
        """What was seen until now; what graphs held, once that is known for the first calls."""
        profiled = self._profile is not None and self._calls > _PROFILED
        return Observations(
            leaks=tuple(self._leaks_found()),
            captures=tuple(self._captures.found),
            timeline=self._profile.timeline if profiled and self._profile else None,
            hotness=self._sampler.hotness(),
        )

    def _timeline(self) -> Timeline | None:
        """What was profiled; its peak may be one between backward calls."""
        if self._profile is None:
            return None
        self._profile.stop()
        timeline = self._profile.timeline
        peak = timeline.peak
        where = "" if peak.call is None else timeline.calls[peak.call].where
        self._recorder.note_peak(Held(peak.nbytes, peak.leaf_bytes), where)
        return timeline

    def _leaks_found(self) -> list[tuple[int, Leak]]:
        """The leaks, each with the call at which it was seen, those with the most bytes first."""
        leaks = [(calls, leak) for calls, of_line in self._leaks.values() for leak in of_line]
        return sorted(leaks, key=lambda pair: pair[1].nbytes, reverse=True)

    def _finding(self, calls: int, leak: Leak) -> Finding:
        """A leak beside other findings; where it was stored stands there already."""
        text, *_ = str(leak).partition("\n")
        if calls < self._calls:  # who held it was gone at the end
            text += f", as seen after {calls:,} of {self._calls:,}"
        return Finding("leak", leak.where, 1, text, remedies=(leak.remedy,))

    def findings(self, others: list[Finding]) -> list[Finding]:
        """Leaks, parameters without a gradient, and what others have found."""
        leaks = self._leaks_found()
        if any(leak.kind in ("sum", "average", "state") for _, leak in leaks):
            others = [other for other in others if other.kind != "growing-graph"]  # the leaks again
        leak_findings = [self._finding(calls, leak) for calls, leak in leaks]
        return [*leak_findings, *self._unreached.findings(), *self._unused, *others]

    def _observe(self, walk: Walk, when: str) -> None:
        notes = {"before": self._before, "refused": self._captures.refused}
        self._safely(notes.get(when, self._after), walk)

    def _called(self, module: Any, inputs: Any, output: Any) -> None:
        self._safely(self._unreached.forwards, module, inputs, output)

    def _safely(self, note: Callable[..., None], *what: Any) -> None:
        if self._failed or os.getpid() != self._process:  # a fork may have copied a closed lock
            return
        try:
            with without_collecting(), self._lock:
                note(*what)
        except Exception:
            self._failed = True
            print("wengert run: watching has failed and ends here:", file=sys.stderr)
            traceback.print_exc()

    def _before(self, walk: Walk) -> None:
        self._marks.append(walk.order[-1].seq)
        self._captures.before(walk)
        if self._profile is None:  # now: it takes much longer while modules are imported
            self._profile = profile(calls=_PROFILED)
            self._profile.start()

    def _after(self, walk: Walk) -> None:
        self._unreached.after(walk)
        self._calls += 1
        if self._calls >= self._next_census and perf_counter() > self._rested:
            self._next_census = 2 * self._calls
            self._recorder.look(location_of(walk.call.code, walk.call.lasti))
            self._take_census()
        if self.after_call is not None:
            self.after_call()

    def _take_census(self) -> None:
        """Note leaks and parameters; what a function holds can be seen only while it runs.

        A look at all objects takes a while, so the next one comes the later.
        """
        begin = perf_counter()
        objects = gc.get_objects()
        self._unreached.look(objects)
        self._hook.remove()  # reasons are known by now
        self._unreached.forwards.ended = True
        if self._any_is_old(objects):  # who holds them is the slow part
            leaks: dict[str, tuple[int, list[Leak]]] = {}
            for leak in live().leaks():
                leaks.setdefault(leak.where, (self._calls, []))[1].append(leak)
            self._leaks |= leaks
        end = perf_counter()
        self._rested = end + (end - begin) / _CENSUS_SHARE

    def _any_is_old(self, objects: list[Any]) -> bool:
        """Whether an operation that is not released was recorded many calls ago."""
        if len(self._marks) < OLD:
            return False
        _, nodes = live_tensors_and_nodes(objects)
        return any(node.seq <= self._marks[0] and not is_released(node) for node in nodes)


def _unused() -> list[Finding]:
    """The graphs that are there at the end of a program without a backward."""
    census = live()
    if not census.graphs:
        return []
    graph, count = census.graphs[0], len(census.graphs)
    nodes = sum(g.nodes for g in census.graphs)
    keep = "a graph of" if count == 1 else f"{count:,} graphs of"
    text = (
        f"no backward was called, and at the end {keep} {nodes:,} operations and"
        f" {format_bytes(census.nbytes)} are kept"
    )
    held = tuple(("held by", str(holder)) for holder in graph.tops[0].holders[:1])
    remedies = (
        "compute under torch.no_grad() what needs no gradient",
        "call backward() on a loss",
    )
    return [Finding("no-backward", graph.where, 1, text, held, remedies)]
