"""``theano.tensor.utils``: digests of arrays, and the shapes of a graph's variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from wengert.symbolic.expressions.type import TensorType
from wengert.symbolic.functions import function
from wengert.symbolic.gof.fg import FunctionGraph
from wengert.symbolic.gof.utils import hash_from_code as hash_from_code

__all__ = ["hash_from_code", "hash_from_ndarray", "shape_of_variables"]


def hash_from_ndarray(data: np.ndarray) -> str:
    """A digest of an array's dtype, shape, strides and elements.

    >>> import numpy as np
    >>> from wengert.symbolic.tensor.utils import hash_from_ndarray
    >>> hash_from_ndarray(np.zeros(2)) == hash_from_ndarray(np.zeros(2, "float32"))
    False
    """
    packed = data if data.flags.c_contiguous or data.flags.f_contiguous else data.copy()
    about = hash_from_code(f"{packed.dtype} {packed.shape} {packed.strides}")
    return hash_from_code(np.ascontiguousarray(packed).tobytes()) + about


def shape_of_variables(
    fgraph: FunctionGraph, input_shapes: Mapping[Any, tuple[int, ...]]
) -> dict[Any, tuple[int, ...]]:
    """The shapes of all arrays of a graph, for shapes of its inputs.

    Args:
        fgraph: the graph, made with ``clone=False`` if the keys are a program's own variables.
        input_shapes: the shape of each input; elements are taken to be 0.

    Raises ValueError where a key is no input of the graph.

    >>> from wengert.symbolic import FunctionGraph
    >>> from wengert.symbolic import tensor as T
    >>> from wengert.symbolic.tensor.utils import shape_of_variables
    >>> x = T.matrix("x")
    >>> y = x[512:]
    >>> graph = FunctionGraph([x], [y], clone=False)
    >>> shape_of_variables(graph, {x: (1024, 3)})[y]
    (512, 3)
    """
    unknown = [x for x in input_shapes if x not in fgraph.inputs]
    if unknown:
        raise ValueError(
            f"input_shapes: {unknown} are no inputs of the graph; FunctionGraph copies what it is"
            " given unless it is made with clone=False"
        )
    inside = [x for node in fgraph.toposort() for x in (*node.inputs, *node.outputs)]
    arrays = [v for v in dict.fromkeys([*fgraph.inputs, *inside]) if isinstance(v.type, TensorType)]
    shapes = function(list(fgraph.inputs), [v.shape for v in arrays], on_unused_input="ignore")
    values = [np.zeros(input_shapes[x], x.dtype) for x in fgraph.inputs]
    found = shapes(*values)
    return {v: tuple(map(int, s)) for v, s in zip(arrays, found, strict=True)}
