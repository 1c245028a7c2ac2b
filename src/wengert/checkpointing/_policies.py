"""How policies of selective checkpoints are told of operations.

Operations of wengert are functions, and a policy gets those. Under the torch alias it gets
the overload that PyTorch would run, where there is a name for it, and the function otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert import ops as _operations
from wengert.autograd.engine import compatibility as _compatibility
from wengert.dispatch.aten import aten
from wengert.nn import functional as _functional
from wengert.ops.op import Op as _Op

_OF_TENSORS = ("add", "div", "mul", "sub")  # a number beside a tensor is one of these as well
_UNCHANGED = (
    "_log_softmax _softmax addmm baddbmm bmm convolution cos dot embedding exp gelu leaky_relu log"
    " mm mse_loss mv native_batch_norm native_group_norm native_layer_norm neg relu rsqrt sigmoid"
    " silu sin sqrt tanh"
)
_PLAIN = frozenset(_UNCHANGED.split())
# Where PyTorch's name is not that by which an operation is called here.
_RENAMED = {
    "batch_norm": "native_batch_norm",
    "conv": "convolution",
    "conv_transpose": "convolution",
    "einsum": "bmm",
    "group_norm": "native_group_norm",
    "layer_norm": "native_layer_norm",
    "log_softmax": "_log_softmax",
    "softmax": "_softmax",
}


def policy_function(op: _Op, inputs: Sequence[Any]) -> Any:
    """What a policy gets for a call of an operation."""
    if _compatibility.lenient:
        name = _aten_name(op, inputs)
        if name in _OF_TENSORS:
            return getattr(aten, name).Tensor
        if name in _PLAIN:
            return getattr(aten, name).default
    name = op.public_name
    if name in ("conv", "conv_transpose"):
        name += f"{inputs[0].ndim - 2}d"
    candidates = (getattr(home, name, None) for home in (_operations, _functional))
    return next(filter(callable, candidates), op.function)


def _aten_name(op: _Op, inputs: Sequence[Any]) -> str:
    if op.public_name == "linear":
        return "mm" if inputs[2] is None else "addmm"
    if op.public_name == "matmul":
        ranks = min(inputs[0].ndim, 3), min(inputs[1].ndim, 3)
        return {(1, 1): "dot", (2, 1): "mv", (2, 2): "mm", (3, 2): "mm"}.get(ranks, "bmm")
    return _RENAMED.get(op.public_name, op.public_name)
