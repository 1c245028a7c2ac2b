"""The schema of a function, from its annotations: `infer_schema`."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Union, get_args, get_origin

from wengert.core.device import device
from wengert.core.dtypes import dtype
from wengert.core.tensor import Tensor
from wengert.types import Number

_KINDS: dict[Any, str] = {
    Tensor: "Tensor", bool: "bool", int: "SymInt", float: "float", str: "str",
    dtype: "ScalarType", device: "Device", Number: "Scalar",
}  # fmt: skip
_DEFAULTS = (int, float, bool, str, type(None))


def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
    tags: Any = (),
) -> str:
    """The schema that a function's annotations say, without a name unless there is an `op_name`.

    `mutates_args` names the arguments that it writes to; "unknown" takes all tensors for such.
    ValueError for what a schema cannot say.

    >>> from wengert.library import infer_schema
    >>> from wengert import Tensor
    >>> def scaled(x: Tensor, by: float = 2.0) -> Tensor:
    ...     return x * by
    >>> infer_schema(scaled, mutates_args=())
    '(Tensor x, float by=2.0) -> Tensor'
    """
    signature = inspect.signature(prototype_function)

    def refusal(what: str) -> ValueError:
        return ValueError(f"infer_schema(func): {what} Got func with signature {signature})")

    hints = _hints(prototype_function)
    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError(
            "mutates_args must either be a sequence of the names of the arguments that are mutated"
            f' or the string "unknown", but is {mutates_args!r}'
        )
    written = None if isinstance(mutates_args, str) else [*mutates_args]
    texts: list[str] = []
    for position, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in texts:
            texts.append("*")
        if name not in hints:
            raise refusal(f"Parameter {name} must have a type annotation.")
        kind = _argument_kind(parameter, hints[name], position, written, refusal)
        texts.append(f"{kind} {name}{_default(name, parameter, refusal)}")
    strange = {name for name in written or () if name not in signature.parameters}
    if strange:
        raise refusal(
            f"{strange} in mutates_args were not found in the custom op's signature. mutates_args"
            " should contain the names of all args that the custom op mutates, or just the string"
            " 'unknown' if you don't know."
        )
    if "return" not in hints:
        raise refusal("No return type annotation was provided. Please add one.")
    return f"{op_name or ''}({', '.join(texts)}) -> {_results(hints['return'], refusal)}"


def _argument_kind(
    parameter: inspect.Parameter, hint: Any, position: int, written: list[str] | None,
    refusal: Callable[[str], ValueError],
) -> str:  # fmt: skip
    """The type of an argument; of a tensor that is written, with what says so."""
    name = parameter.name
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise refusal("We do not support *args or **kwargs in schemas.")
    kind = _kind(hint)
    if kind is None:
        raise refusal(f"Parameter {name} has unsupported type {hint}.")
    if written is not None and name not in written:
        return kind
    if not kind.startswith("Tensor"):
        if written is None:
            return kind
        raise refusal(f"Parameter {name} is in mutates_args but is no Tensor.")
    return kind.replace("Tensor", f"Tensor(a{position}!)", 1)


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except (NameError, TypeError):  # names of a scope that has ended
        annotations = dict(getattr(function, "__annotations__", {}))
        return {n: _BY_NAME.get(a, a) if isinstance(a, str) else a for n, a in annotations.items()}


_BY_NAME = {"Tensor": Tensor, "torch.Tensor": Tensor, "int": int, "float": float, "bool": bool,
            "str": str, "None": None}  # fmt: skip


def _kind(hint: Any) -> str | None:
    """The type of a schema for an annotation; None where there is none."""
    try:
        if hint in _KINDS:
            return _KINDS[hint]
    except TypeError:
        return None
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        others = [a for a in arguments if a is not type(None)]
        if len(others) == len(arguments):
            return "Scalar" if set(others) == {int, float, bool} else None
        inner = _kind(others[0] if len(others) == 1 else Union[tuple(others)])  # noqa: UP007
        return None if inner is None else f"{inner}?"
    if origin in (list, Sequence) and len(arguments) == 1:
        inner = _kind(arguments[0])
        return None if inner is None or "[" in inner else f"{inner}[]"
    return None


def _default(name: str, parameter: inspect.Parameter, refusal: Callable[[str], ValueError]) -> str:
    value = parameter.default
    if value is parameter.empty:
        return ""
    if isinstance(value, (dtype, device)):
        return f'="{value}"' if isinstance(value, device) else f"={value}".replace("torch.", "")
    if not isinstance(value, _DEFAULTS):
        raise refusal(f"Parameter {name} has an unsupported default value type {type(value)}.")
    return f'="{value}"' if isinstance(value, str) else f"={value}"


def _results(hint: Any, refusal: Callable[[str], ValueError]) -> str:
    if hint is None or hint is type(None):
        return "()"
    if get_origin(hint) is tuple:
        kinds = [_kind(a) for a in get_args(hint)]
        if not kinds or None in kinds:
            raise refusal(f"Return has unsupported type {hint}.")
        return f"({', '.join(str(kind) for kind in kinds)})"
    kind = _kind(hint)
    if kind not in ("Tensor", "Tensor[]", "SymInt", "int", "float", "bool", "Scalar"):
        raise refusal(f"Return has unsupported type {hint}.")
    return kind
