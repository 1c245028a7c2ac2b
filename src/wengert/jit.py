"""``torch.jit`` for scripts that can do without: functions and modules stay Python."""

from __future__ import annotations

import builtins
import typing
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple
from typing import Final as Final

from wengert.core.storage import line_of
from wengert.core.tensor import caller, getframe
from wengert.nn.module import Module
from wengert.serialization import load as _load
from wengert.serialization import save as _save

_told: set[str] = set()


def tell_eager(name: str) -> None:
    """Warn, once for each `name`, that what it was given runs eagerly."""
    if name in _told:
        return
    _told.add(name)
    code, lasti = caller(getframe(1))
    message = f"{name} compiles nothing in wengert: the function runs eagerly, as written"
    warnings.warn_explicit(message, UserWarning, code.co_filename, line_of(code, lasti))


def script(obj: Any, optimize: None = None, example_inputs: Any = None) -> Any:
    """Return `obj`, a function, class or module, as it is; a warning says so once.

    >>> import warnings, wengert.jit
    >>> with warnings.catch_warnings(action="ignore"):
    ...     double = wengert.jit.script(lambda x: x * 2)
    >>> double(3)
    6
    """
    tell_eager("torch.jit.script")
    return obj


def trace(func: Any, example_inputs: Any = None, **options: Any) -> Any:
    """Return `func` as it is: what depends on Python values stays dynamic."""
    tell_eager("torch.jit.trace")
    return func


def script_if_tracing(fn: Any) -> Any:
    """Return `fn` as it is."""
    return fn


def ignore(drop: Any = False, **options: Any) -> Any:
    """Return the function as it is; also a decorator with arguments."""
    return drop if callable(drop) else lambda function: function


def unused(fn: Any) -> Any:
    """Return `fn` as it is."""
    return fn


def export(fn: Any) -> Any:
    """Return `fn` as it is."""
    return fn


def is_scripting() -> bool:
    """False."""
    return False


def is_tracing() -> bool:
    """False."""
    return False


class ScriptModule(Module):
    """A base class for modules, as any other; `script` and `trace` return what they were given."""


class TracerWarning(Warning):
    """What programs filter out around `trace`; nothing warns of it."""


class ScriptFunction:
    """The type of no function: `script` returns what it was given."""


class Attribute(NamedTuple):
    """A value, and the type that TorchScript was to give it."""

    value: Any
    type: Any


def annotate(the_type: Any, the_value: Any) -> Any:
    """Return the value as it is."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether a value is of a type, whose parameters are not looked at."""
    return builtins.isinstance(obj, typing.get_origin(target_type) or target_type)


def interface(obj: Any) -> Any:
    """Return the class as it is."""
    return obj


def trace_module(mod: Any, inputs: Any, **options: Any) -> Any:
    """Return the module as it is."""
    tell_eager("torch.jit.trace_module")
    return mod


def freeze(
    mod: Any, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True
) -> Any:
    """Return the module as it is; RuntimeError if it is training."""
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval()"
            " on your module before freezing."
        )
    return mod


def optimize_for_inference(mod: Any, other_methods: list[str] | None = None) -> Any:
    """Return the module as it is."""
    return mod


def enable_onednn_fusion(enabled: bool) -> None:
    """Accepted, without effect: nothing is compiled."""


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> None:
    """Accepted, without effect: nothing is compiled."""


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call the function, at once; `wait` gives what it returned."""
    return func(*args, **kwargs)


def wait(future: Any) -> Any:
    """What the function that `fork` called returned."""
    return future


def save(m: Any, f: Any, _extra_files: Any = None) -> None:
    """Save a module with its parameters; its class is saved by name, its code is not.

    >>> import io, wengert, wengert.jit
    >>> file = io.BytesIO()
    >>> wengert.jit.save(wengert.nn.Linear(2, 1), file)
    >>> wengert.jit.load(io.BytesIO(file.getvalue()))
    Linear(in_features=2, out_features=1, bias=True)
    """
    _save(m, f)


def load(
    f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False
) -> Any:
    """A module that `save` wrote, whose class must be imported; TorchScript is refused."""
    return _load(f, map_location, weights_only=False)
