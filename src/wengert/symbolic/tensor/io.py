"""``theano.tensor.io``: arrays that are read when a function runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.symbolic.expressions.type import TensorType
from wengert.symbolic.graph import Apply, Constant, Generic, Operation, Variable, disconnected


class LoadFromDisk(Operation):
    """The array in a ``.npy`` file, whose path is a variable."""

    __props__ = ("dtype", "broadcastable", "mmap_mode")

    def __init__(self, dtype: Any, broadcastable: Any, mmap_mode: str | None = None) -> None:
        if mmap_mode not in (None, "c"):
            raise ValueError(
                f'load: mmap_mode is None or "c", since values are not to be changed; got'
                f" {mmap_mode!r}"
            )
        self.dtype, self.broadcastable = np.dtype(dtype).name, tuple(broadcastable)
        self.mmap_mode = mmap_mode

    def make_node(self, path: Any) -> Apply:
        """A path, or a variable for one."""
        path = path if isinstance(path, Variable) else Constant(Generic(), path)
        return Apply(self, [path], [TensorType(self.dtype, self.broadcastable)()])

    def compute(self, path: Any) -> np.ndarray:
        """TypeError where the file holds another dtype."""
        mode: Any = self.mmap_mode
        array: np.ndarray = np.load(path, mmap_mode=mode, allow_pickle=False)
        if array.dtype.name != self.dtype:
            raise TypeError(f"Expected dtype {self.dtype}, got {array.dtype} in {path}")
        return array

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """A path has no gradient."""
        return [[False]]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """None."""
        return [disconnected()]


def load(path: Any, dtype: Any, broadcastable: Any, mmap_mode: str | None = None) -> Any:
    """The array in a ``.npy`` file, read when a function runs.

    Args:
        path: where it is, or a variable of type `Generic` for that.
        dtype, broadcastable: of the array.
        mmap_mode: "c" to map the file into memory.

    >>> import os, tempfile
    >>> import numpy as np
    >>> from wengert.symbolic import tensor as T
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "x.npy")
    ...     np.save(path, np.array([1.0, 2.0]))
    ...     (T.load(path, "float64", (False,)) * 2).eval()
    array([2., 4.])
    """
    return LoadFromDisk(dtype, broadcastable, mmap_mode)(path)
