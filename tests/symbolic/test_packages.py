"""What packages written for Theano rely on, beside the names that they import."""

from __future__ import annotations

import copy
import gc
import linecache
import pickle
from typing import Any

import numpy as np
import pytest

import wengert.symbolic as theano
from wengert.symbolic import tensor as T


class Counting(theano.Op):
    """Has no inputs: each call gives the next number."""

    __props__ = ()
    value = 0

    def make_node(self) -> theano.Apply:
        return theano.Apply(self, [], [T.lscalar()])

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
        Counting.value += 1
        output_storage[0][0] = np.asarray(Counting.value)


def test_operations_without_inputs_run() -> None:
    f = theano.function([], Counting()() * 2)
    assert [int(f()), int(f())] == [2, 4]


def test_an_operation_reaches_its_call_past_op() -> None:
    class Doubled(theano.Op):
        itypes, otypes = (T.dvector,), (T.dvector,)

        def __call__(self, x: Any, **options: Any) -> Any:
            return super(theano.Op, self).__call__(x * 2, **options)

        def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
            output_storage[0][0] = inputs[0] + 1

    x = T.dvector("x")
    assert theano.function([x], Doubled()(x))([3.0]) == [7.0]
    assert issubclass(theano.Op, theano.gof.PureOp)


def test_elementwise_functions_are_operations() -> None:
    x = T.dvector("x")
    for function, argument in ((T.exp, (x,)), (T.nnet.sigmoid, (x,)), (T.add, (x, x))):
        op = function(*argument).owner.op
        assert op == function
        assert function == op
        assert op in {function}
        assert isinstance(function, T.Elemwise)
        assert function.scalar_op == op.scalar_op
        assert function == pickle.loads(pickle.dumps(function)) == copy.deepcopy(function)
    assert T.exp != T.log
    assert theano.function([x], [T.add(x), T.add(x, x, x), T.mul(*[x])])([2.0]) == [[2], [6], [2]]
    assert T.exp(x, name="y").name == "y"


def test_elementwise_functions_as_attributes_of_classes_are_no_methods() -> None:
    class Layer:
        activation = T.nnet.sigmoid

    x = T.dvector("x")
    assert theano.function([x], Layer().activation(x))([0.0]) == [0.5]
    with pytest.raises(TypeError, match="unsupported operand"):
        x + Layer()


def test_operands_of_other_classes_are_asked() -> None:
    class Covariance:
        def __radd__(self, other: Any) -> Any:
            return other, "radd"

        __rmul__ = __radd__

    x = T.dvector("x")
    other = Covariance()
    assert x + other == (x, "radd")
    assert x * other == (x, "radd")


def test_a_dimension_that_becomes_broadcastable_may_be_shuffled() -> None:
    x, y = T.dmatrix("x"), T.drow("y")
    z = theano.clone(x.dimshuffle(1, 0) * 2, {x: y}, strict=False)
    assert z.broadcastable == (False, True)
    assert theano.function([y], z)([[1.0, 2.0]]).tolist() == [[2.0], [4.0]]
    with pytest.raises(TypeError, match="broadcastable dimensions"):
        y.dimshuffle(1, 0).owner.op(x)


def test_inputs_in_short() -> None:
    x, y, z = T.dscalars("x", "y", "z")
    f = theano.function([x, ("scale", y, 3), ((z, z + x), 10)], x * y + z)
    assert [float(f(1)), float(f(1)), float(f(2, scale=5))] == [13.0, 14.0, 22.0]
    assert f["scale"].dtype == np.float64
    assert f[z] == f.value["z"] == f.container[z].value == 14.0
    f.container["z"].value = 1
    assert f(0) == 1.0
    for wrong in ((), (x, y), ((x,), 1), ("x", 1), (x, 1, 2)):
        with pytest.raises(TypeError, match="Invalid input syntax"):
            theano.function([wrong], x)


def test_the_variables_of_rops_argument_are_used() -> None:
    w, v, x = T.dmatrix("w"), T.dmatrix("v"), T.dvector("x")
    f = theano.function([w, v, x], T.Rop(T.dot(x, w), w, v))
    assert f([[1, 1], [1, 1]], [[2, 2], [2, 2]], [0, 1]).tolist() == [2.0, 2.0]


def test_a_shared_variable_says_what_it_cannot_hold() -> None:
    w = theano.shared(np.zeros(2), "weights")
    with pytest.raises(TypeError, match=r"expected 1, got 2(.|\n)*weights.*test_packages"):
        w.set_value(np.zeros((2, 2)))


def test_networks_of_many_layers_are_compiled() -> None:
    x, unit = T.dmatrix("x"), theano.shared(np.eye(2))
    hidden, biases = x, []
    for _ in range(200):
        biases.append(theano.shared(np.zeros(2)))
        hidden = T.tanh(T.dot(hidden, unit) + biases[-1])
    results = theano.function([x], T.grad(hidden.mean(), biases))(np.full((3, 2), 0.1))
    slopes, value = [], np.full((3, 2), 0.1)
    for _ in range(200):
        value = np.tanh(value)
        slopes.append(1 - value**2)
    np.testing.assert_allclose(results[0], np.prod(slopes, 0).sum(0) / 6, rtol=1e-12)
    np.testing.assert_allclose(results[-1], slopes[-1].sum(0) / 6, rtol=1e-12)


def test_gradients_of_picked_rows() -> None:
    table, rows = T.dmatrix("table"), T.lvector("rows")
    picked = theano.sparse_grad(table[rows])
    gradient = theano.function([table, rows], T.grad((picked**2).sum(), table))
    assert gradient([[1.0], [2.0], [3.0]], [2, 0, 2]).tolist() == [[2.0], [0.0], [12.0]]
    for other in (table, table[0], table + 1):
        with pytest.raises(AssertionError, match="index_vector"):
            theano.sparse_grad(other)


def test_functions_are_printed_with_the_order_of_their_nodes() -> None:
    x = T.dvector("x")
    f = theano.function([x], T.exp(x).sum())
    lines = theano.printing.debugprint(f, file="str").splitlines()
    assert [line.rpartition("'")[2].strip() for line in lines[:2]] == ["1", "0"]
    assert theano.printing.debugprint(f.maker.fgraph, file="str").splitlines() == lines
    (first, *_) = theano.printing.debugprint(T.exp(x), file="str").splitlines()
    assert first.rstrip().endswith("''")


def test_the_source_of_a_function_goes_with_it() -> None:
    x = T.dvector("x")
    f = theano.function([x], x * 2)
    file = f.program.file
    assert "program(i0)" in linecache.getline(file, 1)
    del f
    gc.collect()
    assert file not in linecache.cache


def test_errors_of_scalars_are_not_taken_for_those_of_lengths() -> None:
    class Failing(theano.scalar.BinaryScalarOp):
        def impl(self, x: Any, y: Any) -> Any:
            raise RuntimeError("of the program")

    x, row = T.dmatrix("x"), T.drow("row")
    op = T.Elemwise(Failing(theano.scalar.upcast_out, name="failing"))
    f = theano.function([x, row], op(x, row))
    with pytest.raises(RuntimeError, match="of the program"):
        f(np.ones((2, 3)), np.ones((1, 3)))
    g = theano.function([x, row], x * row)
    with pytest.raises(ValueError, match=r"input\[0\].shape\[1\] = 3, input\[1\].shape\[1\] = 2"):
        g(np.ones((2, 3)), np.ones((1, 2)))
