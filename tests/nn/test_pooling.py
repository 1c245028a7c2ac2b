"""Layers that are random in evaluation too, and layers and functions of older days."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from tests.nn.parity import array, flat, ours
from wengert import nn

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("options", [
    {"output_size": 2},
    {"output_ratio": 0.5, "return_indices": True},
], ids=str)  # fmt: skip
@pytest.mark.parametrize(("name", "shape"), [
    ("FractionalMaxPool2d", (4, 6, 7)),
    ("FractionalMaxPool2d", (2, 4, 6, 7)),
    ("FractionalMaxPool3d", (4, 5, 4, 6)),
    ("FractionalMaxPool3d", (2, 4, 5, 4, 6)),
])  # fmt: skip
def test_fractional_pooling_follows_the_seed(
    torch: Any, name: str, shape: tuple[int, ...], options: dict[str, Any]
) -> None:
    reference, module = getattr(torch.nn, name)(2, **options), getattr(nn, name)(2, **options)
    assert repr(module) == repr(reference)
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    given = ours(x)
    torch.manual_seed(3)
    theirs = flat(reference(x))
    wengert.manual_seed(3)
    found = flat(module(given))
    for a, b in zip(found, theirs, strict=True):
        np.testing.assert_array_equal(array(a), array(b))
    theirs[0].sum().backward()
    found[0].sum().backward()
    np.testing.assert_array_equal(array(given.grad), array(x.grad))


@pytest.mark.parametrize("text", [
    "nn.FractionalMaxPool2d(2)",
    "nn.FractionalMaxPool2d(2, output_size=2, output_ratio=0.5)",
    "nn.FractionalMaxPool3d(2, output_ratio=(1.5, 0.5, 0.5))",
    "nn.CrossMapLRN2d(3)(torch.zeros(2, 3, 4))",
    "nn.AdaptiveLogSoftmaxWithLoss(8, 20, [])",
    "nn.AdaptiveLogSoftmaxWithLoss(8, 20, [10, 4])",
    "nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4.5])",
    "nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4])(torch.zeros(2, 8), torch.tensor([1, 2, 3]))",
    "nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4])(torch.zeros(2, 8), torch.tensor([1, 25]))",
    "nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4])(torch.zeros(2, 8), torch.tensor([[1, 2]]))",
    "nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4])(torch.zeros(2, 2, 8), torch.tensor([1, 2]))",
])  # fmt: skip
def test_what_is_refused(torch: Any, text: str) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011 (whatever torch raises)
        eval(text, {"nn": torch.nn, "torch": torch})
    with pytest.raises(type(theirs.value)):
        eval(text, {"nn": nn, "torch": wengert})


def test_all_classes_of_an_adaptive_softmax(torch: Any) -> None:
    torch.manual_seed(0)
    reference = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], 2.0)
    module = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], 2.0)
    module.load_state_dict(ours(dict(reference.state_dict())))
    x, target = 3 * torch.randn(40, 8), torch.randint(20, (40,))
    found = module.log_prob(ours(x))
    np.testing.assert_allclose(array(found), array(reference.log_prob(x)), rtol=1e-5, atol=1e-5)
    assert module.predict(ours(x)).tolist() == reference.predict(x).tolist()
    one, loss = module(ours(x[0]), ours(target[0]))
    assert one.shape == () == loss.shape


@pytest.mark.filterwarnings("ignore:.nn.functional.upsample:UserWarning")
def test_older_names_of_resizing(torch: Any) -> None:
    x = torch.randn(2, 3, 4, 5, dtype=torch.float64)
    for name, options in (("nearest", {"scale_factor": 2}), ("bilinear", {"size": (7, 4)})):
        function = f"upsample_{name}"
        a = getattr(nn.functional, function)(ours(x), **options)
        b = getattr(torch.nn.functional, function)(x, **options)
        np.testing.assert_allclose(array(a), array(b), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("channels", [3, 7])
def test_cross_map_norm(torch: Any, size: int, channels: int) -> None:
    x = torch.randn(2, channels, 3, 3, dtype=torch.float64)
    reference = torch.nn.CrossMapLRN2d(size, 0.5, 0.6, 1.5)
    module = nn.CrossMapLRN2d(size, 0.5, 0.6, 1.5)
    assert repr(module) == repr(reference)
    np.testing.assert_allclose(array(module(ours(x))), array(reference(x)), rtol=1e-12)
    assert wengert.autograd.gradcheck(module, ours(x).requires_grad_())


def test_the_old_name_of_a_loss(torch: Any) -> None:
    x, target = wengert.zeros(1, 2).log_softmax(1), wengert.tensor([1])
    assert nn.NLLLoss2d()(x, target).item() == nn.NLLLoss()(x, target).item()
