"""``torch.ops.aten``: operations of the library under the names that PyTorch's have."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

from wengert.core.fronts import public_functions
from wengert.core.tensor import Tensor
from wengert.dispatch.computed import COMPUTED
from wengert.dispatch.overloads import OpNamespace, OpOverload, OpOverloadPacket
from wengert.dispatch.schema import parse_schema
from wengert.tensor.foreach import function_of


@functools.cache
def schema_lines() -> dict[str, list[str]]:
    """The schemas of each name; those with an asterisk PyTorch decomposes."""
    lines: dict[str, list[str]] = {}
    with open(os.path.join(os.path.dirname(__file__), "aten.txt"), encoding="utf-8") as file:
        for line in file:
            if line[0] != "#":
                head = line.lstrip("*").partition("(")[0]
                lines.setdefault(head.partition(".")[0], []).append(line.rstrip())
    return lines


class Aten(OpNamespace):
    """The namespace; a packet is read when it is first named."""

    def load(self, name: str) -> OpOverloadPacket | None:
        """The overloads of a name."""
        lines = schema_lines().get(name)
        if lines is None:
            return None
        packet = OpOverloadPacket("aten", name)
        for line in lines:
            schema = parse_schema("aten::" + line.lstrip("*"))
            overload = packet.add(schema, functools.partial(_run, name, schema.overload_name))
            if line[0] == "*":
                decomposed.add(overload)
        return packet


# The overloads that PyTorch takes apart before a mode sees them.
decomposed: set[OpOverload] = set()

aten = Aten("aten")


def _run(name: str, overload: str, *args: Any, **kwargs: Any) -> Any:
    """What the library's function of that name returns."""
    function = COMPUTED.get(f"{name}.{overload}") or COMPUTED.get(name) or _public(name)
    if function is None:
        raise NotImplementedError(
            f"torch.ops.aten.{name}: wengert knows the name, and has no function of it to call"
        )
    if "self" in kwargs:
        args = (kwargs.pop("self"), *args)
    return function(*args, **kwargs)


def public_name(path: str) -> str:
    """The name in aten of a public function, such as ``torch.linalg.inv``."""
    home, _, name = path.rpartition(".")
    field = home.rpartition(".")[2]
    return f"{field}_{name}" if field in ("linalg", "fft", "special") else name


@functools.cache
def _by_name() -> dict[str, Any]:
    """Functions by their names in aten: those of the library before those of Tensor."""
    functions: dict[str, Any] = {}
    for public in public_functions.values():
        if not public.name.startswith("torch.Tensor."):
            functions.setdefault(public_name(public.name), public.func)
    return functions


def _public(name: str) -> Callable[..., Any] | None:
    if name.startswith("_foreach_"):
        return _of_lists(name)
    function: Any = _by_name().get(name) or getattr(Tensor, name, None)
    return function if callable(function) else None


def _of_lists(name: str) -> Callable[..., Any]:
    function = function_of(name)

    def run(*args: Any, **kwargs: Any) -> list[Any] | None:
        results = function(*args, **kwargs)
        return None if name.endswith("_") else [*results]

    return run
