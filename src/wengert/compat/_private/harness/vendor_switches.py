"""``common_mkldnn`` and decorators of ``common_quantization``: for libraries that are not here."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


def _unchanged(function: Any) -> Any:
    return function


def reduced_f32_on_and_off(
    bf32_precision: float = 1e-2, tf32_precision: float = 1e-5
) -> Callable[[Any], Any]:
    """A decorator that does nothing: products of float32 are products of float32."""
    return _unchanged


def is_mkldnn_bf16_supported() -> bool:
    """False: there is no oneDNN."""
    return False


is_mkldnn_fp16_supported = is_mkldnn_bf16_supported

skipIfNoFBGEMM = unittest.skip("needs FBGEMM")
skipIfNoQNNPACK = unittest.skip("needs QNNPACK")
skipIfNoONEDNN = unittest.skip("needs oneDNN")
skipIfNoONEDNNBF16 = unittest.skip("needs oneDNN for bfloat16")
skipIfNoX86 = unittest.skip("needs the x86 engine of quantization")
skipIfNoDynamoSupport = skipIfNoInductorSupport = _unchanged  # `compile` compiles

supported_qengines: list[str] = []


@contextmanager
def override_quantized_engine(qengine: str) -> Iterator[None]:
    """Raise RuntimeError: there is no engine of quantized operations."""
    raise RuntimeError(f"quantized engine {qengine!r} is not supported")
    yield


def override_qengines(qfunction: Any) -> Any:
    """A test of each engine, of which there is none."""
    return unittest.skip("goes through no engine of quantized operations")(qfunction)


def qengine_is_fbgemm() -> bool:
    """False: there is no engine of quantized operations."""
    return False


qengine_is_qnnpack = qengine_is_onednn = qengine_is_x86 = qengine_is_fbgemm

__all__ = [
    "is_mkldnn_bf16_supported", "is_mkldnn_fp16_supported", "override_qengines",
    "override_quantized_engine", "qengine_is_fbgemm", "qengine_is_onednn", "qengine_is_qnnpack",
    "qengine_is_x86", "reduced_f32_on_and_off",
    *(name for name in list(globals()) if name.startswith("skipIf")), "supported_qengines",
]  # fmt: skip
