"""``torch.__future__``: how ``Module.to`` and ``load_state_dict`` put their results in place."""

from __future__ import annotations

from wengert.nn.module.convert import conversion


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether a converted module has new parameters in the place of the old ones."""
    conversion.overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """False unless set: a parameter stays the same object when its module is converted."""
    return conversion.overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Whether parameters exchange all that they are with converted or loaded ones."""
    conversion.swap = value


def get_swap_module_params_on_conversion() -> bool:
    """False unless set: parameters get new values."""
    return conversion.swap


__all__ = [
    "get_overwrite_module_params_on_conversion",
    "get_swap_module_params_on_conversion",
    "set_overwrite_module_params_on_conversion",
    "set_swap_module_params_on_conversion",
]
