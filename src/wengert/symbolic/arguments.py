"""What functions are declared with: inputs, outputs, updates, givens."""

from __future__ import annotations

from typing import Any

from wengert.symbolic.expressions.elemwise import rebroadcast
from wengert.symbolic.expressions.type import TensorOperators, TensorType
from wengert.symbolic.graph import Constant, Variable
from wengert.symbolic.sharing import SharedVariable


class In:
    """An input of a function, and what may be passed for it.

    Args:
        variable: the symbol.
        name: what it is called as a keyword; by default the variable's name.
        value: its default.
        update: an expression for its default after each call.
        strict, allow_downcast: as in `function`.
        borrow: whether what the function gives may share memory with what is passed.
        mutable, implicit: accepted; nothing writes to what is passed.

    >>> from wengert.symbolic import In, function
    >>> from wengert.symbolic import tensor as T
    >>> x, y = T.dscalars("x", "y")
    >>> f = function([x, In(y, value=2.0, name="scale")], x * y)
    >>> f(3), f(3, scale=10)
    (array(6.), array(30.))
    """

    def __init__(
        self, variable: Any, name: str | None = None, value: Any = None, update: Any = None,
        mutable: bool | None = None, strict: bool = False, allow_downcast: bool | None = None,
        autoname: bool = True, implicit: Any = None, borrow: Any = None, shared: bool = False,
    ) -> None:  # fmt: skip
        self.name = variable.name if name is None else name
        if not isinstance(self.name, str | None):
            raise TypeError(f"name must be a string! (got: {self.name!r})")
        if update is not None and variable.type != update.type:
            raise TypeError(
                f"In: the update of {variable} must have its type, {variable.type}, got"
                f" {update.type}"
            )
        self.variable, self.value, self.update = variable, value, update
        self.mutable = update is not None if mutable is None else mutable
        self.borrow = self.mutable if borrow is None else borrow
        self.strict, self.allow_downcast = strict, allow_downcast
        self.shared = shared


class Param(In):
    """`In` as programs for Theano 0.7 write it: the default comes second.

    >>> from wengert.symbolic import Param, function
    >>> from wengert.symbolic import tensor as T
    >>> x, y = T.dscalars("x", "y")
    >>> function([x, Param(y, default=2.0)], x * y)(3)
    array(6.)
    """

    def __init__(
        self, variable: Any, default: Any = None, name: str | None = None, mutable: bool = False,
        strict: bool = False, allow_downcast: bool | None = None, implicit: Any = None,
        borrow: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(variable, name, default, None, mutable, strict, allow_downcast)


class Out:
    """An output of a function; with `borrow` the function may give an array that it keeps.

    >>> from wengert.symbolic import Out, function
    >>> from wengert.symbolic import tensor as T
    >>> x = T.dscalar()
    >>> function([x], Out(x * 2, borrow=True))(1.5)
    array(3.)
    """

    def __init__(self, variable: Any, borrow: bool = False) -> None:
        self.variable, self.borrow = variable, borrow


def as_input(value: Any, allow_downcast: bool | None) -> In:
    """A declared input, or TypeError."""
    if isinstance(value, In):
        _require_no_shared(value.variable)
        if value.allow_downcast is None:
            value.allow_downcast = allow_downcast
        return value
    if isinstance(value, list | tuple):
        return _from_shorthand(value, allow_downcast)
    if not isinstance(value, Variable):
        raise TypeError(
            f"An input must be a Variable or an In instance, not {value!r} of type {type(value)}"
        )
    _require_no_shared(value)
    if isinstance(value, Constant):
        raise TypeError(f"A constant cannot be an input of a function: {value}")
    return In(value, allow_downcast=allow_downcast)


def _require_no_shared(variable: Any) -> None:
    if isinstance(variable, SharedVariable):
        raise TypeError(
            f"Cannot use a shared variable ({variable}) as explicit input. Consider substituting a"
            " non-shared variable via the `givens` parameter"
        )


def _from_shorthand(entries: Any, allow_downcast: bool | None) -> In:
    """An input of ``([name,] variable[, value])`` or ``([name,] (variable, update), value)``."""
    parts = list(entries)
    name = parts.pop(0) if parts and isinstance(parts[0], str) else None
    update = None
    if len(parts) == 2 and isinstance(parts[0], list | tuple) and len(parts[0]) == 2:
        parts[0], update = parts[0]
    fits = len(parts) in (1, 2) and isinstance(parts[0], Variable)
    symbolic = isinstance(parts[-1], In | Variable) if len(parts) == 2 else False
    if not fits or symbolic or not isinstance(update, Variable | None):
        raise TypeError(
            "Invalid input syntax: an input is a variable, an In, ([name,] variable, value) or"
            f" ([name,] (variable, update), value), got {entries!r}"
        )
    default = parts[1] if len(parts) == 2 else None
    return In(parts[0], name, default, update, allow_downcast=allow_downcast)


def _as_out(value: Any) -> Out:
    if isinstance(value, Out):
        return value
    if isinstance(value, Variable):
        return Out(value)
    raise TypeError(
        f"Outputs must be theano Variable or Out instances. Received {value!r} of type"
        f" {type(value)}"
    )


def listed_outputs(outputs: Any) -> tuple[list[Out], Any]:
    """Declared outputs, and the form in which a call gives them."""
    if outputs is None:
        return [], "none"
    if isinstance(outputs, dict):
        if not all(isinstance(k, str) for k in outputs):
            raise AssertionError("All keys of the outputs dictionary should be strings")
        keys = sorted(outputs)
        return [_as_out(outputs[k]) for k in keys], keys
    if isinstance(outputs, list | tuple):
        return [_as_out(v) for v in outputs], "list"
    return [_as_out(outputs)], "one"


def pairs_of(updates: Any, what: str = "pairs") -> list[tuple[Any, Any]]:
    """The items of a dictionary, or pairs as they are; TypeError for anything else."""
    if updates is None:
        return []
    if isinstance(updates, dict):
        return list(updates.items())
    pairs: list[tuple[Any, Any]] = []
    for pair in updates:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise TypeError(f"{what} must be pairs of a variable and a value, got {pair!r}")
        pairs.append((pair[0], pair[1]))
    return pairs


def checked_updates(updates: Any) -> list[tuple[Any, Any]]:
    """Pairs of shared variables and their new values; TypeError or ValueError."""
    pairs = pairs_of(updates, "updates")
    checked: list[tuple[Any, Any]] = []
    targets: set[Any] = set()
    for target, value in pairs:
        if not isinstance(target, SharedVariable):
            raise TypeError(f"update target must be a SharedVariable, got {target!r}")
        if target in targets:
            raise ValueError(f"this shared variable already has an update expression: {target}")
        targets.add(target)
        checked.append((target, fitted_update(target, value)))
    return checked


def fitted_update(target: Any, value: Any) -> Any:
    """An update in the type of its variable."""
    try:
        return target.type.filter_variable(value)
    except TypeError:
        if (
            isinstance(value, TensorOperators)
            and isinstance(target.type, TensorType)
            and (value.dtype, value.ndim) == (target.dtype, target.ndim)
        ):
            return rebroadcast(value, target.broadcastable)
        kind = getattr(value, "type", type(value))
        raise TypeError(
            "An update must have the same type as the original shared variable"
            f" (shared_var={target}, shared_var.type={target.type}, update_val={value},"
            f" update_val.type={kind}).",
            "If the difference is related to the broadcast pattern, you can call the"
            " tensor.unbroadcast(var, axis_to_unbroadcast[, ...]) function to remove broadcastable"
            " dimensions.",
        ) from None


def checked_givens(givens: Any, strict: bool = True) -> dict[Any, Any]:
    """What to put in place of which variables; of another type only if not `strict`."""
    table: dict[Any, Any] = {}
    for old, new in pairs_of(givens, "givens"):
        if not isinstance(old, Variable):
            raise TypeError(f"givens must contain Variables as keys, got {old!r}")
        if old in table:
            raise AssertionError(f"When using 'givens', {old} is replaced twice")
        table[old] = _standing_for(old, new, strict)
    return table


def _standing_for(old: Any, new: Any, strict: bool) -> Any:
    """A variable for another one, of its type if that can be or has to be."""
    try:
        return old.type.filter_variable(new)
    except TypeError:
        if strict or not isinstance(new, Variable):
            raise
        return new
