"""Observers by histograms, and what is made of them: PyTorch's numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from tests.compat.test_quantization import close, options_of, told, trained
from wengert.compat._private import top
from wengert.compat._private.quantization import backends, fake, fused, histograms

pytestmark = pytest.mark.filterwarnings("ignore:Please use quant_min and quant_max")

RNG = np.random.default_rng(0)
OPTIONS: list[dict[str, Any]] = [
    {}, {"bins": 64}, {"dtype": "qint8", "qscheme": "symmetric"}, {"reduce_range": True},
    {"quant_min": 0, "quant_max": 15}, {"bins": 300, "dtype": "qint32"},
]  # fmt: skip
DATA = {
    "normal": [RNG.normal(size=(50, 20)) * k for k in (1, 2, 0.5)],
    "outliers": [RNG.standard_t(2, size=500)],
    "positive": [RNG.exponential(size=400), RNG.exponential(size=400) * 3],
    "infinite": [np.array([1.0, 2.0, np.inf]), RNG.normal(size=100)],
    "nothing": [np.zeros(0)],
}


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:torch.inf detected", "ignore:must run observer")
@pytest.mark.parametrize("name", DATA)
def test_ranges(torch: Any, name: str) -> None:
    from torch.ao.quantization.observer import HistogramObserver as Theirs

    def seen(torch: Any, names: Any, kind: Any, options: dict[str, Any]) -> list[Any]:
        observer = kind(**options_of(names, options, "per_tensor"))
        for x in DATA[name]:
            observer(torch.tensor(x.astype("f4")))
        assert list(observer.state_dict()) == ["eps", "histogram", "min_val", "max_val"]
        return told([*observer.calculate_qparams(), *observer.state_dict().values()])

    for options in OPTIONS:
        ours = seen(wengert, top, histograms.HistogramObserver, options)
        close(ours, seen(torch, torch, Theirs, options))


def test_dynamic_ranges_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="dynamic"):
        histograms.HistogramObserver(is_dynamic=True)


@pytest.mark.torch
@pytest.mark.parametrize("name", [n for n in fused.__all__ if n.startswith("default_fused")])
def test_fused_modules(torch: Any, name: str) -> None:
    from torch.ao.quantization import fake_quantize as theirs

    class Both:
        disable_observer, disable_fake_quant = fake.disable_observer, fake.disable_fake_quant

    setattr(Both, name, staticmethod(getattr(fused, name)))
    close(trained(wengert, Both, name), trained(torch, theirs, name))


def test_other_observers_are_refused() -> None:
    with pytest.raises(AssertionError, match="only works with MovingAverageMinMaxObserver"):
        fused.FusedMovingAvgObsFakeQuantize(histograms.HistogramObserver)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Default qconfig of oneDNN")
def test_settings_of_backends(torch: Any) -> None:
    from torch.ao.quantization import qconfig as theirs

    def outcome(call: Any) -> str:
        try:
            text = repr(call())
        except AssertionError as error:
            return type(error).__name__
        for home in ("fake_quantize", "observer"):
            text = text.replace(f"torch.ao.quantization.{home}.", "")
        for home in ("fake", "fused", "histograms", "observers"):
            text = text.replace(f"wengert.compat._private.quantization.{home}.", "")
        return text

    for backend in ("x86", "fbgemm", "qnnpack", "onednn", "other"):
        for version in (0, 1, 2):
            for name in ("get_default_qconfig", "get_default_qat_qconfig"):
                found, expected = (
                    outcome(lambda m=m, n=name, b=backend, v=version: getattr(m, n)(b, v))
                    for m in (backends, theirs)
                )
                assert found == expected
