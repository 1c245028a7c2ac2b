"""What compiled functions do in the place of indexing by tensors.

Each gives None, or False, where it is done as ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# The result of `x[key]`.
picking: list[Callable[[Any, Any], Any]] = []
# Whether `x[key] = value` has been dealt with.
putting: list[Callable[[Any, Any, Any], bool]] = []
