"""The state of an optimizer by the names of a model's parameters, whose rows a rank may hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.tensor import Tensor, wrap
from wengert.distributed.data_parallel import DistributedDataParallel
from wengert.distributed.fsdp.fully_shard import rows_for
from wengert.distributed.fsdp.rows import sharded_rows
from wengert.distributed.tensor.dtensor import DTensor
from wengert.nn import Module
from wengert.optim import Optimizer


def plain_name(model: Module, name: str) -> str:
    """A parameter's name, without those of modules around the model."""
    name = name.replace("_fsdp_wrapped_module.", "").replace("_orig_mod.", "")
    if isinstance(getattr(model, "_orig_mod", model), DistributedDataParallel):
        return name.removeprefix("module.")
    return name


def _names(model: Module) -> dict[Tensor, str]:
    return {p: plain_name(model, name) for name, p in model.named_parameters()}


def named_state(model: Module, optimizer: Optimizer) -> dict[str, Any]:
    """The state of an optimizer by names, in rows where parameters are; made if it has none."""
    _initialize(optimizer)
    names = _names(model)
    state = {
        names[p]: {key: _like(value, p) for key, value in entry.items()}
        for p, entry in optimizer.state.items()
    }
    groups = [
        {**group, "params": [names[p] for p in group["params"]]} for group in optimizer.param_groups
    ]
    return {"state": state, "param_groups": groups}


def numbered_state(model: Module, optimizer: Optimizer, saved: dict[str, Any]) -> dict[str, Any]:
    """A state by names, in rows or whole, as the optimizer of this rank loads it."""
    names = _names(model)
    everyone = [p for group in optimizer.param_groups for p in group["params"]]
    numbers = {names[p]: i for i, p in enumerate(everyone)}
    state = {
        i: {key: _rows(value, p) for key, value in saved["state"][names[p]].items()}
        for i, p in enumerate(everyone)
        if names[p] in saved["state"]
    }
    groups = [
        {**group, "params": [numbers[name] for name in group["params"]]}
        for group in saved["param_groups"]
    ]
    return {"state": state, "param_groups": groups}


def _initialize(optimizer: Optimizer) -> None:
    if optimizer.state:
        return
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    if any(p.grad is not None for p in parameters):
        return  # between a backward and the first step, which are not to be disturbed
    rates = [group["lr"] for group in optimizer.param_groups]
    for p in parameters:
        if p.requires_grad:
            p.grad = wrap(np.zeros_like(p._array))
    for group in optimizer.param_groups:
        group["lr"] = 0.0
    optimizer.step()
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        group["lr"] = rate
    optimizer.zero_grad()


def _like(value: Any, p: Tensor) -> Any:
    """A value of a parameter's state: in rows, if the parameter is."""
    same = isinstance(value, Tensor) and value._array.shape == p._array.shape
    if same and isinstance(p, DTensor):
        return sharded_rows(value, p._layout)
    return value


def _rows(value: Any, p: Tensor) -> Any:
    if isinstance(value, DTensor):
        return value.to_local()
    return rows_for(value, p) if isinstance(p, DTensor) else value
