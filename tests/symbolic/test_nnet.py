"""Losses and checks that have no recorded answers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from wengert import symbolic
from wengert.symbolic import tensor as T
from wengert.symbolic.tensor.nnet.ctc import ctc
from wengert.symbolic.tensor.signal.pool import Pool


def enumerated(scores: np.ndarray, labels: list[int]) -> float:
    """The loss of one sequence, from all paths that give its labels."""
    p = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    total = 0.0
    for path in itertools.product(range(scores.shape[1]), repeat=len(scores)):
        if [k for k, _ in itertools.groupby(path) if k] == labels:
            total += np.prod([p[t, k] for t, k in enumerate(path)])
    return -float(np.log(total))


def test_ctc_sums_over_all_paths() -> None:
    x, y, lengths = T.dtensor3("x"), T.imatrix("y"), T.ivector("lengths")
    loss = ctc(x, y, lengths)
    f = symbolic.function([x, y, lengths], [loss, T.grad(loss.sum(), x)])
    scores = np.random.RandomState(0).randn(4, 2, 3)
    values, gradient = f(scores, [[1, 2], [2, -1]], [4, 3])
    expected = [enumerated(scores[:, 0], [1, 2]), enumerated(scores[:3, 1], [2])]
    np.testing.assert_allclose(values, expected, 1e-9)
    moved = scores.copy()
    moved[1, 0, 2] += 1e-5
    slope = (f(moved, [[1, 2], [2, -1]], [4, 3])[0].sum() - values.sum()) / 1e-5
    np.testing.assert_allclose(gradient[1, 0, 2], slope, 1e-3)
    with pytest.raises(TypeError, match="labels must have 2 dimensions and dtype int32"):
        ctc(x, T.lmatrix(), lengths)


def test_assert_stops_a_function() -> None:
    x = T.dvector("x")
    checked = T.opt.Assert("too small")(x, T.all(x > 1))
    f = symbolic.function([x], [checked, T.grad((checked**2).sum(), x), T.Rop(checked, x, x)])
    assert [v.tolist() for v in f([2.0, 3.0])] == [[2.0, 3.0], [4.0, 6.0], [2.0, 3.0]]
    with pytest.raises(AssertionError, match="too small"):
        f([0.0, 3.0])
    with pytest.raises(AssertionError, match="a condition is a scalar"):
        T.opt.Assert()(x, x > 1)


def test_special_functions_of_large_float32_arrays() -> None:
    x = T.fvector("x")
    f = symbolic.function([x], T.exp(T.j0(x) * 2) + 1)
    values = np.linspace(0, 3, 100_000, dtype=np.float32)
    np.testing.assert_allclose(f(values)[:3], f(values[:3]), 1e-6)


def test_derivatives_in_orders_are_not_defined() -> None:
    order, x = T.dscalars("order", "x")
    assert symbolic.function([order, x], T.grad(T.jv(order, x), x))(0.0, 1.0) < 0
    with pytest.raises(Exception, match="Nobody has written the derivative of the order"):
        symbolic.function([order, x], T.grad(T.jv(order, x), order))


def test_axes_of_a_batch_normalization_are_a_range() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    found, *_ = T.nnet.bn.batch_normalization_train(x, np.ones(4), np.zeros(4), range(2))
    expected = (x - x.mean((0, 1))) / np.sqrt(x.var((0, 1)) + 1e-4)
    np.testing.assert_allclose(found.eval(), expected)


def test_pool_as_an_operation_says_what_shape_it_gives() -> None:
    x, rows = T.dtensor3(), T.iscalar()
    for ignore_border in (True, False):
        for ws, stride in (((2, 3), None), ((3, 2), (2, 1)), ((2, 2), (3, 4))):
            pool = Pool(ignore_border=ignore_border, mode="sum")
            image = np.arange(2 * 7 * 8, dtype=np.float64).reshape(2, 7, 8)
            out = symbolic.function([x], pool(x, ws, stride))(image)
            shape = Pool.out_shape((2, 7, 8), ws, ignore_border, stride)
            assert shape == list(out.shape)
            _, count, _ = Pool.out_shape((2, rows, 8), ws, ignore_border, stride)
            assert symbolic.function([rows], count)(7) == out.shape[1]
    with pytest.raises(TypeError, match="at least 2 dimensions"):
        Pool.out_shape((3,), (2, 2))


def test_numbers_of_classes_are_checked() -> None:
    x, b, y = T.dmatrix("x"), T.dvector("b"), T.lvector("y")
    losses = [
        T.nnet.crossentropy_softmax_1hot(x, y)[0],
        T.nnet.crossentropy_softmax_argmax_1hot_with_bias(x, b, y)[0],
        T.nnet.categorical_crossentropy(T.nnet.softmax(x), y),
    ]
    for loss in losses:
        f = symbolic.function([x, b, y], loss, on_unused_input="ignore")
        value, zeros = np.log([[1.0, 3.0], [1.0, 1.0]]), np.zeros(2)
        np.testing.assert_allclose(f(value, zeros, [1, 0]), np.log([4 / 3, 2]))
        with pytest.raises(ValueError, match="y_i value out of bounds: -1"):
            f(value, zeros, [1, -1])
        with pytest.raises(ValueError, match="there are 2 rows of classes, and 1 numbers"):
            f(value, zeros, [1])
    with pytest.raises(IndexError, match="there are 2 rows of classes, and 1 numbers"):
        T.nnet.categorical_crossentropy(x, y).eval({x: np.ones((2, 2)), y: [1]})
    with pytest.raises(ValueError, match="x must be 2-d tensor of floats"):
        T.nnet.crossentropy_softmax_1hot(T.imatrix(), y)
    with pytest.raises(ValueError, match="b must be 1-d tensor of floats"):
        T.nnet.crossentropy_softmax_1hot_with_bias(x, x, y)
    with pytest.raises(TypeError, match="matrix required for argument: coding_dist"):
        T.nnet.crossentropy_categorical_1hot(b, y)


def test_gradients_of_crossentropies_by_their_operations() -> None:
    x, y, g = T.dmatrix("x"), T.lvector("y"), T.dvector("g")
    sm = T.nnet.softmax(x)
    dx = T.nnet.CrossentropySoftmax1HotWithBiasDx()(g, sm, y)
    loss = T.nnet.crossentropy_softmax_1hot(x, y)[0]
    of_coding = T.nnet.CrossentropyCategorical1HotGrad()(g, sm, y)
    through = T.nnet.SoftmaxGrad()(of_coding, sm)
    expected = T.grad((loss * g).sum(), x)
    f = symbolic.function([x, y, g], [dx, through, expected])
    values = np.random.RandomState(0).randn(3, 4)
    for out in f(values, [0, 3, 1], [1.0, 2.0, -1.0]):
        np.testing.assert_allclose(out, f(values, [0, 3, 1], [1.0, 2.0, -1.0])[2], 1e-12, 1e-12)


def test_columns_are_prepended() -> None:
    x = T.dmatrix("x")
    rows = [
        T.nnet.Prepend_scalar_constant_to_each_row(4.0)(x),
        T.nnet.Prepend_scalar_to_each_row()(T.constant(5.0), x),
    ]
    found = symbolic.function([x], rows)([[1.0], [2.0]])
    assert [v.tolist() for v in found] == [[[4, 1], [4, 2]], [[5, 1], [5, 2]]]


def test_batch_normalisation_by_its_operations() -> None:
    x, dy = T.dmatrix("x"), T.dmatrix("dy")
    scale, bias = T.drow("scale"), T.drow("bias")
    bn = T.nnet.bn
    out, mean, invstd = bn.AbstractBatchNormTrain(axes=(0,))(x, scale, bias, 1e-3)
    gradients = bn.AbstractBatchNormTrainGrad(axes=(0,))(x, dy, scale, mean, invstd, 1e-3)
    expected = T.grad((out * dy).sum(), [x, scale, bias])
    same = bn.AbstractBatchNormInference(axes=(0,))(x, scale, bias, mean, invstd**-2, 0.0)
    f = symbolic.function([x, dy, scale, bias], [out, *expected, same, *gradients])
    rng = np.random.RandomState(0)
    answers = f(rng.randn(5, 3), rng.randn(5, 3), rng.randn(1, 3), rng.randn(1, 3))
    for one, other in zip(answers[:4], answers[4:], strict=True):
        np.testing.assert_allclose(one, other, 1e-9, 1e-12)


def test_convolutions_of_old_programs() -> None:
    x, w = T.dtensor4("x"), T.dtensor4("w")
    out = T.nnet.conv.conv2d(x, w, (1, 1, 2, 2), (1, 1, 2, 1), unroll_patch=True)
    value = np.arange(4.0).reshape(1, 1, 2, 2)
    assert out.eval({x: value, w: np.array([1.0, 10]).reshape(1, 1, 2, 1)}).tolist() == [
        [[[2, 13]]]
    ]
    with pytest.raises(TypeError, match=r"unknown arguments \['strides'\]"):
        T.nnet.conv.conv2d(x, w, strides=2)


def test_hard_sigmoid_of_integers() -> None:
    x = T.bvector("x")
    assert T.nnet.hard_sigmoid(x).dtype == "float32"
    np.testing.assert_allclose(T.nnet.hard_sigmoid(x).eval({x: [-9, 0, 1]}), [0, 0.5, 0.7], 1e-6)


def test_images_are_enlarged_by_fractions() -> None:
    x = T.dtensor4("x")
    enlarged = T.nnet.abstract_conv.bilinear_upsampling(x, frac_ratio=((7, 4), (10, 6)))
    out = enlarged.eval({x: np.array([1.0, 2, 3, 4]).reshape(1, 1, 2, 2)})[0, 0]
    np.testing.assert_allclose(out[:, 0], [1, 9 / 7, 17 / 7, 3])
    np.testing.assert_allclose(out[0], [1, 1.2, 1.8, 2])
    with pytest.raises(ValueError, match="frac_ratio is a pair"):
        T.nnet.abstract_conv.bilinear_upsampling(x, frac_ratio=3)
    ratio = T.lscalar("ratio")
    kernel = T.nnet.abstract_conv.bilinear_kernel_1D(ratio).eval({ratio: 3})
    np.testing.assert_allclose(kernel, [1 / 3, 2 / 3, 1, 2 / 3, 1 / 3], 1e-6)


def test_shapes_of_convolutions_are_checked_if_asked() -> None:
    x, w = T.dtensor4("x"), T.dtensor4("w")
    with symbolic.config.change_flags(**{"conv.assert_shape": True}):
        out = T.nnet.conv2d(x, w, (1, None, 3, 3), (1, 1, 2, 2))
    f = symbolic.function([x, w], out)
    assert f(np.ones((1, 1, 3, 3)), np.ones((1, 1, 2, 2))).shape == (1, 1, 2, 2)
    with pytest.raises(AssertionError, match="Unexpected shape of input"):
        f(np.ones((1, 1, 4, 3)), np.ones((1, 1, 2, 2)))
    with pytest.raises(AssertionError, match="Unexpected shape of filters"):
        f(np.ones((1, 1, 3, 3)), np.ones((1, 1, 1, 2)))
    with pytest.raises(ValueError, match="imshp should be None or a tuple of constant"):
        T.nnet.abstract_conv.AbstractConv2d(imshp=x.shape)


def test_correlations() -> None:
    corr, corr3d = T.nnet.corr, T.nnet.corr3d
    rng = np.random.RandomState(0)
    for rank, family in ((2, corr), (3, corr3d)):
        forward, of_inputs, of_weights = (
            getattr(family, f"Corr{'3d' if rank == 3 else ''}MM{end}")(border_mode="half")
            for end in ("", "_gradInputs", "_gradWeights")
        )
        x, w, g = (T.TensorType("float64", (False,) * (rank + 2))() for _ in range(3))
        out = forward(x, w)
        expected = T.grad((out * g).sum(), [x, w])
        given = [of_inputs(w, g, x.shape[2:]), of_weights(x, g, w.shape[2:])]
        f = symbolic.function([x, w, g], [out, *expected, *given])
        values = (
            rng.rand(2, 2, *[4] * rank),
            rng.rand(3, 2, *[3] * rank),
            rng.rand(2, 3, *[4] * rank),
        )
        result, *gradients = f(*values)
        middle = (values[0][0][(slice(None), *[slice(0, 3)] * rank)] * values[1][1]).sum()
        np.testing.assert_allclose(result[(0, 1, *[1] * rank)], middle)
        for one, other in zip(gradients[:2], gradients[2:], strict=True):
            np.testing.assert_allclose(one, other)


def test_sizes_of_convolutions_with_filters_of_their_own_are_vectors() -> None:
    w, g, x = (T.TensorType("float64", (False,) * n)() for n in (6, 4, 4))
    conv = T.nnet.abstract_conv
    of_inputs = conv.AbstractConv2d_gradInputs(unshared=True)(w, g, T.constant([3, 3]))
    of_filters = conv.AbstractConv2d_gradWeights(unshared=True)(x, g, T.constant([2, 2]))
    out = T.nnet.conv2d(x, w, unshared=True)
    expected = T.grad((out * g).sum(), [x, w])
    f = symbolic.function([w, g, x], [of_inputs, of_filters, *expected])
    rng = np.random.RandomState(0)
    one, two, first, second = f(rng.rand(1, 2, 2, 1, 2, 2), rng.rand(1, 1, 2, 2),
                                rng.rand(1, 1, 3, 3))  # fmt: skip
    np.testing.assert_allclose(one, first)
    np.testing.assert_allclose(two, second)
