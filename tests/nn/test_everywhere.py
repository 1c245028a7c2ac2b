"""Hooks for all modules, DataParallel, fusion, and other helpers."""

from __future__ import annotations

from typing import Any

import pytest

import wengert
from tests.nn.both import agree, batch, error, layer, state
from wengert import nn


@pytest.mark.torch
def test_hooks_of_calls(torch: Any) -> None:
    def scenario(lib: Any) -> list[Any]:
        log: list[Any] = []
        place = lib.nn.modules.module

        def note(word: str) -> Any:
            return lambda module, *rest: log.append((word, type(module).__name__, len(rest)))

        handles = [
            place.register_module_forward_pre_hook(note("before")),
            place.register_module_forward_hook(note("after")),
            place.register_module_forward_hook(note("with names"), with_kwargs=True),
            place.register_module_forward_hook(note("always"), always_call=True),
            place.register_module_full_backward_hook(note("backward")),
            place.register_module_full_backward_pre_hook(note("before backward")),
        ]
        net = lib.nn.Sequential(layer(lib), lib.nn.ReLU())
        net[0].register_forward_pre_hook(note("own before"))
        net[0].register_forward_hook(note("own"))
        net[0].register_full_backward_hook(note("own backward"))
        net(batch(lib).requires_grad_()).sum().backward()
        log.append(error(lambda: net(lib.ones(2, 7))))
        for handle in handles:
            handle.remove()
        net(batch(lib))
        return [log]

    agree(torch, scenario)


@pytest.mark.torch
def test_hooks_of_registration(torch: Any) -> None:
    def scenario(lib: Any) -> list[Any]:
        log: list[Any] = []
        place = lib.nn.modules.module

        def note(module: Any, name: str, value: Any) -> None:
            log.append((type(module).__name__, name, value is None))

        handles = [
            place.register_module_buffer_registration_hook(note),
            place.register_module_module_registration_hook(note),
            place.register_module_parameter_registration_hook(note),
        ]
        net = lib.nn.Sequential(lib.nn.Linear(2, 2, bias=False), lib.nn.BatchNorm1d(2))
        net.extra = lib.nn.ReLU()
        net.p, net.b = lib.nn.Parameter(lib.ones(1)), lib.nn.Buffer(lib.ones(1))
        net.b, net.p = lib.zeros(1), None
        net.add_module("last", lib.nn.ReLU())
        for handle in handles:
            handle.remove()
        net.later = lib.nn.ReLU()
        return [log]

    agree(torch, scenario)


def test_a_hook_of_registration_may_give_another() -> None:
    def frozen(module: Any, name: str, value: Any) -> Any:
        return nn.Parameter(value, requires_grad=False)

    with nn.modules.module.register_module_parameter_registration_hook(frozen):
        m = nn.Linear(2, 1)
    assert not m.weight.requires_grad


@pytest.mark.torch
def test_data_parallel(torch: Any) -> None:
    def scenario(lib: Any) -> list[Any]:
        m = lib.nn.DataParallel(layer(lib))
        return [m, *state(m), m(batch(lib)), m.device_ids]

    agree(torch, scenario)


def test_data_parallel_as_a_function() -> None:
    m, x = nn.Linear(3, 2), batch(wengert)
    assert wengert.equal(nn.parallel.data_parallel(m, x), m(x))


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["Conv2d", "ConvTranspose2d"])
@pytest.mark.parametrize("bias", [True, False])
def test_fusion_of_convolutions(torch: Any, kind: str, bias: bool) -> None:
    def scenario(lib: Any) -> list[Any]:
        norm, conv = lib.nn.BatchNorm2d(2).eval(), layer(lib, kind, 3, 2, 2).eval()
        norm.running_mean.copy_(lib.tensor([0.3, -0.2]))
        norm.running_var.copy_(lib.tensor([0.5, 2.0]))
        if not bias:
            conv.bias = None
        fused, x = (
            lib.nn.utils.fuse_conv_bn_eval(conv, norm, kind != "Conv2d"),
            lib.ones(1, 3, 4, 4),
        )
        return [fused, *state(fused), fused(x), norm(conv(x))]

    agree(torch, scenario)


@pytest.mark.torch
def test_fusion_of_linear_layers(torch: Any) -> None:
    def scenario(lib: Any) -> list[Any]:
        fuse, norm = lib.nn.utils.fuse_linear_bn_eval, lib.nn.BatchNorm1d(4).eval()
        norm.running_var.copy_(lib.tensor([1.0, 2.0, 3.0, 4.0]))
        return [
            *state(fuse(layer(lib).eval(), norm)),
            error(lambda: fuse(layer(lib), norm)),
            error(lambda: fuse(layer(lib).eval(), lib.nn.BatchNorm1d(3).eval())),
        ]

    agree(torch, scenario)


@pytest.mark.torch
def test_skip_init_draws_nothing(torch: Any) -> None:
    def scenario(lib: Any) -> list[Any]:
        m = lib.nn.utils.skip_init(lib.nn.Linear, 3, 2)
        skip = lib.nn.utils.skip_init
        return [m, lib.rand(2), error(lambda: skip(lib.nn.ReLU)), error(lambda: skip(int))]

    agree(torch, scenario)


@pytest.mark.torch
def test_factory_kwargs(torch: Any) -> None:
    def scenario(lib: Any) -> list[Any]:
        twice = {"dtype": lib.float64, "factory_kwargs": {"dtype": lib.float32}}
        return [
            lib.nn.factory_kwargs(None),
            lib.nn.factory_kwargs({"device": "cpu", "factory_kwargs": {"dtype": lib.float32}}),
            error(lambda: lib.nn.factory_kwargs({"other": 1})),
            error(lambda: lib.nn.factory_kwargs(twice)),
        ]

    agree(torch, scenario)


def test_deprecated_names() -> None:
    m = nn.Linear(2, 1)
    with pytest.warns(FutureWarning, match="deprecated"):
        y = nn.utils.stateless.functional_call(m, {"bias": wengert.ones(1)}, wengert.zeros(1, 2))
    assert y.tolist() == [[1.0]]
    y.sum().backward()
    with pytest.warns(FutureWarning, match="deprecated"):
        nn.utils.clip_grad_norm(m.parameters(), 1.0)
