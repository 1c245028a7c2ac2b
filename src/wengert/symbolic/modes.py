"""How functions are compiled and watched while they run."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.symbolic.graph import Apply, Operation
from wengert.symbolic.settings import config

# Of a node, what computes it and the values of its inputs; gives what was computed.
Watch = Callable[[Apply, Callable[..., Any], Sequence[Any]], Any]

# What programs have given names to.
named_linkers: dict[str, Any] = {}
named_optimizers: dict[str, Any] = {}


class Mode:
    """How a function is compiled: with which rewrites, and what looks at its values.

    Programs name modes by strings, of which "FAST_COMPILE" rewrites only what has to be stable.

    >>> from wengert.symbolic import Mode, function
    >>> from wengert.symbolic import tensor as T
    >>> x = T.dscalar()
    >>> function([x], x + x, mode=Mode(optimizer="fast_compile"))(1.0)
    array(2.)
    """

    watch: Watch | None = None

    def __init__(self, linker: Any = "cvm", optimizer: Any = "fast_run") -> None:
        """`optimizer` is a name, a `gof.Query` or a rewrite of graphs, which then runs alone."""
        self.linker, self.provided_optimizer = linker, optimizer
        if isinstance(optimizer, str):
            optimizer = named_optimizers.get(optimizer, optimizer)
        runner = named_linkers.get(linker, linker) if isinstance(linker, str) else linker
        watch = getattr(runner, "watch", None)
        if watch is not None:
            self.watch = watch
        self.excluded: frozenset[str] = frozenset()
        self.included: frozenset[str] = frozenset()
        if hasattr(optimizer, "include"):
            self.included = frozenset({*optimizer.include, *optimizer.require})
            self.excluded = frozenset(optimizer.exclude)
            some = "fast_run" if "fast_run" in self.included else "fast_compile"
            optimizer = some if self.included else None
        self.optimizer = optimizer

    @property
    def rewrites(self) -> bool:
        """Whether graphs are brought into normal form."""
        return self.optimizer not in (None, "None")

    @property
    def fuses(self) -> bool:
        """Whether elementwise operations are merged."""
        return self.fuses_by_default and "fusion" not in self.excluded

    @property
    def fuses_by_default(self) -> bool:
        """Whether all rewrites are wanted, not only those that have to be."""
        return self.rewrites and self.optimizer not in ("fast_compile", "merge")

    def excluding(self, *tags: str) -> Mode:
        """A mode without some rewrites."""
        mode = copy.copy(self)
        mode.excluded = self.excluded | set(tags)
        return mode

    def including(self, *tags: str) -> Mode:
        """A mode with rewrites that programs have registered; the library's are in already."""
        mode = copy.copy(self)
        mode.included = self.included | set(tags)
        mode.excluded = self.excluded - set(tags)
        return mode

    def requiring(self, *tags: str) -> Mode:
        """As `including`."""
        return self.including(*tags)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self), str(self.optimizer)))


class DebugModeError(Exception):
    """An operation of a program does something else than it declares."""


class InvalidValueError(DebugModeError):
    """A value is not of its variable's type."""


class BadViewMap(DebugModeError):  # noqa: N818
    """A result shares memory with an input, and `view_map` does not say so."""


class BadDestroyMap(DebugModeError):  # noqa: N818
    """An operation writes to an input, and `destroy_map` does not say so."""


class BadThunkOutput(DebugModeError):  # noqa: N818
    """Two implementations of an operation differ."""


class BadOptimization(DebugModeError):  # noqa: N818
    """A rewrite has changed a value, or a type.

    Attributes:
        reason: the name of the rewrite.
        old_r, new_r: a variable, and what the rewrite put in its place.
        old_r_val, new_r_val: their values, None where the types differ.
    """

    def __init__(
        self, old_r: Any, new_r: Any, old_r_val: Any, new_r_val: Any, reason: Any
    ) -> None:  # fmt: skip
        super().__init__(
            f"the rewrite {reason} put {new_r} ({new_r.type}) in place of {old_r} ({old_r.type}):"
            f" its value is {new_r_val}, not {old_r_val}"
        )
        self.old_r, self.new_r, self.reason = old_r, new_r, reason
        self.old_r_val, self.new_r_val = old_r_val, new_r_val


class StochasticOrder(DebugModeError):  # noqa: N818
    """A rewrite did not do the same twice."""


class DebugMode(Mode):
    """Runs every operation as it stands, and checks what it does.

    A value that is not of its variable's type is an `InvalidValueError`, and so is NaN or infinity
    unless `check_isfinite` is False; an operation of a program that writes to an input or gives a
    view of it has to declare that. What a program's rewrites put in place of a variable has to have
    its value, or they are a `BadOptimization`.

    >>> from wengert.symbolic import function
    >>> from wengert.symbolic import tensor as T
    >>> from wengert.symbolic.modes import DebugMode
    >>> x = T.dscalar()
    >>> function([x], T.log(x), mode=DebugMode(check_isfinite=False))(0.0)
    array(-inf)
    """

    def __init__(
        self, optimizer: Any = "fast_run", stability_patience: int | None = None,
        check_c_code: bool | None = None, check_py_code: bool | None = None,
        check_isfinite: bool | None = None, check_preallocated_output: Any = None,
        require_matching_strides: Any = None, linker: Any = None,
    ) -> None:  # fmt: skip
        """`stability_patience` is how often a rewrite is tried; None stands for the settings."""
        super().__init__("py", None)
        self.provided_optimizer = optimizer
        settings = config.DebugMode

        def chosen(value: Any, name: str) -> Any:
            return settings.value_of(name) if value is None else value

        self.stability_patience = chosen(stability_patience, "patience")
        self.check_c_code = chosen(check_c_code, "check_c")
        self.check_py_code = chosen(check_py_code, "check_py")
        self.check_isfinite = chosen(check_isfinite, "check_finite")
        self.check_preallocated_output = chosen(
            check_preallocated_output, "check_preallocated_output"
        )
        self.require_matching_strides = chosen(require_matching_strides, "check_strides")

    def watch(self, node: Apply, compute: Callable[..., Any], inputs: Sequence[Any]) -> Any:
        """Compute, and compare with what the operation declares."""
        own = not isinstance(node.op, Operation)
        before = [v.copy() if own and isinstance(v, np.ndarray) else None for v in inputs]
        self._require_finite(node.inputs, inputs)
        try:
            values = compute(*inputs)
            listed = values if node.nout > 1 else (values,)
            for out, value in zip(node.outputs, listed, strict=True):
                out.type.filter(value, strict=True)
            self._require_finite(node.outputs, listed)
        except TypeError as error:
            raise InvalidValueError(f"{node}: {error}") from None
        for k, (kept, v) in enumerate(zip(before, inputs, strict=True)):
            if kept is None:
                continue
            if not np.array_equal(kept, v, equal_nan=v.dtype.kind in "fc"):
                raise BadDestroyMap(f"{node.op} writes to input {k}, and destroy_map has no word"
                                    " of it")  # fmt: skip
            _check_views(node, k, v, listed)
        return values

    def _require_finite(self, variables: Sequence[Any], values: Sequence[Any]) -> None:
        """InvalidValueError for NaN and infinity."""
        if not self.check_isfinite:
            return
        for variable, value in zip(variables, values, strict=True):
            if _has(value, lambda v: ~np.isfinite(v)):
                where = f", the result of {variable.owner}" if variable.owner is not None else ""
                raise InvalidValueError(f"non-finite elements in {variable}{where}: {value}")


def _check_views(node: Apply, k: int, v: np.ndarray, outputs: Sequence[Any]) -> None:
    """BadViewMap for a result that shares memory with an input undeclared."""
    for j, out in enumerate(outputs):
        declared = k in (*node.op.view_map.get(j, ()), *node.op.destroy_map.get(j, ()))
        if not declared and isinstance(out, np.ndarray) and np.may_share_memory(out, v):
            raise BadViewMap(f"output {j} of {node.op} shares memory with input {k}, and view_map"
                             " has no word of it")  # fmt: skip


def flatten(l: Any) -> list[Any]:  # noqa: E741
    """The elements of nested lists, tuples and sets in one list.

    >>> from wengert.symbolic.modes import flatten
    >>> flatten([1, [2, (3,)]])
    [1, 2, 3]
    """
    if not isinstance(l, list | tuple | set | frozenset):
        return [l]
    return [x for entry in l for x in flatten(entry)]


def _has(arr: Any, wrong: Callable[[np.ndarray], np.ndarray]) -> bool:
    """Whether elements of an array of floats are wrong; nothing else has such elements."""
    if not isinstance(arr, np.ndarray | np.generic) or arr.dtype.kind not in "fc":
        return False
    return bool(wrong(np.asarray(arr)).any())


def contains_nan(arr: Any, node: Any = None, var: Any = None) -> bool:
    """Whether an array has a NaN.

    >>> import numpy as np
    >>> from wengert.symbolic.modes import contains_nan
    >>> contains_nan(np.array([1.0, np.nan])), contains_nan(np.array([1]))
    (True, False)
    """
    return _has(arr, np.isnan)


def contains_inf(arr: Any, node: Any = None, var: Any = None) -> bool:
    """Whether an array has an infinite element.

    >>> import numpy as np
    >>> from wengert.symbolic.modes import contains_inf
    >>> contains_inf(np.array([1.0, -np.inf]))
    True
    """
    return _has(arr, np.isinf)


class NanGuardMode(Mode):
    """Raises AssertionError when an operation gives NaN, infinite or very large values."""

    def __init__(
        self, nan_is_error: bool | None = None, inf_is_error: bool | None = None,
        big_is_error: bool | None = None, optimizer: Any = "default", linker: Any = None,
    ) -> None:  # fmt: skip
        super().__init__("py", "fast_compile")
        guard = config.NanGuardMode
        self.nan = guard.nan_is_error if nan_is_error is None else nan_is_error
        self.inf = guard.inf_is_error if inf_is_error is None else inf_is_error
        self.big = guard.big_is_error if big_is_error is None else big_is_error

    def watch(self, node: Apply, compute: Callable[..., Any], inputs: Sequence[Any]) -> Any:
        """Look at the values of a node."""
        values = compute(*inputs)
        for value in values if node.nout > 1 else (values,):
            if not isinstance(value, np.ndarray) or value.dtype.kind not in "fc":
                continue
            for what, wrong in (
                ("NaN", self.nan and np.isnan(value).any()),
                ("Inf", self.inf and np.isinf(value).any()),
                ("Big value", self.big and (np.abs(value) > 1e10).any()),
            ):
                if wrong:
                    raise AssertionError(f"{what} detected in the result of {node}")
        return values


class Thunk:
    """The computation of a node as `MonitorMode` shows it: lists of one value each."""

    def __init__(self, inputs: list[Any], outputs: list[Any]) -> None:
        self.inputs, self.outputs = inputs, outputs


class MonitorMode(Mode):
    """Calls functions before and after each operation: ``pre_func(fgraph, node, fn)``."""

    def __init__(
        self, pre_func: Any = None, post_func: Any = None, optimizer: Any = "fast_compile",
        linker: Any = None,
    ) -> None:  # fmt: skip
        super().__init__("py", "fast_compile")
        self.pre_func, self.post_func = pre_func, post_func

    def watch(self, node: Apply, compute: Callable[..., Any], inputs: Sequence[Any]) -> Any:
        """Call the functions, with what programs expect of a thunk: cells of values."""
        thunk = Thunk([[v] for v in inputs], [[None] for _ in node.outputs])
        if self.pre_func is not None:
            self.pre_func(0, node, thunk)
        values = compute(*inputs)
        for cell, value in zip(thunk.outputs, values if node.nout > 1 else (values,), strict=True):
            cell[0] = value
        if self.post_func is not None:
            self.post_func(0, node, thunk)
        return values


predefined_modes: dict[str, Mode] = {
    "FAST_RUN": Mode(),
    "FAST_COMPILE": Mode("py", "fast_compile"),
    "JAX": Mode(),
    "Mode": Mode(),
    "PROFILE_MODE": Mode(),
    "ProfileMode": Mode(),
    "DEBUG_MODE": DebugMode(),
    "DebugMode": DebugMode(),
}


FAST_RUN, FAST_COMPILE = predefined_modes["FAST_RUN"], predefined_modes["FAST_COMPILE"]


def register_mode(name: str, mode: Mode) -> None:
    """Give a mode a name; ValueError if it is taken.

    >>> from wengert.symbolic import Mode
    >>> from wengert.symbolic.modes import get_mode, register_mode
    >>> register_mode("PLAIN", Mode(optimizer=None))
    >>> get_mode("PLAIN").rewrites
    False
    """
    if name in predefined_modes:
        raise ValueError(f"Mode name already taken: {name}")
    predefined_modes[name] = mode


def get_mode(orig: Any) -> Mode:
    """A mode by its name; None is that of the settings.

    >>> from wengert.symbolic.modes import get_mode
    >>> get_mode("FAST_COMPILE").optimizer
    'fast_compile'
    """
    if orig is None:
        orig = config.mode
        if orig == "Mode" and config.optimizer != "fast_run":
            return Mode(config.linker, config.optimizer)
    if isinstance(orig, Mode):
        return orig
    if orig == "NanGuardMode":
        return NanGuardMode()
    if orig not in predefined_modes:
        raise ValueError(f"No predefined mode exist for string: {orig}")
    return predefined_modes[orig]


def get_default_mode() -> Mode:
    """The mode of the settings."""
    return get_mode(None)


mode_of = get_mode
