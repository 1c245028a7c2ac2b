"""The meta device: tensors with a shape and a dtype, and no memory.

In go operations on such tensors, out come the shapes, dtypes and strides of their results;
`tensors.py` has the tensors and how operations come to them, `shapes.py` the rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wengert.meta import lists as lists
    from wengert.meta import shapes as shapes
else:
    from wengert.kernels import on_first_use

    __getattr__ = on_first_use(__name__)
