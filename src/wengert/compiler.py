"""``torch.compile``: functions whose steps are compared with a record and computed as programs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from types import MethodType, TracebackType
from typing import TYPE_CHECKING, Any

from wengert.autograd.transforms.levels import transform_stack
from wengert.replay.failures import InvalidBackend, refuse_break
from wengert.replay.stance import Stance, as_compiling, telling

if TYPE_CHECKING:
    from wengert.replay.explanation import Explanation

_MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
_STANCES = (
    "default", "force_eager", "eager_on_recompile", "fail_on_recompile", "eager_then_compile",
    "aot_eager_then_compile",
)  # fmt: skip

_BACKENDS = {
    "aot_eager", "aot_eager_decomp_partition", "aot_ts", "cudagraphs", "eager", "inductor", "ipex",
    "onnxrt", "openxla", "openxla_eval", "tensorrt", "ts", "tvm",
}  # fmt: skip
# Backends by the names under which they were registered, and the tags of each.
_registered: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {}
# What is to begin anew with `reset`.
resets: list[Callable[[], None]] = []
# What calls functions that `disable` was given, once graphs are recorded.
disabled_calls: list[Callable[..., Any]] = []

# How objects that are more than functions are compiled, by their class: `nn` adds to them.
wrappers: list[tuple[type, Callable[[Any, Callable[..., Any]], Any]]] = []


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """A function or module that computes its operations as one program; a decorator without one.

    The function's own Python runs at every call; its operations compare themselves with those of
    earlier calls, and nothing is computed until a value is read. So control flow, prints and all
    else that Python does are as without `compile`. Not so where a backend is a function.

    Args:
        model: the function or module.
        fullgraph: raise RuntimeError where Python decides by a value inside.
        dynamic: accepted; other shapes are another way through the record in any case.
        backend: a function, or its registered name, that is given a graph module and example
            inputs, and returns what computes the calls. ``"eager"``: the function as it is, or
            with `fullgraph` compiled exactly. Other names of PyTorch's are accepted. By default
            that of `set_default_backend`.
        mode: ``"reduce-overhead"`` skips the Python of calls that can only do what the last did.
        options: ``{"exact": True}`` keeps to rewrites that change no digit. A backend that is a
            function is given them, or the mode.
        name, isolate_recompiles, shapes_spec: accepted.
        disable: return `model` as it is.
        recompile_limit: for how many kinds of calls a backend is called, by default 8.

    >>> import wengert.compiler
    >>> norm = wengert.compiler.compile(lambda x: (x * x).sum().sqrt())
    >>> norm(wengert.tensor([3.0, 4.0]))
    tensor(5.)
    """
    backend = _Default.backend if backend is None else backend
    _check_mode(mode, options, backend)
    if model is None:
        return functools.partial(
            compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode,
            options=options, disable=disable, recompile_limit=recompile_limit,
        )  # fmt: skip
    if not callable(model):
        raise AssertionError(f"torch.compile: argument 'model' is {model!r}, expected a callable")
    if disable:
        return model
    compiles = _compiles(backend, fullgraph, mode, options, recompile_limit)
    for kind, wrap in wrappers:
        if isinstance(model, kind):
            return wrap(model, compiles)
    return compiles(model)


def _compiles(
    backend: Any, fullgraph: bool, mode: str | None, options: dict[str, Any] | None,
    limit: int | None,
) -> Callable[..., Any]:  # fmt: skip
    """What compiles functions, and modules, with these options of `compile`."""
    own = _own_backend(backend)
    if own is not None:
        return capturing(_with_settings(own, mode, options), fullgraph, limit)
    if backend == "eager":
        return compiling(True, True, mode) if fullgraph else AsItIs
    return compiling(fullgraph, bool(options and options.get("exact")), mode)


def _check_mode(mode: str | None, options: dict[str, Any] | None, backend: Any) -> None:
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
            f" compile() got mode={mode!r} and options={options!r}"
        )
    if mode is not None and mode not in _MODES and backend == "inductor":
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")


class _Default:
    """What `compile` has for a backend where it is given none."""

    backend: str | Callable[..., Any] = "inductor"


def get_default_backend() -> str | Callable[..., Any]:
    """The backend of `compile` where it is given none.

    >>> import wengert.compiler
    >>> wengert.compiler.get_default_backend()
    'inductor'
    """
    return _Default.backend


def set_default_backend(backend: str | Callable[..., Any] | None) -> None:
    """Set the backend of `compile` where it is given none; None for ``"inductor"``.

    >>> import wengert.compiler
    >>> wengert.compiler.set_default_backend(None)
    """
    if backend is not None and not isinstance(backend, str) and not callable(backend):
        raise TypeError(
            f"set_default_backend(): argument 'backend' is {backend!r}, expected a name, a"
            " function or None"
        )
    _Default.backend = "inductor" if backend is None else backend


def compiling(fullgraph: bool, exact: bool, mode: str | None) -> Callable[..., Any]:
    """What compiles functions with these options."""
    from wengert.replay.compiled import Compiled, compiled

    kind = Compiled
    if mode == "reduce-overhead":
        from wengert.replay.skipping import Skipping

        kind = Skipping
    return functools.partial(compiled, fullgraph=fullgraph, exact=exact, kind=kind)


class AsItIs:
    """A function, or module, that computes as it is where it was to be compiled."""

    def __init__(self, function: Any) -> None:
        self.function = function
        functools.update_wrapper(self, function, updated=())

    @as_compiling
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)


def capturing(
    backend: Callable[..., Any], fullgraph: bool, limit: int | None = None
) -> Callable[..., Any]:
    """What compiles functions with a backend that is a function."""
    captured = import_module("wengert.fx.captured.functions").captured
    return functools.partial(captured, backend=backend, fullgraph=fullgraph, limit=limit)


def _own_backend(backend: Any) -> Callable[..., Any] | None:
    """The function that a backend is; None for the names of PyTorch's."""
    if isinstance(backend, str):
        if backend in _registered:
            return _registered[backend][0]
        if backend not in _BACKENDS:
            raise InvalidBackend(backend)
        return None
    if not callable(backend):
        raise RuntimeError(
            f"torch.compile: argument 'backend' is {backend!r}, expected a name or a function"
        )
    return backend


def _with_settings(
    backend: Callable[..., Any], mode: str | None, options: dict[str, Any] | None
) -> Callable[..., Any]:
    """A backend that is given the mode or the options as well."""
    given: dict[str, Any] = {}
    if mode is not None and mode != "default":
        given["mode"] = mode
    if options:
        given["options"] = options
    if not given:
        return backend
    own: Any = functools.partial(backend, **given)
    own.__name__ = getattr(backend, "__name__", str(backend))
    result: Callable[..., Any] = own
    return result


def register_backend(
    compiler_fn: Callable[..., Any] | None = None, name: str | None = None,
    tags: Any = (),
) -> Any:  # fmt: skip
    """Let `compile` know a backend by its name, by default the function's; a decorator without one.

    >>> import wengert.compiler
    >>> @wengert.compiler.register_backend
    ... def as_written(gm, example_inputs):
    ...     return gm.forward
    >>> wengert.compiler.compile(lambda x: x + 1, backend="as_written")(wengert.ones(2))
    tensor([2., 2.])
    """
    if compiler_fn is None:
        return functools.partial(register_backend, name=name, tags=tags)
    if not callable(compiler_fn):
        raise AssertionError(
            f"register_backend(): argument 'compiler_fn' is {compiler_fn!r}, expected a callable"
        )
    known = name or compiler_fn.__name__
    if known in _registered:
        raise AssertionError(f"duplicate name: {known}")
    _registered[known] = compiler_fn, tuple(tags)
    return compiler_fn


def registered_backend(name: str) -> Callable[..., Any] | None:
    """The backend that was registered by a name."""
    return _registered[name][0] if name in _registered else None


def accepts_backend(name: str) -> bool:
    """Whether `compile` accepts a backend of this name."""
    return name in _BACKENDS


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """A function that computes at once when a compiled one calls it; a decorator without one.

    Of a module it gives a module, as `compile` does, and a class whose objects are called keeps
    its place: they compute at once.

    >>> import wengert.compiler
    >>> wengert.compiler.disable(abs)(-1)
    1
    """
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    if not callable(fn):
        raise AssertionError(f"disable(): argument 'fn' is {fn!r}, expected a callable")
    for kind, wrap in wrappers:
        if isinstance(fn, kind):
            return wrap(fn, AtOnce)
    if isinstance(fn, type):
        if any("__call__" in vars(base) for base in fn.__mro__):
            fn.__call__ = _computing_at_once(fn.__call__)  # type: ignore[method-assign]
        return fn
    return _computing_at_once(fn)


_told_eager = functools.partial(as_compiling, compiling=False)


class AtOnce:
    """`_computing_at_once` of an object, which is copied and pickled with it."""

    def __init__(self, function: Any) -> None:
        self.function = function

    @_told_eager
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _called_disabled(self.function, args, kwargs)


def _called_disabled(function: Any, args: Any, kwargs: Any) -> Any:
    from wengert.replay.state import active, computing_at_once

    if active.whole:
        refuse_break(f"{getattr(function, '__qualname__', type(function).__name__)}() is disabled")
    with computing_at_once():
        if disabled_calls:
            return disabled_calls[0](function, args, kwargs)
        return function(*args, **kwargs)


def _computing_at_once(fn: Any) -> Any:
    @_told_eager
    @functools.wraps(fn, updated=())
    def computing(*args: Any, **kwargs: Any) -> Any:
        return _called_disabled(fn, args, kwargs)

    return computing


def explain(function: Callable[..., Any]) -> Callable[..., Explanation]:
    """What a compiled function computes, and where its program is split: call the result.

    The function runs three times: to record, to find what is read in between, and to replay.

    >>> import wengert.compiler
    >>> report = wengert.compiler.explain(lambda x: (x * 2 + 1).exp().sum())(wengert.ones(3))
    >>> report.operations, report.calls, report.splits
    (4, 4, [])
    """

    def explained(*args: Any, **kwargs: Any) -> Explanation:
        from wengert.replay.explanation import explain_calls

        return explain_calls(function, args, kwargs)

    return explained


def is_compiling() -> bool:
    """Whether the calling code runs in a compiled function, or is being exported.

    >>> import wengert.compiler
    >>> asked = wengert.compiler.is_compiling
    >>> asked(), wengert.compiler.compile(asked)()
    (False, True)
    """
    return telling.compiling or is_exporting()


def is_dynamo_compiling() -> bool:
    """Whether the calling code runs in a compiled function."""
    return telling.compiling


def is_exporting() -> bool:
    """Whether `export` records the code that asks."""
    return any(level.what == "exporting" for level in transform_stack.levels)


def reset() -> None:
    """Forget all records: the next call of each compiled function is its first."""
    from wengert.replay.compiled import forget

    for begin in (forget, *resets):
        begin()


def cudagraph_mark_step_begin() -> None:
    """Nothing to mark."""


def allow_in_graph(fn: Any) -> Any:
    """Return `fn` as it is."""
    return fn


assume_constant_result = nested_compile_region = wrap_numpy = allow_in_graph


def substitute_in_graph(
    original_fn: Any, *, can_constant_fold_through: bool = False,
    skip_signature_check: bool = False,
) -> Callable[[Any], Any]:  # fmt: skip
    """A decorator that returns its function as it is: `original_fn` itself runs when called."""
    if not callable(original_fn):
        raise TypeError(
            f"substitute_in_graph expects a function but got {type(original_fn).__name__}"
        )
    return allow_in_graph


def skip_guard_on_inbuilt_nn_modules_unsafe(guard_entries: Any) -> list[bool]:
    """Accepted where options ask for a filter of guards: there are no guards."""
    return [True for _ in guard_entries]


skip_guard_on_globals_unsafe = skip_guard_on_inbuilt_nn_modules_unsafe
skip_all_guards_unsafe = skip_guard_on_inbuilt_nn_modules_unsafe
skip_guard_on_all_nn_modules_unsafe = skip_guard_on_inbuilt_nn_modules_unsafe
keep_portable_guards_unsafe = skip_guard_on_inbuilt_nn_modules_unsafe


def keep_tensor_guards_unsafe(guard_entries: Any, keep_parameters: bool = False) -> list[bool]:
    """Accepted where options ask for a filter of guards: there are no guards."""
    return [True for _ in guard_entries]


def set_enable_guard_collectives(enabled: bool) -> bool:
    """Accepted, without effect: there are no guards. Returns False, what it was before."""
    return False


def save_cache_artifacts() -> None:
    """None: kernels are kept on disk as they are compiled, and nothing else is."""


def load_cache_artifacts(serialized_artifacts: bytes) -> None:
    """None: there is nothing to load."""


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The name that `compile` has by default, and those of registered backends.

    >>> import wengert.compiler
    >>> "inductor" in wengert.compiler.list_backends()
    True
    """
    excluded = set(exclude_tags or ())
    own = [name for name, (_, tags) in _registered.items() if excluded.isdisjoint(tags)]
    return sorted({"inductor", *own})


class set_stance:  # noqa: N801 (PyTorch's name)
    """``"force_eager"`` runs compiled functions as they are; also a context and a decorator.

    >>> import wengert.compiler
    >>> with wengert.compiler.set_stance("force_eager"):
    ...     wengert.compiler.compile(lambda x: x + 1)(wengert.ones(1))
    tensor([2.])
    """

    def __init__(
        self,
        stance: str = "default",
        *,
        skip_guard_eval_unsafe: bool = False,
        force_backend: str | Callable[..., Any] | None = None,
    ) -> None:
        if stance not in _STANCES:
            raise RuntimeError(
                f"invalid torch.compile stance {stance!r}, expected one of {_STANCES}"
            )
        self.eager, self._before = stance == "force_eager", Stance.eager
        Stance.eager = self.eager

    def __enter__(self) -> None:
        Stance.eager = self.eager

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        Stance.eager = self._before

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        Stance.eager = self._before

        @functools.wraps(fn)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            before, Stance.eager = Stance.eager, self.eager
            try:
                return fn(*args, **kwargs)
            finally:
                Stance.eager = before

        return decorated
