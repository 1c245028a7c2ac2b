"""``torch.autograd.profiler``: the time and memory of operations, by name."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from wengert.autograd.profiling import recording
from wengert.autograd.profiling.events import EventList as EventList
from wengert.autograd.profiling.events import FunctionEvent as FunctionEvent
from wengert.autograd.profiling.events import FunctionEventAvg as FunctionEventAvg
from wengert.core.signals import call_despite_signals, without_entry_signals


class record_function:  # noqa: N801 (PyTorch's name)
    """A context or decorator whose code profilers list under a name.

    >>> import wengert
    >>> from wengert.autograd import profiler
    >>> with profiler.profile() as seen:
    ...     with profiler.record_function("my block"):
    ...         y = wengert.ones(2) + 1
    >>> [event.key for event in seen.key_averages()]
    ['my block', 'aten::add']
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args

    def __enter__(self) -> record_function:
        now = recording.current
        if now is not None and now.thread == threading.get_ident():
            now.open(self.name, self, annotation=True)
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        now = recording.current
        if now is not None and now.thread == threading.get_ident():
            now.close(self)

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return func(*args, **kwargs)

        return decorated


class profile:  # noqa: N801
    """Profile the operations of a ``with`` block, in this thread.

    Args:
        enabled: False records nothing.
        use_cuda, use_device, use_kineto, use_cpu, with_flops, with_modules: without effect.
        record_shapes: record the shapes of inputs.
        profile_memory: record the bytes of results.
        with_stack: record lines of code.
        experimental_config, acc_events, custom_trace_id_callback: without effect.

    >>> import wengert
    >>> with wengert.autograd.profiler.profile() as seen:
    ...     y = wengert.ones(2).exp()
    >>> "aten::exp" in seen.key_averages().table()
    True
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Any = None,
        post_processing_timeout_s: float | None = None,
        activity_filters: Any = None,
    ) -> None:
        self.enabled = enabled
        self.profile_memory = profile_memory
        self._wanted = (record_shapes, profile_memory, with_stack)
        self._recording: recording.EventRecorder | None = None
        self.function_events: EventList | None = None

    def __enter__(self) -> profile:
        if self.enabled:
            self._recording = recording.EventRecorder(*self._wanted)
            self._recording.start()
        return self

    @without_entry_signals
    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        if self._recording is not None:
            call_despite_signals(self._recording.stop)
            self.function_events = EventList(self._recording.events, self.profile_memory)
            self._recording = None

    def _events(self) -> EventList:
        if self.function_events is None:
            raise AssertionError("Profiler didn't finish running: there are no events yet")
        return self.function_events

    def __repr__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self.function_events is None else str(self)

    def __str__(self) -> str:
        events = self.function_events
        return "<unfinished torch.autograd.profile>" if events is None else events.table()

    def table(self, *args: Any, **options: Any) -> str:
        """Format the events with `EventList.table`."""
        return self._events().table(*args, **options)

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The events, summed by name."""
        return self._events().key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def total_average(self) -> FunctionEventAvg:
        """The events, summed."""
        return self._events().total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all operations, in microseconds."""
        return self._events().self_cpu_time_total

    def export_chrome_trace(self, path: str) -> None:
        """Write the events for ``chrome://tracing`` and Perfetto."""
        self._events().export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write stacks and times for a flame graph; needs `with_stack`."""
        self._events().export_stacks(path, metric)


class emit_nvtx:  # noqa: N801
    """Marks for NVIDIA's tools; as in a CPU build, only a disabled one can be entered.

    >>> import wengert
    >>> with wengert.autograd.profiler.emit_nvtx(enabled=False):
    ...     pass
    """

    _tool = "CUDA"

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled

    def __enter__(self) -> emit_nvtx | None:
        if not self.enabled:
            return None
        raise RuntimeError(f"{type(self).__name__} needs {self._tool}, which is not there")

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        pass


class emit_itt(emit_nvtx):  # noqa: N801
    """Marks for Intel's tools: only a disabled one can be entered.

    >>> import wengert
    >>> with wengert.autograd.profiler.emit_itt(enabled=False):
    ...     pass
    """

    _tool = "ITT"


__all__ = ["emit_itt", "emit_nvtx", "profile", "record_function"]
