"""The functions of the top level that `nn.functional` has in another form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((4, 6)), RNG.uniform(0.1, 0.9, (4, 6))
W, B = RNG.standard_normal(6), RNG.standard_normal(6)
MEAN, VAR = RNG.standard_normal(6), RNG.uniform(0.5, 2.0, 6)
SIGNS = np.array([1.0, -1.0, 1.0, 1.0])
STATISTICS = (W, B, MEAN, VAR)

CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("batch_norm", (X, *STATISTICS, True, 0.1, 1e-5, False), {}),
    ("batch_norm", (X, *STATISTICS, False, 0.1, 1e-5, True), {}),
    ("instance_norm", (X.reshape(2, 6, 2), *STATISTICS, True, 0.1, 1e-5, False), {}),
    ("layer_norm", (X, (6,), W, B, 1e-5, True), {}),
    ("group_norm", (X, 2, W, B, 1e-5, False), {}),
    ("embedding", (X, np.array([[0, 3], [1, 1]])), {}),
    ("embedding", (X, np.array([0, 3, 1]), 1, True), {}),
    ("constant_pad_nd", (X, (1, -1, 0, 2), 2.5), {}),
    ("dropout", (X, 0.5, False), {}),
    ("alpha_dropout", (X, 0.5, False), {}),
    ("feature_alpha_dropout", (X, 0.5, False), {}),
    ("feature_dropout", (X, 0.5, False), {}),
    ("conv_tbc", (X.reshape(4, 2, 3), RNG.standard_normal((2, 3, 5)), W[:5], 1), {}),
    ("norm_except_dim", (X.reshape(4, 2, 3), 2, 1), {}),
    ("norm_except_dim", (X, 2, -1), {}),
    ("grid_sampler", (X.reshape(1, 2, 4, 3), Y.reshape(1, 3, 4, 2), 0, 2, True), {}),
    ("binary_cross_entropy_with_logits", (X, Y, None, W, 2), {}),
    ("binary_cross_entropy_with_logits", (X, Y), {"weight": Y}),
    ("kl_div", (X, Y, 0), {}),
    ("kl_div", (X, Y), {"log_target": True}),
    ("cosine_embedding_loss", (X, Y, SIGNS, 0.1, 2), {}),
    ("hinge_embedding_loss", (X, np.sign(Y), 0.5, 0), {}),
    ("margin_ranking_loss", (X[:, 0], Y[:, 0], SIGNS, 0.5), {}),
    ("triplet_margin_loss", (X, Y, X * Y, 2.0, 2.0, 1e-6, True, 0), {}),
    ("poisson_nll_loss", (X, Y, True, True, 1e-8, 1), {}),
    (
        "ctc_loss",
        (np.log(Y / Y.sum(1, keepdims=True))[:, None], np.array([[1, 2]]), (4,), (2,), 0, 2),
        {},
    ),
]


@pytest.mark.torch
@pytest.mark.parametrize(("name", "args", "options"), CALLS, ids=lambda v: str(v)[:12])
def test_equals_torch(name: str, args: Any, options: Any, torch: Any) -> None:
    found = []
    for library in (wengert, torch):

        def given(value: Any, library: Any = library) -> Any:
            return library.from_numpy(value.copy()) if isinstance(value, np.ndarray) else value

        values = [given(v) for v in args]
        values[0].requires_grad_()
        y = getattr(library, name)(*values, **{k: given(v) for k, v in options.items()})
        (y * y).sum().backward()
        found.append((y.detach().numpy(), values[0].grad.numpy()))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_a_reduction_is_a_number() -> None:
    with pytest.raises(ValueError, match="'reduction' must be 0"):
        wengert.kl_div(wengert.zeros(2), wengert.ones(2), 5)


@pytest.mark.parametrize("name", ["celu_", "relu_", "rrelu_", "selu_", "threshold_"])
def test_inplace_activations(name: str) -> None:
    x = wengert.tensor([-1.0, 2.0])
    args = (0.0, 0.0) if name == "threshold_" else ()
    assert getattr(wengert, name)(x, *args) is x
    assert x[0] != -1
    assert x[1] > 1.9


DROPOUTS = ["dropout_", "alpha_dropout_", "feature_alpha_dropout_", "feature_dropout_"]


@pytest.mark.parametrize("name", DROPOUTS)
def test_inplace_dropouts(name: str) -> None:
    found = []
    for form in (name, name.removesuffix("_")):
        wengert.manual_seed(0)
        x = wengert.ones(6, 5)
        y = getattr(wengert, form)(x, 0.5, True)
        assert (y is x) == (form == name)
        found.append(y.numpy())
    np.testing.assert_array_equal(*found)
    assert not np.array_equal(found[0], np.ones((6, 5)))


@pytest.mark.torch
def test_rows_of_a_table_are_shortened(torch: Any) -> None:
    found = []
    for library in (wengert, torch):
        table = library.from_numpy(X.copy())
        assert library.embedding_renorm_(table, library.tensor([3, 0]), 0.5, 2.0) is table
        found.append(table.numpy())
    np.testing.assert_allclose(*found, rtol=1e-6)


@pytest.mark.torch
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_maxima_with_indices(dims: int, torch: Any) -> None:
    found = []
    for library in (wengert, torch):
        x = library.from_numpy(X.reshape(1, 3, 2, 4)[(0,) * (3 - dims)].copy())
        pooled = getattr(library.nn.functional, f"max_pool{dims}d_with_indices")
        found.append(pooled(x[None], (1,) * (dims - 1) + (2,)))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
    assert wengert.adaptive_max_pool1d(wengert.tensor([[1.0, 3.0]]), 1)[1].tolist() == [[1]]
