"""Observers and fake quantization: the same ranges, numbers and gradients as PyTorch's."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
from tests.cli.process import good, python
from wengert.compat._private import top
from wengert.compat._private.quantization import fake, observers, settings

pytestmark = pytest.mark.filterwarnings("ignore:Please use quant_min and quant_max")

DATA = np.random.default_rng(0).normal(size=(3, 4, 5)).astype(np.float32)
TENSORS = ["MinMaxObserver", "MovingAverageMinMaxObserver"]
CHANNELS = ["PerChannelMinMaxObserver", "MovingAveragePerChannelMinMaxObserver"]
OPTIONS: list[dict[str, Any]] = [
    {}, {"dtype": "qint8"}, {"dtype": "qint8", "qscheme": "symmetric"}, {"qscheme": "symmetric"},
    {"dtype": "qint8", "qscheme": "symmetric", "quant_min": -127, "quant_max": 127, "eps": 2**-12},
    {"reduce_range": True}, {"quant_min": 0, "quant_max": 15}, {"dtype": "qint32"},
    {"qscheme": "affine_float_qparams"}, {"qscheme": "symmetric", "quant_min": 0, "quant_max": 63},
]  # fmt: skip


def options_of(names: Any, options: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Options with dtypes and schemes of a library."""
    made = dict(options)
    if "dtype" in made:
        made["dtype"] = getattr(names, made["dtype"])
    if "qscheme" in made:
        made["qscheme"] = getattr(names, f"{prefix}_{made['qscheme']}")
    return made


def told(tensors: Any) -> list[Any]:
    return [(x.tolist(), str(x.dtype), tuple(x.shape)) for x in tensors]


def close(found: list[Any], expected: list[Any]) -> None:
    for (a, *kind), (b, *other) in zip(found, expected, strict=True):
        assert kind == other
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


def observed(torch: Any, names: Any, module: Any, kind: str, options: dict[str, Any]) -> list[Any]:
    prefix = "per_tensor" if kind in TENSORS else "per_channel"
    observer = getattr(module, kind)(**options_of(names, options, prefix))
    for k in range(3):
        x = torch.tensor(DATA[k] * (k + 1) + 0.5)
        assert observer(x) is x
    assert observer(torch.empty(0)).numel() == 0
    limits = [observer.quant_min, observer.quant_max]
    return [*told(observer.calculate_qparams()), *told([torch.tensor(limits)]),
            *told(observer.state_dict().values())]  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        pytest.param(kind, options, id=f"{kind}-{k}")
        for kind in TENSORS + CHANNELS
        for k, options in enumerate(OPTIONS)
        if kind in CHANNELS or options.get("qscheme") != "affine_float_qparams"
    ],
)
def test_observers(torch: Any, kind: str, options: dict[str, Any]) -> None:
    from torch.ao.quantization import observer as theirs

    expected = observed(torch, torch, theirs, kind, options)
    close(observed(wengert, top, observers, kind, options), expected)


@pytest.mark.torch
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_axis_of_channels(torch: Any, axis: int) -> None:
    from torch.ao.quantization import observer as theirs

    def seen(torch: Any, module: Any) -> list[Any]:
        observer = module.PerChannelMinMaxObserver(ch_axis=axis)
        observer(torch.tensor(DATA))
        return told(observer.calculate_qparams())

    close(seen(wengert, observers), seen(torch, theirs))


def rounded(torch: Any, call: Callable[..., Any]) -> list[Any]:
    x = torch.tensor(DATA * 2, requires_grad=True)
    out = call(torch, x)
    out.backward(torch.tensor(DATA + 1))
    return told([out.detach(), x.grad])


CALLS: dict[str, Callable[..., Any]] = {
    "tensor": lambda t, q, x: q.fake_quantize_per_tensor_affine(x, 0.1, 3, -10, 20),
    "of tensors": lambda t, q, x: q.fake_quantize_per_tensor_affine(
        x, t.tensor(0.03), t.tensor(5, dtype=t.int32), 0, 255
    ),
    "channels": lambda t, q, x: q.fake_quantize_per_channel_affine(
        x, t.tensor([0.1, 0.01, 0.3, 1.0]), t.tensor([0, 3, -2, 1], dtype=t.int32), 1, -16, 15
    ),
    "floats": lambda t, q, x: q.fake_quantize_per_channel_affine(
        x, t.tensor([0.1, 0.2, 0.3]), t.tensor([0.5, 3.0, -2.0]), 0, -16, 15
    ),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", CALLS)
def test_fake_quantize_functions(torch: Any, name: str) -> None:
    call = CALLS[name]
    expected = rounded(torch, lambda t, x: call(t, t, x))
    close(rounded(wengert, lambda t, x: call(t, fake, x)), expected)


def test_bad_calls() -> None:
    x, one, zero = wengert.ones(2, 3), wengert.ones(3), wengert.zeros(3, dtype=wengert.int32)
    whole, channels = fake.fake_quantize_per_tensor_affine, fake.fake_quantize_per_channel_affine
    for call, said in {
        lambda: whole(x, 0.1, 0, 5, 4): "`quant_min` should be less than",
        lambda: whole(x, 0.1, 9, 0, 4): "`zero_point` must be between",
        lambda: channels(x, one, zero, 2, 0, 4): "`axis` must be between",
        lambda: channels(x, one, zero, 0, 0, 4): "3 scales for 2 channels",
        lambda: channels(x, one.double(), zero, 1, 0, 4): "Scale must be Float",
        lambda: channels(x, one, zero.long(), 1, 0, 4): "Zero-point must be Int32",
        lambda: channels(x, one, zero - 1, 1, 0, 4): "`zero_point` must be between",
    }.items():
        with pytest.raises(RuntimeError, match=said):
            call()
    with pytest.raises(NotImplementedError, match="Cannot reduce range"):
        observers.MinMaxObserver(qscheme=top.per_tensor_symmetric, reduce_range=True)
    with pytest.raises(NotImplementedError, match="qscheme only support"):
        observers.MinMaxObserver(qscheme=top.per_channel_affine)
    with pytest.raises(AssertionError, match="must include 0"):
        observers.MinMaxObserver(quant_min=1, quant_max=4)
    with pytest.raises(ValueError, match="received observer instance"):
        settings.QConfig(observers.MinMaxObserver(), None)
    with pytest.warns(UserWarning, match="must run observer before"):
        observers.MinMaxObserver().calculate_qparams()


DEFAULTS = [n for n in fake.__all__ if n.startswith("default") and "4bit" not in n]


def trained(torch: Any, module: Any, name: str) -> list[Any]:
    """Outputs, gradients and state of a module that looks and rounds."""
    layer = getattr(module, name)()
    found: list[Any] = []
    for k in range(3):
        x = torch.tensor(DATA[k] + k, requires_grad=True)
        if k == 2:
            layer.apply(module.disable_observer)
        out = layer(x)
        out.sum().backward()
        found += [out.detach(), x.grad]
    layer.apply(module.disable_fake_quant)
    assert layer(x).tolist() == x.tolist()
    copy = getattr(module, name)()
    file = io.BytesIO()
    torch.save(layer.state_dict(), file)
    file.seek(0)
    copy.load_state_dict(torch.load(file))
    return told([*found, *layer.state_dict().values(), *copy.state_dict().values()])


@pytest.mark.torch
@pytest.mark.parametrize("name", DEFAULTS)
def test_fake_quantize_modules(torch: Any, name: str) -> None:
    from torch.ao.quantization import fake_quantize as theirs

    close(trained(wengert, fake, name), trained(torch, theirs, name))


@pytest.mark.torch
def test_settings(torch: Any) -> None:
    from torch.ao.quantization import fake_quantize, observer, qconfig

    def plain(value: Any) -> str:
        text = repr(value).replace("torch.ao.quantization.fake_quantize", "fake")
        text = text.replace("torch.ao.quantization.observer", "observers")
        text = text.replace("torch.nn.modules", "wengert.nn.modules")
        return text.replace("wengert.compat._private.quantization.", "")

    for ours, theirs in ((observers, observer), (fake, fake_quantize), (settings, qconfig)):
        for name in ours.__all__:
            if name.startswith(("default", "float")):
                assert plain(getattr(ours, name)) == plain(getattr(theirs, name)), name


def test_partial_classes() -> None:
    made = observers.MinMaxObserver.with_args(quant_min=0).with_args(quant_max=7)
    counted = made.with_callable_args(eps=lambda: 0.5)
    assert (made().quant_max, counted().eps.item()) == (7, 0.5)
    assert settings.qconfig_equals(settings.QConfig(made, None), settings.QConfig(made, None))
    other = settings.QConfig(made.with_args(quant_max=15), None)
    assert not settings.qconfig_equals(settings.QConfig(made, None), other)
    recorder = observers.RecordingObserver()
    recorder(wengert.ones(2))
    assert recorder.get_tensor_value()[0].tolist() == [1, 1]
    with pytest.raises(Exception, match="should not be called for RecordingObserver"):
        recorder.calculate_qparams()


def test_under_the_alias() -> None:
    program = """if True:
        from wengert import compat
        compat.install()
        import torch
        from torch.ao.quantization import FakeQuantize, MinMaxObserver, QConfig, default_qconfig
        from torch.ao.quantization.observer import PerChannelMinMaxObserver
        from torch.ao.quantization.fake_quantize import default_fake_quant
        from torch.quantization import MinMaxObserver as Old
        assert Old is MinMaxObserver and MinMaxObserver().dtype is torch.quint8
        assert repr(torch.per_tensor_affine) == "torch.per_tensor_affine"
        assert isinstance(torch.per_tensor_affine, torch.qscheme)
        print(torch.fake_quantize_per_tensor_affine(torch.tensor([0.26]), 0.1, 0, 0, 255))
    """
    assert good(python("-c", program)) == "tensor([0.3000])\n"
