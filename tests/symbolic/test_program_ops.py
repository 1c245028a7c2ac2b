"""Operations that stand for graphs."""

from __future__ import annotations

import numpy as np
import pytest

import wengert.symbolic as theano
from wengert.symbolic import tensor as T


def test_an_operation_of_a_graph_says_how_many_inputs_it_has() -> None:
    x, y = T.dscalars("xy")
    with pytest.raises(ValueError, match="expected 2 inputs, got 1"):
        theano.OpFromGraph([x, y], [x * y])(x)


def test_operations_of_graphs_say_what_is_connected_and_which_shapes_they_give() -> None:
    x, y = T.dmatrices("xy")
    op = theano.OpFromGraph([x, y], [T.dot(x, y), x[0]])
    assert op.connection_pattern(None) == [[True, True], [True, False]]
    stated = theano.OpFromGraph([x], [T.round(x)], connection_pattern=[[False]])
    assert stated.connection_pattern(None) == [[False]]
    f = theano.function([x, y], [v.shape for v in op(x, y)])
    assert not any(node.op == op for node in f.maker.fgraph.toposort())
    assert [v.tolist() for v in f(np.ones((2, 3)), np.ones((3, 4)))] == [[2, 4], [3]]
    with pytest.raises(ValueError, match="Need to override 2 Rop, got 1"):
        T.Rop(theano.OpFromGraph([x, y], [x, y], rop_overrides=["default"])(x, y), x, x)
    tripled = theano.OpFromGraph(
        [x], [x, x**2], rop_overrides=[lambda inputs, points: points[0] * 3, "default"]
    )
    pushed = theano.function([x, y], T.Rop(tripled(x), x, y))([[2.0]], [[1.0]])
    assert [v.tolist() for v in pushed] == [[[3.0]], [[4.0]]]
