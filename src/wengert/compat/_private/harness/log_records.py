"""``torch.testing._internal.logging_utils``: what tests see of the compiler's logs: nothing.

`compile` writes no logs, so that the records of a test are an empty list, and a test that looks
for one fails.
"""

from __future__ import annotations

import functools
import io
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any
from unittest import mock

from wengert.compat._private.compiler_tests import UncompiledTestCase
from wengert.compiler import reset

_Test = Callable[..., Any]
_Records = list[logging.LogRecord]


def kwargs_to_settings(**kwargs: Any) -> str:
    """What ``TORCH_LOGS`` says for these arguments of ``torch._logging.set_logs``."""
    marks = {logging.DEBUG: "+", logging.INFO: "", logging.ERROR: "-"}
    levels: dict[str, Any] = {}
    for name, value in kwargs.items():
        levels |= value if isinstance(value, dict) and name == "modules" else {name: value}
    for name, level in levels.items():
        if not isinstance(level, bool) and level not in marks:
            raise ValueError(f"{name}={level!r}: expected a bool or a level among {[*marks]}")
    return ",".join(
        name if isinstance(level, bool) else marks[level] + name for name, level in levels.items()
    )


def log_settings(settings: str) -> ExitStack:
    """A context in which ``TORCH_LOGS`` is this."""
    stack = ExitStack()
    stack.enter_context(mock.patch.dict("os.environ", {"TORCH_LOGS": settings}))
    return stack


def log_api(**kwargs: Any) -> ExitStack:
    """A context; nothing is logged in it."""
    return ExitStack()


def make_logging_test(**kwargs: Any) -> Callable[[_Test], _Test]:
    """Run a test twice, with ``TORCH_LOGS`` and with ``set_logs``; it gets the list of records."""

    def decorate(fn: _Test) -> _Test:
        @functools.wraps(fn)
        def run(self: LoggingTestCase) -> None:
            for context in (log_settings(kwargs_to_settings(**kwargs)), log_api(**kwargs)):
                _run(fn, self, context)

        del run.__wrapped__
        return run

    return decorate


def make_settings_test(settings: str) -> Callable[[_Test], _Test]:
    """Run a test with ``TORCH_LOGS``; it gets the list of records."""

    def decorate(fn: _Test) -> _Test:
        @functools.wraps(fn)
        def run(self: LoggingTestCase) -> None:
            _run(fn, self, log_settings(settings))

        del run.__wrapped__
        return run

    return decorate


def _run(fn: _Test, test: LoggingTestCase, context: ExitStack) -> None:
    reset()
    records: _Records = []
    with context, test._handler_watcher(records):
        fn(test, records)


class LoggingTestCase(UncompiledTestCase):
    """Tests that look into the records of a log."""

    __test__ = False

    def hasRecord(self, records: _Records, m: str) -> bool:
        """Whether some record contains a text."""
        return any(m in record.getMessage() for record in records)

    def getRecord(self, records: _Records, m: str) -> logging.LogRecord:
        """The one record that contains a text."""
        fitting = [record for record in records if m in record.getMessage()]
        self.assertLessEqual(len(fitting), 1, f"several records contain {m!r}: {fitting}")
        if not fitting:
            self.fail(f"no record contains {m!r}, of {records}")
        return fitting[0]

    def _handler_watcher(self, record_list: _Records) -> AbstractContextManager[Any]:
        return nullcontext(record_list)


def logs_to_string(
    module: str, log_option: str
) -> tuple[io.StringIO, Callable[[], AbstractContextManager[Any]]]:
    """A stream, which stays empty, and what makes a context in which logs would go there."""
    streams, make_context = multiple_logs_to_string(module, log_option)
    return streams[0], make_context


def multiple_logs_to_string(
    module: str, *log_options: str
) -> tuple[list[io.StringIO], Callable[[], AbstractContextManager[Any]]]:
    """`logs_to_string` for several options."""
    settings = ", ".join(log_options)
    return [io.StringIO() for _ in log_options], functools.partial(log_settings, settings)


__all__ = [
    "LoggingTestCase", "kwargs_to_settings", "log_api", "log_settings", "logs_to_string",
    "make_logging_test", "make_settings_test", "multiple_logs_to_string",
]  # fmt: skip
