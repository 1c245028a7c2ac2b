"""Under which name operations speak: the public function that the user called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
import wengert.nn.functional as F
from wengert.ops.declare import elementwise, primitive
from wengert.ops.op import REGISTRY, Op

OPS = [op for op in REGISTRY.values() if op.declared.__module__.startswith("wengert.ops.")]


def is_public(name: str) -> bool:
    """Whether users can call it; a family such as `conv` stands for conv1d, conv2d, conv3d."""
    field, _, name = name.rpartition(".")
    homes = (getattr(wengert, field),) if field else (wengert, F, wengert.fft, wengert.Tensor)
    return any(hasattr(home, n) for home in homes for n in (name, f"{name}1d", f"__{name}__"))


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_every_op_speaks_for_a_public_function(op: Op) -> None:
    assert is_public(op.public_name.removesuffix("_backward"))


X, Y = wengert.ones(2, 3), wengert.ones(4, 5)
Z, B = wengert.ones(2, dtype=wengert.complex64), wengert.tensor([True, False])

# A call that an inner op refuses, the exception and the beginning of its text.
CALLS: list[tuple[Callable[..., Any], tuple[Any, ...], type[Exception], str]] = [
    (wengert.sum, ("x",), TypeError, "sum(): argument 'input' (position 1) must be Tensor"),
    (wengert.mean, ("x",), TypeError, "mean(): argument 'input' (position 1) must be Tensor"),
    (wengert.prod, ("x",), TypeError, "prod(): argument 'input' (position 1) must be Tensor"),
    (wengert.max, ("x",), TypeError, "max(): argument 'input' (position 1) must be Tensor"),
    (wengert.max, ("x", 0), TypeError, "max(): argument 'input' (position 1) must be Tensor"),
    (wengert.min, ("x",), TypeError, "min(): argument 'input' (position 1) must be Tensor"),
    (wengert.min, ("x", 0), TypeError, "min(): argument 'input' (position 1) must be Tensor"),
    (wengert.cummax, ("x", 0), TypeError, "cummax(): argument 'input' (position 1)"),
    (wengert.cummin, ("x", 0), TypeError, "cummin(): argument 'input' (position 1)"),
    (wengert.median, ("x", 0), TypeError, "median(): argument 'input' (position 1)"),
    (wengert.nanmedian, ("x", 0), TypeError, "nanmedian(): argument 'input' (position 1)"),
    (wengert.mode, ("x",), TypeError, "mode(): argument 'input' (position 1)"),
    (wengert.sort, ("x",), TypeError, "sort(): argument 'input' (position 1)"),
    (wengert.argsort, ("x",), TypeError, "argsort(): argument 'input' (position 1)"),
    (wengert.topk, ("x", 1), TypeError, "topk(): argument 'input' (position 1)"),
    (wengert.kthvalue, ("x", 1), TypeError, "kthvalue(): argument 'input' (position 1)"),
    (wengert.pow, ("x", 2), TypeError, "pow(): argument 'input' (position 1) must be Tensor"),
    (wengert.pow, (X, "x"), TypeError, "pow(): argument 'exponent' (position 2) must be Tensor"),
    (wengert.softmax, ("x", 0), TypeError, "softmax(): argument 'input' (position 1)"),
    (wengert.var, ("x",), TypeError, "var(): argument 'input' (position 1) must be Tensor"),
    (wengert.diff, ("x",), TypeError, "diff(): argument 'input' (position 1) must be Tensor"),
    (wengert.pow, (X, Y), RuntimeError, "The size of tensor a (3) must match"),
    (wengert.isclose, (X, Y), RuntimeError, "The size of tensor a (3) must match"),
    (wengert.atan2, (Z, Z), NotImplementedError, "\"atan2\" not implemented for 'ComplexFloat"),
    (F.linear, (X, "x"), TypeError, "linear(): argument 'weight' (position 2) must be Tensor"),
    (F.layer_norm, ("x", (3,)), TypeError, "layer_norm(): argument 'input' (position 1)"),
    (F.layer_norm, (X, (3,), "x"), TypeError, "layer_norm(): argument 'weight' must be Tensor"),
    (F.mse_loss, ("x", X), TypeError, "mse_loss(): argument 'input' (position 1)"),
    (F.huber_loss, (X, "x"), TypeError, "huber_loss(): argument 'target' (position 2)"),
    (F.nll_loss, (X, "x"), TypeError, "nll_loss(): argument 'target' (position 2)"),
    (wengert.norm, ("x",), TypeError, "norm(): argument 'input' (position 1) must be Tensor"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "args", "kind", "text"), CALLS)
def test_the_text_begins_with_the_public_name(
    function: Callable[..., Any], args: tuple[Any, ...], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind) as caught:
        function(*args)
    assert str(caught.value).startswith(text)


# The name of the public function in the midst of a text that begins as PyTorch's does.
@pytest.mark.parametrize(
    ("function", "args", "text"),
    [
        (wengert.isclose, (X, Y), "; isclose() got shapes [2, 3] and [4, 5]"),
        (wengert.pow, (X, Y), "; pow() got shapes [2, 3] and [4, 5]"),
        (wengert.where, (B, wengert.ones(3), 0.0), "; where() got shapes [2] and [3]"),
        (F.mse_loss, (wengert.ones(2), wengert.ones(3)), "; mse_loss() got shapes [2] and [3]"),
        (F.huber_loss, (wengert.ones(2), wengert.ones(3)), "; huber_loss() got shapes [2] and"),
    ],
)
@pytest.mark.filterwarnings("ignore:Using a target size")
def test_shapes_that_do_not_broadcast(
    function: Callable[..., Any], args: tuple[Any, ...], text: str
) -> None:
    with pytest.raises(RuntimeError) as caught:
        function(*args)
    assert text in str(caught.value)


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "softmax", "log_softmax"])
def test_conversions_speak_for_who_asked(name: str) -> None:
    args = (0,) if "softmax" in name else ()
    with pytest.raises(TypeError, match=rf"^{name}\(\): argument 'input' .position 1. must be"):
        getattr(wengert, name)("x", *args, dtype=wengert.float64)


def test_errors_of_the_graph_use_the_name_as_well() -> None:
    y = wengert.ones(3, requires_grad=True).exp().sum()
    y.backward()
    with pytest.raises(RuntimeError, match=r"reached: +sum \("):
        y.backward()


def test_a_name_is_taken_once() -> None:
    def mul(input: Any) -> Any:
        return input

    with pytest.raises(TypeError, match=r"mul: tests.*declares an op of a name that wengert.ops"):
        elementwise(input=None)(mul)
    assert REGISTRY["mul"].declared is not mul


def test_arguments_hide_nothing_that_the_written_function_uses() -> None:
    def of_input(out: Any) -> Any:
        return out

    def of_parameter(input: Any, *, out: int = 0) -> Any:
        return input

    with pytest.raises(TypeError, match="of_input: an argument is called 'out'"):
        primitive(out=None)(of_input)
    with pytest.raises(TypeError, match="of_parameter: an argument is called 'out'"):
        primitive(input=None)(of_parameter)

    def with_mode(input: Any, *, mode: str = "") -> Any:
        return input

    with pytest.raises(TypeError, match="with_mode: an argument is called 'mode'"):
        elementwise(input=None)(with_mode)
    assert not {"of_input", "of_parameter", "with_mode"} & REGISTRY.keys()


@pytest.mark.parametrize("dtype", [wengert.float16, wengert.bfloat16])
def test_broadcasts_of_half_precision_are_undone_in_float32(dtype: wengert.dtype) -> None:
    """4096 ones: a running total in half precision would stop at 2048, or at 256."""
    b = wengert.zeros(2, dtype=dtype, requires_grad=True)
    (b + wengert.zeros(4096, 2, dtype=dtype)).backward(wengert.ones(4096, 2, dtype=dtype))
    assert np.array_equal(b.grad.float().numpy(), [4096.0, 4096.0])
