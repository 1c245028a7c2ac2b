"""nn.utils: gradients clipped, parameters as vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from tests.nn.parity import array
from wengert import nn


def grown(library: Any) -> list[Any]:
    """Parameters with gradients, and one without."""
    rng = np.random.default_rng(0)
    made = []
    for shape in ((2, 3), (4,), ()):
        p = library.zeros(shape, requires_grad=True)
        p.grad = library.tensor(rng.normal(size=shape).astype(np.float32) * 3)
        made.append(p)
    return [*made, library.zeros(2, requires_grad=True)]


@pytest.mark.torch
@pytest.mark.parametrize("norm_type", [1, 2.0, 3, float("inf")])
@pytest.mark.parametrize("max_norm", [0.5, 1e6])
def test_clip_grad_norm(torch: Any, norm_type: float, max_norm: float) -> None:
    a, b = grown(wengert), grown(torch)
    x = nn.utils.clip_grad_norm_(a, max_norm, norm_type)
    y = torch.nn.utils.clip_grad_norm_(b, max_norm, norm_type)
    np.testing.assert_allclose(array(x), array(y), rtol=1e-6)
    for p, q in zip(a[:3], b[:3], strict=True):
        np.testing.assert_allclose(array(p.grad), array(q.grad), rtol=1e-5)
    assert a[3].grad is None


def test_clipping_what_a_used_up_generator_gives_warns() -> None:
    with pytest.warns(UserWarning, match="`parameters` is an empty generator"):
        assert nn.utils.clip_grad_norm_((p for p in ()), 1.0) == 0


@pytest.mark.torch
def test_clip_grad_value_and_total_norm(torch: Any) -> None:
    a, b = grown(wengert), grown(torch)
    x = nn.utils.get_total_norm([p.grad for p in a[:3]])
    y = torch.nn.utils.get_total_norm([p.grad for p in b[:3]])
    np.testing.assert_allclose(array(x), array(y), rtol=1e-6)
    nn.utils.clip_grad_value_(a, 1.5)
    torch.nn.utils.clip_grad_value_(b, 1.5)
    for p, q in zip(a[:3], b[:3], strict=True):
        np.testing.assert_array_equal(array(p.grad), array(q.grad))


def test_norms_that_are_not_finite() -> None:
    p = wengert.zeros(2, requires_grad=True)
    p.grad = wengert.tensor([float("nan"), 1.0])
    with pytest.raises(RuntimeError, match="non-finite"):
        nn.utils.clip_grad_norm_([p], 1.0, error_if_nonfinite=True)
    assert p.grad.tolist()[1] == 1
    assert np.isnan(nn.utils.clip_grad_norm_(p, 1.0).item())
    assert nn.utils.clip_grad_norm_([], 1.0).item() == 0


def test_parameters_as_a_vector() -> None:
    layer = nn.Linear(2, 3)
    vector = nn.utils.parameters_to_vector(layer.parameters())
    assert vector.tolist() == [*layer.weight.flatten().tolist(), *layer.bias.tolist()]
    assert vector.requires_grad
    new = wengert.zeros(9)
    nn.utils.vector_to_parameters(new, layer.parameters())
    new[0] = 5.0
    assert layer.weight.tolist()[0][0] == 5  # the memory is shared
    assert layer.weight.is_leaf
    with pytest.raises(RuntimeError, match="is invalid for input of size 5"):
        nn.utils.vector_to_parameters(wengert.zeros(5), layer.parameters())
    with pytest.raises(TypeError, match=r"expected torch\.Tensor"):
        nn.utils.vector_to_parameters([1.0], layer.parameters())  # type: ignore[arg-type]


@pytest.mark.torch
@pytest.mark.parametrize("order", [2.0, float("inf"), 1.0])
@pytest.mark.parametrize("bound", [0.5, 1e9])
def test_many_gradients_are_clipped_together(order: float, bound: float, torch: Any) -> None:
    rng = np.random.default_rng(0)
    shapes = [(70, 900), (), (33, 5), *([(0,)] if order == 2 else [])]
    grads = [np.asarray(rng.normal(size=s), "f4") for s in shapes]
    results = []
    for library in (wengert, torch):
        made = [library.zeros(g.shape, requires_grad=True) for g in grads]
        for p, g in zip(made, grads, strict=True):
            p.grad = library.tensor(g)
        clip = library.nn.utils
        norm = clip.clip_grad_norm_(made, bound, order)
        clip.clip_grad_value_(made, 0.001)
        results.append(np.concatenate([norm.numpy().ravel(), *[p.grad.ravel() for p in made]]))
    # PyTorch sums absolute values in float32.
    np.testing.assert_allclose(*results, rtol=5e-6 if order == 1 else 2e-6)
    exact = np.linalg.norm(np.concatenate([g.ravel().astype(float) for g in grads]), order)
    np.testing.assert_allclose(results[0][0], exact, rtol=3e-7)


def test_the_norm_of_many_gradients_is_nan_where_one_is() -> None:
    parts = [wengert.ones(5000), wengert.ones(3)]
    parts[0][4321] = float("nan")
    for order in (2.0, float("inf")):
        assert wengert.nn.utils.get_total_norm(parts, order).isnan()
