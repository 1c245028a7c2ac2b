"""Averages of weights are PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from wengert.optim import swa_utils

VALUES = np.random.default_rng(0).normal(size=(5, 3, 2)).astype(np.float32)

AVERAGES = {
    "default": lambda lib: {},
    "ema": lambda lib: {"avg_fn": lib.optim.swa_utils.get_ema_avg_fn(0.8)},
    "swa": lambda lib: {"avg_fn": lib.optim.swa_utils.get_swa_avg_fn()},
    "multi ema": lambda lib: {"multi_avg_fn": lib.optim.swa_utils.get_ema_multi_avg_fn(0.8)},
    "multi swa": lambda lib: {"multi_avg_fn": lib.optim.swa_utils.get_swa_multi_avg_fn()},
}


def averaged(library: Any, average: Any, use_buffers: bool) -> Any:
    model = library.nn.Sequential(library.nn.Linear(2, 3), library.nn.BatchNorm1d(3))
    model.load_state_dict({k: library.ones_like(v) for k, v in model.state_dict().items()})
    result = library.optim.swa_utils.AveragedModel(
        model, use_buffers=use_buffers, **average(library)
    )
    for value in VALUES:
        with library.no_grad():
            model[0].weight.copy_(library.from_numpy(value))
        model(library.from_numpy(value))
        result.update_parameters(model)
    return result


@pytest.mark.torch
@pytest.mark.parametrize("use_buffers", [False, True])
@pytest.mark.parametrize("average", AVERAGES)
def test_averaged_models(average: str, use_buffers: bool, torch: Any) -> None:
    if average == "multi swa":
        use_buffers = False  # PyTorch's cannot average the count of batches, an integer
    ours, theirs = (averaged(lib, AVERAGES[average], use_buffers) for lib in (wengert, torch))
    expected = theirs.state_dict()
    assert list(ours.state_dict()) == list(expected)
    for name, value in ours.state_dict().items():
        np.testing.assert_allclose(value.numpy(), expected[name].numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.torch
def test_update_bn(torch: Any) -> None:
    results = []
    for library in (wengert, torch):
        model = library.nn.BatchNorm1d(2, momentum=0.3).eval()
        batches = [library.from_numpy(v) for v in VALUES]
        library.optim.swa_utils.update_bn([(b, 0) for b in batches], model)
        assert (model.training, model.momentum) == (False, 0.3)
        results.append([t.numpy() for t in model.buffers()])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_errors() -> None:
    with pytest.raises(ValueError, match="Invalid decay value 2"):
        swa_utils.get_ema_avg_fn(2)
    f = swa_utils.get_swa_avg_fn()
    with pytest.raises(AssertionError, match="Only one of"):
        swa_utils.AveragedModel(wengert.nn.Linear(1, 1), avg_fn=f, multi_avg_fn=lambda *a: None)


@pytest.mark.torch
@pytest.mark.parametrize("which", ["ema", "swa"])
def test_averages_of_many_weights(which: str, torch: Any) -> None:
    rng = np.random.default_rng(0)
    values = [[rng.normal(size=s).astype("f4") for s in [(70, 90), (0,), (3,)]] for _ in range(3)]
    results = []
    for library in (wengert, torch):
        averages = [library.tensor(v) for v in values[0]]
        average = getattr(library.optim.swa_utils, f"get_{which}_multi_avg_fn")()
        for count in (1, 2):
            average(averages, [library.tensor(v) for v in values[count]], count)
        results.append(np.concatenate([a.numpy().ravel() for a in averages]))
    np.testing.assert_allclose(*results, rtol=1e-6, atol=2e-7)
