"""Numbers among the arguments, as elements of the tensor's type: what wraps, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert

CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "clamp": lambda m, x, v: x.clamp(v, 2),
    "clamp_min": lambda m, x, v: x.clamp(min=v),
    "clamp_max": lambda m, x, v: x.clamp(max=v),
    "threshold": lambda m, x, v: m.nn.functional.threshold(x, v, v),
    "hardtanh": lambda m, x, v: m.nn.functional.hardtanh(x, 0, v),
    "pad": lambda m, x, v: m.nn.functional.pad(x, (1, 1), value=v),
    "masked_fill": lambda m, x, v: x.masked_fill(x > 1, v),
    "index_fill": lambda m, x, v: x.index_fill(0, m.tensor([1]), v),
    "scatter": lambda m, x, v: x.scatter(0, m.tensor([1]), v),
    "fill_": lambda m, x, v: x.clone().fill_(v),
    "full_like": lambda m, x, v: m.full_like(x, v),
}
REAL = (np.nan, np.inf, -0.5, -1.0, 1.5, 256.5, 1e30)


@pytest.mark.torch
@pytest.mark.parametrize("value", [-300, -255, -1, 0, 127, 128, 255, 256, 2**40, *REAL])
@pytest.mark.parametrize("name", CALLS)
def test_integers_take_what_torchs_take(name: str, value: float, torch: Any) -> None:
    if name in ("clamp_min", "clamp_max", "clamp") and isinstance(value, float):
        return  # the result is no integer
    for dtype in ("uint8", "int8", "int64"):
        results = []
        for library in (wengert, torch):
            x = library.tensor([0, 1, 5, 100], dtype=getattr(library, dtype))
            try:
                results.append(CALLS[name](library, x, value).tolist())
            except (RuntimeError, ValueError) as error:
                results.append([type(error)])
        assert results[0] == results[1], dtype


@pytest.mark.torch
@pytest.mark.parametrize("value", [7e4, -1e39, 1e300, np.inf, -np.inf, np.nan, 0.1])
@pytest.mark.parametrize("name", CALLS)
def test_floats_take_what_torchs_take(name: str, value: float, torch: Any) -> None:
    for dtype in ("float16", "bfloat16", "float32", "float64"):
        results = []
        for library in (wengert, torch):
            x = library.tensor([0.0, 1.0, 5.0, 100.0], dtype=getattr(library, dtype))
            try:
                results.append(CALLS[name](library, x, value).tolist())
            except (RuntimeError, ValueError) as error:
                results.append([type(error)])
        np.testing.assert_equal(*results)


@pytest.mark.parametrize("function", ["clamp_min", "masked_fill", "scatter", "pad"])
def test_what_does_not_fit_is_named(function: str) -> None:
    with pytest.raises(RuntimeError, match=r"to type int8 without overflow: \w+\(\) got 300"):
        CALLS[function](wengert, wengert.tensor([0, 5], dtype=wengert.int8), 300)


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("number", [0.1, 3, 1 / 3, 7e4, 1e-5, 123.456, 2049, 1e39, -0.7])
def test_halves_times_a_number_round_once(torch: Any, dtype: str, number: float) -> None:
    """All values of the dtype; the number is no half, and is not rounded to one."""
    bits = np.arange(2**16, dtype=np.uint16).view(np.int16)
    found = []
    for library in (wengert, torch):
        x = library.from_numpy(bits.copy()).view(getattr(library, dtype))
        results = [x * number, number * x, x / number, x.clone().mul_(number)]
        found.append([r.float().numpy() for r in results])
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.torch
def test_gradients_of_halves_times_a_number(torch: Any) -> None:
    found = []
    for library in (wengert, torch):
        x = library.arange(1, 50).half().requires_grad_(True)
        y = 0.1 * x / 0.3
        (g,) = library.autograd.grad(y.sum(), x, create_graph=True)
        found.append((type(y.grad_fn).__name__, y.tolist(), g.tolist(), g.requires_grad))
    assert found[0] == found[1]
    x = wengert.arange(1, 9).half().requires_grad_(True)
    (0.7 / x).sum().backward()
    np.testing.assert_allclose(x.grad.float().numpy(), -0.7 / np.arange(1, 9) ** 2, 2e-3)


BEYOND: list[Callable[[Any, Any], Any]] = [
    lambda t, x: t.where(x > 0, x, 1e300),
    lambda t, x: t.where(x > 0, 1e300, x),
    lambda t, x: t.nn.functional.elu(x, 1e300),
    lambda t, x: t.nn.functional.leaky_relu(x, 1e300),
    lambda t, x: t.nn.functional.softplus(x, 1e300),
    lambda t, x: t.celu(x, 1e300),
    lambda t, x: t.add(x, x, alpha=1e300),
    lambda t, x: t.sub(x, x, alpha=-1e300),
    lambda t, x: t.add(x.half(), x.half(), alpha=7e4),
    lambda t, x: t.add(x.char(), x.char(), alpha=300),
    lambda t, x: t.lerp(x, x, 1e300),
    lambda t, x: t.addcmul(x, x, x, value=1e300),
    lambda t, x: t.addcdiv(x, x, x, value=1e300),
    lambda t, x: t.masked_fill(x, x > 0, t.tensor(1e300, dtype=t.float64)),
    lambda t, x: t.masked_fill(x.byte(), x > 0, t.tensor(300)),
    lambda t, x: x.int().masked_fill_(x > 0, t.tensor(2**40)),
    lambda t, x: t.index_fill(x.byte(), 0, t.tensor([0]), t.tensor(300)),
]


@pytest.mark.torch
@pytest.mark.parametrize("call", BEYOND)
def test_numbers_that_the_dtype_has_no_place_for(
    torch: Any, call: Callable[[Any, Any], Any]
) -> None:
    for library in (torch, wengert):
        with pytest.raises(RuntimeError, match="value cannot be converted to type"):
            call(library, library.ones(3))


@pytest.mark.torch
def test_infinities_and_what_fits_pass(torch: Any) -> None:
    found = []
    for t in (torch, wengert):
        x, yes = t.ones(2), t.tensor([True, False])
        found.append([
            t.where(yes, x, float("inf")).tolist(), t.add(x, x, alpha=float("inf")).tolist(),
            t.where(yes, x.double(), 1e300).tolist(), t.where(yes, x.half(), 7e4).tolist(),
            x.byte().masked_fill(yes, t.tensor(-1)).tolist(),
            x.int().masked_fill(yes, t.tensor(1.5)).tolist(),
        ])  # fmt: skip
    assert found[0] == found[1]


OF_NUMPY: dict[str, Callable[[Any, Any], Any]] = {
    "clamp": lambda m, x: x.clamp(np.float32(0.5), 1),
    "clamp_": lambda m, x: x.clone().clamp_(max=np.float16(0.5)),
    "clip": lambda m, x: m.clip(x, np.int64(0), np.int64(1)),
    "clamp of integers": lambda m, x: x.long().clamp(max=np.float64(0.5)),
    "masked_fill": lambda m, x: x.masked_fill(x > 0, np.float32(0.5)),
    "masked_fill_": lambda m, x: (x > 0).masked_fill_(x > 1, np.bool_(True)),
    "roll": lambda m, x: x.roll(np.int64(2), np.int64(0)),
    "beside integers": lambda m, x: x.long() * np.float64(1.5),
    "half beside integers": lambda m, x: np.float16(1.5) * x.long(),
    "beside halves": lambda m, x: m.sub(x.half(), np.float32(1.5)),
    "a scaled truth": lambda m, x: m.add(x > 0, True, alpha=True),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", OF_NUMPY)
def test_numbers_of_numpy(torch: Any, name: str) -> None:
    found = [OF_NUMPY[name](m, m.tensor([-1.0, 0.25, 0.75, 2.0])) for m in (torch, wengert)]
    assert found[0].tolist() == found[1].tolist()
    assert str(found[0].dtype) == str(found[1].dtype)


@pytest.mark.torch
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "floor_divide"])
def test_two_numbers_give_a_tensor(name: str, torch: Any) -> None:
    for numbers in ((-7, 2), (2, 3.5), (1j, 2) if name != "floor_divide" else (True, 2.0)):
        ours, theirs = (getattr(library, name)(*numbers) for library in (wengert, torch))
        assert (str(ours.dtype), ours.shape, ours.item()) == (
            str(theirs.dtype), tuple(theirs.shape), theirs.item()
        )  # fmt: skip
    assert wengert.div(-7, 2, rounding_mode="trunc").item() == -3


@pytest.mark.torch
@pytest.mark.parametrize("name", ["add", "sub", "rsub", "add_"])
@pytest.mark.parametrize(
    ("of", "beside"),
    [("float32", "bfloat16"), ("float64", "float32"), ("float64", "int64"), ("int64", "int32"),
     ("bfloat16", "float32"), ("float32", "float32")],
)  # fmt: skip
def test_what_alpha_scales_is_in_the_dtype_of_the_sum(
    torch: Any, name: str, of: str, beside: str
) -> None:
    results = []
    for t in (torch, wengert):
        a = t.arange(1.0, 9.0).to(getattr(t, of))
        b = (t.arange(1.0, 9.0) / 7 * 2**26).to(getattr(t, beside))
        arguments = (a, b) if name != "rsub" else (b, a)
        call = getattr(t, name) if name != "add_" else t.Tensor.add_
        results.append(call(*arguments, alpha=123 if "int" in of else 0.0113).double().tolist())
    assert results[0] == results[1]
