"""What modules pass on to the functions that make their tensors."""

from __future__ import annotations

from typing import Any


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The keyword arguments with which a module is to make its tensors.

    Args:
        kwargs: `device`, `dtype`, `memory_format`, and a dict of them under ``factory_kwargs``.

    >>> import wengert
    >>> wengert.nn.factory_kwargs({"device": "cpu", "factory_kwargs": {"dtype": wengert.float64}})
    {'dtype': torch.float64, 'device': 'cpu'}
    """
    if kwargs is None:
        return {}
    names = {"device", "dtype", "memory_format"}
    unexpected = kwargs.keys() - names - {"factory_kwargs"}
    if unexpected:
        raise TypeError(f"unexpected kwargs {unexpected}")
    options = dict(kwargs.get("factory_kwargs", {}))
    for name in ("device", "dtype", "memory_format"):
        if name in kwargs:
            if name in options:
                raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
            options[name] = kwargs[name]
    return options
