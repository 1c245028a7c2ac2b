"""What is saved in these tests: for each kind of value, a function of the library."""

from __future__ import annotations

import io
from collections import Counter, OrderedDict
from typing import Any

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64",
          "float16", "bfloat16", "float32", "float64", "complex64", "complex128")  # fmt: skip


def tensors(m: Any) -> dict[str, Any]:
    """Tensors of every dtype and layout, made by the library `m`."""
    x = m.arange(12.0).reshape(3, 4)
    found = {name: m.arange(5).to(getattr(m, name)) for name in DTYPES}
    return found | {
        "scalar": m.tensor(2.5),
        "empty": m.zeros(2, 0, 3),
        "no elements": m.zeros(0),
        "transposed": x.t(),
        "slice": x[1:, 1::2],
        "expanded": m.ones(1).expand(3, 4),
        "requires grad": m.ones(2, requires_grad=True),
        "parameter": m.nn.Parameter(m.ones(2)),
        "frozen parameter": m.nn.Parameter(m.ones(2), requires_grad=False),
        "channels last": m.ones(2, 3, 4, 5).permute(0, 3, 1, 2),
    }


def others(m: Any) -> dict[str, Any]:
    """What checkpoints hold beside tensors."""
    ordered = OrderedDict(b=1, a=2)
    ordered._metadata = {"version": 1}  # type: ignore[attr-defined]
    return {
        "none": None, "true": True, "int": 3, "long": 1 << 70, "negative": -5, "float": 0.1,
        "str": "ä", "bytes": b"\x00\xff", "bytearray": bytearray(b"ab"), "complex": 1 + 2j,
        "list": [1, [2, (3, {"k": None})]], "tuple": (1, (2,), ()), "set": {1, 2},
        "counter": Counter("aab"), "ordered": ordered, "int keys": {0: {"step": 1}},
        "size": m.Size([2, 3]), "dtype": m.bfloat16, "device": m.device("cpu"),
        "cuda": m.device("cuda", 1),
    }  # fmt: skip


def saved(m: Any, value: Any, **options: Any) -> io.BytesIO:
    """A file with a value, saved by the library `m`."""
    file = io.BytesIO()
    m.save(value, file, **options)
    file.seek(0)
    return file


def plain(tensor: Any) -> tuple[Any, ...]:
    """What two tensors of two libraries have in common if they are the same."""
    values = tensor.detach().to(_library(tensor).complex128).tolist()
    return (str(tensor.dtype), tuple(tensor.shape), tuple(tensor.stride()), tensor.requires_grad,
            type(tensor).__name__, values)  # fmt: skip


def _library(tensor: Any) -> Any:
    import sys

    return sys.modules[type(tensor).__module__.split(".")[0]]
