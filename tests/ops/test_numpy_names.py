"""`axis` for `dim` and `keepdims` for `keepdim`, wherever PyTorch takes them."""

from __future__ import annotations

import inspect
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

import wengert
from tests.ops import calls
from tests.ops.rows import Row, all_rows
from wengert import fft, linalg
from wengert.ops import FAMILIES
from wengert.ops.numpy_names import ALIASES, PLAIN

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


@pytest.mark.parametrize("family", [*FAMILIES, fft, linalg], ids=lambda family: family.__name__)
def test_no_function_was_forgotten(family: ModuleType) -> None:
    elsewhere = {*getattr(family, "METHODS", ()), *getattr(family, "IN_NAMESPACES", ())}
    exempt = PLAIN if family in FAMILIES else frozenset()
    for name in {*family.__all__, *elsewhere} - exempt:
        function = getattr(family, name)
        if isinstance(function, FunctionType) and function.__module__ == family.__name__:
            code = function.__code__
            op = getattr(function, "op", None)
            arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            missing = {ALIASES[a] for a in ALIASES if a in arguments}.difference(arguments)
            assert not missing if op is None else op.numpy_names, name


def test_what_is_written_by_hand_takes_them_by_name_alone() -> None:
    parameters = inspect.signature(wengert.sum).parameters
    assert {parameters[alias].kind for alias in ("axis", "keepdims")} == {
        inspect.Parameter.KEYWORD_ONLY
    }
    with pytest.raises(TypeError, match="positional"):
        wengert.sum(wengert.ones(2), 0, False, 0)
