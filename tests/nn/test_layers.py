"""Every layer against PyTorch's: repr, state, values, gradients, initial values."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import numpy as np
import pytest

import wengert
from tests.nn.layers import (
    ATTENTION,
    CELLS,
    CLUSTERS,
    CONVOLUTION,
    EMBEDDING,
    LINEAR,
    NORMALISATION,
    RECURRENT,
    ROWS,
    Row,
    label,
)
from tests.nn.parity import array, flat, load, ours
from wengert import nn

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:enable_nested_tensor"),  # PyTorch's, of its own kernels
]

each_row = pytest.mark.parametrize("row", ROWS, ids=label)


def both(row: Row, torch: Any) -> tuple[Any, Any]:
    """The layer in both libraries, in float64 and with the same state."""
    torch.manual_seed(0)
    reference = getattr(torch.nn, row.name)(*row.args, **row.options).double()
    module = getattr(nn, row.name)(*row.args, **row.options).double()
    load(module, reference)
    return module, reference


@each_row
def test_repr(row: Row, torch: Any) -> None:
    module, reference = both(row, torch)
    assert repr(module) == repr(reference)


@each_row
def test_state_has_the_same_keys_shapes_and_dtypes(row: Row, torch: Any) -> None:
    module = getattr(nn, row.name)(*row.args, **row.options)
    reference = getattr(torch.nn, row.name)(*row.args, **row.options)
    a = [(k, tuple(v.shape), str(v.dtype)) for k, v in module.state_dict().items()]
    b = [(k, tuple(v.shape), str(v.dtype)) for k, v in reference.state_dict().items()]
    assert a == b
    assert [n for n, _ in module.named_parameters()] == [n for n, _ in reference.named_parameters()]


@each_row
@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")  # by KLDivLoss, in both
@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
def test_values_and_gradients(row: Row, torch: Any, training: bool) -> None:
    if row.random and training:
        pytest.skip("random in training: see test_random_layers.py")
    module, reference = both(row, torch)
    module.train(training)
    reference.train(training)
    inputs = row.inputs(torch)
    given = ours(inputs)
    a, b = flat(module(*given)), flat(reference(*inputs))
    for x, y in zip(a, b, strict=True):
        assert x.dtype.np == y.detach().numpy().dtype
        np.testing.assert_allclose(array(x), array(y), rtol=1e-10, atol=1e-12)
    a = [x for x in a if x.requires_grad]
    b = [y for y in b if y.requires_grad]
    assert len(a) == len(b)
    if not b:
        return
    cotangents = [torch.randn(y.shape, dtype=y.dtype) for y in b]
    torch.autograd.backward(b, cotangents)
    wengert.autograd.backward(a, ours(cotangents))
    pairs = [*zip(flat(given), flat(inputs), strict=True)]
    pairs += zip(module.parameters(), reference.parameters(), strict=True)
    for x, y in pairs:
        if y.requires_grad:
            np.testing.assert_allclose(array(x.grad), array(y.grad), rtol=row.rtol, atol=1e-11)
    for x, y in zip(module.buffers(), reference.buffers(), strict=True):
        np.testing.assert_allclose(array(x), array(y), rtol=1e-10)


WITH_WEIGHTS = [
    *LINEAR, *CONVOLUTION, *NORMALISATION, *EMBEDDING, *CELLS, *RECURRENT, *ATTENTION,
    *CLUSTERS,
]  # fmt: skip


@pytest.mark.parametrize("row", WITH_WEIGHTS, ids=label)
def test_initial_values_follow_the_seed(row: Row, torch: Any) -> None:
    """The same generator calls in the same order: after manual_seed the weights are torch's."""
    torch.manual_seed(3)
    reference = getattr(torch.nn, row.name)(*row.args, **row.options)
    wengert.manual_seed(3)
    module = getattr(nn, row.name)(*row.args, **row.options)
    for (name, x), y in zip(
        module.state_dict().items(), reference.state_dict().values(), strict=True
    ):
        np.testing.assert_allclose(array(x), array(y), rtol=2e-6, atol=2e-6, err_msg=name)


def test_every_row_names_a_layer_and_every_layer_has_a_row() -> None:
    have = {row.name for row in ROWS}
    containers = {
        "Module", "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict",
        "RNNBase", "RNNCellBase",
        # Random in evaluation too; wrong derivatives and a warning in PyTorch: test_pooling.py.
        "FractionalMaxPool2d", "FractionalMaxPool3d", "CrossMapLRN2d", "NLLLoss2d",
        # Parts of layers that have rows.
        "NonDynamicallyQuantizableLinear", "TransformerDecoder", "TransformerEncoder",
    }  # fmt: skip
    # Lazy layers become layers that have rows: test_lazy.py.
    layers = {
        n for n in nn.modules.__all__
        if inspect.isclass(getattr(nn, n)) and issubclass(getattr(nn, n), nn.Module)
        and not issubclass(getattr(nn, n), nn.modules.lazy.LazyModuleMixin)
    }  # fmt: skip
    assert layers - have - containers == set()


@pytest.mark.parametrize(
    ("layer", "function"),
    [
        (nn.SiLU(), "silu"), (nn.Tanh(), "tanh"), (nn.CELU(), "celu"), (nn.Softmin(), "softmin"),
        (nn.Softshrink(), "softshrink"), (nn.Dropout2d(), "dropout2d"),
        (nn.MaxPool1d(2), "max_pool1d"), (nn.AvgPool3d(2), "avg_pool3d"),
        (nn.LPPool2d(2, 2), "lp_pool2d"), (nn.AdaptiveMaxPool2d(2), "adaptive_max_pool2d"),
        (nn.Conv1d(1, 1, 1), "conv1d"), (nn.ConvTranspose2d(1, 1, 1), "conv_transpose2d"),
    ],
    ids=str,
)  # fmt: skip
def test_layers_look_their_function_up_when_called(
    layer: nn.Module, function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in PyTorch: a function that a program replaces is replaced for layers that exist, too."""
    layer = pickle.loads(pickle.dumps(copy.deepcopy(layer)))
    monkeypatch.setattr(nn.functional, function, lambda *args, **options: "replaced")
    assert layer(wengert.ones(1, 1, 2)) == "replaced"
