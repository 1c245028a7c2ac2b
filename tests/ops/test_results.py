"""Named tuples of results."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import wengert

CALLS = {
    "max": lambda x: x.max(1),
    "min": lambda x: x.min(0),
    "sort": lambda x: x.sort(),
    "topk": lambda x: x.topk(2),
    "kthvalue": lambda x: x.kthvalue(1),
    "median": lambda x: x.median(1),
    "nanmedian": lambda x: x.nanmedian(1),
    "mode": lambda x: x.mode(),
    "cummax": lambda x: x.cummax(1),
    "cummin": lambda x: x.cummin(1),
    "aminmax": lambda x: x.aminmax(),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", CALLS)
def test_results_print_as_torchs(name: str, torch: Any) -> None:
    def program(t: Any) -> tuple[str, str]:
        result = CALLS[name](t.tensor([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]]))
        return repr(result), type(result).__name__

    assert program(wengert) == program(torch)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
def test_results_copy_and_pickle(again: Any) -> None:
    result = wengert.tensor([3.0, 1.0]).sort()
    other = again(result)
    assert type(other) is type(result)
    assert other.values.tolist() == [1.0, 3.0]
    assert other._fields == ("values", "indices")
