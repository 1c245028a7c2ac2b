"""``torch.onnx.symbolic_helper``: what conversions of operators are decorated with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def parse_args(*arg_descriptors: str) -> Callable[[Any], Any]:
    """A decorator that leaves a conversion as it is: nothing calls it."""
    return lambda conversion: conversion


__all__ = ["parse_args"]
