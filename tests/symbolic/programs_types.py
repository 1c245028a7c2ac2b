"""More programs for `programs.py`: lists, convolutions without shared filters, old names."""

import numpy as np

MORE = {}


def program(function):
    MORE[function.__name__] = function
    return function


@program
def lists(theano, T):
    from theano.typed_list import TypedListType, make_list
    from theano.typed_list.basic import length

    xs, x, k = TypedListType(T.dvector)(), T.dvector(), T.lscalar()
    ys = xs.append(x)
    results = [
        ys[-1], length(ys), ys.count(x), ys.ind(x), xs.insert(k, x)[0], ys.reverse()[0],
        length(ys.remove(x)), length(ys.extend(xs)), ys[1:][0], make_list([x, x * 2])[1],
    ]  # fmt: skip
    f = theano.function([xs, x, k], results)
    return f([[1.0, 2.0], [3.0]], [4.0, 5.0], 0)


@program
def convolutions_without_shared_filters(theano, T):
    from theano.tensor.nnet import abstract_conv as conv

    rng, results = np.random.RandomState(0), []
    x = rng.rand(2, 4, 6, 7)
    for border, step, dilation, groups, flip in (
        ("valid", (1, 1), (1, 1), 1, True), ("half", (2, 1), (1, 2), 2, False),
        (((1, 0), (2, 1)), (1, 2), (1, 1), 2, True),
    ):  # fmt: skip
        _, _, rows, columns = conv.get_conv_output_shape(
            x.shape, (6, 4 // groups, 3, 2), border, step, dilation
        )
        w = rng.rand(6, int(rows), int(columns), 4 // groups, 3, 2)
        options = {
            "border_mode": border, "subsample": step, "filter_dilation": dilation,
            "num_groups": groups, "filter_flip": flip, "unshared": True,
        }  # fmt: skip
        images, g = T.dtensor4(), T.dtensor4()
        filters = T.TensorType("float64", (False,) * 6)()
        y = conv.conv2d(images, filters, x.shape, w.shape, **options)
        gradients = theano.grad((y**2).sum(), [images, filters])
        (out, *own) = theano.function([images, filters], [y, *gradients])(x, w)
        of_x = conv.conv2d_grad_wrt_inputs(g, filters, x.shape, w.shape, **options)
        of_w = conv.conv2d_grad_wrt_weights(images, g, w.shape, x.shape, **options)
        results += [out, *own, *theano.function([images, filters, g], [of_x, of_w])(x, w, out)]
    return results


@program
def shapes_of_convolutions(theano, T):
    from theano.tensor.nnet import abstract_conv as conv

    images, filters, out = (2, 4, 9, 8), (6, 4, 3, 2), (2, 6, 7, 7)
    found = []
    for border in ("valid", "full", "half", (1, 2)):
        found += conv.get_conv_gradinputs_shape(filters, out, border, (1, 1), (1, 2))
        if border != "half":
            found += conv.get_conv_gradweights_shape(images, out, border, (1, 1), (1, 1))
        found.append(conv.check_conv_gradinputs_shape(images, filters, out, border, (1, 1), (1, 1)))
    return [int(n) for n in found]


@program
def old_names(theano, T):
    x, n = T.dvector(), T.iscalar()
    f = theano.function(
        [x, n],
        [
            T.ceil_intdiv(n, 4), T.tensor_from_scalar(T.scalar_from_tensor(n)),
            T.extract_constant(T.constant(2)) * n, theano.compile.deep_copy_op(x),
            theano.scalar.basic.get_scalar_type("float32")() is not None and x.sum(),
        ],
    )  # fmt: skip
    return f([0.5, 1.5], 9)


@program
def pooling_operations(theano, T):
    from theano.tensor.signal import pool

    x, out, g = T.dtensor4(), T.dtensor4(), T.dtensor4()
    ws, stride, pad = T.ivectors(3)
    image = ((np.arange(2 * 1 * 7 * 8) * 7) % 13 * 1.0).reshape(2, 1, 7, 8)
    sizes = [np.array(v, "int32") for v in ([3, 2], [2, 2], [1, 1])]
    results = []
    for mode in ("max", "sum", "average_inc_pad", "average_exc_pad"):
        y = pool.pool_2d(x, ws, ignore_border=True, stride=stride, pad=pad, mode=mode)
        f = theano.function([x, ws, stride, pad], [y, T.grad((y**2).sum(), x)])
        if mode == "average_exc_pad":  # of which Theano has no gradient where there is padding
            sizes[2] = np.zeros(2, "int32")
        results += f(image, *sizes)
    sizes[2] = np.ones(2, "int32")
    pooled = results[0]
    spread = pool.MaxPoolGrad(ignore_border=True)(x, out, g, ws, stride, pad)
    picked = pool.DownsampleFactorMaxGradGrad(ignore_border=True)(x, out, x, ws, stride, pad)
    shared = pool.AveragePoolGrad(ignore_border=True, mode="average_inc_pad")(x, g, ws, stride, pad)
    results += called_with(
        theano, [x, out, g, ws, stride, pad], [spread, picked, shared],
        image, pooled, pooled, *sizes,
    )  # fmt: skip
    return results


def called_with(theano, inputs, outputs, *values):
    return theano.function(inputs, outputs, on_unused_input="ignore")(*values)


@program
def elements_in_other_orders(theano, T):
    v, x, p, rows = T.dvector(), T.dmatrix(), T.ivector(), T.imatrix()
    results = [
        T.permute_row_elements(v, rows), T.permute_row_elements(x, p),
        T.permute_row_elements(x, rows, inverse=True), T.inverse_permutation(rows),
        T.choose(rows % 2, (x, x * 2)), T.AllocDiag(-1)(v), T.tensordot(x, x, ([0], [0])),
        T.max(x, axis=T.constant(0)), T.grad(T.permute_row_elements(x, p)[:, 0].sum(), x),
    ]  # fmt: skip
    order = np.array([[2, 0, 1], [1, 2, 0]], "int32")
    f = theano.function([v, x, p, rows], results)
    return f([1.0, 2.0, 4.0], [[1.0, 2.0, 3.0], [6.0, 5.0, 4.0]], order[0], order)


@program
def axes_that_a_variable_says(theano, T):
    x, axis = T.dmatrix(), T.lscalar()
    f = theano.function([x, axis], [T.sort(x, axis), T.argsort(x, axis)])
    rows = [[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]]
    return f(rows, 0) + f(rows, 1) + f(rows, -2)


@program
def floats_written_into_integers(theano, T):
    m, d, i = T.bmatrix(), T.dscalar(), T.ivector()
    results = [
        T.set_subtensor(m[0, 0], d), T.inc_subtensor(m[[0, 1]], d), T.set_subtensor(m[0], i),
        T.set_subtensor(m[(m > 2).nonzero()], d), T.set_subtensor(m[0, 0], 2.7),
    ]  # fmt: skip
    f = theano.function([m, d, i], results)
    return f(np.array([[1, 2], [3, 4]], "int8"), 2.7, np.array([300, 2], "int32"))
