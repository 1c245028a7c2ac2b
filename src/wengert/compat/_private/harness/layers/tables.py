"""`module_tests`, `criterion_tests` and their like: modules as the keywords of their tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import wengert
from wengert import Tensor, nn
from wengert.compat._private.harness.layers.rows import LOSSES, POINTWISE, ROWS, Entry, draw
from wengert.compat._private.harness.operations.recipes import Recipe

# In the older list of PyTorch's, as far as it is told apart from the rest.
_FIRST = {*POINTWISE, "Linear"}
_NOT_TWICE = {"Hardswish"}  # and transformers, whose second derivatives would take minutes
_RANDOM = {"FractionalMaxPool2d", "FractionalMaxPool3d"}


def _drawn(value: Any, differentiable: bool) -> Callable[[], Any]:
    def draw_it() -> Any:
        return draw(value, "cpu", wengert.float64, differentiable)

    return draw_it


def _constructed(cls: Any, entry: Entry) -> Any:
    """What makes the module: its class, or a function of that name where keywords are needed."""
    keywords = entry.built[1]
    if not keywords:
        return cls

    def construct(*args: Any, **more: Any) -> Any:
        return cls(*args, **keywords, **more)

    construct.__name__ = cls.__name__
    return construct


def _plain(entry: Entry) -> bool:
    """Whether a module is called on tensors by place and nothing else."""
    return not entry.given[1] and all(isinstance(x, Recipe) for x in entry.given[0])


def _of_module(reference: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """A reference with the arguments that a test of this kind gives: input, parameters, module."""
    if reference is None:
        return None

    def refer(input: Any, parameters: Any, module: Any) -> Any:
        given = (input,) if isinstance(input, Tensor) else input
        return reference(module, parameters, *given)

    return refer


def _module_row(name: str, index: int, entry: Entry) -> dict[str, Any]:
    given = entry.given[0]
    return {
        "constructor": _constructed(getattr(nn, name), entry),
        "constructor_args": entry.built[0],
        "input_fn": _drawn(given[0] if len(given) == 1 else given, True),
        "reference_fn": _of_module(entry.reference),
        "desc": str(index) if index else "",
        "default_dtype": wengert.float64,
        "check_gradgrad": name not in _NOT_TWICE and "Transformer" not in name,
        "check_batched_grad": False,
        "pickle": True,
    }


def _rows_of(first: bool) -> list[dict[str, Any]]:
    return [
        _module_row(name, i, entry)
        for name, entries in ROWS.items()
        if (name in _FIRST) is first and name not in LOSSES and name not in _RANDOM
        and not name.startswith("Lazy")
        for i, entry in enumerate(entries)
        if _plain(entry) and name not in ("RNN", "GRU", "LSTM", "LSTMCell", "MultiheadAttention")
    ]  # fmt: skip


module_tests = _rows_of(first=True)


def get_new_module_tests() -> list[dict[str, Any]]:
    """Tests of the modules that are not in `module_tests`."""
    return _rows_of(first=False)


def _criterion_row(name: str, index: int, entry: Entry) -> dict[str, Any]:
    *inputs, target = entry.given[0]
    reference = entry.reference
    row = {
        "constructor": _constructed(getattr(nn, name), entry),
        "constructor_args": entry.built[0],
        "input_fn": _drawn(inputs[0] if len(inputs) == 1 else (*inputs,), True),
        "target_fn": _drawn(target, False),
        "desc": "_".join(map(str, (*entry.built[1].values(), index))).replace(".", "_"),
        "default_dtype": wengert.float64,
        "check_batched_grad": False,
    }
    if reference is not None:
        row["reference_fn"] = lambda *args: reference(args[-1], [], *args[:-1])
    return row


criterion_tests = [
    _criterion_row(name, i, entry)
    for name, entries in LOSSES.items()
    if name not in ("CTCLoss", "GaussianNLLLoss")
    for i, entry in enumerate(entries)
    if _plain(entry)
]

__all__ = ["criterion_tests", "get_new_module_tests", "module_tests"]
