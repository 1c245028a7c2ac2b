"""What rows cannot say: gradients at kinks and poles, operators, and what nodes save."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from tests.ops import calls

INF, NAN = np.inf, np.nan
F = "nn.functional."
# Function, arguments (arrays require grad), keyword arguments.
AT_KINKS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    *((n, (np.array([1.0, 1.0, 2.0, NAN]), np.array([1.0, 2.0, 1.0, 1.0])), {})
      for n in ("maximum", "minimum", "fmax", "fmin")),
    ("clamp", (np.array([-2.0, -1.0, 0.0, 1.0, 2.0, NAN]), -1.0, 1.0), {}),
    ("clamp", (np.array([-1.0, 0.0, 3.0]), np.array([-1.0, 1.0, 2.0]), np.array([1.0, 1, 1])), {}),
    ("abs", (np.array([0.0, -0.0, 1.0]),), {}),
    ("abs", (np.array([0j, 1 + 1j]),), {}),
    ("sqrt", (np.array([0.0, 4.0]),), {}),
    ("pow", (np.array([0.0, 0.0, 0.0, 2.0, -1.0]), np.array([2.0, 0.0, 1.0, 0.0, 2.0])), {}),
    *(("pow", (np.array([0.0, 2.0]), e), {}) for e in (0, 0.0, 1, 2, 0.5)),
    ("pow", (0.0, np.array([0.0, 2.0])), {}),
    ("xlogy", (np.array([0.0, 0.0, 2.0]), np.array([0.0, 3.0, 0.0])), {}),
    ("sinc", (np.array([0.0, 0.5]),), {}),
    ("atan2", (np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0])), {}),
    ("nan_to_num", (np.array([NAN, INF, -INF, 1.0]),), {}),
    ("copysign", (np.array([0.0, 1.0]), np.array([1.0, -1.0])), {}),
    ("angle", (np.array([0j, 1j]),), {}),
    ("logit", (np.array([0.1, 0.5, 0.95]), 0.1), {}),
    *((F + n, (np.array([-6.0, -3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0, 6.0, NAN]),), {})
      for n in ("relu", "relu6", "hardtanh", "leaky_relu", "elu", "selu", "celu", "hardswish",
                "softshrink", "hardshrink", "softsign", "logsigmoid")),
    (F + "threshold", (np.array([0.0, 1.0]), 0.0, 5.0), {}),
    (F + "prelu", (np.array([-1.0, 0.0, 1.0]), np.array([0.5])), {}),
    (F + "softplus", (np.array([10.0, 20.0, 21.0]),), {}),
]  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize(("name", "args", "kwargs"), AT_KINKS)
def test_gradient_at_kinks_equals_torch(name, args, kwargs, torch) -> None:
    found = []
    for library in (wengert, torch):
        leaves: list[Any] = []

        def leaf(array, library=library, leaves=leaves):
            leaves.append(library.from_numpy(array.copy()).requires_grad_())
            return leaves[-1]

        out = calls.lookup(library, name)(*calls.convert(args, leaf), **kwargs)
        seed = library.from_numpy(np.cos(np.arange(out.numel())).reshape(out.shape)).to(out.dtype)
        found.append(library.autograd.grad(out, leaves, seed))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-7)


def test_masked_gradients_stop_what_is_not_finite() -> None:
    x = wengert.tensor([-1.0, 2.0], requires_grad=True)
    wengert.relu(x).backward(wengert.tensor([INF, 1.0]))
    assert x.grad.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("other", [None, "a", (), object()])
def test_equality_with_what_is_no_tensor(other: object) -> None:
    x = wengert.tensor([1.0, 2.0])
    assert (x == other) is False
    assert (x != other) is True
    with pytest.raises(TypeError):
        x < other  # noqa: B015 (it must raise)


def test_equality_is_elementwise() -> None:
    x = wengert.tensor([1.0, 2.0])
    assert (x == 2).tolist() == [False, True]
    assert (x != x).tolist() == [False, False]
    assert (2 == x).tolist() == [False, True]  # noqa: SIM300 (the reflected operator)
    assert (1.5 < x).tolist() == [False, True]  # noqa: SIM300
    assert x.where(x > 1, 0.0).tolist() == [0.0, 2.0]


def saved(result: Any) -> dict[str, np.ndarray]:
    """The arrays that the node of a result holds, by name."""
    node = result._edge
    values = {slot.removeprefix("s_"): getattr(node, slot) for slot, _ in node.saved}
    return {name: v for name, v in values.items() if v is not None}


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda x, y: x + y, []),
        (lambda x, y: x - y, []),
        (lambda x, y: x * y, ["input", "other"]),
        (lambda x, y: x * 2.0, ["other"]),
        (lambda x, y: x * y.detach(), ["other"]),
        (lambda x, y: x / y.detach(), ["other"]),
        (lambda x, y: x**2, ["input"]),
        (lambda x, y: x.exp(), ["out"]),
        (lambda x, y: x.tanh(), ["out"]),
        (lambda x, y: x.sigmoid(), ["out"]),
        (lambda x, y: x.relu(), ["out"]),
        (lambda x, y: x.floor(), []),
        (lambda x, y: wengert.where(x.detach() > 0, x, y), ["condition"]),
        (lambda x, y: wengert.lerp(x, y, 0.5), ["weight"]),
    ],
)
def test_nodes_save_the_least(call, names) -> None:
    x, y = (wengert.tensor([0.5, 1.5], requires_grad=True) for _ in range(2))
    assert sorted(saved(call(x, y))) == names


def test_in_place_chain() -> None:
    x = wengert.tensor([-1.0, 2.0], requires_grad=True)
    h = wengert.nn.functional.relu(x * 2.0, inplace=True)
    (h * 3.0).sum().backward()
    assert x.grad.tolist() == [0.0, 6.0]


@pytest.mark.torch
@pytest.mark.parametrize("part", ["real", "imag", "view_as_real", "view_as_complex"])
def test_writes_to_a_part_reach_the_whole(part: str, torch: Any) -> None:
    found = []
    for library in (wengert, torch):
        kind = np.float64 if part == "view_as_complex" else np.complex128
        x = library.from_numpy(np.arange(1, 7).reshape(3, 2).astype(kind)).requires_grad_()
        w = library.from_numpy(np.array(1.5)).requires_grad_()
        whole = x * 2
        shown = getattr(library, part)(whole)
        shown.mul_(w)
        gradients = library.autograd.grad(library.abs(whole * whole).sum(), [x, w])
        found.append([whole.detach().numpy(), *(g.numpy() for g in gradients)])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.torch
def test_rrelu_draws_as_torch_does(torch) -> None:
    values = np.linspace(-2, 2, 9).astype(np.float32)
    results = []
    for library in (wengert, torch):
        library.manual_seed(3)
        x = library.from_numpy(values.copy()).requires_grad_()
        y = library.nn.functional.rrelu(x, 0.1, 0.9, training=True)
        y.sum().backward()
        results.append((y.detach().numpy(), x.grad.numpy()))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_sigmoid_of_complex_numbers_has_limits() -> None:
    z = wengert.tensor([-800 + 1j, 800 + 1j, 0.5 - 2j], dtype=wengert.complex128)
    exact = [0, 1, 1 / (1 + np.exp(-0.5 + 2j))]
    np.testing.assert_allclose(wengert.sigmoid(z).numpy(), exact, rtol=1e-15)
