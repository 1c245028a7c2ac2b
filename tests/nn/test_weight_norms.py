"""Weight norm and spectral norm, as hooks and as parametrizations."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import wengert
from tests.nn.both import agree, batch, error, gradients, layer, state
from wengert import nn

DIMS = (0, 1, None, -1)
LAYERS = [
    ("Linear", (3, 4), (2, 3)),
    ("Conv1d", (3, 2, 2), (1, 3, 4)),
    ("ConvTranspose1d", (3, 2, 2), (1, 3, 4)),
]


@pytest.mark.torch
@pytest.mark.parametrize("dim", DIMS)
def test_weight_norm_by_a_hook(torch: Any, dim: int | None) -> None:
    def scenario(lib: Any) -> list[Any]:
        m = lib.nn.utils.weight_norm(layer(lib), dim=dim)
        y = m(batch(lib))
        before = [m, *state(m), y, *gradients(m, y)]
        lib.nn.utils.remove_weight_norm(m)
        return [*before, m, *state(m)]

    agree(torch, scenario)


@pytest.mark.torch
@pytest.mark.parametrize("dim", DIMS)
def test_weight_norm_as_a_parametrization(torch: Any, dim: int | None) -> None:
    def scenario(lib: Any) -> list[Any]:
        m = lib.nn.utils.parametrizations.weight_norm(layer(lib), dim=dim)
        y = m(batch(lib))
        before = [m, *state(m), y, *gradients(m, y)]
        old = lib.nn.utils.weight_norm(lib.nn.Linear(3, 4), dim=dim).state_dict()
        loaded = m.load_state_dict(old)
        m.weight = lib.ones(4, 3)
        lib.nn.utils.parametrize.remove_parametrizations(m, "weight")
        return [*before, loaded, m, *state(m), type(m.weight).__name__]

    agree(torch, scenario)


@pytest.mark.torch
@pytest.mark.parametrize(("kind", "args", "shape"), LAYERS, ids=[row[0] for row in LAYERS])
def test_spectral_norm_by_a_hook(torch: Any, kind: str, args: Any, shape: Any) -> None:
    def scenario(lib: Any) -> list[Any]:
        m = lib.nn.utils.spectral_norm(layer(lib, kind, *args), n_power_iterations=2)
        x = lib.ones(shape)
        answers = [m, *state(m)]
        y = m(x)
        answers += [y, *state(m), *gradients(m, y), m.state_dict()._metadata[""]]
        m.eval()
        other = lib.nn.utils.spectral_norm(layer(lib, kind, *args)).eval()
        answers += [m(x), other.load_state_dict(m.state_dict()), other(x)]
        lib.nn.utils.remove_spectral_norm(m)
        return [*answers, m, *state(m)]

    agree(torch, scenario, 1e-4)


@pytest.mark.torch
@pytest.mark.parametrize(("kind", "args", "shape"), LAYERS, ids=[row[0] for row in LAYERS])
def test_spectral_norm_as_a_parametrization(torch: Any, kind: str, args: Any, shape: Any) -> None:
    def scenario(lib: Any) -> list[Any]:
        parametrizations = lib.nn.utils.parametrizations
        m = parametrizations.spectral_norm(layer(lib, kind, *args), n_power_iterations=2)
        y = m(lib.ones(shape))
        answers = [m, y, *gradients(m, y), *state(m)]
        m.eval()
        bias = parametrizations.spectral_norm(layer(lib), name="bias")
        return [*answers, m.weight, bias.bias, *state(bias)]

    agree(torch, scenario, 1e-4)


@pytest.mark.torch
def test_errors(torch: Any) -> None:
    def scenario(lib: Any) -> list[Any]:
        utils = lib.nn.utils
        twice, again = utils.weight_norm(layer(lib)), utils.spectral_norm(layer(lib))
        return [
            error(lambda: utils.weight_norm(twice)),
            error(lambda: utils.spectral_norm(again)),
            error(lambda: utils.weight_norm(lib.nn.LazyLinear(2))),
            error(lambda: utils.spectral_norm(lib.nn.LazyLinear(2))),
            error(lambda: utils.remove_weight_norm(layer(lib))),
            error(lambda: utils.remove_spectral_norm(layer(lib))),
            error(lambda: utils.spectral_norm(layer(lib), n_power_iterations=0)),
            error(lambda: utils.spectral_norm(lib.nn.Linear(2, 2, bias=False), name="bias")),
            error(lambda: utils.parametrizations.spectral_norm(layer(lib), n_power_iterations=0)),
            error(lambda: utils.parametrizations.spectral_norm(layer(lib), name="other")),
            error(lambda: utils.parametrizations.spectral_norm(layer(lib), dim=4)),
        ]

    agree(torch, scenario)


def test_the_hook_of_weight_norm_is_deprecated() -> None:
    with pytest.warns(FutureWarning, match="deprecated in favor of"):
        nn.utils.weight_norm(nn.Linear(2, 2))


def test_second_derivatives_through_weight_norm() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m = nn.utils.weight_norm(nn.Linear(2, 3).double())
    x = wengert.randn(4, 2, dtype=wengert.float64)

    def function(g: Any, v: Any) -> Any:
        return wengert.func.functional_call(m, {"weight_g": g, "weight_v": v}, x)

    leaves = [p.detach().clone().requires_grad_() for p in (m.weight_g, m.weight_v)]
    assert wengert.autograd.gradgradcheck(function, leaves)


@pytest.mark.parametrize("form", [nn.utils.spectral_norm, nn.utils.parametrizations.spectral_norm])
def test_spectral_norm_of_complex_weights(form: Any) -> None:
    wengert.manual_seed(0)
    m = nn.Linear(4, 3, bias=False, dtype=wengert.complex128)
    original = m.weight.detach().clone()
    form(m, n_power_iterations=50)
    x = wengert.eye(4, dtype=wengert.complex128)
    largest = wengert.linalg.svdvals(original)[0]
    wengert.testing.assert_close(m(x).mT.detach(), original / largest)
    m.eval()
    wengert.testing.assert_close(m(x).mT.detach(), original / largest)


@pytest.mark.torch
def test_a_parametrized_spectral_norm_of_complex_weights_is_torchs(torch: Any) -> None:
    def scenario(lib: Any) -> list[Any]:
        real = lib.arange(12.0).reshape(4, 3)
        m = lib.nn.Linear(3, 4, bias=False, dtype=lib.complex64)
        with lib.no_grad():
            m.weight.copy_(lib.complex(real, real.flip(0)))
        lib.nn.utils.parametrizations.spectral_norm(m, n_power_iterations=40)
        y = m(lib.ones(2, 3) + 1j)
        (y.abs() ** 2).sum().backward()
        return [abs(y), m.parametrizations.weight.original.grad]

    agree(torch, scenario, 1e-4)
