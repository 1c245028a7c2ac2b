"""`axis` for `dim` and `keepdims` for `keepdim`, wherever PyTorch takes them."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

import numpy as np
import pytest

import wengert
from tests.ops import calls
from tests.ops.rows import Row, all_rows
from wengert.ops.keywords import _defer
from wengert.ops.numpy_names import ALIASES

ROWS = {str(row): row for row in all_rows() if row.grad or row.dtypes}


@cache
def signature_of(name: str) -> inspect.Signature | None:
    try:
        return inspect.signature(calls.lookup(wengert, name))
    except ValueError:
        return None


def named(row: Row) -> tuple[dict[str, Any], list[str]]:
    """The arguments by name, and which of them have an alias."""
    signature = signature_of(row.name)
    if signature is None or not ALIASES.keys() & signature.parameters.keys():
        return {}, []
    kinds = {p.kind for p in signature.parameters.values()}
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return {}, []
    try:
        given = signature.bind(*row.make(calls.rng_of(row)), **row.kwargs).arguments
    except TypeError:
        return {}, []
    return given, [name for name in ALIASES if name in given]


def call(library: Any, row: Row, given: dict[str, Any], name: str, alias: str) -> Any:
    """The row with the arguments before `name` by position, that one as `alias`, others by name."""

    def value(v: Any) -> Any:
        if isinstance(v, str) and v.startswith("torch."):
            return getattr(library, v[6:])
        return calls.convert(v, lambda a: library.from_numpy(a.copy()))

    first = list(given).index(name)
    positional = [value(v) for v in [*given.values()][:first]]
    rest = {alias if n == name else n: value(given[n]) for n in [*given][first:]}
    return calls.oracle_or_own(library, row)(*positional, **rest)


CASES = [
    (key, name) for key, row in ROWS.items() for name in named(row)[1]
]  # a row once for each alias


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("key", "name"), CASES)
def test_taken_where_torch_takes_them(torch: Any, key: str, name: str) -> None:
    row = ROWS[key]
    given, _ = named(row)
    try:
        expected = call(torch, row, given, name, name)
    except TypeError:
        pytest.skip("no call by these names in PyTorch: another overload")
    try:
        call(torch, row, given, name, ALIASES[name])
    except TypeError:
        with pytest.raises(TypeError):
            call(wengert, row, given, name, ALIASES[name])
        return
    found = call(wengert, row, given, name, ALIASES[name])
    for a, b in zip(calls.outputs(found), calls.outputs(expected), strict=True):
        assert np.allclose(calls.to_numpy(a), calls.to_numpy(b), 1e-5, 1e-6, equal_nan=True)


def test_they_cover_the_usual_reductions() -> None:
    names = {key.split("-")[0] for key, _ in CASES}
    assert {"sum", "mean", "max", "amax", "argmin", "std", "cumsum", "softmax", "cat"} <= names


@pytest.mark.parametrize(
    ("function", "kwargs", "text"),
    [
        ("sum", {"dim": 1, "axis": 1}, r"sum\(\) got an unexpected keyword argument 'axis'"),
        ("sum", {"dim": 1, "keepdim": True, "keepdims": True}, "argument 'keepdims'"),
        ("amax", {"dim": 1, "axis": 1}, r"amax\(\) got an unexpected keyword argument 'axis'"),
        ("softmax", {}, r"softmax\(\) missing 1 required positional argument: 'dim'"),
        ("gather", {"axis": 1}, r"gather\(\) missing 1 required positional argument: 'index'"),
        ("logsumexp", {"keepdims": True}, "missing 1 required positional argument: 'dim'"),
        ("exp", {"axis": 1}, "unexpected keyword argument 'axis'"),
    ],
)
@pytest.mark.torch
def test_errors(torch: Any, function: str, kwargs: dict[str, Any], text: str) -> None:
    with pytest.raises(TypeError):
        getattr(torch, function)(torch.ones(2, 3), **kwargs)
    with pytest.raises(TypeError, match=text):
        getattr(wengert, function)(wengert.ones(2, 3), **kwargs)


def test_inplace_forms_and_gradients() -> None:
    x = wengert.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    assert x.detach().clone().cumsum_(axis=1).tolist() == [[1.0, 3.0], [3.0, 7.0]]
    (x.amax(axis=1, keepdims=True) * x.sum(axis=0)).sum().backward()
    assert x.grad.tolist() == [[6.0, 16.0], [6.0, 16.0]]
    assert wengert.vmap(lambda r: r.sum(axis=0))(x.detach()).tolist() == [3.0, 7.0]


@pytest.mark.parametrize("name", ["sum", "gather", "amax", "cat", "trapezoid"])
def test_signatures_and_sources_are_what_is_written(name: str) -> None:
    function = getattr(wengert, name)
    assert not {"axis", "keepdims"} & inspect.signature(function).parameters.keys()
    assert f"def {name}(" in inspect.getsource(function)


def test_the_body_keeps_its_lines() -> None:
    wengert.cat([wengert.ones(1)], axis=0)
    written = wengert.cat.__wrapped__.__code__
    lines = {line for _, _, line in written.co_lines()}
    assert {line for _, _, line in wengert.cat.__code__.co_lines()} == lines
    assert wengert.cat.__code__.co_filename == written.co_filename


def test_without_the_source_it_runs_as_it_is() -> None:
    scope: dict[str, Any] = {"__name__": __name__}
    exec("def total(input, dim=0, *, scale=2): return input.sum(dim) * scale", scope)
    function = scope["total"]
    _defer(function, True, False)
    assert inspect.signature(function).parameters.keys() == {"input", "dim", "scale"}
    assert function(wengert.ones(2, 3), dim=1, scale=1).tolist() == [3.0, 3.0]
    with pytest.raises(TypeError, match="unexpected keyword argument 'axis'"):
        function(wengert.ones(2, 3), axis=1)
