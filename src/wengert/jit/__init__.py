"""``torch.jit``: traced programs, which are saved and loaded, and scripts, which stay Python."""

from __future__ import annotations

import builtins
import copy
import inspect
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from typing import Final as Final

from wengert.autograd.transforms.levels import transform_stack
from wengert.jit._levels import TracerWarning as TracerWarning
from wengert.jit._modules import TopLevelTracedModule as TopLevelTracedModule
from wengert.jit._modules import TracedModule as TracedModule
from wengert.jit._scripting import RecursiveScriptModule as RecursiveScriptModule
from wengert.jit._scripting import ScriptFunction as ScriptFunction
from wengert.jit._scripting import ScriptModule as ScriptModule
from wengert.jit._scripting import scripted_module
from wengert.jit._types import has_type
from wengert.nn.module import Module


def script(
    obj: Any, optimize: None = None, _frames_up: int = 0, _rcb: Any = None,
    example_inputs: Any = None,
) -> Any:  # fmt: skip
    """A function or module under a name of ``torch.jit``; it runs as the Python that it is.

    Args:
        obj: a function gives a `ScriptFunction`; a module a `ScriptModule` that shares its
            parameters and everything else; a class, a list or a dictionary is given back.
        optimize: without effect.
        example_inputs: a list of the arguments of calls. The first one is recorded where a program
            is asked for, as `save` does.

    Raises:
        TypeError: for any other value.

    >>> import wengert, wengert.jit
    >>> @wengert.jit.script
    ... def absolute(x):
    ...     return x if x > 0 else -x
    >>> absolute(wengert.tensor(-2.0))
    tensor(2.)
    """
    if builtins.isinstance(example_inputs, dict):
        example_inputs = next(iter(example_inputs.values()), None)
    example = tuple(example_inputs[0]) if example_inputs else None
    if builtins.isinstance(obj, Module):
        return scripted_module(obj, example)
    if inspect.isclass(obj) or builtins.isinstance(obj, ScriptFunction | list | dict):
        return obj
    if not callable(obj):
        raise TypeError(f"jit.script: expected a function or module, got {type(obj).__name__}")
    return ScriptFunction(obj, None, example)


def trace(
    func: Any, example_inputs: Any = None, optimize: None = None, check_trace: bool = True,
    check_inputs: Any = None, check_tolerance: float = 1e-5, strict: bool = True,
    _force_outplace: bool = False, _module_class: Any = None, _compilation_unit: Any = None,
    example_kwarg_inputs: dict[str, Any] | None = None, _store_inputs: bool = True,
) -> Any:  # fmt: skip
    """Record what a function or module computes, as a program in its place.

    It runs several times, at other sizes too: a size that the program follows may be another when
    it is called; any other input than the example's in shape or dtype is refused. A value that
    Python reads is a constant from there on, of which a `TracerWarning` tells. Parameters are
    shared, and gradients flow; what `no_grad` or `train` said stays as it was.

    Args:
        func: the function or module; a module's bound `forward` stands for the module.
        example_inputs: the arguments of a call: a tensor, or a tuple.
        optimize: without effect.
        check_trace: whether to compare the program with `func`; a `TracerWarning` tells of
            results that differ.
        check_inputs: a list of further arguments to compare with.
        check_tolerance: relative and absolute.
        strict: whether to refuse results in dictionaries, and to warn of those in lists.
        example_kwarg_inputs: arguments by name.

    Raises:
        RuntimeError: for an argument or result that is not made of tensors.

    >>> import wengert, wengert.jit
    >>> traced = wengert.jit.trace(lambda x: x.view(x.size(0), -1), wengert.ones(2, 3, 4))
    >>> traced(wengert.ones(5, 3, 4)).shape
    torch.Size([5, 12])
    """
    if optimize is not None:
        warnings.warn("`optimize` is deprecated and has no effect", FutureWarning, stacklevel=2)
    if builtins.isinstance(func, ScriptModule | ScriptFunction):
        return func
    args = _arguments(example_inputs, example_kwarg_inputs)
    kwargs = dict(example_kwarg_inputs or {})
    inner = getattr(func, "__self__", None)
    if builtins.isinstance(inner, Module) and getattr(func, "__name__", "") == "forward":
        func = inner
    if builtins.isinstance(func, Module):
        given: Any = args if not kwargs else (args, kwargs)
        return trace_module(
            func, {"forward": given}, None, check_trace,
            [{"forward": x} for x in check_inputs or ()], check_tolerance, strict,
            example_inputs_is_kwarg=bool(kwargs),
        )  # fmt: skip
    from wengert.jit._tracing import compare, function_method

    method = function_method(func, args, kwargs, strict)
    traced = ScriptFunction(func, method)
    for own, named in [*([(args, kwargs)] if check_trace else []), *_calls(check_inputs)]:
        compare(traced.name, func, traced, own, named, check_tolerance)
    return traced


def trace_module(
    mod: Any, inputs: Any, optimize: None = None, check_trace: bool = True,
    check_inputs: Any = None, check_tolerance: float = 1e-5, strict: bool = True,
    _force_outplace: bool = False, _module_class: Any = None, _compilation_unit: Any = None,
    example_inputs_is_kwarg: bool = False, _store_inputs: bool = True,
) -> Any:  # fmt: skip
    """Record methods of a module, as `trace` does.

    Args:
        mod: the module.
        inputs: the arguments of a call, by the name of the method.
        example_inputs_is_kwarg: whether they are dictionaries of arguments by name, or pairs of
            a tuple and such a dictionary.

    The other arguments are those of `trace`.
    """
    if not builtins.isinstance(mod, Module):
        raise AttributeError("expected torch.nn.Module as the first argument")
    if not builtins.isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    from wengert.jit._tracing import compare, method_of, traced_module

    methods = {}
    for name, given in inputs.items():
        args, kwargs = _split(given, example_inputs_is_kwarg)
        methods[name] = method_of(mod, name, args, kwargs, strict)
    traced = traced_module(mod, methods)
    for given in [*([inputs] if check_trace else []), *(check_inputs or ())]:
        for name, one in given.items():
            args, kwargs = _split(one, example_inputs_is_kwarg and given is inputs)
            compare(name, getattr(mod, name), getattr(traced, name), args, kwargs, check_tolerance)
    return traced


def _arguments(example_inputs: Any, by_name: Any) -> tuple[Any, ...]:
    """The arguments of a call by position."""
    if example_inputs is None:
        if by_name is None:
            raise RuntimeError("example_kwarg_inputs should be a dict")
        return ()
    if builtins.isinstance(example_inputs, tuple | list):
        return tuple(example_inputs)
    return (example_inputs,)


def _calls(check_inputs: Any) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    return [(_arguments(x, None), {}) for x in check_inputs or ()]


def _split(given: Any, by_name: bool) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if not by_name:
        return _arguments(given, None), {}
    if builtins.isinstance(given, dict):
        return (), given
    args, kwargs = given
    return args, kwargs


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
    """Whether `trace` runs the code that asks."""
    return any(level.what == "tracing" for level in transform_stack.levels)


class Attribute(NamedTuple):
    """A value, and the type that TorchScript was to give it."""

    value: Any
    type: Any


def annotate(the_type: Any, the_value: Any) -> Any:
    """Return the value as it is."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether a value is of a type such as ``dict[str, list[int]]``, or of one of a tuple of types.

    RuntimeError for a container that says nothing of its items.
    """
    return has_type(obj, target_type)


def interface(obj: Any) -> Any:
    """Return the class as it is."""
    return obj


def freeze(
    mod: Any, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True
) -> Any:
    """A copy of a script module, whose parameters are constants.

    RuntimeError if it is no script module, or is training.
    """
    if not builtins.isinstance(mod, ScriptModule):
        raise RuntimeError(
            "Freezing expects a ScriptModule as input. Please use torch.jit.script or"
            " torch.jit.trace to script your 'nn.Module'."
        )
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval()"
            " on your module before freezing."
        )
    return copy.deepcopy(mod).requires_grad_(False)


def optimize_for_inference(mod: Any, other_methods: list[str] | None = None) -> Any:
    """`freeze` of a script module, which is set to evaluation mode; RuntimeError if it is none."""
    if not builtins.isinstance(mod, ScriptModule):
        raise RuntimeError(
            "optimize_for_inference expects a ScriptModule as input. Please use torch.jit.script"
            " or torch.jit.trace to script your 'nn.Module'."
        )
    return freeze(mod.eval())


def enable_onednn_fusion(enabled: bool) -> None:
    """Accepted, without effect: nothing is compiled."""


@contextmanager
def fuser(name: str) -> Iterator[None]:
    """Accepted, without effect: nothing is compiled. RuntimeError for a name of none."""
    if name not in ("fuser0", "fuser1", "fuser2", "fuser3"):
        raise RuntimeError(f"unrecognized fuser option (name: {name})")
    yield


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> None:
    """Accepted, without effect: nothing is compiled."""


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call the function, at once: a `torch.futures.Future` of what it returned."""
    from wengert.distributed.futures import Future

    future: Future[Any] = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Any) -> Any:
    """What the function that `fork` called returned."""
    return future.wait()


def save(m: Any, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
    """Write a traced module or function: its program as JSON, its tensors as safetensors.

    The file is the library's own, and holds no code of Python: PyTorch does not read it.

    Args:
        m: what `trace` gave, what `script` gave with example inputs, or what `load` gave.
        f: a path, or a file open for binary writing.
        _extra_files: texts to keep beside it, by name.

    Raises:
        RuntimeError: for what has no program.
        NotImplementedError: for a program that draws random numbers.

    >>> import io, wengert, wengert.jit
    >>> file = io.BytesIO()
    >>> traced = wengert.jit.trace(wengert.nn.Linear(2, 1), wengert.ones(3, 2))
    >>> wengert.jit.save(traced, file)
    >>> loaded = wengert.jit.load(io.BytesIO(file.getvalue()))
    >>> loaded(wengert.ones(4, 2)).equal(traced(wengert.ones(4, 2)))
    True
    """
    from wengert.jit._files import write_module

    write_module(m, f, _extra_files)


def load(
    f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False
) -> Any:
    """A module that `save` wrote.

    Args:
        f: a path, or a seekable file open for binary reading.
        map_location: the device for its tensors.
        _extra_files: filled with the bytes that the file has under these names.

    Raises:
        RuntimeError: for a file that is none of `save`, as PyTorch's TorchScript archives.
        ValueError: for a path where there is no file.
    """
    from wengert.jit._files import read_module

    if builtins.isinstance(f, str | os.PathLike) and not os.path.isfile(f):
        raise ValueError(f"The provided filename {os.fspath(f)} does not exist")
    module = read_module(f, _extra_files)
    return module if map_location is None else module.to(map_location)
