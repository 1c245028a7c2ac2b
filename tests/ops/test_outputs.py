"""`out=`: taken by every function whose PyTorch counterpart takes it, and written in place."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import wengert
from tests import torch_signatures
from tests.ops import calls
from tests.ops.rows import Row, all_rows, inputs

NAMESPACES = ("linalg", "special", "fft")
# Python functions of PyTorch that only raise: they have been removed.
REMOVED = {"lstsq", "matrix_rank", "solve", "symeig"}
# Functions that make tensors are called with `out` by their own tests; here with these arguments.
MAKERS: dict[str, tuple[Any, ...]] = {
    "arange": (5,), "empty": (3,), "eye": (2, 3), "full": ((2, 2), 1.5), "linspace": (0, 1, 5),
    "logspace": (0, 1, 5), "ones": (2, 3), "range": (0, 4), "zeros": (2, 3),
    "fft.fftfreq": (5,), "fft.rfftfreq": (5,),
}  # fmt: skip
SPARSE = {"hspmm", "sspaddmm"}  # their results are sparse tensors
RANDOM = {"bernoulli", "multinomial", "normal", "rand", "randint", "randn", "randperm"}


def names_with_out(torch: Any) -> list[str]:
    """The public functions of PyTorch that take `out`, by its schemas, stubs and signatures."""
    stubs = torch_signatures.overloads_of_functions(torch)
    names = {
        n for n, overloads in stubs.items()
        if n[0] != "_" and hasattr(torch, n) and any("out" in s.parameters for s in overloads)
    }  # fmt: skip
    for schema in torch._C._jit_get_all_schemas():
        space, _, name = schema.name.removeprefix("aten::").partition("_")
        if space in NAMESPACES and any(a.is_out for a in schema.arguments):
            names.add(f"{space}.{name}")
    for space in ("", "linalg.", "nn.functional."):
        module = torch_signatures.resolve(torch, space.rstrip(".")) if space else torch
        names |= {
            space + n for n, f in vars(module).items()
            if n[0] != "_" and inspect.isfunction(f) and "out" in inspect.signature(f).parameters
        }  # fmt: skip
    taken_by_no_call = {"linalg.matrix_exp"}
    return sorted(
        n for n in names - REMOVED - taken_by_no_call
        if torch_signatures.has(torch, n) and torch_signatures.has(wengert, n)
    )  # fmt: skip


@cache
def rows_of() -> dict[str, list[Row]]:
    rows: dict[str, list[Row]] = {}
    for row in [*all_rows(), *FURTHER]:
        if row.twin is None and not row.name.startswith("Tensor."):
            rows.setdefault(row.name, []).append(row)
    return rows


def _spd(rng: Any) -> tuple[np.ndarray]:
    a = rng.standard_normal((3, 3))
    return (a @ a.T + 3 * np.eye(3),)


FURTHER = [
    Row("cholesky", _spd),
    Row("cholesky_inverse", _spd),
    Row("cholesky_solve", lambda rng: (rng.standard_normal((3, 2)), *_spd(rng))),
    Row("linalg.cholesky_ex", _spd),
    Row("linalg.eig", _spd),
    Row("linalg.eigh", _spd),
    Row("linalg.eigvals", _spd),
    Row("linalg.tensorinv", lambda rng: (np.eye(4).reshape(4, 2, 2),), {"ind": 1}),
    Row("linalg.tensorsolve", lambda rng: (np.eye(4).reshape(2, 2, 4), np.ones((2, 2)))),
    Row("median", inputs((3, 4)), {"dim": 1}),
    Row("frobenius_norm", inputs((3, 4)), {"dim": [1], "keepdim": True}),
    Row("nuclear_norm", inputs((2, 3, 4)), {"dim": [1, 2], "keepdim": True}),
    Row("native_batch_norm", lambda rng: (rng.normal(size=(4, 3)), *[None] * 4, True, 0.1, 1e-5)),
    Row("nanmedian", inputs((3, 4)), {"dim": 1}),
    Row("prod", inputs((3, 4)), {"dim": 1}),
    Row("sum", inputs((3, 4)), {"dim": 1}),
    Row("qr", _spd),
    Row("svd", _spd),
    Row("linalg.svd", _spd),
    Row("linalg.qr", _spd),
    Row("argsort", inputs((3, 4)), {"stable": True, "dim": 1}),
    *(Row(f"special.{name}", inputs((2, 3), low=0.2, high=0.9)) for name in (
        "digamma", "erf", "erfc", "erfinv", "exp2", "expit", "expm1", "gammaln", "i0", "log1p",
        "logit", "psi", "round", "sinc",
    )),
    *(Row(f"special.{name}", inputs((2, 3), (3,), low=0.2, high=0.9)) for name in (
        "gammainc", "gammaincc", "xlogy",
    )),
    Row("special.logsumexp", inputs((2, 3)), {"dim": 1}),
    Row("special.multigammaln", inputs((2, 3), low=3, high=5), {"p": 2}),
    Row("special.polygamma", lambda rng: (1, rng.uniform(1, 2, 3))),
]  # fmt: skip


def with_out(library: Any, row: Row, make: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Call the row, and again with `out` as `make` makes it of each result; out and result."""
    plain, _ = calls.call(library, row, row.make(calls.rng_of(row)), grad=False)
    out = make(plain) if hasattr(plain, "shape") else tuple(make(t) for t in plain)
    given = Row(row.name, row.make, {**row.kwargs, "out": out})
    return out, calls.call(library, given, row.make(calls.rng_of(row)), grad=False)[0]


def strided(library: Any) -> Callable[[Any], Any]:
    """A maker of every other element of a larger tensor, in the shape and dtype of a result."""

    def make(t: Any) -> Any:
        return library.full((*t.shape, 2), 7).to(t.dtype)[..., 0]

    return make


def compare(torch: Any, name: str) -> bool:
    """Whether some row of the function takes `out` in PyTorch; then it does so here."""
    for row in rows_of().get(name, []):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected, _ = with_out(torch, row, lambda t: torch.empty_like(t))
        except (RuntimeError, TypeError, AttributeError, NotImplementedError):
            continue
        for make in (wengert.empty_like, strided(wengert)):
            out, result = with_out(wengert, row, make)
            outs, results = calls.outputs(out), calls.outputs(result)
            assert all(a is b for a, b in zip(outs, results, strict=True)), row
            for a, b in zip(outs, calls.outputs(expected), strict=True):
                if ("eig" in name and a.ndim > 1) or "svd" in name or "qr" in name:
                    a, b = a.abs(), b.abs()  # vectors up to their sign
                np.testing.assert_allclose(
                    calls.to_numpy(a), calls.to_numpy(b), 1e-6, 1e-7, err_msg=str(row)
                )
        if not (isinstance(result, wengert.Tensor) and result.shape == ()):
            out, result = with_out(wengert, row, lambda t: wengert.empty(0, dtype=t.dtype))
            assert all(a.shape == b.shape for a, b in zip(calls.outputs(out), outs, strict=True))
        return True
    return False


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(8))
def test_every_function_writes_where_pytorchs_does(torch: Any, part: int) -> None:
    names = [n for n in names_with_out(torch) if not n.endswith("_copy")]
    names = [n for n in names if n not in {*MAKERS, *RANDOM, *SPARSE}] + ["index_copy"]
    assert len(names) > 300
    failed = {}
    for name in names[part::8]:
        try:
            if not compare(torch, name):
                failed[name] = "no row of it takes out= in PyTorch"
        except Exception as error:
            failed[name] = f"{type(error).__name__}: {error}"[:300]
    assert failed == {}


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:.*range is deprecated")
def test_makers_write_where_pytorchs_do(torch: Any) -> None:
    for name, args in MAKERS.items():
        values = []
        for library in (wengert, torch):
            out = library.empty(0, dtype=library.float64)
            assert calls.lookup(library, name)(*args, out=out) is out
            values.append(out.numpy())
        if name != "empty":
            np.testing.assert_allclose(*values, 1e-6, err_msg=name)


X = np.arange(6, dtype=np.float32).reshape(2, 3)
REFUSED: list[tuple[str, Callable[[Any], Any], str]] = [
    ("a lesser kind", lambda t: t.add(t.ones(2), 1, out=t.empty(2, dtype=t.int64)),
     "result type Float can't be cast to the desired output type Long"),
    ("another dtype", lambda t: t.mm(t.eye(2), t.eye(2), out=t.empty(2, 2, dtype=t.float64)),
     "Expected out tensor to have dtype"),
    ("indices", lambda t: t.sort(t.ones(2), out=(t.empty(2), t.empty(2))),
     "Expected out tensor to have dtype"),
    ("explicit dtype", lambda t: t.sum(t.ones(2, 2), 0, dtype=t.float64, out=t.empty(2)),
     "dtype"),
    ("maker's dtype", lambda t: t.zeros(2, dtype=t.float64, out=t.empty(2)), "dtype"),
    ("input of a graph", lambda t: t.mul(t.ones(2, requires_grad=True), 2, out=t.empty(2)),
     r"mul\(\): functions with out=... arguments don't support automatic differentiation"),
    ("out of a graph", lambda t: t.add(t.ones(2), 2, out=t.empty(2, requires_grad=True)),
     "don't support automatic differentiation"),
    ("list of a graph", lambda t: t.cat([t.ones(2, requires_grad=True)], out=t.empty(2)),
     "don't support automatic differentiation"),
    ("made into a leaf", lambda t: t.ones(2, out=t.empty(2, requires_grad=True)),
     "don't support automatic differentiation"),
    ("repeated elements", lambda t: t.add(t.ones(2, 3), 1, out=t.empty(3).expand(2, 3)),
     "more than one element of the written-to tensor"),
    ("an overlap", lambda t: _shifted(t, "mul"), "some elements of the input tensor"),
]  # fmt: skip


def _shifted(library: Any, name: str) -> Any:
    x = library.ones(5)
    return getattr(library, name)(x[:-1], 2, out=x[1:])


@pytest.mark.torch
@pytest.mark.parametrize(("call", "text"), [c[1:] for c in REFUSED],
                         ids=[c[0] for c in REFUSED])  # fmt: skip
def test_refused(torch: Any, call: Callable[[Any], Any], text: str) -> None:
    with pytest.raises(RuntimeError):
        call(torch)
    with pytest.raises(RuntimeError, match=text):
        call(wengert)


@pytest.mark.torch
@pytest.mark.parametrize("call", [
    lambda t: t.add(t.ones(2), 1, out="x"),
    lambda t: t.add(t.ones(2), 1, out=(t.ones(2),)),
    lambda t: t.sort(t.ones(2), out=(t.ones(2),)),
    lambda t: t.sort(t.ones(2), out="x"),
    lambda t: t.Tensor.relu(t.ones(2), out=t.ones(2)),
])  # fmt: skip
def test_wrong_types(torch: Any, call: Callable[[Any], Any]) -> None:
    for library in (torch, wengert):
        with pytest.raises(TypeError):
            call(library)


@pytest.mark.torch
def test_resized_with_a_warning_unless_it_is_empty(torch: Any) -> None:
    for library in (torch, wengert):
        x, out = library.ones(2, 3), library.zeros(4)
        with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
            assert library.add(x, 1, out=out) is out
        assert out.tolist() == [[2, 2, 2], [2, 2, 2]]
        assert library.add(x, 1, out=library.empty(0)).shape == (2, 3)
        assert library.zeros(7, out=out).shape == (7,)


@pytest.mark.torch
@pytest.mark.parametrize("name", ["sum", "prod", "cumsum", "cumprod"])
def test_some_compute_in_the_dtype_of_out(torch: Any, name: str) -> None:
    found = [
        getattr(t, name)(t.from_numpy(X + 0.7), 0, out=t.empty(0, dtype=t.int64)).tolist()
        for t in (torch, wengert)
    ]
    assert found[0] == found[1]


def test_out_may_be_an_input_and_a_view() -> None:
    x = wengert.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert wengert.mm(x, x, out=x) is x
    assert x.tolist() == [[7, 10], [15, 22]]
    wengert.mul(x[0], 2, out=x[1])
    assert x.tolist() == [[7, 10], [14, 20]]
    wengert.add(x.clone(), x.clone().T, out=x.T)
    assert x.tolist() == [[14, 24], [24, 40]]


def test_a_saved_value_that_out_overwrote_is_missed() -> None:
    x = wengert.ones(2, requires_grad=True)
    w = wengert.tensor([2.0, 3.0])
    y = (x * w).sum()
    before = w._version
    wengert.add(w, 1, out=w)
    assert w._version == before + 1
    with pytest.raises(RuntimeError, match=r"add\(out=\)"):
        y.backward()


def test_no_grad_writes_into_a_leaf() -> None:
    x = wengert.ones(2, requires_grad=True)
    with wengert.no_grad():
        assert wengert.mul(x, 3, out=x) is x
    assert x.requires_grad
    assert x.tolist() == [3, 3]


def test_refused_inside_a_transform() -> None:
    with pytest.raises(RuntimeError, match="out= is not supported inside of a function transform"):
        wengert.vmap(lambda x: wengert.add(x, 1, out=wengert.empty(3)))(wengert.ones(2, 3))


def test_older_orders_and_numpys_names_take_it() -> None:
    x, out = wengert.ones(2, 3), wengert.empty(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert wengert.add(x, 2, x, out=out) is out
    assert out.tolist() == [[3, 3, 3], [3, 3, 3]]
    assert wengert.amax(x, axis=1, keepdims=True, out=wengert.empty(0)).shape == (2, 1)
    assert wengert.sum(x, axis=1, keepdims=True, out=wengert.empty(0)).shape == (2, 1)


def test_the_result_of_several_holds_them() -> None:
    values, indices = wengert.empty(0), wengert.empty(0, dtype=wengert.int64)
    result = wengert.topk(wengert.tensor([1.0, 3.0, 2.0]), 2, out=(values, indices))
    assert result.values is values
    assert result.indices is indices
    assert (values.tolist(), indices.tolist()) == ([3, 2], [1, 2])
