"""``torch._decomp``: no operation has to be taken apart. Tables hold what users register."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Table = dict[Any, Callable[..., Any]]

decomposition_table: Table = {}
pre_autograd_decomposition_table: Table = {}
meta_table: Table = {}
global_decomposition_table: dict[str, Table] = {
    "post_autograd": decomposition_table,
    "pre_autograd": pre_autograd_decomposition_table,
    "meta": meta_table,
}


def register_decomposition(
    aten_op: Any, registry: Table | None = None, *, type: str = "post_autograd",
    unsafe: bool = False,
) -> Callable[[Any], Any]:  # fmt: skip
    """A decorator: a function takes an operation apart, or each of some."""
    if type not in global_decomposition_table:
        kinds = sorted(global_decomposition_table)
        raise AssertionError(f"register_decomposition(): type is {type!r}, expected one of {kinds}")
    table = global_decomposition_table[type] if registry is None else registry

    def register(fn: Any) -> Any:
        for op in aten_op if isinstance(aten_op, list | tuple | set) else [aten_op]:
            if op in table and not unsafe:
                raise RuntimeError(f"duplicate registrations for {type} {op}")
            table[op] = fn
        return fn

    return register


def get_decompositions(aten_ops: Iterable[Any], type: str = "post_autograd") -> Table:
    """Those of some operations that were registered."""
    table = global_decomposition_table[type]
    return {op: table[op] for op in aten_ops if op in table}


def remove_decompositions(decompositions: Table, aten_ops: Iterable[Any]) -> None:
    """Take operations out of a table."""
    for op in aten_ops:
        decompositions.pop(op, None)


def core_aten_decompositions() -> Table:
    """None: graphs are of operations that nobody has to take apart."""
    return {}


__all__ = [
    "core_aten_decompositions", "decomposition_table", "get_decompositions",
    "global_decomposition_table", "meta_table", "pre_autograd_decomposition_table",
    "register_decomposition", "remove_decompositions",
]  # fmt: skip
