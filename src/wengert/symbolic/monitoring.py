"""``theano.compile.monitormode``: functions called before and after each operation."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.symbolic.graph import Apply
from wengert.symbolic.modes import MonitorMode as MonitorMode
from wengert.symbolic.modes import contains_nan
from wengert.symbolic.printing import debugprint


def detect_nan(i: Any, node: Apply, fn: Any) -> None:
    """Print a node that gives NaN, with its inputs and outputs: a `post_func` of `MonitorMode`.

    >>> from wengert.symbolic import function
    >>> from wengert.symbolic import tensor as T
    >>> from wengert.symbolic.monitoring import MonitorMode, detect_nan
    >>> x = T.dscalar("x")
    >>> f = function([x], T.log(x), mode=MonitorMode(post_func=detect_nan))
    >>> f(1.0)
    array(0.)
    """
    for output in fn.outputs:
        if isinstance(output[0], np.ndarray | np.generic) and contains_nan(output[0]):
            print("*** NaN detected ***")
            debugprint(node)
            print(f"Inputs : {[cell[0] for cell in fn.inputs]}")
            print(f"Outputs: {[cell[0] for cell in fn.outputs]}")
            return


__all__ = ["MonitorMode", "detect_nan"]
