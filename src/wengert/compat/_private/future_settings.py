"""``torch.__future__``: how ``Module.to`` puts its results in place; there is one way here."""

from __future__ import annotations


def _only_false(name: str, value: bool) -> None:
    if value:
        raise NotImplementedError(f"torch.__future__.{name}({value!r}): it can only be False here")


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Accept False; NotImplementedError for True."""
    _only_false("set_overwrite_module_params_on_conversion", value)


def get_overwrite_module_params_on_conversion() -> bool:
    """False: a parameter stays the same object when its module is converted."""
    return False


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Accept False; NotImplementedError for True."""
    _only_false("set_swap_module_params_on_conversion", value)


def get_swap_module_params_on_conversion() -> bool:
    """False: parameters get new values, and are not swapped for others."""
    return False


__all__ = [
    "get_overwrite_module_params_on_conversion",
    "get_swap_module_params_on_conversion",
    "set_overwrite_module_params_on_conversion",
    "set_swap_module_params_on_conversion",
]
