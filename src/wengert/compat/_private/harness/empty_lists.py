"""Lists of operations that are PyTorch's own and empty here: their tests are skipped.

They hold operations made of PyTorch's interface for operators of one's own, of functions of
functions, and of `autograd.Function`.
"""

from __future__ import annotations

from typing import Any

custom_op_db: list[Any] = []
hop_db: list[Any] = []
autograd_function_db: list[Any] = []

__all__ = ["autograd_function_db", "custom_op_db", "hop_db"]
