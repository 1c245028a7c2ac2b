"""What layers check, and options that rows of arguments do not reach."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from tests.nn.parity import array, load, ours
from wengert import nn

# Constructors and calls that raise; the class of the exception is PyTorch's.
WRONG = [
    "nn.Bilinear(0, 2, 3)",
    "nn.Conv2d(3, 4, 3, groups=2)",
    "nn.Conv2d(2, 3, 3, groups=2)",
    "nn.Conv2d(2, 4, 3, groups=0)",
    "nn.Conv2d(2, 3, 3, padding='x')",
    "nn.Conv2d(2, 3, 3, padding='same', stride=2)",
    "nn.Conv2d(2, 3, 3, padding_mode='x')",
    "nn.ConvTranspose1d(2, 4, 3, padding_mode='reflect')",
    "nn.ConvTranspose1d(2, 4, 3, stride=2)(torch.zeros(1, 2, 5), output_size=[3])",
    "nn.ConvTranspose1d(2, 4, 3, stride=2)(torch.zeros(1, 2, 5), output_size=[3, 4, 5, 6])",
    "nn.GroupNorm(3, 4)",
    "nn.BatchNorm1d(3)(torch.zeros(1, 3, 4, 5))",
    "nn.BatchNorm2d(3)(torch.zeros(1, 3))",
    "nn.BatchNorm3d(3)(torch.zeros(1, 3))",
    "nn.SyncBatchNorm(3)(torch.zeros(3))",
    "nn.InstanceNorm2d(3)(torch.zeros(3))",
    "nn.InstanceNorm2d(3, affine=True)(torch.zeros(1, 4, 2, 2))",
    "nn.Embedding(3, 4, padding_idx=9)",
    "nn.Embedding(3, 4, _weight=torch.zeros(2, 2))",
    "nn.Embedding.from_pretrained(torch.zeros(2))",
    "nn.Unflatten(1, 3)",
    "nn.Unflatten(1, ('a',))",
    "nn.Hardtanh(2, 1)",
    "nn.Softmax2d()(torch.zeros(2, 2))",
    "nn.MultiMarginLoss(p=3)",
    "nn.MultiMarginLoss(weight=torch.ones(2, 2))",
    "nn.TripletMarginLoss(margin=-1)",
    "nn.TripletMarginWithDistanceLoss(margin=0)",
    "nn.RNNCell(2, 3)(torch.zeros(1, 2, 2))",
    "nn.RNNCell(2, 3, nonlinearity='x')(torch.zeros(1, 2))",
    "nn.GRUCell(2, 3)(torch.zeros(1, 2), torch.zeros(1, 1, 3))",
    "nn.CircularPad1d(1)(torch.zeros(4))",
    "nn.Linear(2, 3)(torch.zeros(1, 4))",
]


@pytest.mark.torch
@pytest.mark.parametrize("text", WRONG)
def test_errors_are_pytorchs(text: str, torch: Any) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011 (whatever torch raises)
        eval(text, {"nn": torch.nn, "torch": torch})
    with pytest.raises(type(theirs.value)) as caught:
        eval(text, {"nn": nn, "torch": wengert})
    words = str(theirs.value).split()
    assert str(caught.value).split()[:2] == words[:2]


@pytest.mark.torch
@pytest.mark.parametrize("size", [[11], [12], [1, 4, 12]])
def test_output_size_of_transposed_convolutions(size: list[int], torch: Any) -> None:
    reference = torch.nn.ConvTranspose1d(2, 4, 3, stride=2)
    module = nn.ConvTranspose1d(2, 4, 3, stride=2)
    load(module, reference)
    x = torch.randn(1, 2, 5)
    a, b = module(ours(x), output_size=size), reference(x, output_size=size)
    np.testing.assert_allclose(array(a), array(b), rtol=1e-4, atol=1e-5)


@pytest.mark.torch
def test_running_statistics_over_several_batches(torch: Any) -> None:
    for momentum in (0.1, None):
        module, reference = (
            nn.BatchNorm1d(3, momentum=momentum),
            torch.nn.BatchNorm1d(3, momentum=momentum),
        )
        for _ in range(4):
            x = torch.randn(5, 3)
            module(ours(x))
            reference(x)
        for a, b in zip(module.buffers(), reference.buffers(), strict=True):
            np.testing.assert_allclose(array(a), array(b), rtol=1e-5, atol=1e-6)
        module.reset_running_stats()
        assert module.running_var.tolist() == [1, 1, 1]
        assert module.num_batches_tracked.item() == 0


@pytest.mark.torch
def test_conversion_to_synchronised_normalisation(torch: Any) -> None:
    def answers(lib: Any) -> list[Any]:
        options = {"affine": False, "track_running_stats": False}
        inner = lib.nn.Sequential(lib.nn.BatchNorm1d(4, **options)).eval()
        net = lib.nn.Sequential(lib.nn.BatchNorm2d(2, momentum=0.3), lib.nn.ReLU(), inner)
        norm, count = net[0], net[0].num_batches_tracked
        made = lib.nn.SyncBatchNorm.convert_sync_batchnorm(net, "group")
        alone = lib.nn.SyncBatchNorm.convert_sync_batchnorm(lib.nn.BatchNorm3d(2))
        return [
            repr(made), made is net, made[0].weight is norm.weight, list(made.state_dict()),
            made[0].num_batches_tracked is count, made[0].training, made[2][0].training,
            made[0].process_group, repr(alone),
        ]  # fmt: skip

    assert answers(wengert) == answers(torch)


@pytest.mark.torch
def test_helpers_of_layers(torch: Any) -> None:
    def answers(lib: Any) -> list[Any]:
        utils = lib.nn.modules.utils
        state = lib.nn.Sequential(lib.nn.Sequential(lib.nn.Linear(1, 1))).state_dict()
        utils.consume_prefix_in_state_dict_if_present(state, "0.")
        return [
            utils._pair(3), utils._pair((3, 4)), utils._quadruple("ab"), utils._pair.__name__,
            utils._ntuple(5, "five")(1), utils._ntuple(5, "five").__name__,
            utils._reverse_repeat_tuple((1, 2, 3), 2), utils._list_with_default(4, [5, 6]),
            utils._list_with_default([None, 4], [5, 6, 7]), list(state), list(state._metadata),
        ]  # fmt: skip

    assert answers(wengert) == answers(torch)


def test_pretrained_embeddings() -> None:
    table = wengert.arange(6.0).reshape(3, 2)
    frozen = nn.Embedding.from_pretrained(table)
    assert not frozen.weight.requires_grad
    assert frozen(wengert.tensor([2])).tolist() == [[4, 5]]
    assert nn.Embedding.from_pretrained(table, freeze=False).weight.requires_grad
    assert not nn.EmbeddingBag.from_pretrained(table, mode="sum").weight.requires_grad


def test_padding_rows_begin_and_stay_zero() -> None:
    table = nn.Embedding(4, 3, padding_idx=1)
    assert table.weight[1].tolist() == [0, 0, 0]
    table(wengert.tensor([0, 1, 1])).sum().backward()
    assert table.weight.grad[1].tolist() == [0, 0, 0]
    assert table.weight.grad[0].tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("Linear", (2, 3)),
        ("Conv1d", (2, 3, 1)),
        ("LayerNorm", (3,)),
        ("LSTMCell", (2, 3)),
        ("Embedding", (2, 3)),
        ("BatchNorm1d", (3,)),
        ("PReLU", ()),
    ],
)
def test_dtypes_of_parameters(name: str, args: tuple[int, ...]) -> None:
    module = getattr(nn, name)(*args, device="cpu", dtype=wengert.float64)
    assert {p.dtype for p in module.parameters()} == {wengert.float64}


def test_devices_are_checked() -> None:
    with pytest.raises(AssertionError, match="not compiled with CUDA"):
        nn.Linear(2, 3, device="cuda")


def test_deprecated_arguments_warn() -> None:
    with pytest.warns(UserWarning, match="please use reduction='sum'"):
        assert nn.MSELoss(size_average=False).reduction == "sum"
    with pytest.warns(UserWarning, match="please use reduction='none'"):
        assert nn.CrossEntropyLoss(reduce=False).reduction == "none"
    with pytest.warns(FutureWarning, match="renamed to"):
        assert nn.Hardtanh(min_value=-3).min_val == -3


def test_weights_of_losses_are_state() -> None:
    loss = nn.CrossEntropyLoss(weight=wengert.ones(3))
    assert list(loss.state_dict()) == ["weight"]
    assert loss.double().weight.dtype is wengert.float64


class Doubled(nn.Linear):
    """A layer whose weight is computed."""

    @property
    def weight(self) -> Any:
        return 2 * self.base


def test_layers_find_parameters_where_attributes_are_found() -> None:
    x = wengert.randn(3, 2)
    layer = nn.Linear(2, 2)
    expected = x @ wengert.ones(2, 2) + layer.bias
    layer.__dict__["weight"] = wengert.ones(2, 2)  # before the parameter of that name
    wengert.testing.assert_close(layer(x), expected)
    del layer.__dict__["weight"], layer.weight
    layer.weight = wengert.ones(2, 2)
    wengert.testing.assert_close(layer(x), expected)
    del layer.weight
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'weight'"):
        layer(x)
    with pytest.raises(AttributeError, match="'LayerNorm' object has no attribute 'weight'"):
        nn.LayerNorm.__new__(nn.LayerNorm).forward(x)


def test_the_weight_of_a_class_that_computes_it() -> None:
    layer = Doubled.__new__(Doubled)
    nn.Module.__init__(layer)
    layer.base, layer.bias = nn.Parameter(wengert.ones(2, 2)), None
    wengert.testing.assert_close(layer(wengert.ones(1, 2)), wengert.full((1, 2), 4.0))


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Mismatch dtype")
@pytest.mark.parametrize("weight", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_rms_norm_has_the_dtype_of_its_input(torch: Any, dtype: str, weight: str) -> None:
    found = []
    for library in (wengert, torch):
        layer = library.nn.RMSNorm(4).to(getattr(library, weight))
        with library.no_grad():
            layer.weight.copy_(library.linspace(-1, 2, 4))
        x = (library.linspace(-2, 3, 12).reshape(3, 4) ** 2).to(getattr(library, dtype))
        x.requires_grad_()
        y = layer(x)
        y.float().square().sum().backward()
        results = [y.detach(), x.grad, layer.weight.grad]
        found.append([(str(r.dtype).split(".")[1], r.double().numpy()) for r in results])
    tolerance = {"float16": 2e-3, "bfloat16": 2e-2}.get(dtype, 1e-2 if weight[0] == "b" else 1e-5)
    for (kind, own), (other, theirs) in zip(*found, strict=True):
        assert kind == other
        np.testing.assert_allclose(own, theirs, rtol=tolerance, atol=tolerance)
