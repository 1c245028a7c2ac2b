"""Rules on bfloat16: what they compute in float32 is rounded once.

Beside a Python float NumPy's own dtypes stay what they are, but bfloat16, which is not NumPy's,
becomes float32: ``1.0 - out * out``. So the first backward that meets bfloat16 puts a rounding
around the rules; until then nobody pays for it.
"""

from __future__ import annotations

from functools import cache, wraps
from typing import Any

import ml_dtypes
import numpy as np

from wengert.core.forks import compile_lock
from wengert.kernels.precision import converted
from wengert.ops.op import REGISTRY, Op, Rule

_BRAIN = np.dtype(ml_dtypes.bfloat16)
# Of these, gradients have the dtypes of inputs already, which may differ from that of the output:
# what is converted, and float32 weights beside bfloat16.
_TYPED = frozenset({
    "_cast", "_layer_norm", "_rms_norm", "_group_norm", "_instance_norm", "_batch_norm",
    "_batch_norm_by_running",
})  # fmt: skip


class _Rounding:
    """Whether rules are rounded in this process."""

    on = False


_rounding = _Rounding()


def rule_of(op: Op, name: str) -> Rule | None:
    """The rule that an op's generated functions call for an input."""
    rule = op.rules[name]
    return rule if rule is None or not _rounding.on else rounded(op, rule)


def rounded(op: Op, rule: Rule) -> Rule:
    """A rule of an op, as it is on bfloat16."""
    return rule if op.name in _TYPED else _rounded(rule)


def round_bfloat16() -> None:
    """Round the rules from now on; called before the first cotangent in bfloat16 is passed."""
    if _rounding.on:
        return
    with compile_lock:
        _rounding.on = True
        for op in [*REGISTRY.values()]:
            scope = op.function.__globals__
            for name in op.rules:
                if scope.get(f"vjp_{name}") is not None:
                    scope[f"vjp_{name}"] = rule_of(op, name)


@cache
def _rounded(rule: Rule) -> Rule:
    @wraps(rule)
    def rounded(g: Any, *values: Any) -> Any:
        gradient = rule(g, *values)
        computed = isinstance(gradient, (np.ndarray, np.generic)) and g.dtype is _BRAIN
        if computed and gradient.dtype.kind == "f":
            return converted(np.asarray(gradient), _BRAIN)
        return gradient

    return rounded
