"""Running one scenario in wengert and in torch: the same values, or the same kind of error."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import wengert

Scenario = Callable[[Any], Any]


def flat(value: Any) -> list[Any]:
    """The leaves of a result as arrays; names of containers are kept."""
    if isinstance(value, dict):
        return [sorted(value), *[x for k in sorted(value) for x in flat(value[k])]]
    if isinstance(value, tuple | list):
        return [len(value), *[x for v in value for x in flat(v)]]
    return [value.detach().numpy() if hasattr(value, "detach") else value]


def outcome(library: Any, scenario: Scenario) -> Any:
    """What a scenario returns, or what it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return flat(scenario(library))
        except Exception as error:
            return error


def same(scenario: Scenario, torch: Any, *, rtol: float = 1e-9, words: int = 0) -> None:
    """Compare the outcomes; of errors the class, and so many characters of the text."""
    ours, theirs = outcome(wengert, scenario), outcome(torch, scenario)
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        if not (isinstance(ours, Exception) and isinstance(theirs, Exception)):
            raise AssertionError(f"wengert: {ours!r}\ntorch: {theirs!r}")
        assert isinstance(ours, type(theirs)), repr(ours)
        assert str(ours)[:words] == str(theirs)[:words]
        return
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        if isinstance(b, np.ndarray):
            assert a.dtype == b.dtype
            assert a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-12)
        else:
            assert a == b
