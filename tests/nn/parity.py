"""Carrying tensors, modules and states between PyTorch and this library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import wengert
from wengert import Tensor


def ours(value: Any) -> Any:
    """A torch tensor (or a structure of them) as ours, of the same dtype and gradient flag."""
    if type(value).__module__.split(".")[0] == "torch" and hasattr(value, "numpy"):
        made = wengert.from_numpy(value.detach().numpy().copy())
        return made.requires_grad_() if value.requires_grad else made
    if isinstance(value, Mapping):
        return {k: ours(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(ours(v) for v in value)
    return value


def theirs(torch: Any, value: Any) -> Any:
    """One of our tensors as torch's."""
    if isinstance(value, Tensor):
        return torch.from_numpy(value.numpy().copy()).requires_grad_(value.requires_grad)
    return value


def flat(result: Any) -> list[Any]:
    """The tensors of a result, whatever they are packed in."""
    if isinstance(result, list | tuple):
        return [t for r in result for t in flat(r)]
    return [result]


def array(tensor: Any) -> np.ndarray:
    """The values of a tensor of either library."""
    return tensor.detach().numpy()


def load(module: Any, reference: Any) -> None:
    """Give our module the parameters and buffers of torch's."""
    module.load_state_dict(ours(dict(reference.state_dict())))
