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


@program
def gradients_of_powers_of_integers(theano, T):
    i, b, x, y = T.lvector(), T.bvector(), T.dvector(), T.fvector()
    results = []
    for power in (i**x, b**y, (i ** x.max()) * x, T.exp(-x[1]) / i ** x.max()):
        wrt = [v for v in (i, b, x, y) if v in theano.gof.graph.inputs([power])]
        results += [power, *T.grad(power.sum(), wrt)]
    f = theano.function([i, b, x, y], results)
    return f([3, 1, 2], np.array([2, 2, 3], "int8"), [1.5, 2.0, -0.5],
             np.array([1.5, 2.0, 0.5], "float32"))  # fmt: skip


@program
def steps_of_a_chain_that_is_one_step_long(theano, T):
    from theano.sandbox.rng_mrg import MRG_RandomStreams
    from theano.tensor.shared_randomstreams import RandomStreams

    results, w = [], np.arange(12.0).reshape(4, 3) / 10
    for streams in (RandomStreams(7), MRG_RandomStreams(7)):
        v, rate = T.dmatrix("v"), T.dscalar("rate")
        weights, data = theano.shared(w), theano.shared(np.arange(24.0).reshape(6, 4) % 2)

        def drawn(before, streams=streams):
            mean = T.nnet.sigmoid(before)
            return [mean, streams.binomial(size=mean.shape, n=1, p=mean, dtype="float64")]

        def step(h, weights=weights, drawn=drawn):
            visible = drawn(T.dot(h, weights.T))
            return visible + drawn(T.dot(visible[1], weights))

        start = drawn(T.dot(v, weights))[1]
        chain, updates = theano.scan(step, outputs_info=[None, None, None, start], n_steps=1)
        cost = (v * chain[0][-1]).sum() - (chain[3][-1] * T.dot(v, weights)).sum()
        gradient = T.grad(cost, weights, consider_constant=[start, chain[3]])
        updates[weights] = weights - rate * gradient
        index = T.lscalar()
        f = theano.function([index, rate], [cost, chain[3]], updates=updates,
                            givens={v: data[index : index + 3]})  # fmt: skip
        results += [*f(0, 0.1), *f(1, 0.2), weights.get_value()]
    return results


@program
def directions_by_rules_of_operations(theano, T):
    class Tripled(theano.Op):
        """Squares, with a rule that takes 3 x v for the direction."""

        __props__ = ()

        def make_node(self, x):
            return theano.Apply(self, [x], [x.type()])

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = inputs[0] ** 2

        def R_op(self, inputs, eval_points):  # noqa: N802
            return [3 * inputs[0] * eval_points[0]]

    def rule(inputs, eval_points):
        return [eval_points[0] * inputs[1] * 2.0 + inputs[0] * eval_points[1] * 1.5]

    x, y, v, w, p, q, pv, qv = T.dvectors("x", "y", "v", "w", "p", "q", "pv", "qv")
    op = Tripled()
    by_function = theano.OpFromGraph([p, q], [p * q], rop_overrides=rule)
    of_rule = theano.OpFromGraph([p, q, pv, qv], rule([p, q], [pv, qv]))
    by_graph = theano.OpFromGraph([p, q], [p * q], rop_overrides=of_rule)
    results = [
        T.Rop(T.exp(op(x / 10)).sum() + x.sum(), x, v), T.Rop(op(x * y), [x, y], [v, w]),
        *T.Rop([op(x), x**2], x, v), T.grad(T.Rop(op(x), x, v).sum(), x),
        T.Rop(T.dot(op(T.exp(x)), x), x, v), T.Rop(by_function(x, y), [x, y], [v, w]),
        T.Rop(by_graph(x, y) * x, [x, y], [v, w]),
    ]  # fmt: skip
    f = theano.function([x, y, v, w], results)
    return f([1.0, 2.0], [3.0, 4.0], [0.1, 0.2], [0.5, 0.6])


@program
def values_that_functions_share(theano, T):
    a, x, s = T.scalars("axs")
    f = theano.function(
        [
            x,
            theano.In(a, value=1.0, name="a"),
            theano.In(s, value=0.0, update=s + a * x, mutable=True),
        ],
        s + a * x,
    )
    g = theano.function([x, theano.In(a, value=1.0, name="a"),
                         theano.In(s, value=f.container[s], update=s - a * x, mutable=True)],
                        s + a * x)  # fmt: skip
    results = [f(1, 2), float(f.container[s].data), g(3), float(f[s]), g(1, 2), f(4), float(g[s])]
    f[s] = 7
    return [np.asarray(v, "float64") for v in [*results, float(g[s]), f(1), g.container["s"].value]]
