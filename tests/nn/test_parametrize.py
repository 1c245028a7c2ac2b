"""Parametrizations: registering, assigning, stacking, caching, removing, copying."""

from __future__ import annotations

import copy
import pickle
from functools import partial
from typing import Any

import pytest

import wengert
from tests.nn.both import agree, error, layer, state
from wengert import nn
from wengert.nn.utils import parametrizations, parametrize


def parts(lib: Any) -> Any:
    """Parametrizations of either library, good and bad."""

    class Symmetric(lib.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.triu() + x.triu(1).mT

        def right_inverse(self, x: Any) -> Any:
            return x.triu()

    class Twice(lib.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2

    class FirstRow(lib.nn.Module):
        def forward(self, x: Any) -> Any:
            return x[0]

    class Double(lib.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.double()

    class Text(lib.nn.Module):
        def forward(self, x: Any) -> Any:
            return "text"

    class TextBack(lib.nn.Module):
        def forward(self, x: Any) -> Any:
            return x

        def right_inverse(self, x: Any) -> Any:
            return "text"

    return Symmetric, Twice, FirstRow, Double, Text, TextBack


@pytest.mark.torch
def test_register_stack_and_remove(torch: Any) -> None:
    def scenario(lib: Any) -> list[Any]:
        parametrize = lib.nn.utils.parametrize
        symmetric, twice, *_ = parts(lib)
        m = layer(lib, "Linear", 3, 3)
        weight = m.weight
        parametrize.register_parametrization(m, "weight", symmetric())
        answers = [m, m.weight, m.parametrizations.weight.original is weight, *state(m)]
        m.weight = lib.ones(3, 3)
        parametrize.register_parametrization(m, "weight", twice())
        parametrize.register_parametrization(m, "bias", twice())
        answers += [m, m.weight, m.bias, *state(m)]
        answers += [error(lambda: setattr(m, "weight", lib.ones(3, 3)))]  # Twice has no inverse
        parametrize.remove_parametrizations(m, "weight", leave_parametrized=False)
        answers += [m, m.weight is weight, parametrize.type_before_parametrizations(m).__name__]
        parametrize.remove_parametrizations(m, "bias")
        return [*answers, m, type(m).__name__, *state(m)]

    agree(torch, scenario)


@pytest.mark.torch
def test_buffers_and_unsafe_ones(torch: Any) -> None:
    def scenario(lib: Any) -> list[Any]:
        parametrize = lib.nn.utils.parametrize
        _, twice, first, *_ = parts(lib)
        norm = lib.nn.BatchNorm1d(2)
        parametrize.register_parametrization(norm, "running_var", twice())
        answers = [norm.running_var, *state(norm)]
        parametrize.remove_parametrizations(norm, "running_var")
        m = layer(lib)
        parametrize.register_parametrization(m, "weight", first(), unsafe=True)
        answers += [*state(norm), m.weight]
        parametrize.remove_parametrizations(m, "weight")
        return [*answers, m.weight]

    agree(torch, scenario)


@pytest.mark.torch
def test_errors(torch: Any) -> None:
    def scenario(lib: Any) -> list[Any]:
        parametrize = lib.nn.utils.parametrize
        symmetric, _, *bad = parts(lib)
        m = parametrize.register_parametrization(layer(lib, "Linear", 3, 3), "weight", symmetric())
        answers = []
        for kind in bad:
            for to in (m, layer(lib)):
                register = partial(parametrize.register_parametrization, to, "weight", kind())
                answers.append(error(register))
        normed = lib.nn.utils.parametrizations.weight_norm(layer(lib))
        return [
            *answers,
            error(lambda: parametrize.register_parametrization(m, "other", symmetric())),
            error(lambda: parametrize.remove_parametrizations(m, "bias")),
            error(
                lambda: parametrize.remove_parametrizations(
                    normed, "weight", leave_parametrized=False
                )
            ),
            error(lambda: parametrize.ParametrizationList([], m.bias)),
            error(lambda: pickle.dumps(m)),
        ]

    agree(torch, scenario)


@pytest.mark.torch
def test_transfer(torch: Any) -> None:
    def scenario(lib: Any) -> list[Any]:
        m = lib.nn.utils.parametrizations.weight_norm(layer(lib))
        other = lib.nn.Linear(3, 4)
        lib.nn.utils.parametrize.transfer_parametrizations_and_params(m, other)
        return [other, other.weight, list(other.state_dict())]

    agree(torch, scenario)


def test_cached_values_are_computed_once() -> None:
    m = parametrizations.weight_norm(nn.Linear(2, 2))
    with parametrize.cached():
        assert m.weight is m.weight
    assert m.weight is not m.weight


def test_a_copy_has_a_class_of_its_own() -> None:
    m = parametrizations.weight_norm(nn.Linear(2, 2))
    other = copy.deepcopy(m)
    parametrize.remove_parametrizations(m, "weight")
    assert not parametrize.is_parametrized(m)
    assert parametrize.is_parametrized(other, "weight")
    assert wengert.allclose(other.weight, m.weight)
    assert repr(other).startswith("ParametrizedLinear(")
