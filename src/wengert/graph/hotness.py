"""Where the time of a run goes: by the user's lines, by what they do, by operation.

The main thread is looked at every few milliseconds. What passed since the last look counts for
the innermost line of the user's own files: not the package's, not the standard library's, and
not those of installed packages, whose time is that of the line that called them.
"""

from __future__ import annotations

import dataclasses
import linecache
import os
import site
import sysconfig
import threading
from dataclasses import dataclass, field
from time import perf_counter
from types import FrameType
from typing import Any, Literal, NamedTuple, get_args

from wengert.autograd import engine
from wengert.core import tensor
from wengert.core.introspection import variables_of
from wengert.graph import _stack_timer
from wengert.graph._module_paths import submodule_names
from wengert.ops.op import REGISTRY

Phase = Literal["forward", "backward", "optimizer", "data", "report", "other"]
PHASES: tuple[Phase, ...] = get_args(Phase)

# Whose code a frame runs: a phase, if all below it belongs to that; else the code of an operation,
# of something else in the package, the user's, or that of Python and installed packages.
Kind = Phase | Literal["op", "package", "user", "library"]

_INTERVAL = 0.01
# Frames around the user's line in which to look for who called it: a backward that runs a hook,
# a loader that reads a data set.
_AROUND = 12


@dataclass(frozen=True, slots=True)
class HotLine:
    """The time of one line.

    Attributes:
        where: ``file:line``.
        text: that line.
        samples: how often the run was seen there.
        seconds: the time that this stands for, by phase: ``"forward"`` is time inside of the
            package, ``"backward"`` below a backward call, ``"optimizer"`` and ``"data"`` inside
            of ``torch.optim`` and ``torch.utils.data``, and ``"other"`` all the rest: Python,
            other packages, waiting. The cost of watching, ``"report"``, is no line's.
    """

    where: str
    text: str
    samples: int
    seconds: dict[Phase, float]

    @property
    def total(self) -> float:
        """Seconds of all phases."""
        return sum(self.seconds.values())


@dataclass(frozen=True, slots=True)
class HotOp:
    """The time of one operation: its samples, seconds of its calls, seconds of its derivative.

    Operations that only compute a derivative count for the one whose derivative that is.
    """

    name: str
    samples: int
    forward: float
    backward: float

    @property
    def total(self) -> float:
        """Seconds of both."""
        return self.forward + self.backward


@dataclass(frozen=True, slots=True)
class HotModule:
    """The time of one module, without those inside of it.

    Attributes:
        name: its path, such as ``Net.features.3``, as nodes have it.
        samples: how often the run was seen there.
        forward: seconds of its calls.
        backward: seconds in the derivatives of what it computed.
    """

    name: str
    samples: int
    forward: float
    backward: float

    @property
    def total(self) -> float:
        """Seconds of both."""
        return self.forward + self.backward


@dataclass(frozen=True, slots=True)
class Hotness:
    """Where the time went, what took the most first.

    Attributes:
        interval: seconds from look to look.
        samples: how many looks there were.
        seconds: the time that they stand for, by phase.
        lines: the user's lines.
        ops: the operations.
        modules: the modules, where a timer looks from the main thread.
    """

    interval: float
    samples: int
    seconds: dict[Phase, float]
    lines: tuple[HotLine, ...]
    ops: tuple[HotOp, ...]
    modules: tuple[HotModule, ...]

    @property
    def total(self) -> float:
        """Seconds of all phases."""
        return sum(self.seconds.values())

    @property
    def of_script(self) -> float:
        """Seconds of all phases but that of watching."""
        return self.total - self.seconds["report"]

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers."""
        return dataclasses.asdict(self)


@dataclass(slots=True)
class _Tally:
    samples: int = 0
    seconds: dict[Phase, float] = field(default_factory=dict)

    def add(self, phase: Phase, seconds: float) -> None:
        self.samples += 1
        self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds


class _StackReading(NamedTuple):
    """What a stack shows: whose time it is, the user's line, the operation, the walk around it."""

    phase: Phase
    user: FrameType | None
    op: str | None
    walk: FrameType | None


class StackSampler:
    """Collects a `Hotness` between start and stop, which the main thread calls."""

    def __init__(self, interval: float = _INTERVAL) -> None:
        self.interval = interval
        self._kinds: dict[str, Kind] = {}
        self._all = _Tally()
        self._lines: dict[tuple[str, int], _Tally] = {}
        self._ops: dict[str, _Tally] = {}
        self._modules: dict[str, _Tally] = {}
        self._paths = _Paths()

    def start(self) -> None:
        """Begin to look."""
        self._latest = perf_counter()
        self._timer = _stack_timer.start_timer(self.interval, self._look)

    def stop(self) -> None:
        """Look no longer."""
        self._timer.stop()

    def hotness(self) -> Hotness:
        """What was seen so far; the timer may look on meanwhile, hence the copies."""
        lines = [
            HotLine(f"{file}:{line}", linecache.getline(file, line).strip(), t.samples, t.seconds)
            for (file, line), t in list(self._lines.items())
        ]
        tallies: dict[str, list[_Tally]] = {}
        for own, tally in list(self._ops.items()):
            tallies.setdefault(_public_name(own), []).append(tally)
        ops = [
            HotOp(
                name=name,
                samples=sum(t.samples for t in several),
                forward=sum(t.seconds.get("forward", 0.0) for t in several),
                backward=sum(t.seconds.get("backward", 0.0) for t in several),
            )
            for name, several in tallies.items()
        ]
        modules = [
            HotModule(
                name, t.samples, t.seconds.get("forward", 0.0), t.seconds.get("backward", 0.0)
            )
            for name, t in list(self._modules.items())
        ]
        return Hotness(
            interval=self.interval,
            samples=self._all.samples,
            seconds={phase: self._all.seconds.get(phase, 0.0) for phase in PHASES},
            lines=tuple(sorted(lines, key=lambda line: line.total, reverse=True)),
            ops=tuple(sorted(ops, key=lambda op: op.total, reverse=True)),
            modules=tuple(sorted(modules, key=lambda module: module.total, reverse=True)),
        )

    def _look(self, frame: FrameType | None) -> None:
        """Count the time since the last look for where the program is."""
        now = perf_counter()
        seconds, self._latest = now - self._latest, now
        reading = self._read(frame)
        phase, user, walk = reading.phase, reading.user, reading.walk
        if user is not None and phase != "report":
            line = user.f_code.co_filename, user.f_lineno or 0
            phase, walk = self._called_by(user) or (phase, walk)
            self._lines.setdefault(line, _Tally()).add(phase, seconds)
        self._all.add(phase, seconds)
        way: Phase = "backward" if phase == "backward" else "forward"
        if reading.op is not None:
            self._ops.setdefault(reading.op, _Tally()).add(way, seconds)
        if phase != "report" and threading.current_thread() is threading.main_thread():
            path = self._paths.of(_site(walk))
            if path:
                self._modules.setdefault(path, _Tally()).add(way, seconds)

    def _read(self, frame: FrameType | None) -> _StackReading:
        """Read a stack from the inside out, as far as to the user's line."""
        op: str | None = None
        walk: FrameType | None = None
        phase: Phase = "other"
        while frame is not None:
            file = frame.f_code.co_filename
            kind = self._kinds.get(file) or self._kind(file)
            if kind == "user":
                break
            if kind in PHASES:
                phase = kind if phase in ("other", "forward") else phase
                walk = walk or _walk_in(frame)
            elif kind != "library":
                phase = "forward" if phase == "other" else phase
                op = op or (file[4:-1] if kind == "op" else None)
            frame = frame.f_back
        return _StackReading(phase, frame, op, walk)

    def _called_by(self, frame: FrameType) -> tuple[Phase, FrameType | None] | None:
        """The phase to which a line belongs because of who called its function, and the walk."""
        phase: Phase | None = None
        around = frame.f_back
        for _ in range(_AROUND):
            if around is None:
                break
            file = around.f_code.co_filename
            kind = self._kinds.get(file) or self._kind(file)
            if kind == "data" and phase is None:
                return kind, None
            if kind == "backward":
                phase, walk = kind, _walk_in(around)
                if walk is not None:
                    return phase, walk
            around = around.f_back
        return None if phase is None else (phase, None)

    def _kind(self, file: str) -> Kind:
        kind = self._kinds[file] = _kind_of(file)
        return kind


def _walk_in(frame: FrameType) -> FrameType | None:
    """The frame, if it is one in which a walk is at a node."""
    of_walk = frame.f_code.co_filename == engine.__file__
    return frame if of_walk and "node" in frame.f_code.co_varnames else None


def _site(walk: FrameType | None) -> tensor.Site:
    """Where the operation is whose derivative a walk computes; without one, what runs now."""
    node = None if walk is None else dict(variables_of(walk)).get("node")
    return node.site if isinstance(node, tensor.Node) else tensor.mode.where


class _Paths:
    """The paths of sites, looked up while their modules live."""

    def __init__(self) -> None:
        # By the ids of the references to modules, which are kept: of a chain of calls its path, of
        # one module the names of those below it, by their ids.
        self.known: dict[tuple[int, ...], tuple[list[Any], str]] = {}
        self.names: dict[int, dict[int, str]] = {}

    def of(self, site: tensor.Site) -> str:
        """As `Site.path`, which asks all modules each time."""
        references = []
        at: tensor.Site | None = site
        while at is not None and at.module is not None:
            references.append(at.module)
            at = at.parent
        key = tuple(map(id, references))
        if key not in self.known:
            self.known[key] = references, self._path(references)
        return self.known[key][1]

    def _path(self, references: list[Any]) -> str:
        path, names = "", None
        for reference in reversed(references):
            module = reference()
            if module is None:
                return ""
            name = None if names is None else names.get(id(module))
            path = f"{path}.{name}" if name else type(module).__name__
            names = self.names.get(id(reference))
            if names is None:
                names = self.names[id(reference)] = submodule_names(module)
        return path


def _public_name(op: str) -> str:
    """The public function that an operation belongs to, by the name of its own."""
    name = REGISTRY[op].public_name if op in REGISTRY else op
    return name.removesuffix("_backward")


_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(tensor.__file__)), "")
# The first that fits.
_PARTS: dict[str, Phase] = {
    os.path.join("autograd", "engine.py"): "backward",
    os.path.join("autograd", "_backward.py"): "backward",
    os.path.join("autograd", "_commit.py"): "backward",
    os.path.join("optim", ""): "optimizer",
    os.path.join("data", ""): "data",
    os.path.join("graph", ""): "report",
    os.path.join("cli", ""): "report",
}


def _kind_of(file: str) -> Kind:
    """Whose code a file is."""
    if file.startswith("<op "):
        return "op"
    if file.startswith(_PACKAGE):
        path = file.removeprefix(_PACKAGE)
        return next((phase for start, phase in _PARTS.items() if path.startswith(start)), "package")
    return "user" if is_users(file) else "library"


_INSTALLED = {"site-packages", "dist-packages"}  # also those of an environment in some folder


def is_users(file: str) -> bool:
    """Whether a file is neither the package's nor of Python nor of an installed package."""
    if file.startswith("<") or file in tensor.internal:
        return False
    return not file.startswith(_libraries()) and not _INSTALLED.intersection(file.split(os.sep))


def _libraries() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    folders = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    return tuple(os.path.join(folder, "") for folder in (*folders, site.getusersitepackages()))
