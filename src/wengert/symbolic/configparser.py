"""``theano.configparser``: settings that programs declare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.symbolic.settings import NAMES, texts
from wengert.symbolic.settings import config as config

Check = Callable[[Any], Any]
change_flags = config.change_flags


class ConfigParam:
    """A setting: its default, and what gives a value that may be assigned, or ValueError."""

    def __init__(
        self, default: Any, filter: Check | None = None, allow_override: bool = True
    ) -> None:
        self.default, self.filter, self.allow_override = default, filter, allow_override

    def checked(self, value: Any) -> Any:
        """The value that `filter` gives."""
        return value if self.filter is None else self.filter(value)


class EnumStr(ConfigParam):
    """A setting that is one of several texts, the first of which is the default."""

    def __init__(self, default: str, *options: str, **kwargs: Any) -> None:
        self.all = (default, *options)
        super().__init__(default, self._one_of_all, **kwargs)

    def _one_of_all(self, value: Any) -> Any:
        if value not in self.all:
            raise ValueError(f"Invalid value ({value!r}). Valid options are {self.all}")
        return value


class TypedParam(ConfigParam):
    """A setting of a type; `is_valid` says of a value whether it may be assigned."""

    def __init__(
        self, default: Any, mytype: Check, is_valid: Callable[[Any], bool] | None = None,
        allow_override: bool = True,
    ) -> None:  # fmt: skip
        self.mytype, self.is_valid = mytype, is_valid
        super().__init__(default, self._typed, allow_override)

    def _typed(self, value: Any) -> Any:
        own = self.mytype(value)
        if self.is_valid is not None and not self.is_valid(own):
            raise ValueError(f"Invalid value ({value!r}) for a setting")
        return own


def _boolean(value: Any) -> bool:
    if str(value).lower() in ("true", "1"):
        return True
    if str(value).lower() in ("false", "0"):
        return False
    raise ValueError(f"Invalid value ({value!r}) for a setting that is True or False")


def StrParam(default: Any, is_valid: Any = None, allow_override: bool = True) -> TypedParam:  # noqa: N802
    """A text."""
    return TypedParam(default, str, is_valid, allow_override)


def IntParam(default: Any, is_valid: Any = None, allow_override: bool = True) -> TypedParam:  # noqa: N802
    """An integer."""
    return TypedParam(default, int, is_valid, allow_override)


def FloatParam(default: Any, is_valid: Any = None, allow_override: bool = True) -> TypedParam:  # noqa: N802
    """A float."""
    return TypedParam(default, float, is_valid, allow_override)


def BoolParam(default: Any, is_valid: Any = None, allow_override: bool = True) -> TypedParam:  # noqa: N802
    """True or False, or a text that says so."""
    return TypedParam(default, _boolean, is_valid, allow_override)


def AddConfigVar(  # noqa: N802
    name: str, doc: str, configparam: ConfigParam, root: Any = config, in_c_key: bool = True
) -> None:
    """Declare a setting, which THEANO_FLAGS and ``~/.theanorc`` may have a value for.

    Args:
        name: what it is called, with dots for settings of settings.
        doc: what it means.
        configparam: its default and what may be assigned.
        root: where it is to be found.
        in_c_key: accepted, and of no effect.

    AttributeError if there is such a setting.

    >>> from wengert.symbolic import config, configparser
    >>> depth = configparser.IntParam(3, lambda n: n > 0)
    >>> configparser.AddConfigVar("example.depth", "How deep the network is", depth)
    >>> config.example.depth
    3
    """
    default = configparam.default
    value = texts().get(name, default() if callable(default) else default)
    root.declare(name, configparam.checked(value), configparam.checked, name in texts())
    _config_var_list.append(_Variable(name))


class _Variable:
    """A setting as an object: packages look for theirs in `_config_var_list`."""

    def __init__(self, fullname: str) -> None:
        self.fullname = fullname

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return config.value_of(self.fullname)

    def __set__(self, instance: Any, value: Any) -> None:
        config.assign(self.fullname, value)


_config_var_list = [_Variable(name) for name in NAMES]

__all__ = [
    "AddConfigVar",
    "BoolParam",
    "ConfigParam",
    "EnumStr",
    "FloatParam",
    "IntParam",
    "StrParam",
    "TypedParam",
    "change_flags",
    "config",
]
