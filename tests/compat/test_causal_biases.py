"""``torch.nn.attention.bias``, compared with PyTorch's."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np
import pytest

import wengert
from wengert.compat._private import causal_biases

SIZES = [("causal_upper_left", 3, 5), ("causal_lower_right", 3, 5), ("causal_lower_right", 4, 4)]


def biases(library: Any) -> Any:
    return (
        causal_biases if library is wengert else importlib.import_module("torch.nn.attention.bias")
    )


@pytest.mark.torch
@pytest.mark.parametrize(("name", "queries", "keys"), SIZES)
def test_attention_by_a_bias(torch: Any, name: str, queries: int, keys: int) -> None:
    rng = np.random.default_rng(0)
    shapes = [(2, 4, queries, 8), (2, 4, keys, 8), (2, 4, keys, 8)]
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    found = []
    for library in (wengert, torch):
        bias = getattr(biases(library), name)(queries, keys)
        q, k, v = [library.tensor(a, requires_grad=True) for a in arrays]
        out = library.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        out.square().sum().backward()
        assert isinstance(bias, library.Tensor)
        found.append([out, q.grad, v.grad, bias._materialize()])
        found[-1] += [library.tensor(bias.shape), library.tensor(bias.variant)]
        assert repr(bias) == repr(bias._materialize())
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(
            ours.detach().numpy(), theirs.detach().numpy(), rtol=2e-5, atol=2e-6
        )


@pytest.mark.torch
def test_biases_that_are_refused(torch: Any) -> None:
    for library in (wengert, torch):
        module = biases(library)
        attend = library.nn.functional.scaled_dot_product_attention
        q, k = library.ones(1, 1, 2, 4), library.ones(1, 1, 3, 4)
        with pytest.raises(AssertionError, match="variant must be a CausalVariant, got int"):
            module.CausalBias(2, 3, 3)
        with pytest.raises(ValueError, match="should not be used with causal=True"):
            attend(q, k, k, attn_mask=module.causal_lower_right(2, 3), is_causal=True)
        with pytest.raises(RuntimeError, match="size"):
            attend(q, k, k, attn_mask=module.causal_lower_right(2, 4))
        with pytest.warns(UserWarning, match="will produce NaNs in the output when seq_len_q"):
            assert not module.causal_lower_right(3, 2)._materialize()[0].any()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            module.causal_upper_left(3, 2)
        with pytest.raises(AssertionError):
            module.causal_upper_left(3)
