"""``module_db``: modules to go through."""

from __future__ import annotations

from typing import Any

from wengert import nn
from wengert.compat._private.harness.layers import records
from wengert.compat._private.harness.layers.records import *  # noqa: F403
from wengert.compat._private.harness.layers.records import FunctionInput, ModuleInfo, ModuleInput
from wengert.compat._private.harness.layers.rows import ROWS, Entry, draw
from wengert.compat._private.harness.operations.recipes import dtypes_of

_DTYPES = {
    "ConvTranspose1d": "fdcD", "ConvTranspose2d": "fdcD", "ConvTranspose3d": "fdcD",
    "CrossEntropyLoss": "fdh", "GroupNorm": "fdhg",
}  # fmt: skip
_DIFFER = [
    "BatchNorm",
    "InstanceNorm",
    "RNN",
    "GRU",
    "LSTM",
    "MultiheadAttention",
    "TransformerEncoderLayer",
]


def _inputs_of(entries: tuple[Entry, ...]) -> Any:
    def module_inputs(
        module_info: Any, device: Any, dtype: Any, requires_grad: bool, training: bool, **more: Any
    ) -> list[ModuleInput]:
        where = device, dtype, requires_grad
        return [
            ModuleInput(
                FunctionInput(*entry.built[0], **entry.built[1]),
                FunctionInput(
                    *(draw(x, *where) for x in entry.given[0]),
                    **{name: draw(x, *where) for name, x in entry.given[1].items()},
                ),
                desc=f"{i}",
                reference_fn=entry.reference,
            )
            for i, entry in enumerate(entries)
        ]

    return module_inputs


def _differs(name: str) -> bool:
    return any(name.startswith(kind) and not name.endswith("Cell") for kind in _DIFFER)


module_db: list[ModuleInfo] = [
    ModuleInfo(
        getattr(nn, name), module_inputs_func=_inputs_of(entries),
        dtypes=dtypes_of(_DTYPES.get(name, "fd")), supports_gradgrad=name != "Hardswish",
        train_and_eval_differ=_differs(name),
        module_memformat_affects_out="Conv" in name,
    )
    for name, entries in ROWS.items()
]  # fmt: skip

__all__ = [*records.__all__, "module_db"]
