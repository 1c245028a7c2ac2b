"""Gradients through complex numbers, of what is chosen at run time, and undefined ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert.symbolic as theano
from wengert.symbolic import tensor as T


def test_gradients_through_complex_numbers() -> None:
    x, z = T.dmatrix("x"), T.zvector("z")
    of_length = T.grad(abs(z).sum(), z)
    found = theano.function([z], of_length)([3 + 4j, 0j])
    np.testing.assert_allclose(found, [0.6 + 0.8j, 0j], 1e-15)
    mixed = T.grad(T.imag(T.complex(x[0], x[1]) * x[0]).sum(), x)  # of x[0] * x[1]
    assert theano.function([x], mixed)([[2.0, 3.0], [5.0, 7.0]]).tolist() == [[5, 7], [2, 3]]


def test_axes_of_sorting_are_checked_when_they_are_known() -> None:
    x, axis = T.dmatrix("x"), T.lscalar("axis")
    f = theano.function([x, axis], [T.sort(x, axis), T.grad((T.sort(x, axis)[0] ** 2).sum(), x)])
    found = f([[3.0, 1.0], [0.0, 5.0]], 0)
    assert [v.tolist() for v in found] == [[[0, 1], [3, 5]], [[0, 2], [0, 0]]]
    with pytest.raises(AssertionError, match="2 dimensions"):
        f([[3.0, 1.0]], 2)


def test_undefined_gradients_go_only_where_they_are_connected() -> None:
    class Parts(theano.Op):
        def make_node(self, x: Any) -> theano.Apply:
            return theano.Apply(self, [x], [x.type(), T.dscalar()])

        def connection_pattern(self, node: Any) -> list[list[bool]]:
            return [[True, False]]

        def grad(self, inputs: Any, output_gradients: Any) -> Any:
            return [output_gradients[0]]

    class Joined(theano.Op):
        def make_node(self, x: Any, y: Any) -> theano.Apply:
            return theano.Apply(self, [x, y], [T.dscalar()])

        def grad(self, inputs: Any, output_gradients: Any) -> Any:
            x, y = inputs
            return [T.ones_like(x), theano.gradient.grad_undefined(self, 1, y)]

    x = T.dvector("x")
    first, second = Parts()(x)
    slope = theano.grad(Joined()(first, second), x)
    with pytest.raises(theano.gof.utils.MethodNotDefined, match="perform"):
        slope.eval({x: [1.0, 2.0]})  # defined, and needs only what `Parts` would compute
    with pytest.raises(theano.gradient.NullTypeGradError):
        theano.grad(Joined()(first, x.sum()), x)


def test_costs_that_are_linear_have_hessians_of_zeros() -> None:
    a, b = T.dvectors("a", "b")
    for cost in (T.stack([a, b]).sum(), T.join(0, a, b).sum(), a.sum() + b.sum()):
        f = theano.function([a, b], T.hessian(cost, [a, b]), on_unused_input="ignore")
        for own in f([1.0, 2.0], [3.0, 4.0]):
            np.testing.assert_array_equal(own, np.zeros((2, 2)))
    with pytest.raises(theano.gradient.DisconnectedInputError):
        T.hessian(a.sum(), b)


def test_operations_may_say_that_they_have_no_directions() -> None:
    class Broken(theano.Op):
        __props__ = ()

        def make_node(self, x: Any) -> theano.Apply:
            return theano.Apply(self, [x], [x.type()])

        def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
            output_storage[0][0] = inputs[0]

        def R_op(self, inputs: Any, eval_points: Any) -> Any:  # noqa: N802
            return [None]

    x, v = T.dvectors("x", "v")
    for broken in (Broken()(x), T.exp(Broken()(x))):
        with pytest.raises(ValueError, match="nothing that has a direction"):
            T.Rop(broken, x, v)
        ignored = T.Rop(broken, x, v, disconnected_outputs="ignore")
        assert theano.function([x], ignored)([1.0, 2.0]).tolist() == [0, 0]
    for apart in (T.argmax(x), x.shape, T.constant(2.0), v.sum()):
        with pytest.raises(theano.gradient.DisconnectedInputError, match="does not depend on"):
            T.Rop([x * 2, apart], x, v)
        with pytest.warns(UserWarning, match="does not depend on"):
            zero = T.Rop(apart, x, v, disconnected_outputs="warn")
        assert not theano.function([x, v], zero, on_unused_input="ignore")([1.0], [1.0]).any()
    partly = T.Rop(x**2 + Broken()(x), x, v)
    assert theano.function([x, v], partly)([1.0, 2.0], [3.0, 4.0]).tolist() == [6, 16]


def test_known_gradients_are_floats_of_no_more_dimensions() -> None:
    x = T.dvector("x")
    squared = x**2
    scale = T.dscalar("scale")  # one number for all elements
    g = theano.grad(None, x, known_grads={squared: scale})
    assert theano.function([x, scale], g)([1.0, 2.0], 3.0).tolist() == [6, 12]
    for given, message in (
        (T.matrix("g", "float64"), "at most 1 dimensions, and g is"),
        (T.row("g", "float64"), "at most 1 dimensions, and g is"),
    ):
        with pytest.raises(ValueError, match=message):
            theano.grad(None, x, known_grads={squared: given})
        with pytest.raises(ValueError, match=message):
            theano.grad(T.exp(squared).sum(), x, known_grads={squared: given})
    with pytest.raises(TypeError, match="a dtype of floats, and g is"):
        theano.grad(None, x, known_grads={squared: T.vector("g", "int64")})
    with pytest.raises(TypeError, match=r"must be a variable, got 3\.0"):
        theano.grad(None, x, known_grads={squared: 3.0})
