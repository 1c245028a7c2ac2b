"""``torch.overrides``: nothing overrides operations here."""

from __future__ import annotations

from typing import Any

from wengert.core.tensor import Tensor


def has_torch_function(relevant_args: Any) -> bool:
    """False: operations do not ask their arguments for another implementation.

    >>> import wengert.overrides
    >>> wengert.overrides.has_torch_function((wengert.ones(1),))
    False
    """
    return False


has_torch_function_unary = has_torch_function


def has_torch_function_variadic(*args: Any) -> bool:
    """False, as `has_torch_function`.

    >>> import wengert.overrides
    >>> wengert.overrides.has_torch_function_variadic(1, 2)
    False
    """
    return False


def handle_torch_function(public_api: Any, relevant_args: Any, *args: Any, **kwargs: Any) -> Any:
    """TypeError: no argument has another implementation.

    >>> import wengert.overrides
    >>> try:
    ...     wengert.overrides.handle_torch_function(len, ())
    ... except TypeError as error:
    ...     print(str(error)[:42])
    no implementation found for 'builtins.len'
    """
    name = f"{public_api.__module__}.{public_api.__name__}"
    raise TypeError(
        f"no implementation found for {name!r} on types that implement __torch_function__: []"
    )


def is_tensor_like(inp: Any) -> bool:
    """Whether something is a tensor, or says that it may stand for one.

    >>> import wengert.overrides
    >>> wengert.overrides.is_tensor_like(wengert.ones(1))
    True
    """
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")
