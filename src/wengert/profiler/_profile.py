"""A profiler that follows a schedule of steps."""

from __future__ import annotations

import os
import socket
import time
import warnings
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from wengert.autograd import profiler
from wengert.autograd.profiling.events import EventList


class ProfilerAction(Enum):
    """What a profiler does during a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class ProfilerActivity(Enum):
    """What can be watched; here the CPU."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


_RECORDS = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def supported_activities() -> set[ProfilerActivity]:
    """What can be watched.

    >>> import wengert.profiler
    >>> wengert.profiler.supported_activities()
    {<ProfilerActivity.CPU: 0>}
    """
    return {ProfilerActivity.CPU}


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """A function from steps to actions: wait, warm up, record, and again.

    Args:
        wait, warmup, active: how many steps of each make a cycle.
        repeat: how many cycles; 0: without end.
        skip_first: how many steps come before the first cycle.
        skip_first_wait: if not 0, the first cycle does not wait.

    >>> from wengert.profiler import schedule
    >>> plan = schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError(
            "Invalid profiler schedule arguments: active must be positive and the others not"
            f" negative, got wait={wait}, warmup={warmup}, active={active}, repeat={repeat},"
            f" skip_first={skip_first}"
        )
    if warmup == 0:
        warnings.warn(
            "Profiler won't be using warmup, this can skew profiler results", stacklevel=2
        )

    def action(step: int) -> ProfilerAction:
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        step += wait if skip_first_wait else 0
        cycle, at = divmod(step, wait + warmup + active)
        if (repeat and cycle >= repeat) or at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        last = at == wait + warmup + active - 1
        return ProfilerAction.RECORD_AND_SAVE if last else ProfilerAction.RECORD

    return action


def _always(step: int) -> ProfilerAction:
    return ProfilerAction.RECORD


def tensorboard_trace_handler(
    dir_name: str,
    worker_name: str | None = None,
    use_gzip: bool = False,
    use_python_export: bool = False,
) -> Callable[[profile], None]:
    """An `on_trace_ready` that writes each trace to a file of its own in a folder.

    >>> import os, tempfile, wengert
    >>> from wengert.profiler import profile, tensorboard_trace_handler
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with profile(on_trace_ready=tensorboard_trace_handler(folder, "one")):
    ...         y = wengert.ones(2) + 1
    ...     [name.split(".")[0] for name in os.listdir(folder)]
    ['one']
    """

    def handle(prof: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' if use_gzip else ''}"
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return handle


class profile:  # noqa: N801 (PyTorch's name)
    """Lists operations and their times, of a whole block or of the steps that a schedule names.

    The interpreter's profiling hook does the work: other tools that use it, such as cProfile,
    see nothing meanwhile. Operations of this thread are listed.

    Args:
        activities: what to watch; only the CPU is there.
        schedule: which steps to record; without one, all.
        on_trace_ready: called with this profiler whenever a recording is complete.
        record_shapes, profile_memory, with_stack: note shapes of inputs, bytes of results, lines.
        with_flops, with_modules, experimental_config, execution_trace_observer, use_cuda,
            custom_trace_id_callback, post_processing_timeout_s: without effect.
        acc_events: keep the events of earlier recordings.

    >>> import wengert
    >>> from wengert.profiler import profile, record_function
    >>> with profile() as seen, record_function("forward"):
    ...     y = wengert.ones(2).exp()
    >>> [event.key for event in seen.key_averages()]
    ['forward', 'aten::exp']
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        self.activities = set(supported_activities() if activities is None else activities)
        self.schedule = schedule or _always
        self.on_trace_ready = on_trace_ready
        self.record_steps = schedule is not None
        self.acc_events = acc_events
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.profiler: profiler.profile | None = None
        self._options: dict[str, Any] = {
            "record_shapes": record_shapes,
            "profile_memory": profile_memory,
            "with_stack": with_stack,
        }
        self._running: profiler.profile | None = None
        self._step_block: profiler.record_function | None = None
        self._earlier = EventList((), profile_memory)

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        self.stop()

    def start(self) -> None:
        """Begin with the first step."""
        if self.current_action in _RECORDS:
            self.start_trace()
        self._begin_step()

    def stop(self) -> None:
        """End; a recording under way is complete."""
        self._end_step()
        if self._running is not None:
            self.stop_trace()
            self._ready()

    def step(self) -> None:
        """End a step, and begin the next one."""
        self._end_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        if before is ProfilerAction.RECORD_AND_SAVE and self._running is not None:
            self.stop_trace()
            self._ready()
        elif self.current_action not in _RECORDS and self._running is not None:
            warnings.warn("Incorrect schedule: a recording ends unsaved", stacklevel=2)
            self.stop_trace()
        if self.current_action in _RECORDS and self._running is None:
            self.start_trace()
        self._begin_step()

    def _begin_step(self) -> None:
        if self.record_steps:
            self._step_block = profiler.record_function(f"ProfilerStep#{self.step_num}")
            self._step_block.__enter__()

    def _end_step(self) -> None:
        if self._step_block is not None:
            self._step_block.__exit__(None, None, None)
            self._step_block = None

    def start_trace(self) -> None:
        """Record from here on."""
        activities = self.activities & {ProfilerActivity.CPU}
        self._running = profiler.profile(enabled=bool(activities), **self._options)
        self._running.__enter__()

    def stop_trace(self) -> None:
        """Record no longer."""
        if self._running is None:
            raise AssertionError("stop_trace() without a recording under way")
        self._running.__exit__(None, None, None)
        events = self._running.function_events
        if events is None:
            self._running.function_events = EventList()
        elif self.acc_events:
            self._earlier.extend(events)
            self._running.function_events = self._earlier
        self.profiler, self._running = self._running, None

    def _ready(self) -> None:
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _finished(self) -> profiler.profile:
        if self.profiler is None:
            raise AssertionError("the profiler has recorded nothing: there are no events yet")
        return self.profiler

    def events(self) -> EventList:
        """The events of the latest recording."""
        return self._finished()._events()

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The events of the latest recording, added up by name."""
        return self.events().key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def export_chrome_trace(self, path: str) -> None:
        """Write the latest recording for ``chrome://tracing`` and Perfetto."""
        self.events().export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write lines of code and times for a flame graph; needs `with_stack`."""
        self.events().export_stacks(path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        """Accepted, without effect: traces hold events only."""

    def add_metadata_json(self, key: str, value: str) -> None:
        """Accepted, without effect: traces hold events only."""
