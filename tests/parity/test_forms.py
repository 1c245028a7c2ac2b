"""Calls in old and new forms give what they give in PyTorch: the same values, or the same error."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert

LINES = (Path(__file__).parent / "forms.txt").read_text().splitlines()
FORMS = [line for line in LINES if line and not line.startswith("#")]


def names(lib: Any) -> dict[str, Any]:
    """What the calls refer to, fresh, because some of them write in place."""
    x = lib.arange(6.0).reshape(2, 3)
    a = lib.ones(2, 2)
    return {
        "torch": lib, "F": lib.nn.functional, "nn": lib.nn, "Variable": lib.autograd.Variable,
        "np": np, "x": x, "y": x * 2 + 1, "m": lib.eye(2), "a": a, "b": a * 3, "v": lib.ones(3),
        "w2": lib.ones(2), "mt": lib.ones(2, 2), "bm": lib.ones(2, 2, 2),
        "w": lib.arange(12.0).reshape(4, 3), "idx": lib.tensor([0, 2, 1]),
        "off": lib.tensor([0, 2]), "mask": x > 2,
    }  # fmt: skip


def outcome(lib: Any, form: str) -> Any:
    """What a call returns, or the error that it raises."""
    try:
        lib.manual_seed(0)
        return eval(form, names(lib))
    except Exception as error:
        return error


def differs(ours: Any, theirs: Any) -> str:
    """How two outcomes differ; empty if they do not."""
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        same = any(k.__name__ == type(theirs).__name__ for k in type(ours).__mro__)
        return "" if same else f"{ours!r}, in PyTorch {theirs!r}"
    if isinstance(theirs, (tuple, list)) and not hasattr(theirs, "numel"):
        if len(ours) != len(theirs):
            return f"{len(ours)} values, in PyTorch {len(theirs)}"
        return "; ".join(filter(None, map(differs, ours, theirs)))
    if hasattr(theirs, "detach"):
        return _differ(ours, theirs)
    if isinstance(theirs, float):
        return "" if math.isclose(ours, theirs, rel_tol=1e-6) else f"{ours}, in PyTorch {theirs}"
    if isinstance(theirs, (bool, int, str, type(None))):
        return "" if ours == theirs else f"{ours}, in PyTorch {theirs}"
    return "" if str(ours) == str(theirs) else f"{ours}, in PyTorch {theirs}"


def _differ(ours: Any, theirs: Any) -> str:
    known, expected = (
        (str(t.dtype), tuple(t.shape), t.requires_grad, t.is_leaf) for t in (ours, theirs)
    )
    if known != expected:
        return f"{known}, in PyTorch {expected}"
    a, b = (t.detach().numpy() for t in (ours, theirs))
    return "" if np.allclose(a, b, 1e-5, 1e-6, equal_nan=True) else f"{a}, in PyTorch {b}"


@pytest.mark.torch
def test_all_forms(torch: Any) -> None:
    assert len(FORMS) > 600
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {f: differs(outcome(wengert, f), outcome(torch, f)) for f in FORMS}
    assert {form: text for form, text in found.items() if text} == {}
