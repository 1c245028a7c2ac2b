"""Functions: inputs, outputs and updates of shared variables, compiled from expressions."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any

import numpy as np

from wengert.core.storage import quoted_location
from wengert.core.tensor import caller, getframe
from wengert.symbolic.arguments import In as In
from wengert.symbolic.arguments import Out as Out
from wengert.symbolic.arguments import Param as Param
from wengert.symbolic.arguments import (
    as_input,
    checked_givens,
    checked_updates,
    fitted_update,
    listed_outputs,
)
from wengert.symbolic.containers import Containers, container_of
from wengert.symbolic.expressions.type import TensorType
from wengert.symbolic.gof.fg import FunctionGraph
from wengert.symbolic.graph import Constant, Variable, ancestors, replaced, toposort
from wengert.symbolic.modes import DebugMode, Mode, mode_of
from wengert.symbolic.profiles import ProfileStats
from wengert.symbolic.programs.assembly import Program, apart_from_others, as_declared
from wengert.symbolic.programs.checking import RewriteChecks
from wengert.symbolic.programs.optimizing import optimized
from wengert.symbolic.settings import config
from wengert.symbolic.sharing import SharedVariable


class UnusedInputError(Exception):
    """No output depends on an input."""


class Maker:
    """What a function was made of."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self.mode, self.outputs = function.mode, function.outs
        news = dict(function.updates)
        self.inputs = [*function.inputs]  # and shared variables, which calls pass beside them
        self.inputs += [In(s, s.name, s.container, news.get(s)) for s in function.get_shared()]

    @property
    def fgraph(self) -> Any:
        """The graph that runs."""
        program = self._function.program
        return FunctionGraph(program.inputs, program.outputs, clone=False)


class Function:
    """A compiled expression. Call it with values for its inputs, by position or by name.

    Attributes:
        program: what runs.
        name: what errors call it.
        maker: the graph it was made of; ``f.maker.fgraph.toposort()`` has its nodes.
        calls, seconds: how often it was called, and how long that took, with `profile`.
        trust_input: accepted; what is passed is checked in any case.
    """

    trust_input = False

    def __init__(
        self, inputs: Sequence[In], outs: Sequence[Out], form: Any,
        updates: Sequence[tuple[Any, Any]], mode: Mode, name: str, profile: Any = None,
    ) -> None:  # fmt: skip
        self.inputs, self.outs, self.form = list(inputs), list(outs), form
        self.updates, self.mode, self.name = list(updates), mode, name
        self.profile = ProfileStats(name) if profile in (True, "True") else profile
        self._compile()

    def _compile(self) -> None:
        targets = [out.variable for out in self.outs]
        new_values = [value for _, value in self.updates]
        own = [i.variable for i in self.inputs]
        stateful = [(k, i) for k, i in enumerate(self.inputs) if i.update is not None]
        results = [*targets, *new_values, *[i.update for _, i in stateful]]
        shareds = shared_in(results, own)
        mode = self.mode
        final = optimized(results, own, mode)
        self.program = Program([*own, *shareds], final, mode.watch)
        self._run: Any = self.program
        if isinstance(mode, DebugMode):
            self._run = RewriteChecks(self.program, results, mode)
        self.shareds = shareds
        self._cells = [s.container.storage for s in shareds]
        self._stateful = [k for k, _ in stateful]
        self._update_cells = [s.container.storage for s, _ in self.updates]
        self._containers = [container_of(i) for i in self.inputs]
        self._places = {i.name: k for k, i in enumerate(self.inputs) if i.name is not None}
        self._copied = [not out.borrow for out in self.outs]
        self._filters = [i.variable.type.filter for i in self.inputs]
        self._plain = [_plain_form(i.variable.type) for i in self.inputs]
        apart = apart_from_others(self.program)
        self._outputs_apart = all(apart)  # an update may be a view of an output
        self._updates_apart = all(apart[len(targets) : len(targets) + len(new_values)])
        refused = set(self.program.outputs)
        for node in self.program.nodes:
            refused.update(() if getattr(node.op, "takes_none", False) else node.inputs)
        self._optional = {k for k, i in enumerate(self.inputs) if i.variable not in refused}

    calls = property(lambda self: self.profile.fct_callcount if self.profile else 0)
    seconds = property(lambda self: self.profile.fct_call_time if self.profile else 0.0)

    @property
    def maker(self) -> Maker:
        """What it was made of."""
        return Maker(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The values of the outputs, in the form in which the outputs were listed.

        ``output_subset=`` lists those that are wanted, by number or by key.

        Raises TypeError for missing, surplus and unfit values. If anything fails, no shared
        variable has changed.
        """
        start = perf_counter() if self.profile else 0.0
        subset = kwargs.pop("output_subset", None) if kwargs else None
        values = self._values(args, kwargs)
        # Somebody may have put something else there, or changed its dtype.
        values += [
            as_declared(s, cell[0]) for s, cell in zip(self.shareds, self._cells, strict=True)
        ]
        results = self._run(*values)
        n = len(self.outs)
        outputs = results[:n]
        changed = results[n : n + len(self._update_cells)]
        if not self._outputs_apart:
            outputs = self._own(outputs, values, changed)
        if not self._updates_apart:
            changed = _unaliased(changed, values)
        for cell, new in zip(self._update_cells, changed, strict=True):
            cell[0] = new
        for k, new in zip(self._stateful, results[n + len(changed) :], strict=True):
            self._containers[k].storage[0] = new
        if self.profile:
            self.profile.note(perf_counter() - start)
        if subset is not None:
            return self._picked(outputs, subset)
        if self.form == "none":
            return []
        if self.form == "one":
            return outputs[0]
        if self.form == "list":
            return list(outputs)
        return dict(zip(self.form, outputs, strict=True))

    def _picked(self, outputs: Sequence[Any], subset: Sequence[Any]) -> Any:
        """Some of the outputs: by number, or by key where they are a dictionary."""
        if isinstance(self.form, list):
            return {key: outputs[self.form.index(key)] for key in subset}
        return [outputs[k] for k in subset]

    def _values(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        slots: list[Any] = list(args)
        if len(slots) != len(self.inputs) or kwargs:
            slots = self._arranged(args, kwargs)
        values: list[Any] = []
        for k, (value, own) in enumerate(zip(slots, self.inputs, strict=True)):
            if (
                type(value) is np.ndarray
                and (value.dtype, value.ndim) == self._plain[k]
                and value.flags.aligned
            ):
                values.append(value)
                continue
            if type(value) is Variable:
                raise TypeError("a symbolic variable was passed for a value")
            if value is None and k in self._optional:
                values.append(None)
                continue
            try:
                values.append(self._filters[k](value, own.strict, own.allow_downcast))
            except (TypeError, ValueError) as error:
                where = own.variable.where()
                origin = f", made at {where}" if where else ""
                text = (
                    f'Bad input argument to theano function with name "{self.name}" at index {k}'
                    f" (0-based): {own.variable}{origin}. "
                )
                error.args = (text + str(error.args[0]), *error.args[1:])
                raise
        return values

    def _arranged(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        if len(args) > len(self.inputs):
            raise TypeError(
                f"Too many parameter passed to theano function: {self.name} takes"
                f" {len(self.inputs)}, got {len(args)}"
            )
        slots: list[Any] = list(args) + [_MISSING] * (len(self.inputs) - len(args))
        for name, value in kwargs.items():
            self._require_one(name)
            if name not in self._places:
                raise TypeError(f"Unknown input or state: {name}. The function has inputs named"
                                f" {sorted(self._places)}")  # fmt: skip
            if self._places[name] < len(args):
                raise TypeError(f"Tried to provide value for input {name} twice")
            slots[self._places[name]] = value
        for k, value in enumerate(slots):
            if value is _MISSING:
                slots[k] = self._containers[k].storage[0]
                emptied = k in self._optional and self.inputs[k].value is not None
                if slots[k] is None and not emptied:
                    raise TypeError(
                        f"Missing required input: {self.inputs[k].name or self.inputs[k].variable}"
                    )
        return slots

    def _require_one(self, name: str) -> None:
        """Raise TypeError for a name that several inputs have."""
        if sum(i.name == name for i in self.inputs) > 1:
            raise TypeError(
                f"Ambiguous name: {name} - please check the names of the inputs of your function"
                " for duplicates."
            )

    def _own(self, outputs: Any, values: list[Any], changed: Any) -> list[Any]:
        """Outputs that share memory with nothing that lives on."""
        others = {id(_owner(v)) for v in (*values, *changed) if isinstance(v, np.ndarray)}
        others |= {id(_owner(v)) for v in self._constants()}
        guarded = set() if all(self._copied) else self._kept_apart(values)
        own = []
        for value, copied in zip(outputs, self._copied, strict=True):
            if isinstance(value, np.ndarray):
                base = id(_owner(value))
                if (base in others and copied) or base in guarded:
                    value = value.copy()
                others.add(base)
            elif copied and not isinstance(value, np.generic):
                value = copy.copy(value)
            own.append(value)
        return own

    def _kept_apart(self, values: list[Any]) -> set[int]:
        """What belongs to callers who did not say that it may be given back."""
        passed = zip(values, self.inputs, strict=False)
        return {id(_owner(v)) for v, i in passed if isinstance(v, np.ndarray) and not i.borrow}

    def _constants(self) -> list[Any]:
        return [v.data for v in self.program.outputs if isinstance(v, Constant)]

    def copy(
        self, share_memory: bool = False, swap: dict[Any, Any] | None = None,
        delete_updates: bool = False, name: str | None = None, profile: Any = None,
    ) -> Function:  # fmt: skip
        """The same function, with other shared variables or without updates."""
        exchanged = swap or {}
        outs = [
            Out(v, o.borrow)
            for v, o in zip(
                replaced([o.variable for o in self.outs], exchanged), self.outs, strict=True
            )
        ]
        updates = [] if delete_updates else self.updates
        new_values = replaced([value for _, value in updates], exchanged)
        pairs = [
            (exchanged.get(s, s), value) for (s, _), value in zip(updates, new_values, strict=True)
        ]
        inputs = [copy.copy(i) for i in self.inputs]
        # As Theano's do, copies give a list where the function gives its only output.
        form = "list" if self.form == "one" else self.form
        name = name or f"{self.name} copy"
        copied = Function(inputs, outs, form, pairs, self.mode, name, profile)
        copied._containers = [
            c.copied(deep=i.mutable) for c, i in zip(self._containers, self.inputs, strict=True)
        ]
        return copied

    def __copy__(self) -> Function:
        return self.copy()

    def __getstate__(self) -> dict[str, Any]:
        state = {n: getattr(self, n) for n in ("inputs", "outs", "form", "updates", "mode", "name",
                                               "profile")}  # fmt: skip
        return state | {"containers": self._containers}

    def __setstate__(self, state: dict[str, Any]) -> None:
        containers = state.pop("containers")
        self.__dict__.update(state)
        self._compile()
        self._containers = containers

    def _found(self, item: Any) -> tuple[str, Any]:
        """An input's place, or a shared variable, by itself, its name or its number."""
        if type(item) is int and 0 <= item < len(self.inputs):
            return "input", item
        if isinstance(item, str):
            self._require_one(item)
        for k, i in enumerate(self.inputs):
            if item is i.variable or item == i.name:
                return "input", k
        for s in self.shareds:
            if item is s or item == s.name:
                return "shared", s
        raise KeyError("Unknown input or state:", item)

    def container_for(self, item: Any) -> Any:
        """What holds the value of an input or of a shared variable; KeyError if there is none."""
        kind, place = self._found(item)
        return self._containers[place] if kind == "input" else place.container

    def __contains__(self, item: Any) -> bool:
        with suppress(KeyError):
            return self._found(item) is not None
        return False

    def __getitem__(self, item: Any) -> Any:
        """The default of an input, or the value of a shared variable, by variable or name."""
        kind, place = self._found(item)
        return self._containers[place].data if kind == "input" else place.get_value()

    def __setitem__(self, item: Any, value: Any) -> None:
        kind, place = self._found(item)
        if kind == "input":
            self._containers[place].data = value
        else:
            place.set_value(value)

    value = property(lambda self: self)

    @property
    def container(self) -> Containers:
        """What holds the values of inputs and of shared variables, by variable or name."""
        return Containers(self)

    def get_shared(self) -> list[Any]:
        """The shared variables that it reads or updates."""
        return list(dict.fromkeys([*self.shareds, *(s for s, _ in self.updates)]))

    @property
    def input_storage(self) -> list[Any]:
        """What holds the values of inputs and of shared variables between calls."""
        return self._containers + [s.container for s in self.get_shared()]

    def free(self) -> None:
        """Drop what lies between calls: nothing does."""

    @property
    def fn(self) -> Any:
        """What runs: a function of the values of inputs and of shared variables."""
        return self.program.of_any

    def __repr__(self) -> str:
        return f"<function {self.name!r} of {len(self.inputs)} inputs>"


_MISSING: Any = object()


def _plain_form(type_: Any) -> tuple[Any, int] | None:
    """The dtype and number of dimensions of arrays that need no other check, if there are such."""
    if type(type_) is not TensorType or any(type_.broadcastable):
        return None
    return type_.numpy_dtype, type_.ndim


def _owner(array: np.ndarray) -> Any:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _unaliased(changed: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """New values of shared variables, none of which shares memory with another or with inputs."""
    owned = {id(_owner(v)) for v in values if isinstance(v, np.ndarray)}
    own = []
    for new in changed:
        if isinstance(new, np.ndarray):
            base = _owner(new)
            if id(base) in owned or base.size != new.size or not new.flags.writeable:
                new = new.copy()
                base = new
            owned.add(id(base))
        own.append(new)
    return own


def shared_in(variables: Sequence[Any], blocked: Iterable[Any]) -> list[Any]:
    """The shared variables that some depend on."""
    inputs = [v for v in ancestors(variables, blocked) if isinstance(v, SharedVariable)]
    return [s for s in dict.fromkeys(inputs) if s not in set(blocked)]


def default_updates(
    results: list[Any], updates: list[tuple[Any, Any]], own: list[Any], without: Any
) -> list[tuple[Any, Any]]:
    """The updates that shared variables have of themselves, such as random streams, beside some."""
    if without is True:
        return []
    excluded = set(without or ())
    targets = {s for s, _ in updates} | excluded
    more: list[tuple[Any, Any]] = []
    todo = list(results)
    while todo:
        fresh = [s for s in shared_in(todo, own) if s not in targets]
        todo = []
        for s in fresh:
            targets.add(s)
            value = getattr(s, "default_update", None)
            if value is not None:
                more.append((s, fitted_update(s, value)))
                todo.append(value)
    return more


def function(
    inputs: Sequence[Any], outputs: Any = None, mode: Any = None, updates: Any = None,
    givens: Any = None, no_default_updates: Any = False, accept_inplace: bool = False,
    name: str | None = None, rebuild_strict: bool = True,
    allow_input_downcast: bool | None = None, profile: Any = None,
    on_unused_input: str | None = None,
) -> Function:  # fmt: skip
    """Compile expressions into a function.

    Args:
        inputs: variables, or `In` for those with defaults.
        outputs: an expression, a list or a dictionary of them, or None.
        mode: a name or a `Mode`.
        updates: new values of shared variables, as a dictionary or as pairs. All are computed from
            the values before the call.
        givens: expressions to put in place of variables.
        no_default_updates: True, or a list of shared variables whose own updates are left out.
        name: what errors call the function.
        allow_input_downcast: whether values may lose precision when they are converted; None
            allows that of Python floats alone.
        on_unused_input: "raise", "warn" or "ignore"; by default what `config` says.
        profile: count and time the calls.

    Raises `UnusedInputError`, `MissingInputError` and, for what does not fit, TypeError.

    >>> from wengert.symbolic import function, shared
    >>> from wengert.symbolic import tensor as T
    >>> x, w = T.dvector("x"), shared(2.0, "w")
    >>> f = function([x], (w * x).sum(), updates=[(w, w + 1)])
    >>> f([1.0, 2.0]), f(x=[1.0, 2.0]), w.get_value()
    (array(6.), array(9.), array(4.))
    """
    if not isinstance(inputs, list | tuple):
        raise Exception(
            "Input variables of a Theano function should be contained in a list, even when there"
            " is a single input."
        )
    if name is None:
        code, lasti = caller(getframe(1))
        name = quoted_location(code, lasti).split("  ")[0]
    specified = [as_input(i, allow_input_downcast) for i in inputs]
    own = [i.variable for i in specified]
    _require_different(own)
    outs, form = listed_outputs(outputs)
    changed, replacements = checked_updates(updates), checked_givens(givens, rebuild_strict)
    _require_kept(own, replacements, no_default_updates)
    targets = [out.variable for out in outs]
    stated = [i.update for i in specified if i.update is not None]
    changed += default_updates(
        replaced([*targets, *(v for _, v in changed), *stated], replacements, rebuild_strict),
        changed, own, no_default_updates,
    )  # fmt: skip
    everything = [*targets, *(v for _, v in changed), *stated]
    final = replaced(everything, replacements, rebuild_strict) if replacements else everything
    _report_unused(specified, final, on_unused_input or config.on_unused_input)
    outs = [Out(v, o.borrow) for v, o in zip(final, outs, strict=False)]
    changed = [(s, v) for (s, _), v in zip(changed, final[len(outs) :], strict=False)]
    return Function(specified, outs, form, changed, mode_of(mode), name, config.profile or profile)


def _require_kept(own: list[Any], replacements: dict[Any, Any], without: Any) -> None:
    """Raise RuntimeError for an input that is replaced, TypeError for no list of variables."""
    for k, v in enumerate(own):
        if v in replacements:
            raise RuntimeError(
                f"You are trying to replace variable {v!r} through the `givens` parameter, but this"
                f" variable is an input to your function, at index {k}"
            )
    if not isinstance(without, bool | list):
        raise TypeError(
            f"no_default_updates should be either a boolean or a list of variables, got {without!r}"
        )


def _require_different(own: list[Any]) -> None:
    """Raise UnusedInputError for an input that comes twice."""
    if len(set(own)) == len(own):
        return
    again = next(v for k, v in enumerate(own) if v in own[:k])
    raise UnusedInputError(
        f"Variable {again} is used twice in inputs to theano.function, at indices"
        f" {own.index(again)} and {len(own) - 1 - own[::-1].index(again)}.  This would result in"
        " values provided for it being ignored. Please do not duplicate variables in the inputs"
        " list."
    )


def _report_unused(inputs: Sequence[In], results: Sequence[Any], how: str) -> None:
    if how == "ignore":
        return
    own = [i.variable for i in inputs]
    used = set(ancestors(results, own))
    if not used.issuperset(own):
        used |= _mentioned(results, own)
    for k, i in enumerate(inputs):
        if i.variable in used or i.update is not None:
            continue
        message = (
            "theano.function was asked to create a function computing outputs given certain"
            f" inputs, but the provided input variable at index {k} is not part of the"
            f" computational graph needed to compute the outputs: {i.variable}.\n"
        )
        if how == "warn":
            warnings.warn(message, stacklevel=3)
            continue
        raise UnusedInputError(
            message + "To make this error into a warning, you can pass the parameter"
            " on_unused_input='warn' to theano.function. To disable it completely, use"
            " on_unused_input='ignore'."
        )


def _mentioned(results: Sequence[Any], own: Sequence[Any]) -> set[Any]:
    """What loops were given for their steps, and what `Rop` was taken of, needed or not."""
    named = [v for node in toposort(results, own) for v in getattr(node.tag, "mentioned", ())]
    return set(ancestors(named, own))


def evaluate(variable: Any, inputs_to_values: dict[Any, Any] | None = None) -> Any:
    """The value of an expression, for values of variables (by themselves or their names)."""
    values: dict[Any, Any] = {}
    for key, value in (inputs_to_values or {}).items():
        if isinstance(key, str):
            named = [v for v in ancestors([variable]) if v.name == key]
            if len(named) != 1:
                raise Exception(f"{len(named)} variables named {key!r}")
            key = named[0]
        values[key] = value
    # Kept with the variable: programs call it in loops.
    compiled = variable.__dict__.setdefault("_fn_cache", {})
    key = tuple(values)
    if key not in compiled:
        compiled[key] = function(list(values), variable)
    return compiled[key](*values.values())


Variable.eval = evaluate  # type: ignore[attr-defined]


def function_dump(filename: str, inputs: Sequence[Any], outputs: Any = None, *,
                  extra_tag_to_remove: Any = None, **options: Any) -> None:  # fmt: skip
    """Pickle the arguments of `function` to a file, with the values of shared variables.

    >>> import os, pickle, tempfile
    >>> from wengert.symbolic import function, function_dump
    >>> from wengert.symbolic import tensor as T
    >>> path = os.path.join(tempfile.mkdtemp(), "function.pkl")
    >>> x = T.dscalar("x")
    >>> function_dump(path, [x], x * 2)
    >>> with open(path, "rb") as file:
    ...     function(**pickle.load(file))(3.0)
    array(6.)
    """
    with open(filename, "wb") as file:
        pickle.dump({"inputs": inputs, "outputs": outputs, **options}, file)
