"""What instructions have in common that are of one operation, with operands of the same types.

An unrolled loop has the same operation many times: what it computes is found out once, and only
which values it reads differs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.replay.ir import Type


class Template:
    """An instruction, but for its operands and results.

    Attributes:
        identity: equal for instructions that compute the same of the same operands; None if that
            cannot be told.
        operands: of a forward, the names of its operands, and whether each is a value as it is.
        rules: of a forward, the templates of the rules, by name and whether they share nothing.
        reads: of a rule, the places among the forward's operands of what it reads beside its
            cotangent, or else the names.
        passes: of a rule, whether it passes its cotangent on.
    """

    __slots__ = (
        "compute", "identity", "key", "name", "operands", "passes", "pointwise", "reads", "rules",
        "types", "unpacked",
    )  # fmt: skip

    def __init__(
        self, name: str, compute: Callable[..., Any], types: tuple[Type, ...], key: Any,
        pointwise: Callable[..., Any] | None = None, unpacked: bool = False,
    ) -> None:  # fmt: skip
        self.name, self.compute, self.types, self.key = name, compute, types, key
        self.pointwise, self.unpacked, self.passes = pointwise, unpacked, False
        self.identity: Any = None if key is None else (name, key, types)
        try:
            hash(self.identity)
        except TypeError:  # a parameter without a hash
            self.identity = None
        self.operands: tuple[tuple[str, bool], ...] = ()
        self.reads: tuple[int | str, ...] = ()
        self.rules: dict[tuple[str, bool], Template] = {}


def hashed(name: Any, params: dict[str, Any]) -> Any:
    """What an operation computes, to compare; 0.0 and -0.0 differ."""
    return name, tuple([(type(v), repr(v) if type(v) is float else v) for v in params.values()])


def is_identity(rule: Any) -> bool:
    """Whether a rule passes its cotangent on."""
    cotangent = object()
    try:
        return rule(cotangent) is cotangent
    except Exception:  # it computes something
        return False
