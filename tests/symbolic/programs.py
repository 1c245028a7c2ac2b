"""Small programs in Theano's names. `record.py` runs them on Theano itself, and the tests here.

Each takes the packages `theano` and `theano.tensor` and gives arrays. They run on Python 3.8 too.
"""

import numpy as np

try:
    from tests.symbolic.programs_parts import PARTS
    from tests.symbolic.programs_types import MORE
except ImportError:  # `record.py` runs beside it
    from programs_parts import PARTS
    from programs_types import MORE

PROGRAMS = {**MORE, **PARTS}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def called(theano, inputs, outputs, *values):
    f = theano.function(inputs, outputs, on_unused_input="ignore")
    results = f(*values)
    return results if isinstance(results, list) else [results]


A = np.arange(12.0).reshape(3, 4)
IMAGES = ((np.arange(2 * 2 * 5 * 6) * 7) % 11 * 1.0).reshape(2, 2, 5, 6)
FILTERS = ((np.arange(3 * 2 * 2 * 3) * 5) % 7 - 3.0).reshape(3, 2, 2, 3)


@program
def random_streams(theano, T):
    from theano.tensor.shared_randomstreams import RandomStreams

    s = RandomStreams(234)
    draws = [
        s.uniform((2, 2)), s.normal((3,)), s.binomial((4,), n=1, p=0.3),
        s.random_integers((3,), 0, 10), s.permutation(n=5),
        s.multinomial((2,), n=3, pvals=[0.2, 0.3, 0.5]), s.choice((3,), a=5),
        s.poisson((3,), lam=2.0),
    ]  # fmt: skip
    f = theano.function([], draws)
    return f() + f()


@program
def mrg_streams(theano, T):
    from theano.sandbox.rng_mrg import MRG_RandomStreams

    m, x = MRG_RandomStreams(234), T.dmatrix()
    draws = [
        m.uniform((2,), dtype="float64"), m.uniform((3,), dtype="float32"), m.normal((3,)),
        m.binomial((5,), p=0.5), m.multinomial(pvals=np.array([[0.2, 0.8], [0.5, 0.5]])),
        m.uniform((50, 30)).sum(), m.uniform(size=x.shape).sum(),
    ]  # fmt: skip
    f = theano.function([x], draws)
    return f(np.zeros((5, 4))) + f(np.zeros((5, 4)))


def recurrent(theano, T, truncate_gradient):
    rng = np.random.RandomState(0)
    w, u = theano.shared(rng.randn(3, 3) * 0.3), theano.shared(rng.randn(2, 3))
    h0, v, x = theano.shared(np.zeros(3)), theano.shared(rng.randn(3)), T.matrix("x")

    def step(x_t, earlier, last, y):
        h = T.tanh(T.dot(last, w) + T.dot(x_t, u) + 0.1 * earlier)
        return h, T.dot(h, v)

    (h, y), _ = theano.scan(
        step, sequences=x, truncate_gradient=truncate_gradient,
        outputs_info=[dict(initial=T.stack([h0, h0 + 1]), taps=[-2, -1]),
                      T.constant(0.0, dtype="float64")],
    )  # fmt: skip
    cost = (y**2).sum() + h[-1].sum() + h[2].sum()
    return [x], cost, [w, u, h0, v], [x]


@program
def scan_gradients(theano, T):
    results = []
    for truncated in (-1, 2):
        inputs, cost, shared, variables = recurrent(theano, T, truncated)
        outputs = [cost, *T.grad(cost, shared + variables)]
        results += called(theano, inputs, outputs, np.arange(10).reshape(5, 2) / 5.0)
    return results


@program
def scan_forms(theano, T):
    from theano.tensor.shared_randomstreams import RandomStreams

    q, k = T.dvector(), T.iscalar()
    window, _ = theano.scan(
        lambda a, b, c: a + 2 * b + 3 * c, sequences=dict(input=q, taps=[-1, 0, 2]),
        go_backwards=True,
    )  # fmt: skip
    total, _ = theano.reduce(lambda a, b: a * b, q, T.constant(1.0, dtype="float64"))
    right, _ = theano.foldr(lambda a, b: a - b, q, T.constant(0.0, dtype="float64"))
    doubled, _ = theano.scan(
        lambda p: (p * 2, theano.scan_module.until(p * 2 > k)), n_steps=100,
        outputs_info=T.constant(1.0, dtype="float64"),
    )  # fmt: skip
    noise = RandomStreams(1)
    walk, updates = theano.scan(
        lambda h: h + noise.normal(h.shape), outputs_info=theano.shared(np.zeros(3)), n_steps=3
    )
    f = theano.function([], walk, updates=updates)
    count, outer = theano.shared(0), T.dvector()
    counted, counts = theano.scan(lambda e: (e * count, {count: count + 1}), sequences=outer)
    g = theano.function([outer], counted, updates=counts)
    gradient = T.grad((window**2).sum(), q)
    results = called(theano, [q, k], [window, gradient, total, right, doubled], A[1:].ravel(), 20)
    return [*results, f(), f(), g([1.0, 1.0]), g([1.0, 1.0, 1.0]), count.get_value()]


@program
def derivatives_by_scan(theano, T):
    v, w = T.dvector(), theano.shared(np.array([[0.3, -0.2, 0.5], [1.0, 0.1, -0.7]]))
    h = T.tanh(T.dot(w, v))
    outputs = [
        theano.gradient.jacobian(T.tanh(v) * v[0], v),
        theano.gradient.hessian((v**3).sum() * v[1], v),
        T.Rop(h, v, v * 2), T.Lop(h, w, h), T.grad(None, v, known_grads={h: h}),
        T.grad((theano.gradient.grad_clip(v, -1, 1) ** 2).sum(), v),
        T.grad((theano.gradient.disconnected_grad(v) * v).sum(), v),
        T.grad((theano.gradient.zero_grad(v) * v).sum(), v),
    ]  # fmt: skip
    return called(theano, [v], outputs, [0.1, 0.2, 3.0])


@program
def stable_losses(theano, T):
    x, y, v = T.dmatrix(), T.lvector(), T.dvector()
    p, s = T.nnet.softmax(x), T.nnet.sigmoid(v)
    target = T.constant([1.0, 0, 0.5])
    costs = [
        (-T.mean(T.log(p)[T.arange(y.shape[0]), y]), x),
        (T.nnet.categorical_crossentropy(p, y).sum(), x), (T.log(s).sum() + T.log(1 - s).sum(), v),
        (T.nnet.binary_crossentropy(s, target).sum(), v),
    ]  # fmt: skip
    outputs = [out for cost, wrt in costs for out in (cost, T.grad(cost, wrt))]
    outputs += [T.log(1 + T.exp(v)), T.nnet.softmax(v), T.nnet.softplus(v)]
    rows = [[1000.0, -1000, 0], [-1000, 1000, 3]]
    return called(theano, [x, y, v], outputs, rows, [1, 2], [1000.0, -1000, 0])


@program
def activations(theano, T):
    v, n = T.dvector(), T.nnet
    plain = [n.relu(v), n.relu(v, 0.1), n.elu(v), n.hard_sigmoid(v), n.softsign(v), abs(v),
             T.maximum(v, 0), T.clip(v, -1, 1), T.sgn(v), v**2, v**3.0, T.sqr(v)]  # fmt: skip
    gradients = [T.grad(out.sum(), v) for out in plain]
    return called(theano, [v], plain + gradients, [1.0, -2.0, 0.0, 0.5])


@program
def dtypes(theano, T):
    results = []
    for dtype in ("int8", "uint8", "int32", "int64", "float32"):
        a = T.TensorType(dtype, (False,))()
        outputs = [
            a + a, a * 2, a / 2, a // 2, a % 2, a**2, T.exp(a), T.sqrt(a), a.sum(), a.mean(),
            a.max(), a.prod(), T.eq(a, 1), a * 1.5, a * np.float32(1.5), -a, a.std(), T.sqr(a),
            abs(a), T.mean(a, dtype="float32"), a.argmax(), a.cumsum(), T.nnet.sigmoid(a),
            T.cast(a, "float32") * 0.1, a * 7.0, a + 300, T.arange(3) * 1, T.zeros((2,)),
        ]  # fmt: skip
        results += called(theano, [a], outputs, np.array([1, 0, 1, 3], dtype))
    return results


@program
def indexing(theano, T):
    m, i = T.dmatrix(), T.lvector()
    outputs = [
        m[0], m[:, 1], m[-1, ::-1], m[i], m[i, i], m[:, i], m[1:, None, ::2],
        m[T.gt(m, 5).nonzero()], m[m > 5], T.set_subtensor(m[0], 9.0),
        T.inc_subtensor(m[i], 1.0), T.inc_subtensor(m[1:, ::2], m[1:, ::2]),
        m.dimshuffle(1, "x", 0), m.reshape((4, 3)), m.reshape((-1,)), m.flatten(), m.T,
        T.concatenate([m, m], axis=1), T.stack([m, m]).sum(0), m.diagonal(), T.tile(m, (2, 1)),
        T.repeat(m, 2, axis=1), m.take([1, 0], axis=1), m.shape, T.set_subtensor(m.T[1], 7.0),
    ]  # fmt: skip
    cost = (m[i] ** 2).sum() + (m[:, 1] * m[:, 2]).sum() + (T.inc_subtensor(m[i], m[i]) ** 3).sum()
    cost += (T.set_subtensor(m[0], m[1]) ** 2).sum() + (T.sort(-m, 1)[:, 0] ** 2).sum()
    cost += (T.repeat(m, 2, 0)[1:4] ** 3).sum() + (m.diagonal() ** 2).sum() + m.prod(1)[1]
    return called(theano, [m, i], [*outputs, T.grad(cost, m)], A, [0, 2, 2])


@program
def functions_of_matrices(theano, T):
    m = T.dmatrix()
    square = T.dot(m, m.T) + 3 * T.eye(3)
    outputs = [
        m.norm(2), m.norm(1), m.var(), m.std(axis=0), m.ptp(), m.argmin(axis=1),
        T.argsort(-m, axis=1), T.sort(-m, axis=0), m.cumsum(axis=1), T.extra_ops.diff(m),
        T.tril(m), T.triu(m, 1), T.outer(m[0], m[1]), T.tensordot(m, m, [[1], [1]]),
        T.batched_dot(m, m), m.clip(2, 7), T.switch(m > 3, m, -m), T.all(m >= 0), T.any(m < 0),
        T.extra_ops.to_one_hot(T.cast(m[0], "int64"), 4), T.round(m / 2), m.nonzero_values(),
        T.nlinalg.matrix_inverse(square), T.nlinalg.det(square), T.slinalg.cholesky(square),
        T.grad(T.log(T.nlinalg.det(square)), m), T.max(m, axis=0), T.max_and_argmax(m, axis=1)[1],
    ]  # fmt: skip
    return called(theano, [m], outputs, A)


@program
def pooling(theano, T):
    from theano.tensor.signal import pool

    q, outputs = T.dtensor4(), []
    for mode in ("max", "sum", "average_inc_pad", "average_exc_pad"):
        for options in (
            dict(ws=(2, 2), ignore_border=True), dict(ws=(2, 3), ignore_border=False),
            dict(ws=(3, 3), ignore_border=True, stride=(2, 1), pad=(1, 1)),
            dict(ws=(3, 2), ignore_border=False, stride=(2, 2)),
            dict(ws=(2, 2), ignore_border=False, stride=(3, 3)),
        ):  # fmt: skip
            if mode in ("sum", "average_exc_pad") and "pad" in options:
                continue
            out = pool.pool_2d(q, mode=mode, **options)
            # Theano's Python gradient counts some windows twice where images are padded.
            outputs += [out] if "pad" in options else [out, T.grad((out**2).sum(), q)]
    return called(theano, [q], outputs, IMAGES)


@program
def convolutions(theano, T):
    q, w, outputs = T.dtensor4(), T.dtensor4(), []
    for options in (
        {}, dict(border_mode="full"), dict(border_mode="half"), dict(border_mode=(1, 2)),
        dict(subsample=(2, 2)), dict(filter_flip=False), dict(filter_dilation=(2, 1)),
    ):  # fmt: skip
        out = T.nnet.conv2d(q, w, **options)
        outputs += [out, *T.grad((out**2).sum(), [q, w])]
    return called(theano, [q, w], outputs, IMAGES, FILTERS)


@program
def normalisation(theano, T):
    q = T.dtensor4()
    one, zero = T.ones((1, 2, 1, 1)), T.zeros((1, 2, 1, 1))
    outs = T.nnet.bn.batch_normalization_train(
        q, one, zero, axes="spatial", running_mean=zero, running_var=one
    )
    test = T.nnet.bn.batch_normalization_test(q, one, zero, outs[1], one * 2, axes="spatial")
    return called(theano, [q], [*outs, test, T.grad((outs[0] ** 3).sum(), q)], IMAGES)


@program
def elementwise_gradients(theano, T):
    a, b, results = T.dvector(), T.dvector(), []
    for name in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos",
                 "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arctanh",
                 "erf", "erfc", "inv", "sqr", "gammaln", "deg2rad"):  # fmt: skip
        out = getattr(T, name)(a)
        results += [out, T.grad(out.sum(), a)]
    for out in (a + b, a - b, a * b, a / b, a**b, a % b, T.arctan2(a, b), T.maximum(a, b),
                T.minimum(a, b), T.switch(a < b, a, b)):  # fmt: skip
        results += [out, *T.grad((out**2).sum(), [a, b])]
    return called(theano, [a, b], results, [0.3, 0.6, 0.9], [0.7, 0.6, 0.2])


@program
def repetitions(theano, T):
    x, n = T.dmatrix(), T.ivector()
    forms = [
        T.tile(x, 2), T.tile(x, (2,)), T.tile(x, (2, 1)), T.tile(x, (2, 1, 2)), T.tile(x, n, 2),
        T.tile(x, n, 3), T.tile(x, n[0]), T.tile(x, (n[1], 1)),
    ]  # fmt: skip
    return called(theano, [x, n], forms, A, [2, 3])


@program
def values_of_other_dtypes_at_an_index(theano, T):
    x, y, i = T.fmatrix(), T.dvector(), T.ivector()
    x0, y0 = A.astype("float32"), np.array([0.1, 0.2, 0.3])
    forms = [
        change(part, y)
        for part in (x[0, 1:], x[:, 1:], x[i, 1], x[i][:, 1])
        for change in (T.inc_subtensor, T.set_subtensor)
        if part.ndim == 1 or part.owner.inputs[0] is x
    ]
    cost = sum(f.sum() for f in forms)
    gradients = [T.cast(g, "float32") for g in T.grad(cost, [x, y])]
    return called(theano, [x, y, i], forms + gradients, x0, y0, [0, 2, 1])


@program
def gradients_of_integers(theano, T):
    x, w, i = T.ivector(), T.dmatrix(), T.iscalar()
    costs = [
        (x * 2.5).sum(), T.exp(x).sum(), T.dot(x, w).sum(), T.cast(x, "float64").sum(), x.sum(),
        x.sum() * 2.5, (x**2).sum() * 2.5, (x / 2.0).sum(), T.switch(x > 1, x, w[0]).sum(),
        T.concatenate([x, w[0]]).dot(T.arange(4.0)), T.set_subtensor(w[0], x).sum(),
        T.max(x) * 1.5, x[0] * 1.5,
    ]  # fmt: skip
    found = [T.grad(c, x) for c in costs] + [
        T.grad(1.5**i, i),
        T.grad((T.alloc(i, 2) * 1.5).sum(), i),
    ]
    return called(theano, [x, w, i], found, [1, 2], [[1.5, 2.0], [3.0, 4.0]], 3)


@program
def ends_of_gradients(theano, T):
    x, w = T.dmatrix(), theano.shared(A[:, :2])
    hidden = T.tanh(T.dot(x, w))
    square = hidden**2
    out = (square * w.sum()).sum()
    _, ends = theano.subgraph_grad([], [hidden], cost=out)
    own, _ = theano.subgraph_grad([w], [x], {hidden: ends[0]}, (w**3).sum())
    y = x * x
    found = [
        *own,
        T.grad(out, x, consider_constant=[x]), T.grad(out, square, consider_constant=[square]),
        T.grad(out, w, consider_constant=[square]),
        T.grad(None, x, known_grads={y: T.as_tensor_variable([1.0, 2.0, 3.0])}),
        T.Rop(w * 1.5, x, x),
        T.Rop(T.concatenate([x, x * 2]).reshape((3, 4)), x, x),
        T.Rop(T.nnet.softmax(x).flatten(), x, x),
    ]  # fmt: skip
    return called(theano, [x], found, A[:2, :3] / 10)


@program
def neighbourhoods(theano, T):
    from theano.tensor.nnet.neighbours import images2neibs, neibs2images

    x = T.dtensor4()
    forms = [
        images2neibs(x, (1, 2)), images2neibs(x, (2, 3), (1, 1)), images2neibs(x, (5, 2), (3, 1)),
        images2neibs(x, (2, 4), mode="ignore_borders"), images2neibs(x, (3, 3), (2, 5), "half"),
        images2neibs(x, (2, 3), (1, 7), "full"), images2neibs(x, (3, 3), mode="wrap_centered"),
        images2neibs(x, (3, 5), (2, 1), "wrap_centered"),
    ]  # fmt: skip
    back = neibs2images(images2neibs(x, (5, 3)), (5, 3), x.shape)
    cost = (images2neibs(x, (5, 2), (3, 1)) ** 2).sum() + (images2neibs(x, (5, 3)) ** 3).sum()
    return called(theano, [x], [*forms, back, T.grad(cost, x)], IMAGES)


@program
def softmax_in_two_levels(theano, T):
    rng = np.random.RandomState(0)
    x, target = T.dmatrix(), T.ivector()
    w1, b1 = theano.shared(rng.randn(4, 3)), theano.shared(rng.randn(3))
    w2, b2 = theano.shared(rng.randn(3, 4, 3)), theano.shared(rng.randn(3, 3))
    args = [x, x.shape[0], 8, 3, 3, w1, b1, w2, b2]
    whole, some = T.nnet.h_softmax(*args), T.nnet.h_softmax(*args, target=target)
    loss = -T.mean(T.log(some))
    found = [whole, some, *T.grad(loss, [w1, b1, w2, b2])]
    return called(theano, [x, target], found, A, [1, 7, 3])


@program
def further_linear_algebra(theano, T):
    from theano.tensor import nlinalg

    x, v = T.dmatrix(), T.dvector()
    orders = [None, 1, 2, 3, 0, "inf", "-inf"]
    found = [nlinalg.norm(v, k) for k in orders]
    found += [nlinalg.norm(x, k) for k in ("fro", 1, -1, "inf", "-inf")]
    found += [*nlinalg.lstsq()(x.T, v, -1)[:1], nlinalg.eig(T.dot(x, x.T))[0].sum()]
    found += [nlinalg.tensorsolve(T.dot(x, x.T) + T.eye(3), x[:, 0])]
    return called(theano, [x, v], found, A + 1, [1.0, 2.0, -3.0, 4.0])


@program
def decompositions(theano, T):
    from theano.sandbox.linalg import ops
    from theano.tensor import nlinalg, slinalg

    x, y, b = T.dmatrices("x", "y", "b")
    lower, upper = slinalg.Cholesky(), slinalg.Cholesky(lower=False)
    results = [lower(x), upper(x), slinalg.Expm()(x / 4), slinalg.kron(x, b), ops.psd(x)]
    results += [
        slinalg.Solve("lower_triangular", lower=True)(x, b),
        slinalg.Solve("upper_triangular")(x, b[:, 0]), slinalg.Solve()(x, b),
        slinalg.eigvalsh(x, y), slinalg.Eigvalsh()(x, T.eye(3)), nlinalg.Eigh("U")(x)[0],
        nlinalg.MatrixInverse()(x), nlinalg.MatrixPinv()(b), nlinalg.Det()(x),
        nlinalg.SVD(compute_uv=False)(b), abs(nlinalg.QRFull("complete")(b)[0]),
        abs(nlinalg.qr(b, "r")), nlinalg.AllocDiag()(b[0]), nlinalg.ExtractDiag()(x),
    ]  # fmt: skip
    weights = T.arange(9.0).reshape((3, 3))
    costs = [(results[k] * weights).sum() for k in (0, 1, 2)]
    costs += [nlinalg.eigh(x)[0][0], (nlinalg.eigh(x, "U")[1] ** 3).sum()]
    costs += [(slinalg.eigvalsh(x, y) * weights[1]).sum()]
    gradients = [T.grad(c, x) for c in costs] + [T.grad(costs[-1], y)]
    results.append(slinalg.Cholesky(on_error="nan")(-x))
    m = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 2.5]])
    return called(theano, [x, y, b], results + gradients, m, m @ m + np.eye(3), A[:, :2] - 4)


@program
def special_functions(theano, T):
    from theano.tensor.xlogx import xlogx, xlogy0

    x, z = T.dvector(), T.fvector()
    single = [T.gamma, T.erfcx, T.erfcinv, T.j0, T.j1, T.i0, T.i1]
    found = [f(x) for f in single] + [T.jv(2, x), T.iv(1.5, x), xlogx(x), xlogy0(x - 0.25, x)]
    gradients = [T.grad(y.sum(), x) for y in found]
    found += [T.chi2sf(x, 3.0), T.gammainc(2.0, x), T.gammaincc(2.0, x), T.j0(z), T.gamma(z)]
    return called(theano, [x, z], found + gradients, [0.25, 0.5, 1.75], [0.5, 3.0])


@program
def images_without_channels(theano, T):
    from theano.tensor.signal import conv

    x, w = T.dtensor3(), T.dtensor3()
    found = [
        conv.conv2d(x, w), conv.conv2d(x[0], w[1], border_mode="full"), conv.conv2d(x, w[0]),
        conv.conv2d(x[1], w, subsample=(2, 1)),
    ]  # fmt: skip
    found += T.grad((found[0] ** 2).sum(), [x, w])
    return called(theano, [x, w], found, IMAGES[0], FILTERS[0])


@program
def enlarged_images(theano, T):
    from theano.tensor.nnet import abstract_conv

    x = T.dtensor4()
    two, three = (abstract_conv.bilinear_upsampling(x, ratio=k) for k in (2, 3))
    found = [two, three, T.grad((two**2).sum(), x)]
    shapes = [
        abstract_conv.get_conv_output_shape((2, 3, 9, 9), (4, 3, 3, 3), mode, (2, 1), (1, 2))
        for mode in ("half", "full", "valid", (1, 2))
    ]
    return [*called(theano, [x], found, IMAGES), *shapes]


@program
def convolutions_of_sequences_and_volumes(theano, T):
    from theano.tensor.nnet import abstract_conv

    x, w = T.dtensor3(), T.dtensor3()
    causal = abstract_conv.causal_conv1d(x, w, (3, 2, 2), filter_dilation=2)
    found = called(
        theano, [x, w], [causal, *T.grad((causal**2).sum(), [x, w])], IMAGES[:, :, 0],
        FILTERS[:, :, :, 0],
    )  # fmt: skip
    five = T.TensorType("float64", (False,) * 5)
    v, f, g = five(), five(), five()
    shapes = (1, 2, 3, 4, 5), (3, 2, 2, 2, 2)
    of_v = abstract_conv.conv3d_grad_wrt_inputs(g, f, shapes[0])
    of_f = abstract_conv.conv3d_grad_wrt_weights(v, g, shapes[1])
    both = T.grad((T.nnet.conv3d(v, f) * g).sum(), [v, f])
    values = [np.arange(float(np.prod(s))).reshape(s) % 7 for s in (*shapes, (1, 3, 2, 3, 4))]
    return found + called(theano, [v, f, g], [of_v, of_f, *both], *values)


@program
def mrg_choices(theano, T):
    from theano.sandbox.rng_mrg import MRG_RandomStreams

    m, p = MRG_RandomStreams(7), np.array([[0.5, 0.2, 0.3], [0.1, 0.1, 0.8]])
    draws = [
        m.choice(size=2, replace=False, p=p), m.truncated_normal((3, 5), avg=1.0, std=2.0),
        m.choice(size=3, replace=False, p=p, dtype="int32"), m.normal((41,), truncate=True),
        m.normal((9, 2)),
    ]  # fmt: skip
    f = theano.function([], draws)
    return f() + f()


@program
def fourier_transforms(theano, T):
    from theano.tensor import fft

    x = T.dmatrix()
    found = []
    for norm in (None, "ortho", "no_norm"):
        forward, odd = fft.rfft(x, norm=norm), fft.irfft(fft.rfft(x), norm=norm, is_odd=True)
        even = fft.irfft(forward, norm=norm)
        found += called(theano, [x], [forward, even, T.grad((even**3).sum(), x)], A)
        found += called(theano, [x], [odd, T.grad((odd**3).sum(), x)], A[:, 1:])
    t = T.tensor3(dtype="float32")
    cost = (fft.rfft(t) ** 3).sum()
    return [*found, *called(theano, [t], [cost, T.grad(cost, t)], IMAGES[0].astype("float32"))]


@program
def products_of_blocks(theano, T):
    from theano.tensor.nnet.blocksparse import sparse_block_dot

    w, h, b, ins, outs = T.dtensor4(), T.dtensor3(), T.dmatrix(), T.imatrix(), T.imatrix()
    out = sparse_block_dot(w, h, ins, b, outs)
    rng = np.random.RandomState(0)
    places = np.array([[0, 1], [3, 2]], "int32"), np.array([[0, 4, 1], [2, 2, 3]], "int32")
    values = rng.randn(4, 5, 3, 2), rng.randn(2, 2, 3), rng.randn(5, 2)
    found = [out, *T.grad((out**2).sum(), [w, h, b])]
    return called(theano, [w, h, b, ins, outs], found, *values, *places)


@program
def scalars_by_class(theano, T):
    from theano import scalar
    from theano.scalar.basic_scipy import GammaLn, Psi

    a, b = scalar.floats("ab")
    both = T.Elemwise(scalar.Composite([a, b], [scalar.exp(a) * b + 1]))
    gammaln = T.Elemwise(GammaLn(scalar.upgrade_to_float, name="own_gammaln"))
    psi = T.Elemwise(Psi(scalar.upgrade_to_float, name="own_psi"))
    x, m = T.dvector(), T.dmatrix()
    out, g = both(x, m), gammaln(x)
    kinds = (
        isinstance(T.exp(x).owner.op.scalar_op, scalar.Exp),
        isinstance(T.exp(x).owner.op.scalar_op, scalar.Log),
    )
    found = [out, g, psi(x), *T.grad(g.sum(), [x])]
    several = T.Elemwise(scalar.Composite([a, b], [a + b, scalar.exp(a) * b]))(x, m)
    return [*called(theano, [x, m], [*found, *several], A[0] / 4 + 0.5, A), *kinds]


@program
def operations_from_graphs(theano, T):
    x, y, z = T.dvectors("xyz")
    plain = theano.OpFromGraph([x, y], [x * y + T.exp(x), x + y])
    product, total = plain(x, x**2)
    found = [product, total, T.grad((product * total).sum(), x)]
    weight = theano.shared(np.array([2.0, 3.0]))
    scaled = theano.OpFromGraph([x], [x * weight])(y)
    found += [T.Rop(theano.OpFromGraph([x, y], [x * y])(x, y), x, z)]
    found += [scaled, *T.grad((scaled**2).sum(), [y, weight])]

    def own(inputs, gradients):
        return inputs[2] * 2

    changed = theano.OpFromGraph([x, y, z], [x + y * z], grad_overrides=["default", own, "default"])
    found += T.grad(changed(x, y, z).sum(), [x, y, z])
    return called(theano, [x, y, z], found, [1.0, 2.0], [3.0, 4.0], [5.0, 6.0])


@program
def copies_of_functions(theano, T):
    x, s, other = T.dscalar(), theano.shared(np.float64(1.0)), theano.shared(np.float64(10.0))
    f = theano.function([x], s * x, updates=[(s, s + 1)])
    swapped, still = f.copy(swap={s: other}), f.copy(delete_updates=True)
    # Theano's copies write over the values of shared variables: these are not compared.
    return [f(2.0), *swapped(2.0), *still(2.0)]


@program
def mapped_variables(theano, T):
    from theano.scan_module.scan_utils import map_variables

    x, y = T.dvector("x"), T.dvector("y")
    total = x + y
    total.tag.replacement = x * y
    found = map_variables(lambda v: getattr(v.tag, "replacement", v), [T.exp(total), total - 1])
    found += map_variables(lambda v: y if v.name == "x" else v, [x**2 + y])
    return called(theano, [x, y], found, [1.0, 2.0], [3.0, 0.5])


@program
def numbers_of_passed_generators(theano, T):
    from theano.tensor import raw_random

    state = theano.shared(np.random.RandomState(3))
    first, a = raw_random.uniform(state, (2,))
    second, b = raw_random.random_integers(first, (3,), 0, 10)
    third, c = raw_random.normal(second, (2, 2), avg=1.0, std=2.0)
    fourth, d = raw_random.permutation(third, n=4)
    fifth, e = raw_random.binomial(fourth, (3,), n=5, p=0.3)
    sixth, m = raw_random.multinomial(fifth, (2,), n=3, pvals=[0.2, 0.3, 0.5])
    last, p = raw_random.poisson(sixth, (3,), lam=2.0)
    f = theano.function([], [a, b, c, d, e, m, p], updates=[(state, last)])
    return f() + f()


@program
def classes_of_indexing(theano, T):
    from theano.tensor import subtensor

    x, y, i = T.dmatrix(), T.dmatrix(), T.ivector()
    variables = [x[i], x[0], x[i, i], T.inc_subtensor(x[i], 1), T.set_subtensor(x[i, i], 1)]
    names = ("AdvancedSubtensor1", "AdvancedSubtensor", "AdvancedIncSubtensor1",
             "AdvancedIncSubtensor")  # fmt: skip
    kinds = [
        isinstance(v.owner.op, getattr(subtensor, name)) for v in variables for name in names
    ]  # fmt: skip
    found = [
        T.advanced_subtensor1(x, i), T.advanced_inc_subtensor1(x, y, i),
        T.advanced_set_subtensor1(x, y, i), T.grad((T.advanced_subtensor1(x, i) ** 2).sum(), x),
    ]  # fmt: skip
    return [*kinds, *called(theano, [x, y, i], found, A, A[:2] + 0.5, np.array([2, 0], "int32"))]


@program
def chosen_elements(theano, T):
    a, c = T.ivector(), T.dmatrix()
    kinds = [T.choose(a % 2, c), T.choose(a, c, mode="wrap"), T.choose(a, c, mode="clip")]
    return called(theano, [a, c], kinds, np.array([0, 1, 3, 2], "int32"), A[:2])
