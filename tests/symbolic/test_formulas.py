"""Expressions as formulas, and rules for them that programs add."""

from __future__ import annotations

import pytest

from wengert.symbolic import pp
from wengert.symbolic import tensor as T
from wengert.symbolic.printing import (
    DefaultPrinter,
    FunctionPrinter,
    IgnorePrinter,
    LeafPrinter,
    OperatorPrinter,
    PatternPrinter,
    min_informative_str,
    pprint,
)


def test_rules_for_operations_and_conditions() -> None:
    x, y = T.dscalars("x", "y")
    own = pprint.clone()
    own.assign(T.exp, FunctionPrinter("EXPO"))
    own.assign(T.neg, OperatorPrinter("minus ", 0))
    own.assign(T.mul, OperatorPrinter("times", -1, "either"))
    own.assign(T.cos, PatternPrinter(("cosine of %(0)s", -1000)))
    own.assign(T.sqrt, IgnorePrinter())
    own.assign(lambda state, r: r.owner is None and r.name == "y", lambda r, state: "why")
    assert own(T.exp(x) * -y) == "(EXPO(x) times (minus why))"
    assert own(T.cos(T.sqrt(x))) == "cosine of x"
    assert pp is pprint
    assert pprint(T.exp(x) * -y) == "(exp(x) * (-y))"
    assert pprint(x, T.stack([x, y])) == "x\n[x, y]"


def test_what_asked_first_is_what_came_last() -> None:
    x = T.dscalar("x")
    own = pprint.clone_assign(lambda state, r: r.owner is not None, DefaultPrinter())
    assert own(x + x) == "Elemwise{add,no_inplace}(x, x)"
    own.assign(lambda state, r: True, LeafPrinter())
    assert own(x + x) == "Elemwise{add,no_inplace}.0"
    with pytest.raises(TypeError, match="x is not the result of an operation"):
        FunctionPrinter("f").process(x, None)  # type: ignore[arg-type]


def test_trees_name_again_what_they_have_shown() -> None:
    x, y = T.dscalars("x", "y")
    z = x * 2
    z.name = "z"
    assert min_informative_str((x + y) / (x + z)).splitlines() == [
        "A. Elemwise{true_div,no_inplace}",
        " B. Elemwise{add,no_inplace}",
        "  C. x",
        "  D. y",
        " E. Elemwise{add,no_inplace}",
        "  <C>",
        "  F. z",
    ]
