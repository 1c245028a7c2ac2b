"""What operations with several results return."""

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


@pytest.mark.torch
def test_results_written_to_out_are_named_so(torch: Any) -> None:
    def program(t: Any) -> tuple[Any, ...]:
        out = t.empty(0), t.empty(0, dtype=t.int64)
        result = t.sort(t.tensor([3.0, 1.0]), out=out)
        same = type(result) is t.return_types.sort_out
        return repr(result), same, str(t.return_types.max), str(type(result))

    assert program(wengert) == program(torch)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
def test_results_copy_and_pickle(again: Any) -> None:
    result = wengert.tensor([3.0, 1.0]).sort()
    other = again(result)
    assert type(other) is type(result)
    assert other.values.tolist() == [1.0, 3.0]
    assert other.__match_args__ == ("values", "indices")


@pytest.mark.torch
def test_results_are_made_of_one_sequence_and_are_no_namedtuples(torch: Any) -> None:
    def program(t: Any) -> list[Any]:
        kind = t.return_types.max
        result = kind([t.ones(1), t.zeros(1)])
        counts = (result.n_fields, result.n_sequence_fields, result.n_unnamed_fields)
        names = [hasattr(result, name) for name in ("_fields", "_asdict", "_make", "_replace")]
        errors = []
        for wrong in ((1,), (1, 2, 3), 3):
            with pytest.raises(TypeError) as caught:
                kind(wrong)
            errors.append(type(caught.value))
        return [result.values.item(), result.indices.item(), counts, names, errors]

    assert program(wengert) == program(torch)
