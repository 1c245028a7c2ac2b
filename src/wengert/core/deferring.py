"""What compiled functions do in the place of indexing by tensors, and of sharing their memory.

Each gives None where it is done as ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# The result of `x[key]`.
picking: list[Callable[[Any, Any], Any]] = []
# What `x` is to become by `x[key] = value`, and before that what makes it so.
putting: list[Callable[[Any, Any, Any], tuple[Any, Any] | None]] = []
# Whether a value has become a leaf, by `requires_grad_()`.
leaving: list[Callable[[Any], bool]] = []
# `x.data` and `x.detach()`, by what errors call it.
sharing: list[Callable[[Any, str], Any]] = []
