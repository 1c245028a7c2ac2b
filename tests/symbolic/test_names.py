"""Names of Theano that stand for expressions, and rarer operations on elements."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import wengert.symbolic as theano
from wengert.symbolic import scalar
from wengert.symbolic import tensor as T


def test_conversions_have_names() -> None:
    x = T.dvector("x")
    for dtype in ("int8", "uint16", "float32", "complex128"):
        out = getattr(scalar, f"convert_to_{dtype}")(x)
        assert out.dtype == getattr(T.basic, f"_convert_to_{dtype}")(x).dtype == dtype
        assert out.eval({x: [1.5]}).dtype == dtype


def test_operations_by_class() -> None:
    x, i = T.dmatrix("x"), T.lvector("i")
    found = theano.function([x, i], [
        T.Tile(2)(x, (1, 2)), T.Choose("clip")(i, x), T.PermuteRowElements()(x, i, 0),
        T.AllocEmpty("float32")(2, i[0]), T.inplace.transpose_inplace(x),
    ])([[1.0, 2.0], [3.0, 4.0]], [1, 0])  # fmt: skip
    assert [v.tolist() for v in found] == [
        [[1, 2, 1, 2], [3, 4, 3, 4]], [3, 2], [[2, 1], [4, 3]], [[0], [0]], [[1, 3], [2, 4]],
    ]  # fmt: skip
    assert T.is_flat(i)
    assert not T.is_flat(x)
    assert T.is_flat(x, ndim=2)


def test_ranges_of_elements() -> None:
    x = T.dvector("x")
    closed, open_ = T.Elemwise(scalar.inclosedrange), T.Elemwise(scalar.inopenrange)
    found = theano.function([x], [closed(x, 1.0, 2.0), open_(x, 1.0, 2.0)])([1.0, 1.5, 2.0, 3.0])
    assert [v.tolist() for v in found] == [[True, True, True, False], [False, True, False, False]]
    assert T.grad((closed(x, 1.0, 2.0) * x).sum(), x).eval({x: [1.5, 3.0]}).tolist() == [1, 0]
    assert pickle.loads(pickle.dumps(scalar.inopenrange)) == scalar.inopenrange
    assert scalar.inopenrange != scalar.inclosedrange


def test_types_of_results() -> None:
    assert scalar.upcast_out_min8(scalar.bool, scalar.bool) == (scalar.int8,)
    assert scalar.real_out(scalar.complex64) == (scalar.float32,)
    for rule in (scalar.upcast_out_no_complex, scalar.float_out_nocomplex,
                 scalar.int_out_nocomplex):  # fmt: skip
        with pytest.raises(TypeError, match="complex argument not supported"):
            rule(scalar.complex64)
    with pytest.raises(TypeError, match="bool input not supported"):
        scalar.same_out_nobool(scalar.bool)
    np.testing.assert_array_equal(
        scalar.round_half_away_from_zero_vec(np.array([0.5, -1.5])), [1, -2]
    )
