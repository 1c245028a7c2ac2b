"""``torch.utils.benchmark``: statements timed by `timeit`, on one thread unless asked otherwise."""

from __future__ import annotations

import statistics
import timeit
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from wengert.core.signals import call_despite_signals, contextmanager
from wengert.platform.settings import get_num_threads, set_num_threads

timer = timeit.default_timer
_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def select_unit(t: float) -> tuple[str, float]:
    """The unit that suits a time in seconds, and its length.

    >>> from wengert.utils.benchmark import select_unit
    >>> select_unit(0.004)
    ('ms', 0.001)
    """
    return next(((u, size) for u, size in _UNITS.items() if t >= size), ("ns", 1e-9))


@dataclass(frozen=True)
class TaskSpec:
    """What was timed."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """A name: the label, or the statement."""
        if self.label is None:
            return self.stmt
        return f"{self.label}: {self.sub_label}" if self.sub_label else self.label


@dataclass
class Measurement:
    """The times of a statement, in seconds a run."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None
    times: list[float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.times = sorted(t / self.number_per_run for t in self.raw_times)

    def __getattr__(self, name: str) -> Any:
        if name == "task_spec":  # not there yet
            raise AttributeError(name)
        return getattr(self.task_spec, name)

    @property
    def mean(self) -> float:
        """The mean time."""
        return statistics.fmean(self.times)

    @property
    def median(self) -> float:
        """The median time."""
        return statistics.median(self.times)

    @property
    def iqr(self) -> float:
        """The distance between the quartiles."""
        if len(self.times) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.times, n=4, method="inclusive")
        return high - low

    def __repr__(self) -> str:
        unit, size = select_unit(self.median)
        spec, several = self.task_spec, len(self.times) > 1
        lines = [f"{type(self).__module__}.{type(self).__name__} object", spec.title]
        lines += [spec.description] if spec.description else []
        lines += [f"setup: {spec.setup}"] if spec.setup != "pass" else []
        lines.append(f"{'Median' if several else ''}  {self.median / size:.2f} {unit}".strip())
        if several:
            lines.append(f"IQR: {self.iqr / size:.2f} {unit}")
        runs = f"{len(self.times)} measurement{'s' if several else ''}"
        threads = f"{spec.num_threads} thread{'s' if spec.num_threads > 1 else ''}"
        return "\n  ".join([*lines, f"{runs}, {self.number_per_run} runs, {threads}"])


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = get_num_threads()
    try:
        set_num_threads(count)
        yield
    finally:
        call_despite_signals(set_num_threads, before)


class Timer:
    """Times a statement.

    Args:
        stmt, setup, global_setup: Python text; the last two run once before it.
        timer: a clock.
        globals: the names that the statement sees.
        label, sub_label, description, env: what a table says of it.
        num_threads: of matrix products meanwhile.
        language: Python is all there is.

    >>> import wengert
    >>> from wengert.utils.benchmark import Timer
    >>> Timer("x + 1", globals={"x": wengert.ones(2)}).timeit(10).number_per_run
    10
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = "python",
    ) -> None:
        if language not in ("py", "python") and getattr(language, "name", "") != "PYTHON":
            raise ValueError(f"Timer times Python statements, not language={language!r}")
        self._spec = TaskSpec(
            stmt, setup, global_setup, label, sub_label, description, env, num_threads
        )
        before = "\n".join(text for text in (global_setup, setup) if text)
        self._timer = timeit.Timer(stmt, before, timer, globals=dict(globals or {}))

    def timeit(self, number: int = 1000000) -> Measurement:
        """The time of `number` runs in a row, after a short warm-up."""
        with _threads(self._spec.num_threads):
            self._timer.timeit(max(number // 100, 2))
            return Measurement(number, [self._timer.timeit(number)], self._spec)

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """The times of blocks that are long enough for the clock, for `min_run_time` seconds."""
        with _threads(self._spec.num_threads):
            number = self._block(min_run_time)
            times: list[float] = []
            while not times or sum(times) < min_run_time:
                times.append(self._timer.timeit(number))
                if callback is not None:
                    callback(number, times[-1])
            return Measurement(number, times, self._spec)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """The times of blocks until their quartiles lie within `threshold` of the median."""
        with _threads(self._spec.num_threads):
            number, times = self._block(min_run_time), list[float]()
            while True:
                times.append(self._timer.timeit(number))
                if callback is not None:
                    callback(number, times[-1])
                measurement = Measurement(number, times, self._spec)
                steady = len(times) >= 4 and measurement.iqr <= threshold * measurement.median
                if (steady and sum(times) >= min_run_time) or sum(times) >= max_run_time:
                    return measurement

    def _block(self, min_run_time: float) -> int:
        """How many runs take a hundredth of the time, or a thousandth of a second."""
        number = 1
        while self._timer.timeit(number) < min(min_run_time / 100, 1e-3):
            number *= 10
        return number


class Compare:
    """A table of measurements: rows by `sub_label`, columns by `description`.

    >>> from wengert.utils.benchmark import Compare, Timer
    >>> table = Compare([Timer(label="nothing", sub_label="a", description="b").timeit(10)])
    >>> str(table).splitlines()[0]
    'nothing (times in microseconds)'
    """

    def __init__(self, results: Sequence[Measurement]) -> None:
        self._results = list(results)

    def extend_results(self, results: Sequence[Measurement]) -> None:
        """Add measurements."""
        self._results += results

    def trim_significant_figures(self) -> None:
        """Accepted, without effect: one digit after the point is shown."""

    colorize = trim_significant_figures

    def print(self) -> None:
        """Print the table."""
        print(self)

    def __str__(self) -> str:
        labels = dict.fromkeys(m.label or m.stmt for m in self._results)
        return "\n\n".join(self._table(label) for label in labels)

    def _table(self, label: str) -> str:
        chosen = [m for m in self._results if (m.label or m.stmt) == label]
        columns = list(dict.fromkeys(str(m.description or m.env or "") for m in chosen))
        rows: dict[tuple[int, str], dict[str, float]] = {}
        for m in chosen:
            row = rows.setdefault((m.num_threads, str(m.sub_label or m.stmt)), {})
            row[str(m.description or m.env or "")] = m.median * 1e6
        cells = [["", *columns]]
        for (threads, name), row in rows.items():
            times = [f"{row[c]:.1f}" if c in row else "" for c in columns]
            cells.append([f"{name} ({threads} thread{'s' * (threads > 1)})", *times])
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [" | ".join(c.rjust(n) for c, n in zip(r, widths, strict=True)) for r in cells]
        return "\n".join([f"{label} (times in microseconds)", *lines])


__all__ = ["Compare", "Measurement", "TaskSpec", "Timer", "select_unit", "timer"]
