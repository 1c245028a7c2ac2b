"""``theano.tensor.nnet.blocksparse``: products of chosen blocks of a matrix and a vector."""

from __future__ import annotations

from typing import Any

from wengert.symbolic.expressions.indexing import inc_subtensor, index, take
from wengert.symbolic.expressions.type import as_tensor_variable


def sparse_block_gemv(o: Any, W: Any, h: Any, inputIdx: Any, outputIdx: Any) -> Any:  # noqa: N803
    """`o` plus the products of chosen blocks: as `sparse_block_dot`, which says what is what."""
    blocks = index(W, (inputIdx.dimshuffle(0, 1, "x"), outputIdx.dimshuffle(0, "x", 1)))
    return o + (h.dimshuffle(0, 1, "x", 2, "x") * blocks).sum(axis=(1, 3))


def sparse_block_outer(
    o: Any, x: Any, y: Any, xIdx: Any, yIdx: Any, alpha: Any = 1.0  # noqa: N803
) -> Any:  # fmt: skip
    """`o` with the outer products of blocks added at the places that two arrays name.

    Args:
        o: ``(blocks of x, blocks of y, size of x, size of y)``.
        x: ``(batch, window of x, size of x)``.
        y: ``(batch, window of y, size of y)``.
        xIdx: ``(batch, window of x)``, integers.
        yIdx: ``(batch, window of y)``, integers.
        alpha: a factor of the products.
    """
    products = x.dimshuffle(0, 1, "x", 2, "x") * y.dimshuffle(0, "x", 1, "x", 2)
    where = index(o, (xIdx.dimshuffle(0, 1, "x"), yIdx.dimshuffle(0, "x", 1)))
    return inc_subtensor(where, alpha * products)


def sparse_block_dot(W: Any, h: Any, inputIdx: Any, b: Any, outputIdx: Any) -> Any:  # noqa: N803
    """A layer of which some blocks of inputs and some of outputs are computed.

    Args:
        W: weights, ``(input blocks, output blocks, input size, output size)``.
        h: the chosen blocks of inputs, ``(batch, input window, input size)``.
        inputIdx: which those are, ``(batch, input window)``.
        b: biases, ``(output blocks, output size)``.
        outputIdx: the blocks of outputs to compute, ``(batch, output window)``.

    The result is ``(batch, output window, output size)``. Without the dimension of batches in `h`
    and both arrays of numbers there is one of length 1 in the result. AssertionError if their
    dimensions do not fit each other.

    >>> import numpy as np
    >>> from wengert.symbolic import function
    >>> from wengert.symbolic import tensor as T
    >>> from wengert.symbolic.tensor.nnet.blocksparse import sparse_block_dot
    >>> w, h, b = T.dtensor4(), T.dtensor3(), T.dmatrix()
    >>> ins, outs = T.imatrices("ins", "outs")
    >>> f = function([w, h, ins, b, outs], sparse_block_dot(w, h, ins, b, outs))
    >>> f(np.ones((4, 5, 3, 2)), np.ones((1, 2, 3)), [[0, 3]], np.zeros((5, 2)), [[1]])
    array([[[6., 6.]]])
    """
    W, h, inputIdx, b, outputIdx = map(as_tensor_variable, (W, h, inputIdx, b, outputIdx))  # noqa: N806
    if inputIdx.ndim != h.ndim - 1 or outputIdx.ndim != inputIdx.ndim:
        raise AssertionError(
            f"sparse_block_dot: inputIdx and outputIdx need {h.ndim - 1} dimensions, one less than"
            f" h; they have {inputIdx.ndim} and {outputIdx.ndim}"
        )
    if h.ndim == 2:
        h = h.dimshuffle("x", 0, 1)
        inputIdx, outputIdx = inputIdx.dimshuffle("x", 0), outputIdx.dimshuffle("x", 0)  # noqa: N806
    return sparse_block_gemv(take(b, outputIdx, axis=0), W, h, inputIdx, outputIdx)
