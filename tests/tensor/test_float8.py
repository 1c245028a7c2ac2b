"""The 8-bit floating-point types: stored, converted, printed; no arithmetic, as in PyTorch."""

from __future__ import annotations

import copy
import io
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import wengert
from wengert.core.dtypes import of_numpy
from wengert.core.float8 import FLOAT8

NAMES = sorted(of_numpy[d].name for d in FLOAT8)
RNG = np.random.default_rng(0)
NUMBERS = np.concatenate([
    RNG.standard_normal(20000) * 10.0 ** RNG.integers(-42, 39, 20000),
    RNG.standard_normal(20000) * 10.0 ** RNG.integers(-9, 7, 20000),
    [0.0, -0.0, np.inf, -np.inf, np.nan, 240, 247, 248, 256, 448, 464, 480, 57344, 61440, 65536,
     2.0**-127, 2.0**-128, 1.5, 3, 6, -1, 2.0**-10, 2.0**-17, 3 * 2.0**-11],
])  # fmt: skip


def named(*names: str) -> Any:
    return pytest.mark.parametrize("name", names or NAMES)


def bits_of(t: Any, library: Any) -> np.ndarray:
    return t.view(library.uint8).numpy()


def agree(a: Any, b: Any) -> None:
    """The same numbers; NaN may have other bits."""
    a, b = a.float().numpy(), b.float().numpy()
    np.testing.assert_array_equal(a, b)
    assert (np.signbit(a) == np.signbit(b))[~np.isnan(a)].all()


@pytest.mark.torch
@named()
def test_every_number(torch: Any, name: str) -> None:
    raw = np.arange(256, dtype=np.uint8)
    for to in ("float32", "float64", "float16", "bfloat16", "bool"):
        a, b = (
            t.from_numpy(raw).view(getattr(t, name)).to(getattr(t, to)).float().numpy()
            for t in (wengert, torch)
        )
        np.testing.assert_array_equal(a, b)


@pytest.mark.torch
@named()
@pytest.mark.parametrize("source", ["float32", "float64", "float16", "bfloat16"])
def test_rounding(torch: Any, name: str, source: str) -> None:
    with np.errstate(over="ignore"):
        single = NUMBERS.astype(np.float32)
    values = [
        t.from_numpy(NUMBERS if source == "float64" else single).to(getattr(t, source))
        for t in (wengert, torch)
    ]
    agree(values[0].to(getattr(wengert, name)), values[1].to(getattr(torch, name)))


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Casting complex values")
@named()
def test_every_way_in(torch: Any, name: str) -> None:
    numbers = [1000.0, -3.3, 1e-3, 1e6, 0.0]
    results = []
    for t in (wengert, torch):
        dtype = getattr(t, name)
        x = t.tensor(numbers)
        target = t.zeros(5, dtype=dtype)
        target[1:3] = x[1:3]
        target[3] = 7.3
        results.append([
            t.tensor(numbers, dtype=dtype), t.zeros(5, dtype=dtype).copy_(x), target,
            t.full((2,), 100.3, dtype=dtype), t.zeros(2, dtype=dtype).fill_(3.3),
            t.ones(2, dtype=dtype), t.tensor([300, -5, 1]).to(dtype), x.type(dtype),
            t.tensor([True]).to(dtype), t.zeros(3, dtype=t.complex64).to(dtype),
            t.empty_like(x, dtype=dtype).copy_(x),
        ])  # fmt: skip
    for a, b in zip(*results, strict=True):
        assert a.dtype is getattr(wengert, name)
        agree(a, b)


@pytest.mark.torch
@named()
@pytest.mark.parametrize("number", [0.0, -1.0, 450.0, -1e5, 1e5, 1e39, float("inf"), float("nan")])
def test_numbers_beyond(torch: Any, name: str, number: float) -> None:
    results = []
    for t in (wengert, torch):
        try:
            results.append(t.full((2,), number, dtype=getattr(t, name)).float().tolist())
        except RuntimeError as error:
            results.append("without overflow" in str(error))
    assert repr(results[0]) == repr(results[1])


@pytest.mark.torch
@named()
def test_limits_and_print(torch: Any, name: str) -> None:
    a, b = (t.finfo(getattr(t, name)) for t in (wengert, torch))
    # PyTorch has 0.125 for the step above 1 of a type with two bits behind the point.
    fields = {"bits", "min", "max", "tiny", "smallest_normal", "resolution", "dtype", "eps"}
    for field in fields - ({"eps"} if name == "float8_e5m2fnuz" else set()):
        assert getattr(a, field) == getattr(b, field), field
    assert a.eps == {"float8_e5m2fnuz": 0.25}.get(name, b.eps)
    shown = [t.tensor([[1.0, 0.3], [20.0, 0.5]]).to(getattr(t, name)) for t in (wengert, torch)]
    assert repr(shown[0]) == repr(shown[1])
    assert shown[0].tolist() == shown[1].tolist()
    assert shown[0].type() == shown[1].type()
    mine, theirs = getattr(wengert, name), getattr(torch, name)
    for field in ("is_signed", "is_floating_point", "is_complex", "itemsize"):
        assert getattr(mine, field) == getattr(theirs, field)


@pytest.mark.torch
@named()
def test_files_and_copies(torch: Any, name: str) -> None:
    x = wengert.tensor([1.0, 2.5, -0.1]).to(getattr(wengert, name))
    for restored in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert restored.dtype is x.dtype
        assert restored.tolist() == x.tolist()
    for writer, reader in ((wengert, torch), (torch, wengert), (wengert, wengert)):
        file = io.BytesIO()
        writer.save(writer.tensor([1.0, 2.5, -0.1]).to(getattr(writer, name)), file)
        file.seek(0)
        restored = reader.load(file)
        assert restored.dtype is getattr(reader, name)
        assert restored.float().tolist() == x.float().tolist()


E4 = "float8_e4m3fn"
TAKEN: dict[str, Any] = {
    "mul": lambda t, x: x * x,
    "matmul": lambda t, x: x @ x,
    "abs": lambda t, x: x.abs(),
    "eq": lambda t, x: x == x,
    "eq number": lambda t, x: x == 1.0,
    "isnan": lambda t, x: x.isnan(),
    "cat": lambda t, x: t.cat([x, x]),
    "stack": lambda t, x: t.stack([x, x]),
    "where": lambda t, x: t.where(t.tensor([True, False]), x, x),
    "index": lambda t, x: x[t.tensor([[True, False], [True, True]])],
    "select": lambda t, x: x.t()[1:].contiguous(),
    "index_select": lambda t, x: x.index_select(0, t.tensor([1])),
    "flip": lambda t, x: x.flip(0).roll(1, 0).repeat(2, 1),
    "pad": lambda t, x: t.nn.functional.pad(x, (1, 1)),
    "embedding": lambda t, x: t.nn.functional.embedding(t.tensor([0]), x),
}
REFUSED: dict[str, Any] = {
    "add": lambda t, x: x + x,
    "add number": lambda t, x: x + 1,
    "div": lambda t, x: x / 2,
    "neg": lambda t, x: -x,
    "lt": lambda t, x: x < x,
    "sum": lambda t, x: x.sum(),
    "exp": lambda t, x: x.exp(),
    "relu": lambda t, x: x.relu(),
    "sort": lambda t, x: x.sort(),
    "argmax": lambda t, x: x.argmax(),
    "cumsum": lambda t, x: x.cumsum(0),
    "gather": lambda t, x: x.gather(0, t.zeros(1, 2, dtype=t.int64)),
    "rand": lambda t, x: t.rand(2, dtype=x.dtype),
    "arange": lambda t, x: t.arange(3, dtype=x.dtype),
    "linspace": lambda t, x: t.linspace(0, 1, 3, dtype=x.dtype),
    "randn": lambda t, x: t.randn(2, dtype=x.dtype),
}


def matrix(library: Any, name: str = E4) -> Any:
    return library.tensor([[1.0, 2.0], [3.0, 0.5]]).to(getattr(library, name))


@pytest.mark.torch
@pytest.mark.parametrize("call", TAKEN.values(), ids=TAKEN)
def test_what_takes_them(torch: Any, call: Any) -> None:
    agree(call(wengert, matrix(wengert)), call(torch, matrix(torch)))


@pytest.mark.torch
@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
@named(E4, "float8_e5m2")
def test_what_does_not(torch: Any, call: Any, name: str) -> None:
    for library in (torch, wengert):
        with pytest.raises(NotImplementedError, match=r"not implemented for 'Float8"):
            call(library, matrix(library, name))


@pytest.mark.torch
def test_no_promotion(torch: Any) -> None:
    for library in (torch, wengert):
        with pytest.raises(RuntimeError, match="Promotion for Float8 Types is not supported"):
            matrix(library) + library.ones(2, 2)
        with pytest.raises(RuntimeError, match="Promotion for Float8 Types is not supported"):
            library.promote_types(library.float8_e5m2, library.int8)
        with pytest.raises(TypeError, match="couldn't find storage object"):
            library.set_default_dtype(library.float8_e5m2)
        with pytest.raises(RuntimeError, match="Unknown Complex ScalarType for Float8_e5m2"):
            library.float8_e5m2.to_complex()


@pytest.mark.torch
def test_gradients_pass_conversions(torch: Any) -> None:
    for library in (torch, wengert):
        x = library.tensor([1.0, 2.0], requires_grad=True)
        (x.to(library.float8_e5m2).float() * library.tensor([3.0, 0.3])).sum().backward()
        assert x.grad.tolist() == [3.0, 0.3125]


@pytest.mark.parametrize(
    "first",
    [
        "wengert.zeros(2, dtype=d)",
        "wengert.from_numpy(raw).view(d)",
        "wengert.ones(2).to(d)",
        "wengert.from_numpy(raw.view(d.np))",
        "wengert.empty_like(y, dtype=d)",
    ],
)
def test_refused_from_the_first_on(first: str) -> None:
    program = (
        "import numpy, wengert; d = wengert.float8_e5m2; raw = numpy.zeros(2, numpy.uint8)\n"
        "y = wengert.ones(2) + 1\n"
        f"x = {first}\n"
        "try: x + x\n"
        "except NotImplementedError: print((y + y).tolist())"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout == "[4.0, 4.0]\n", run.stderr


@pytest.mark.torch
def test_complex32_is_a_name(torch: Any) -> None:
    for library in (torch, wengert):
        d = library.complex32
        assert library.chalf is d
        assert repr(d) == "torch.complex32"
        assert (d.is_complex, d.itemsize, d.to_real()) == (True, 4, library.float16)
        assert pickle.loads(pickle.dumps(d)) is d
        assert library.promote_types(d, library.float16) is d
        assert library.promote_types(d, library.float32) is library.complex64
    for call in (lambda: wengert.ones(2).to(wengert.chalf), lambda: wengert.zeros(2, dtype=d)):
        with pytest.raises(NotImplementedError, match="complex32 is a name only"):
            call()
