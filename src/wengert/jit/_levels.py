"""Recording for `trace`: values that Python reads become constants, and a warning says so."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from wengert.autograd.transforms.recorded import Recorded, RecordLevel
from wengert.core.storage import line_of
from wengert.core.tensor import caller, getframe


class TracerWarning(Warning):
    """A value that a trace has as a constant; a traced function that computes something else."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Nothing to ignore: what the library does in a trace warns of nothing."""


def _burning(name: str, what: str) -> Callable[..., Any]:
    """A method of `Tensor` that gives Python a value."""

    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self.level.telling:
            code, lasti = caller(getframe(1))
            message = (
                f"Converting a tensor to a {what} might cause the trace to be incorrect: the value"
                " is a constant of the program from here on, whatever the inputs are"
            )
            warnings.warn_explicit(message, TracerWarning, code.co_filename, line_of(code, lasti))
        value = self.value
        return getattr(type(value), name)(value, *args, **kwargs)

    read.__name__ = name
    return read


class Traced(Recorded):
    """A tensor of a trace, whose elements Python may read."""

    __slots__ = ()

    item = _burning("item", "Python number")
    tolist = _burning("tolist", "Python list")
    numpy = _burning("numpy", "NumPy array")
    __array__ = _burning("__array__", "NumPy array")
    __bool__ = _burning("__bool__", "Python boolean")
    __int__ = _burning("__int__", "Python integer")
    __index__ = _burning("__index__", "Python index")
    __float__ = _burning("__float__", "Python float")
    __complex__ = _burning("__complex__", "Python complex")
    __contains__ = _burning("__contains__", "Python boolean")


class TraceLevel(RecordLevel):
    """A recording for `trace`; `telling` is whether it warns of values that Python reads."""

    what = "tracing"
    kind = Traced
    telling = True


class RepeatedLevel(TraceLevel):
    """As `TraceLevel`, for what has been recorded before."""

    telling = False
