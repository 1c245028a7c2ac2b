"""``torch.ops``: names by which policies of selective checkpoints know operations.

Operations of wengert are functions, and a policy gets those. Under the torch alias it gets
the overload that PyTorch would run, where that has a name here, and the function otherwise.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NoReturn

from wengert import ops as _operations
from wengert.autograd.engine import compatibility as _compatibility
from wengert.nn import functional as _functional
from wengert.ops.op import Op as _Op


class OpOverload:
    """An operation by PyTorch's name, such as ``aten.mm.default``; there is one of each."""

    def __init__(self, packet: OpOverloadPacket, name: str) -> None:
        self.overloadpacket, self._overloadname = packet, name

    def __str__(self) -> str:
        return f"{self.overloadpacket}.{self._overloadname}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.overloadpacket}', overload='{self._overloadname}')>"


class OpOverloadPacket:
    """What the overloads of one name have in common, such as ``aten.mm``."""

    def __init__(self, namespace: str, name: str, *overloads: str) -> None:
        self._path = f"{namespace}.{name}"
        self._overloads = {overload: OpOverload(self, overload) for overload in overloads}
        self._only = self._overloads[overloads[0]]  # in policies' packets

    def __getattr__(self, name: str) -> OpOverload:
        if name in vars(self).get("_overloads", ()):
            return self._overloads[name]
        raise AttributeError(
            f"The underlying op of '{self._path}' has no overload name '{name}': wengert knows"
            f" {', '.join(map(str, self._overloads.values()))}"
        )

    def overloads(self) -> list[str]:
        """The names of the overloads."""
        return [*self._overloads]

    def __str__(self) -> str:
        return self._path

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self._path}')>"


_OF_TENSORS = ("add", "div", "mul", "sub")  # a number beside a tensor is one of these as well
_PLAIN = (
    "_log_softmax", "_softmax", "addmm", "baddbmm", "bmm", "convolution", "cos", "dot",
    "embedding", "exp", "gelu", "leaky_relu", "log", "mm", "mse_loss", "mv", "native_batch_norm",
    "native_group_norm", "native_layer_norm", "neg", "relu", "rsqrt", "sigmoid", "silu", "sin",
    "sqrt", "tanh",
    # These run on other devices only, in PyTorch as here. Lists of what to save name them.
    "_scaled_dot_product_cudnn_attention", "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_flash_attention",
)  # fmt: skip

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

# Names alone, by which packages tell what a `__torch_dispatch__` of theirs does; no policy gets
# them. Nothing calls `__torch_dispatch__` here.
_NAMED = {
    **dict.fromkeys(("add_", "sub_", "slice"), ("Tensor",)),
    **dict.fromkeys(("select", "unbind"), ("int",)),
    **dict.fromkeys(
        ("_pin_memory", "_sparse_addmm", "_sparse_mm_reduce_impl", "_to_copy", "alias", "cat",
         "clone", "detach", "flip", "index_select", "unsqueeze"), ("default",)
    ),
    "index": ("Tensor",),
    "sort": ("default", "stable"),
    "squeeze": ("default", "dim", "dims"),
}  # fmt: skip


@functools.cache
def _named(name: str) -> OpOverloadPacket:
    return OpOverloadPacket("aten", name, *_NAMED[name])


class _Aten:
    """``torch.ops.aten``."""

    def __init__(self) -> None:
        for name in _OF_TENSORS:
            setattr(self, name, OpOverloadPacket("aten", name, "Tensor"))
        for name in _PLAIN:
            setattr(self, name, OpOverloadPacket("aten", name, "default"))

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name in _NAMED:
            return _named(name)
        raise AttributeError(f"'_OpNamespace' 'aten' object has no attribute '{name}'")


aten = _Aten()


def load_library(path: str) -> NoReturn:
    """Raises OSError: libraries of operations are built against PyTorch's C++ library."""
    raise OSError(
        f"torch.ops.load_library({path!r}): this is compiled code for PyTorch's C++ library, which"
        " wengert does not have; use the package's Python implementation, if it has one"
    )


def aten_function(op: _Op, inputs: Sequence[Any]) -> Any:
    """What a policy gets for a call of an operation."""
    if _compatibility.lenient:
        packet = vars(aten).get(_aten_name(op, inputs))
        if packet is not None:
            return packet._only
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
