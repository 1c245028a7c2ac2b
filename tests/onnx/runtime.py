"""Exported models, checked and run by ONNX Runtime beside the module."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as w
from wengert.autograd.transforms.tree import flatten_tree

REASON = "the packages onnx and onnxruntime are not installed"
onnx = pytest.importorskip("onnx", reason=REASON)
pytest.importorskip("onnxruntime", reason=REASON)


def assert_exported(
    module: Any,
    args: tuple[Any, ...],
    *others: tuple[Any, ...],
    tolerance: float = 1e-5,
    **options: Any,
) -> Any:
    """Export with `args`; the model is valid and gives what the module does, for `others` too."""
    module.eval()
    program = w.onnx.export(module, args, **options)
    onnx.checker.check_model(program.model_proto, full_check=True)
    for inputs in (args, *others):
        with w.no_grad():
            expected = flatten_tree(module(*inputs))[0]
        results = program(*inputs)
        assert len(results) == len(expected)
        for own, other in zip(results, expected, strict=True):
            assert own.dtype == other.dtype
            assert own.shape == other.shape
            np.testing.assert_allclose(own.numpy(), other.numpy(), tolerance, tolerance)
    return program


class Of(w.nn.Module):
    """A function as a module."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)
