"""``torch.testing._internal.logging_tensor``: tensors and a mode that log the calls on them."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from weakref import WeakKeyDictionary

import wengert
from wengert import Tensor
from wengert.autograd.transforms.tree import map_leaves
from wengert.compat._private.mode_utils import no_dispatch
from wengert.dispatch.modes import TorchDispatchMode

_WORDS = {
    wengert.float64: "f64", wengert.float32: "f32", wengert.float16: "f16",
    wengert.bfloat16: "bf16", wengert.complex32: "c32", wengert.complex64: "c64",
    wengert.complex128: "c128", wengert.int8: "i8", wengert.int16: "i16", wengert.int32: "i32",
    wengert.int64: "i64", wengert.bool: "b8", wengert.uint8: "u8",
}  # fmt: skip

_log = logging.getLogger("LoggingTensor")


class LoggingTensor(Tensor):
    """A tensor around another, `elem`, that logs each call with what it gives."""

    elem: Tensor
    context: Callable[[], Any] = staticmethod(nullcontext)

    @staticmethod
    def __new__(cls, elem: Tensor, *args: Any, **kwargs: Any) -> Any:
        """Wrap a tensor."""
        make: Any = Tensor
        wrapper: Any = make._make_wrapper_subclass(
            cls, elem.size(), strides=elem.stride(), storage_offset=elem.storage_offset(),
            dtype=elem.dtype, layout=elem.layout, device=elem.device,
            requires_grad=kwargs.get("requires_grad", False),
        )  # fmt: skip
        wrapper.elem = elem.detach() if wrapper.requires_grad else elem
        return wrapper

    def __repr__(self, **options: Any) -> str:  # type: ignore[override]
        """The tensor inside."""
        return f"{type(self).__name__}({self.elem})"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the operation on the tensors inside, and log it."""
        kwargs = kwargs or {}

        def inside(x: Any) -> Any:
            return x.elem if isinstance(x, cls) else x

        def wrapped(x: Any) -> Any:
            return cls(x) if isinstance(x, Tensor) else x

        with cls.context():
            results = func(*map_leaves(inside, args), **map_leaves(inside, kwargs))
        results = map_leaves(wrapped, results)
        _log_call(func, args, kwargs, results)
        return results


class LoggingTensorReentrant(LoggingTensor):
    """A `LoggingTensor` whose operations are called as any others are, with what watches them."""

    context = staticmethod(nullcontext)


class LoggingTensorMode(TorchDispatchMode):
    """A mode that logs each call within it."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the operation, and log it."""
        results = func(*args, **(kwargs or {}))
        _log_call(func, args, kwargs or {}, results)
        return results


def _log_call(func: Any, args: Any, kwargs: Any, results: Any) -> None:
    _log.info(f"{func.__module__}.{func.__name__}", args, kwargs, results)


def log_input(name: str, var: object) -> None:
    """Log that a value is the input of this name."""
    _log.info("input", (name,), {}, var)


class LoggingTensorHandler(logging.Handler):
    """Writes records of calls as lines, in which tensors have numbers."""

    def __init__(
        self, log_list: list[str], use_shortid_for_all_tensors: bool = False,
        with_type: bool = True, tracebacks_list: list[Any] | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.log_list, self.tracebacks_list = log_list, tracebacks_list
        self.kind = Tensor if use_shortid_for_all_tensors else LoggingTensor
        self.with_type = with_type
        self._numbers: WeakKeyDictionary[_ById, int] = WeakKeyDictionary()
        self._next = itertools.count()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record of a call."""
        written: Any = record.args
        args, kwargs, results = written
        words = [*map(self._word, args), *(f"{k}={self._word(v)}" for k, v in kwargs.items())]
        several = isinstance(results, tuple | list)
        left = _as_list(results, self._typed) if several else self._typed(results)
        self.log_list.append(f"{left} = {record.msg}({', '.join(words)})")
        if self.tracebacks_list is not None:
            self.tracebacks_list.append(getattr(record, "traceback", None))

    def _typed(self, x: Any) -> str:
        if not (self.with_type and isinstance(x, self.kind)):
            return self._word(x)
        return f"{self._word(x)}: {_WORDS.get(x.dtype, x.dtype)}{list(x.shape)}"

    def _word(self, x: Any) -> str:
        if isinstance(x, self.kind):
            return f"${self._number(x)}"
        if isinstance(x, list | tuple):
            return _as_list(x, self._word)
        return repr(x)

    def _number(self, x: Any) -> int:
        key = x.__dict__.setdefault("_logged_as", _ById())
        if key not in self._numbers:
            self._numbers[key] = next(self._next)
        return self._numbers[key]


class _ById:
    """What is equal to itself alone."""


def _as_list(values: Any, word: Callable[[Any], str]) -> str:
    words = map(word, values)
    return repr([*words] if isinstance(values, list) else (*words,))


class GatherTraceback(logging.Filter):
    """Gives each record the stack of the program, in `traceback`."""

    def __init__(self, python: bool = True, script: bool = True, cpp: bool = False) -> None:
        super().__init__()
        self.python = python

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep the record."""
        import traceback

        record.traceback = traceback.extract_stack() if self.python else None
        return True


@contextmanager
def capture_logs(
    is_mode: bool = False, python_tb: bool = False, script_tb: bool = False, cpp_tb: bool = False
) -> Iterator[Any]:
    """The lines of the calls within the block; with tracebacks, both lists."""
    with_tracebacks = python_tb or script_tb or cpp_tb
    lines: list[str] = []
    tracebacks: list[Any] = []
    handler = LoggingTensorHandler(lines, is_mode, True, tracebacks if with_tracebacks else None)
    gather = GatherTraceback(python=python_tb)
    before = _log.level, _log.propagate
    _log.addHandler(handler)
    _log.setLevel(logging.INFO)
    _log.propagate = False
    if with_tracebacks:
        _log.addFilter(gather)
    try:
        yield (lines, tracebacks) if with_tracebacks else lines
    finally:
        _log.removeFilter(gather)
        _log.removeHandler(handler)
        _log.level, _log.propagate = before


@contextmanager
def capture_logs_with_logging_tensor_mode(
    python_tb: bool = False, script_tb: bool = False, cpp_tb: bool = False
) -> Iterator[Any]:
    """`capture_logs` under a `LoggingTensorMode`."""
    with LoggingTensorMode(), capture_logs(True, python_tb, script_tb, cpp_tb) as lines:
        yield lines


__all__ = [
    "GatherTraceback", "LoggingTensor", "LoggingTensorHandler", "LoggingTensorMode",
    "LoggingTensorReentrant", "capture_logs", "capture_logs_with_logging_tensor_mode",
    "log_input", "no_dispatch",
]  # fmt: skip
