"""``theano.misc.may_share_memory``."""

from __future__ import annotations

from typing import Any

import numpy as np


def may_share_memory(a: Any, b: Any, raise_other_type: bool = True) -> bool:
    """Whether a change of one array may change the other.

    TypeError for what is no array, or False without `raise_other_type`.

    >>> import numpy as np
    >>> from wengert.symbolic.misc.may_share_memory import may_share_memory
    >>> x = np.zeros(3)
    >>> may_share_memory(x, x[1:]), may_share_memory(x, x.copy())
    (True, False)
    """
    arrays: list[list[Any]] = []
    for value in (a, b):
        parts = [getattr(value, name, None) for name in ("data", "indices", "indptr")]
        if isinstance(value, np.ndarray):
            arrays.append([value])
        elif all(isinstance(p, np.ndarray) for p in parts):  # a sparse matrix of SciPy
            arrays.append(parts)
        elif raise_other_type:
            raise TypeError(f"may_share_memory: expected arrays or sparse matrices, got {value!r}")
        else:
            return False
    return any(np.may_share_memory(x, y) for x in arrays[0] for y in arrays[1])
