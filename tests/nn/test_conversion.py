"""What `Module.to` and `load_state_dict` do with parameters, by ``torch.__future__``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import wengert
from wengert.compat._private import future_settings

SETTINGS = ["overwrite", "swap"]


@pytest.fixture(autouse=True)
def restored(request: pytest.FixtureRequest) -> Iterator[None]:
    libraries: list[Any] = [future_settings]
    if "torch" in request.fixturenames:
        libraries.append(request.getfixturevalue("torch").__future__)
    yield
    for library in libraries:
        for name in SETTINGS:
            getattr(library, f"set_{name}_module_params_on_conversion")(False)


def converted(torch: Any, settings: Any, name: str) -> list[Any]:
    """What identities and values a conversion and a load leave."""
    getattr(settings, f"set_{name}_module_params_on_conversion")(True)
    assert getattr(settings, f"get_{name}_module_params_on_conversion")() is True
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(0.5)
    model(torch.ones(3, 2)).sum().backward()
    before = list(model.parameters())
    gradients = [p.grad for p in before]
    model.double()
    found: list[Any] = []
    for old, gradient, new in zip(before, gradients, model.parameters(), strict=True):
        found += [old is new, gradient is new.grad, str(old.dtype), str(new.grad.dtype)]
        found += [type(new).__name__, new.requires_grad, new.is_leaf, new.tolist()]
    del old, gradient, gradients, parameter, new
    model[0].weight.requires_grad_(False)
    state = {k: torch.ones_like(v) for k, v in model.state_dict().items()}
    before = list(model.parameters())
    model.zero_grad()
    model.load_state_dict(state)
    found += [a is b for a, b in zip(before, model.parameters(), strict=True)]
    found += [[v.tolist() for v in model.state_dict().values()], model[0].weight.requires_grad]
    state = {k: torch.zeros_like(v) for k, v in model.state_dict().items()}
    model.load_state_dict(state, assign=True)
    found += [a is b for a, b in zip(before, model.parameters(), strict=True)]
    shared = [state[k].data_ptr() == v.data_ptr() for k, v in model.state_dict().items()]
    return [*found, shared, [type(p).__name__ for p in model.parameters()]]


@pytest.mark.torch
@pytest.mark.parametrize("name", SETTINGS)
def test_as_pytorch(torch: Any, name: str) -> None:
    expected = converted(torch, torch.__future__, name)
    assert converted(wengert, future_settings, name) == expected


def test_a_graph_that_was_recorded_before_is_refused() -> None:
    future_settings.set_swap_module_params_on_conversion(True)
    layer = wengert.nn.Linear(2, 1)
    loss = layer(wengert.ones(2)).sum()
    layer.double()
    with pytest.raises(RuntimeError, match="poisoned by swap_tensors"):
        loss.backward()


def test_a_parameter_that_cannot_be_swapped() -> None:
    future_settings.set_swap_module_params_on_conversion(True)
    layer = wengert.nn.Linear(2, 1)
    layer(wengert.ones(2)).sum().backward()
    view = layer.weight[0]
    with pytest.raises(RuntimeError, match=r"Couldn't swap Linear\.weight"):
        layer.double()
    assert layer.weight.dtype == wengert.float32
    assert layer.weight.grad is not None
    assert view.shape == (2,)


def test_module_load_of_a_class() -> None:
    class Doubled(wengert.Tensor):
        def module_load(self, other: Any, assign: bool = False) -> Any:
            return (other * 2).as_subclass(Doubled)

    future_settings.set_swap_module_params_on_conversion(True)
    module = wengert.nn.Module()
    module.register_buffer("x", wengert.zeros(2).as_subclass(Doubled))
    module.load_state_dict({"x": wengert.ones(2)})
    assert module.x.tolist() == [2, 2]
    assert type(module.x) is Doubled

    class Lazy(wengert.Tensor):
        def module_load(self, other: Any, assign: bool = False) -> Any:
            return other

    module.x = wengert.zeros(2).as_subclass(Lazy)
    with pytest.raises(RuntimeError, match="module_load returned one of self or other"):
        module.load_state_dict({"x": wengert.ones(2)})
