"""`parametrizations.orthogonal` against PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from wengert import nn as nn  # loads what is compared

START = np.random.default_rng(0).standard_normal((5, 5)).astype(np.float64)
MAPS = (None, "matrix_exp", "cayley", "householder")
SHAPES = ((4, 4), (5, 3), (3, 5))


def layer(library: Any, shape: tuple[int, int], map: str | None, **options: Any) -> Any:
    linear = library.nn.Linear(shape[1], shape[0], dtype=library.float64)
    with library.no_grad():
        linear.weight.copy_(library.from_numpy(START[: shape[0], : shape[1]].copy()))
    return library.nn.utils.parametrizations.orthogonal(linear, "weight", map, **options)


@pytest.mark.torch
@pytest.mark.parametrize("map", MAPS)
@pytest.mark.parametrize("shape", SHAPES)
def test_values_and_gradients(torch: Any, shape: tuple[int, int], map: str | None) -> None:
    found = []
    for library in (wengert, torch):
        linear = layer(library, shape, map)
        keys = list(linear.state_dict())
        first = linear.weight.detach().numpy().copy()
        original = linear.parametrizations.weight.original
        with library.no_grad():  # away from where it starts, from the same base
            original += library.from_numpy(0.1 * np.tril(START[: shape[0], : shape[1]], -1))
            n = max(shape)
            linear.parametrizations.weight[0].base = library.eye(n, dtype=library.float64)
        weight = linear.weight
        (weight * library.from_numpy(START[: shape[0], : shape[1]].copy())).sum().backward()
        found.append([first, weight.detach().numpy(), original.grad.numpy()])
        assert keys == list(linear.state_dict())
        tall = weight if shape[0] >= shape[1] else weight.mT
        gram = (tall.mT @ tall).detach().numpy()
        np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-10)
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, 1e-8, 1e-10)


@pytest.mark.torch
@pytest.mark.parametrize("shape", SHAPES)
def test_without_a_base(torch: Any, shape: tuple[int, int]) -> None:
    for library in (wengert, torch):
        linear = layer(library, shape, "householder", use_trivialization=False)
        target, _ = np.linalg.qr(START[: max(shape), : min(shape)])
        target = target if shape[0] >= shape[1] else target.T
        linear.weight = library.from_numpy(np.ascontiguousarray(target))
        np.testing.assert_allclose(linear.weight.detach().numpy(), target, atol=1e-12)
        for map in ("cayley", "matrix_exp"):
            linear = layer(library, shape, map, use_trivialization=False)
            with pytest.raises(NotImplementedError):
                linear.weight = library.from_numpy(np.ascontiguousarray(target))


@pytest.mark.torch
def test_errors(torch: Any) -> None:
    for library in (wengert, torch):
        orthogonal = library.nn.utils.parametrizations.orthogonal
        linear = library.nn.Linear(3, 3)
        with pytest.raises(ValueError, match="orthogonal_map has to be one of"):
            orthogonal(linear, orthogonal_map="x")
        with pytest.raises(ValueError, match="has no parameter or buffer with name 'nope'"):
            orthogonal(linear, "nope")
        with pytest.raises(ValueError, match="Expected a matrix or batch of matrices"):
            orthogonal(linear, "bias")
        orthogonal(linear)
        with pytest.raises(ValueError, match="Expected a matrix or batch of matrices of shape"):
            linear.weight = library.ones(2, 3)
