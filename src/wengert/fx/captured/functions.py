"""Compiled functions whose graphs a backend compiles: `torch.compile(function, backend=...)`."""

from __future__ import annotations

import functools
import sys
import warnings
import weakref
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

from wengert import compiler
from wengert.amp.state import state as autocast
from wengert.autograd.transforms.levels import transforming
from wengert.autograd.transforms.tree import flatten_tree
from wengert.core.dtypes import defaults
from wengert.core.generators import default_generator
from wengert.core.overriding import overriding
from wengert.core.tensor import Tensor, mode
from wengert.fx.captured.names import names_of
from wengert.fx.captured.paths import Backend, Constant, Journey, Path
from wengert.fx.captured.recording import CallRecorder, thread
from wengert.fx.captured.settings import counters, setting
from wengert.nn.module.in_place import called_by
from wengert.replay.deferred import has_memory
from wengert.replay.failures import BackendCompilerFailed, Unsupported, refuse_break
from wengert.replay.guards import Guard, UnguardedError
from wengert.replay.shortcuts import Form, is_value
from wengert.replay.stance import Stance, as_compiling
from wengert.replay.state import active, unusual
from wengert.replay.surroundings import Surroundings, has_attributes

# So many calls of a function are recorded of which no graph could be made.
_MOST_REFUSED = 4
_captured: weakref.WeakSet[Captured] = weakref.WeakSet()


class Captured:
    """A function that computes what a backend has made of its graphs, while these hold.

    Two calls that go the same way are recorded; from then on Python does not run as long as the
    arguments are alike and a guard finds all that it may have read as it was.

    Attributes:
        function: as it was given.
        backend: what compiles the graphs.
        fullgraph: whether it is an error that there are several, or none.
        limit: how many ways through the function are recorded; None as `recompile_limit` says.
        paths: those on record, the latest first.
        reason: why the last call that was recorded has no graph.
    """

    mode = "backend"

    def __init__(
        self, function: Callable[..., Any], backend: Backend, fullgraph: bool = False,
        limit: int | None = None,
    ) -> None:  # fmt: skip
        self.function, self.backend, self.fullgraph = function, backend, fullgraph
        self.limit = limit
        self.forget()
        _captured.add(self)

    def forget(self) -> None:
        """Begin anew."""
        self.paths: list[Path] = []
        self.made = self.refused = 0
        self._eager: list[Form] = []
        self.reason, self._told = "", False

    @as_compiling
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if Stance.eager or active.inside or thread.recorder is not None or setting("disable"):
            return self.function(*args, **kwargs)
        leaves, spec = flatten_tree((args, kwargs))
        if self.refused >= _MOST_REFUSED or not _is_usual(leaves):
            return self.function(*args, **kwargs)
        settings = _settings(leaves, spec)
        if any(form.fits(leaves, settings) for form in self._eager):
            return self.function(*args, **kwargs)
        fitting = [p for p in self.paths if p.form.fits(leaves, settings)]
        holding = [p for p in fitting if p.guard.holds(leaves)]
        self.paths = [p for p in self.paths if p not in fitting or p in holding]
        proven = [p for p in holding if p.proven]
        if sys.getprofile() is not None:  # a call that turns elsewhere could not be recorded
            proven = [p for p in proven if not any([step.apart for step in p.breaks])]
        journey = Journey(leaves, self.backend)
        if proven:
            turns = any([path.breaks for path in proven])
            words = default_generator.get_state() if turns else None
            found = self._along(journey, proven, Form(leaves, settings))
            if found is not None:
                return found[1]
            if words is not None:
                default_generator.set_state(words)
        if sys.getprofile() is not None:
            return self.function(*args, **kwargs)
        return self._record(args, kwargs, leaves, Form(leaves, settings), holding, journey.done)

    def _along(self, journey: Journey, paths: list[Path], form: Form) -> tuple[Path, Any] | None:
        """`Journey.along`; None as well where the backend fails, if its errors are suppressed."""
        try:
            return journey.along(paths)
        except BackendCompilerFailed as error:
            if not setting("suppress_errors"):
                raise
            self.paths = [path for path in self.paths if path not in paths]
            self._run_eagerly(str(error), form)
            return None

    def _record(
        self, args: Any, kwargs: Any, leaves: Sequence[Any], form: Form, holding: list[Path],
        done: Sequence[Any],
    ) -> Any:  # fmt: skip
        """What a call gives that is recorded; `done` is what has happened in it already."""
        surroundings, modules = Surroundings(args, kwargs, leaves), len(sys.modules)
        words = default_generator.get_state()
        names = names_of(called_by(self.function), args, kwargs)
        recorder = CallRecorder(leaves, names, self.fullgraph, done)
        results = recorder.run(self.function, args, kwargs)
        try:
            if recorder.watcher.reason:
                raise UnguardedError(recorder.watcher.reason)
            surroundings.check()
            path = _path_of(recorder, results)
            known = next((p for p in holding if p.is_like(path)), None)
            if known is not None:
                if not known.guard.holds(leaves):
                    raise UnguardedError("it changes something that its code can reach")
                known.proven, path = True, known
            else:
                self._add(path, form, recorder, holding)
            surroundings.check_results(results, path.guard)
        except UnguardedError as why:
            if len(sys.modules) == modules:  # to import one is done once
                self._refuse(str(why), form)
            return results
        if any(step.apart for step in path.breaks):  # Python has run, and runs once
            return results
        recorder.undo()
        after = default_generator.get_state()
        default_generator.set_state(words)
        found = self._along(Journey(leaves, self.backend), [path], form)
        if found is None:  # a backend that decides otherwise: what Python has done counts
            default_generator.set_state(after)
            recorder.redo()
            return results
        return found[1]

    def _add(
        self, path: Path, form: Form, recorder: CallRecorder, holding: list[Path]
    ) -> None:  # fmt: skip
        """Put a path on record."""
        path.form = form
        path.guard = Guard((called_by(self.function), *form.objects), recorder.watcher.executed)
        if any(id(x) not in path.guard.tensors for x in recorder.held):
            raise UnguardedError("a tensor comes from where no guard looks")
        limit = setting("recompile_limit") if self.limit is None else self.limit
        if self.made >= limit:
            raise UnguardedError(f"it has gone {limit} ways, which is recompile_limit")
        self.made += 1
        for kind in ("total", "ok"):
            counters["frames"][kind] += 1 + len(path.breaks)
        for step in path.breaks:
            name = getattr(step.function, "__name__", "graph_break")
            counters["graph_break"][f"{name}() at {step.where.filename}:{step.where.lineno}"] += 1
        path.adopt(holding)
        self.paths.insert(0, path)

    def _refuse(self, reason: str, form: Form) -> None:
        """Note that calls of a form run as they are."""
        self.reason = reason
        if self.fullgraph:
            raise Unsupported(
                f"torch.compile(fullgraph=True): no graph can be made of {_named(self.function)}():"
                f" {reason}"
            )
        counters["frames"]["total"] += 1
        self._run_eagerly(reason, form)

    def _run_eagerly(self, reason: str, form: Form) -> None:
        """Let calls of a form run as they are, with one warning."""
        self.reason = reason
        self._eager.append(form)
        self.refused += 1
        if not self._told:
            self._told = True
            warnings.warn(
                f"torch.compile: {_named(self.function)}() runs as it is, without its backend:"
                f" {reason}",
                UserWarning,
                stacklevel=6,
            )

    def __deepcopy__(self, memo: dict[int, Any]) -> Captured:
        return type(self)(deepcopy(self.function, memo), self.backend, self.fullgraph, self.limit)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.function, self.backend, self.fullgraph, self.limit)


def captured(
    function: Callable[..., Any], backend: Backend, fullgraph: bool = False,
    limit: int | None = None,
) -> Any:  # fmt: skip
    """A function that computes as `Captured` does; that is its attribute `captured`."""
    own = Captured(function, backend, fullgraph, limit)
    if not hasattr(function, "__code__"):
        return own

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return own(*args, **kwargs)

    call._torchdynamo_orig_callable = function  # type: ignore[attr-defined]  # packages look for it
    call.captured = own  # type: ignore[attr-defined]
    return call


def forget() -> None:
    """Let all compiled functions with backends begin anew."""
    for one in [*_captured]:
        one.forget()


compiler.resets.append(forget)


def _beside_graphs(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    recorder = thread.recorder
    if recorder is None:
        return function(*args, **kwargs)
    return recorder.beside_graphs(function, args, kwargs, sys._getframe(2))


compiler.disabled_calls[:] = [_beside_graphs]


def graph_break(msg: str = "") -> None:
    """End the graph that is being recorded on this thread, and begin another.

    Unsupported in a function that was compiled with `fullgraph=True`.
    """
    if thread.recorder is not None:
        thread.recorder.break_graph(sys._getframe(1))
    elif active.whole:
        refuse_break("torch._dynamo.graph_break() is called")


def _path_of(recorder: CallRecorder, results: Any) -> Path:
    leaves, spec = flatten_tree(results)
    outputs = []
    for x, source in zip(leaves, recorder.end(leaves), strict=True):
        if source is None and not is_value(x):
            raise UnguardedError(f"it gives a {type(x).__name__}")
        outputs.append(Constant(x) if source is None else source)
    return Path(recorder.items, outputs, spec, frozenset(recorder.watcher.executed))


def _settings(leaves: Sequence[Any], spec: Any) -> Any:
    first: dict[int, int] = {}
    alike = tuple([first.setdefault(id(x), k) for k, x in enumerate(leaves) if _is_tensor(x)])
    enabled = tuple(autocast.enabled.items()) if any(autocast.enabled.values()) else None
    return mode.site is None, defaults.dtype, enabled, alike, spec


def _is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)


def _is_usual(leaves: Sequence[Any]) -> bool:
    """Whether nobody else sees what a call does."""
    return not (
        unusual()
        or transforming()
        or overriding.modes
        or Stance.hooks
        or any([isinstance(x, Tensor) and not has_memory(x) for x in leaves])
        or has_attributes(leaves)
    )


def _named(function: Any) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__))
