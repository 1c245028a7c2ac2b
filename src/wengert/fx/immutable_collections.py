"""Lists and dictionaries in the arguments of nodes: to be read, so that users stay right."""

from __future__ import annotations

from typing import Any, NoReturn


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(
        f"{type(self).__name__!r} object does not support mutation. Make a copy, change that, and"
        " assign it to the node's args or kwargs"
    )


class immutable_list(list[Any]):  # noqa: N801 (PyTorch's name)
    """A list that refuses writes.

    >>> from wengert.fx.immutable_collections import immutable_list
    >>> immutable_list([1, 2])[0]
    1
    """

    append = extend = insert = pop = remove = reverse = sort = clear = _refuse
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse

    def __reduce__(self) -> Any:
        return immutable_list, (list(self),)

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))


class immutable_dict(dict[Any, Any]):  # noqa: N801 (PyTorch's name)
    """A dictionary that refuses writes.

    >>> from wengert.fx.immutable_collections import immutable_dict
    >>> immutable_dict(a=1)["a"]
    1
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)

    clear = pop = popitem = setdefault = update = _refuse
    __setitem__ = __delitem__ = __ior__ = _refuse

    def __reduce__(self) -> Any:
        return immutable_dict, (dict(self),)

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))
