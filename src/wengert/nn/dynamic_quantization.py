"""Layers whose weights are eight-bit integers, and whose inputs become ones in each call."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple

from wengert.core import dtypes
from wengert.core.tensor import Tensor, cut_at, wrap
from wengert.nn._quantized_weights import keep_quantized, product
from wengert.nn.dynamic_recurrent import (
    DynamicQuantizedGRU,
    DynamicQuantizedGRUCell,
    DynamicQuantizedLSTM,
    DynamicQuantizedLSTMCell,
    DynamicQuantizedRNNCell,
)
from wengert.nn.module import Module
from wengert.nn.modules.linear import Linear
from wengert.nn.modules.rnn import GRU, LSTM, GRUCell, LSTMCell, RNNCell


class DynamicQConfig(NamedTuple):
    """How a module is to be quantized: its weight as a whole, or each row by itself.

    >>> from wengert.nn.dynamic_quantization import per_channel_dynamic_qconfig
    >>> per_channel_dynamic_qconfig
    DynamicQConfig(by_row=True)
    """

    by_row: bool = False


default_dynamic_qconfig = DynamicQConfig()
per_channel_dynamic_qconfig = DynamicQConfig(by_row=True)


class DynamicQuantizedLinear(Module):
    """A linear layer with a weight in int8, for inference.

    It takes a quarter of the memory. Results have no gradient.

    Args:
        layer: a linear layer in float32, whose weights are rounded.
        by_row: whether each row of the weight has a scale of its own.

    >>> import wengert
    >>> from wengert.nn.dynamic_quantization import DynamicQuantizedLinear
    >>> DynamicQuantizedLinear(wengert.nn.Linear(3, 2)).weight.dtype
    torch.int8
    """

    weight: Tensor
    scale: Tensor
    bias: Tensor | None

    def __init__(self, layer: Linear, by_row: bool = False) -> None:
        super().__init__()
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.by_row, self.training = by_row, layer.training
        keep_quantized(self, "weight", "scale", layer.weight, by_row)
        bias = None if layer.bias is None else layer.bias.detach().clone()
        self.register_buffer("bias", bias)

    def forward(self, input: Tensor) -> Tensor:
        """The product with the weight, in integers."""
        array = input._array
        if input.dtype is not dtypes.float32:
            raise RuntimeError(
                f"expected scalar type Float but found {input.dtype}: a quantized linear layer"
                " takes torch.float32"
            )
        if array.ndim < 2:
            raise RuntimeError(
                "The dimension of input tensor should be larger than or equal to 2, got one of"
                f" shape {list(array.shape)}"
            )
        if array.shape[-1] != self.in_features:
            raise RuntimeError(
                f"The last dimension of the input should be {self.in_features} (in_features), got"
                f" one of shape {list(array.shape)}"
            )
        out = product(array.reshape(-1, self.in_features), self.weight, self.scale, self.bias)
        result = wrap(out.reshape(*array.shape[:-1], self.out_features))
        result._cut = cut_at("a quantized linear layer", input)
        return result

    def extra_repr(self) -> str:
        """The sizes, the dtype and the scheme."""
        scheme = "per_channel_affine" if self.by_row else "per_tensor_affine"
        return (
            f"in_features={self.in_features}, out_features={self.out_features},"
            f" dtype=torch.qint8, qscheme=torch.{scheme}"
        )


_QUANTIZED: dict[type[Module], Any] = {
    Linear: DynamicQuantizedLinear,
    LSTM: DynamicQuantizedLSTM,
    GRU: DynamicQuantizedGRU,
    LSTMCell: DynamicQuantizedLSTMCell,
    GRUCell: DynamicQuantizedGRUCell,
    RNNCell: DynamicQuantizedRNNCell,
}


def quantize_dynamic(
    model: Module, qconfig_spec: Any = None, dtype: Any = None, mapping: Any = None,
    inplace: bool = False,
) -> Any:  # fmt: skip
    """A copy of a model whose linear and recurrent layers have weights in int8.

    Args:
        model: what is copied; its children are replaced.
        qconfig_spec: the classes and paths of modules that are replaced, or a dictionary from
            them to `default_dynamic_qconfig` or `per_channel_dynamic_qconfig`; by default Linear,
            LSTM, GRU and the cells. Others stay as they are.
        dtype: ``torch.qint8``, the only one here.
        mapping: not supported.
        inplace: replace the children of `model` itself.

    NotImplementedError for other dtypes and an LSTM with `proj_size`.

    >>> import wengert
    >>> from wengert.nn.dynamic_quantization import quantize_dynamic
    >>> model = quantize_dynamic(wengert.nn.Sequential(wengert.nn.Linear(3, 2)))
    >>> model[0].weight.dtype, model(wengert.ones(1, 3)).shape
    (torch.int8, torch.Size([1, 2]))
    """
    if str(dtype) not in ("None", "torch.qint8"):
        raise NotImplementedError(f"quantize_dynamic: dtype must be torch.qint8, got {dtype}")
    if mapping is not None:
        raise NotImplementedError("quantize_dynamic: mapping is not supported")
    if qconfig_spec is None:
        qconfig_spec = set(_QUANTIZED)
    if not isinstance(qconfig_spec, Mapping):
        qconfig_spec = dict.fromkeys(qconfig_spec, default_dynamic_qconfig)
    if not inplace:
        model = copy.deepcopy(model)
    for path, module in [*model.named_modules()]:
        config = _config_of(path, module, qconfig_spec)
        quantized = _QUANTIZED.get(type(module))
        if config is not None and path and quantized is not None:
            model.set_submodule(path, quantized(module, config.by_row))
    return model


def _config_of(path: str, module: Module, spec: Mapping[Any, Any]) -> DynamicQConfig | None:
    """What the specification says of a module: by its path, that of a parent, or its class."""
    while path:
        if path in spec:
            return spec[path]
        path = path.rpartition(".")[0]
    classes = [c for c in spec if isinstance(c, type)]
    base = next((c for c in classes if type(module) is c), None)
    if base is None:
        base = next((c for c in classes if c is not Linear and isinstance(module, c)), None)
    return None if base is None else spec[base]
