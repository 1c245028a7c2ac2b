"""Programs as people wrote them for Theano: data in shared variables, givens, updates, scans."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import wengert.symbolic as theano
from wengert.symbolic import tensor as T
from wengert.symbolic.sandbox.rng_mrg import MRG_RandomStreams
from wengert.symbolic.tensor.nnet import conv2d
from wengert.symbolic.tensor.shared_randomstreams import RandomStreams
from wengert.symbolic.tensor.signal import pool

CLASSES, PIXELS = 4, 36


@pytest.fixture(autouse=True)
def single_precision() -> Any:
    with theano.config.change_flags(floatX="float32"):
        yield


def pictures(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.RandomState(seed)
    prototypes = np.random.RandomState(99).rand(CLASSES, PIXELS)
    y = rng.randint(0, CLASSES, count)
    x = (prototypes[y] + 0.3 * rng.randn(count, PIXELS)).clip(0, 1)
    return x.astype("float32"), y.astype("int32")


def as_shared(count: int, seed: int) -> tuple[Any, Any]:
    """Data as shared floats, of which the classes are cast back: once for the memory of GPUs."""
    x, y = pictures(count, seed)
    return (
        theano.shared(x, borrow=True),
        T.cast(theano.shared(y.astype(theano.config.floatX), borrow=True), "int32"),
    )


def weights(rng: Any, *shape: int) -> Any:
    bound = np.sqrt(6.0 / sum(shape[:2]))
    values = rng.uniform(-bound, bound, shape).astype(theano.config.floatX)
    return theano.shared(values, name="W", borrow=True)


class LogisticRegression:
    def __init__(self, input: Any, n_in: int, n_out: int) -> None:
        self.W = theano.shared(np.zeros((n_in, n_out), theano.config.floatX), "W", borrow=True)
        self.b = theano.shared(np.zeros((n_out,), theano.config.floatX), "b", borrow=True)
        self.p_y_given_x = T.nnet.softmax(T.dot(input, self.W) + self.b)
        self.y_pred = T.argmax(self.p_y_given_x, axis=1)
        self.params, self.input = [self.W, self.b], input

    def negative_log_likelihood(self, y: Any) -> Any:
        return -T.mean(T.log(self.p_y_given_x)[T.arange(y.shape[0]), y])

    def errors(self, y: Any) -> Any:
        if y.ndim != self.y_pred.ndim:
            raise TypeError("y should have the same shape as self.y_pred")
        return T.mean(T.neq(self.y_pred, y))


class Hidden:
    def __init__(self, rng: Any, input: Any, n_in: int, n_out: int, activation: Any) -> None:
        self.W, self.b = weights(rng, n_in, n_out), theano.shared(np.zeros(n_out, "float32"), "b")
        self.output = activation(T.dot(input, self.W) + self.b)
        self.params = [self.W, self.b]


def minibatch_training(
    x: Any, y: Any, cost: Any, errors: Any, params: list[Any], rate: float = 0.5
) -> float:
    """Epochs over givens, with early stopping; the best share of errors in validation."""
    train_x, train_y = as_shared(400, 1)
    valid_x, valid_y = as_shared(200, 2)
    index, size = T.lscalar(), 20
    gradients = T.grad(cost, params)
    updates = [(p, p - rate * g) for p, g in zip(params, gradients, strict=True)]
    here = slice(index * size, (index + 1) * size)
    train = theano.function(
        [index], cost, updates=updates, givens={x: train_x[here], y: train_y[here]}
    )
    validate = theano.function([index], errors, givens={x: valid_x[here], y: valid_y[here]})
    best, patience, epoch = np.inf, 3, 0
    while patience and epoch < 12:
        epoch += 1
        for k in range(train_x.get_value(borrow=True).shape[0] // size):
            assert np.isfinite(train(k))
        loss = np.mean([validate(k) for k in range(10)])
        patience = 3 if loss < best else patience - 1
        best = min(best, loss)
    return float(best)


def test_logistic_regression_is_trained_pickled_and_asked_again() -> None:
    x, y = T.matrix("x"), T.ivector("y")
    model = LogisticRegression(x, PIXELS, CLASSES)
    cost = model.negative_log_likelihood(y)
    assert minibatch_training(x, y, cost, model.errors(y), model.params) < 0.1
    again = pickle.loads(pickle.dumps(model))
    data, classes = pictures(50, 3)
    predict = theano.function([again.input], again.y_pred)
    assert (predict(data) == classes).mean() > 0.9
    same = pickle.loads(pickle.dumps(predict))
    np.testing.assert_array_equal(same(data), predict(data))


def test_multilayer_perceptron_with_regularisation() -> None:
    rng, x, y = np.random.RandomState(1234), T.matrix("x"), T.ivector("y")
    hidden = Hidden(rng, x, PIXELS, 20, T.tanh)
    last = LogisticRegression(hidden.output, 20, CLASSES)
    penalty = 1e-4 * (abs(hidden.W).sum() + (last.W**2).sum())
    cost = last.negative_log_likelihood(y) + penalty
    params = hidden.params + last.params
    assert minibatch_training(x, y, cost, last.errors(y), params, 0.3) < 0.1


def test_lenet() -> None:
    rng, x, y = np.random.RandomState(23455), T.matrix("x"), T.ivector("y")
    image = x.reshape((20, 1, 6, 6))
    w, b = weights(rng, 5, 1, 3, 3), theano.shared(np.zeros(5, "float32"))
    maps = conv2d(image, w, filter_shape=(5, 1, 3, 3), input_shape=(20, 1, 6, 6))
    pooled = pool.pool_2d(maps, ws=(2, 2), ignore_border=True)
    features = T.tanh(pooled + b.dimshuffle("x", 0, "x", "x")).flatten(2)
    hidden = Hidden(rng, features, 5 * 2 * 2, 16, T.tanh)
    last = LogisticRegression(hidden.output, 16, CLASSES)
    params = [w, b, *hidden.params, *last.params]
    cost = last.negative_log_likelihood(y)
    assert minibatch_training(x, y, cost, last.errors(y), params, 0.2) < 0.2


def test_denoising_autoencoder() -> None:
    rng, x = np.random.RandomState(0), T.matrix("x")
    stream = RandomStreams(rng.randint(2**30))
    w = weights(rng, PIXELS, 12)
    hidden_bias = theano.shared(np.zeros(12, "float32"))
    visible_bias = theano.shared(np.zeros(PIXELS, "float32"))
    corrupted = stream.binomial(size=x.shape, n=1, p=0.8, dtype=theano.config.floatX) * x
    code = T.nnet.sigmoid(T.dot(corrupted, w) + hidden_bias)
    z = T.nnet.sigmoid(T.dot(code, w.T) + visible_bias)
    cost = T.mean(-T.sum(x * T.log(z) + (1 - x) * T.log(1 - z), axis=1))
    params = [w, hidden_bias, visible_bias]
    updates = [(p, p - 0.5 * g) for p, g in zip(params, T.grad(cost, params), strict=True)]
    train = theano.function([x], cost, updates=updates)
    data, _ = pictures(200)
    costs = [train(data) for _ in range(60)]
    assert costs[-1] < costs[0] - 2
    assert len({float(c) for c in costs}) == 60


class RBM:
    """A restricted Boltzmann machine with contrastive divergence, as in the tutorial."""

    def __init__(self, x: Any) -> None:
        rng = np.random.RandomState(1)
        self.stream = RandomStreams(rng.randint(2**30))
        self.W = weights(rng, PIXELS, 10)
        self.hbias = theano.shared(np.zeros(10, "float32"), "hbias")
        self.vbias = theano.shared(np.zeros(PIXELS, "float32"), "vbias")
        self.input, self.params = x, [self.W, self.hbias, self.vbias]

    def free_energy(self, v: Any) -> Any:
        hidden = T.sum(T.log(1 + T.exp(T.dot(v, self.W) + self.hbias)), axis=1)
        return -hidden - T.dot(v, self.vbias)

    def sample(self, given: Any, w: Any, bias: Any) -> list[Any]:
        before = T.dot(given, w) + bias
        mean = T.nnet.sigmoid(before)
        drawn = self.stream.binomial(size=mean.shape, n=1, p=mean, dtype=theano.config.floatX)
        return [before, mean, drawn]

    def gibbs_hvh(self, h: Any) -> list[Any]:
        visible = self.sample(h, self.W.T, self.vbias)
        return visible + self.sample(visible[2], self.W, self.hbias)

    def cost_and_updates(self, rate: float, persistent: Any, k: int) -> tuple[Any, Any]:
        start = persistent or self.sample(self.input, self.W, self.hbias)[2]
        chain, updates = theano.scan(
            self.gibbs_hvh, outputs_info=[None, None, None, None, None, start], n_steps=k,
            name="gibbs_hvh",
        )  # fmt: skip
        end = chain[2][-1]
        cost = T.mean(self.free_energy(self.input)) - T.mean(self.free_energy(end))
        gradients = T.grad(cost, self.params, consider_constant=[end])
        for g, p in zip(gradients, self.params, strict=True):
            updates[p] = p - g * T.cast(rate, dtype=theano.config.floatX)
        if persistent:
            updates[persistent] = chain[5][-1]
        bit = T.round(self.input)
        error = -T.mean(T.sum(bit * T.log(chain[1][-1]) + (1 - bit) * T.log(1 - chain[1][-1]), 1))
        return error, updates


@pytest.mark.parametrize("persistent", [False, True])
def test_restricted_boltzmann_machine(persistent: bool) -> None:
    x = T.matrix("x")
    machine = RBM(x)
    chain = theano.shared(np.zeros((100, 10), "float32"), borrow=True) if persistent else None
    error, updates = machine.cost_and_updates(0.1, chain, k=3)
    train = theano.function([x], error, updates=updates, name="train_rbm")
    prototypes = np.random.RandomState(7).rand(CLASSES, PIXELS) > 0.5
    data = prototypes[pictures(100)[1]].astype("float32")
    energy = theano.function([x], T.mean(machine.free_energy(x)))
    noise = np.random.RandomState(5).randint(0, 2, data.shape).astype("float32")
    errors = [float(train(data)) for _ in range(60)]
    assert energy(data) < energy(noise) - 2
    if chain is None:
        assert np.mean(errors[-5:]) < np.mean(errors[:5]) - 2
    else:
        assert set(np.unique(chain.get_value())) <= {0.0, 1.0}


def lstm_step(m_t: Any, x_t: Any, h: Any, c: Any, u: Any) -> list[Any]:
    gates = T.dot(h, u) + x_t
    i, f, o, g = (gates[:, 8 * k : 8 * (k + 1)] for k in range(4))
    new = T.nnet.sigmoid(f) * c + T.nnet.sigmoid(i) * T.tanh(g)
    new = m_t[:, None] * new + (1.0 - m_t)[:, None] * c
    out = T.nnet.sigmoid(o) * T.tanh(new)
    return [m_t[:, None] * out + (1.0 - m_t)[:, None] * h, new]


def adadelta(params: list[Any], gradients: list[Any]) -> tuple[list[Any], list[Any]]:
    """The updates before a step, and those of the step."""
    zeros = [p.get_value() * np.float32(0) for p in params]
    kept = [theano.shared(z) for z in zeros]
    steps = [theano.shared(z) for z in zeros]
    squares = [theano.shared(z) for z in zeros]
    first = list(zip(kept, gradients, strict=True))
    first += [(s, 0.95 * s + 0.05 * g**2) for s, g in zip(squares, gradients, strict=True)]
    moves = [
        -T.sqrt(d + 1e-6) / T.sqrt(s + 1e-6) * g
        for g, d, s in zip(kept, steps, squares, strict=True)
    ]
    second = [(d, 0.95 * d + 0.05 * m**2) for d, m in zip(steps, moves, strict=True)]
    return first, second + [(p, p + 10 * m) for p, m in zip(params, moves, strict=True)]


def test_lstm_with_masks_and_dropout() -> None:
    rng = np.random.RandomState(3)
    x, mask, y = T.matrix("x", dtype="int64"), T.matrix("mask"), T.vector("y", dtype="int64")
    words, w, u = weights(rng, 12, 8), weights(rng, 8, 32), weights(rng, 8, 32)
    last, noise = weights(rng, 8, 2), theano.shared(np.float32(1.0))
    params = [words, w, u, last]
    steps, samples = x.shape[0], x.shape[1]
    embedded = words[x.flatten()].reshape([steps, samples, 8])
    start = T.alloc(np.float32(0.0), samples, 8)
    (h, _), _ = theano.scan(
        lstm_step, sequences=[mask, T.dot(embedded, w)], outputs_info=[start, start],
        non_sequences=[u], n_steps=steps, strict=True,
    )  # fmt: skip
    pooled = (h * mask[:, :, None]).sum(axis=0) / mask.sum(axis=0)[:, None]
    stream = MRG_RandomStreams(123)
    dropped = T.switch(
        noise, pooled * stream.binomial(pooled.shape, p=0.8, n=1, dtype="float32"), pooled * 0.8
    )
    p = T.nnet.softmax(T.dot(dropped, last))
    cost = -T.log(p[T.arange(samples), y] + 1e-8).mean()
    before, step = adadelta(params, T.grad(cost, wrt=params))
    share = theano.function([x, mask, y], cost, updates=before, name="adadelta_f_grad_shared")
    update = theano.function([], updates=step, on_unused_input="ignore")
    tokens = rng.randint(0, 12, (7, 64))
    lengths = rng.randint(3, 8, 64)
    masks = (np.arange(7)[:, None] < lengths).astype("float32")
    classes = ((tokens == 5) * masks).any(0).astype("int64")
    costs = []
    for _ in range(60):
        costs.append(float(share(tokens, masks, classes)))
        assert update() == []
    assert costs[-1] < 0.5 * costs[0]
    noise.set_value(np.float32(0.0))
    predict = theano.function([x, mask], p.argmax(axis=1))
    assert (predict(tokens, masks) == classes).mean() > 0.85


def test_recurrent_network_with_momentum_and_clipping() -> None:
    rng = np.random.RandomState(0)
    x, target = T.matrix(), T.matrix()
    wx, wh, wy = weights(rng, 1, 6), weights(rng, 6, 6), weights(rng, 6, 1)
    h0, params = theano.shared(np.zeros(6, "float32")), [wx, wh, wy]

    def step(x_t: Any, h: Any) -> Any:
        h = theano.gradient.grad_clip(T.tanh(T.dot(x_t, wx) + T.dot(h, wh)), -1, 1)
        return h, T.dot(h, wy)

    (_, out), _ = theano.scan(step, sequences=x, outputs_info=[h0, None], truncate_gradient=5)
    cost = ((out - target) ** 2).mean()
    updates = OrderedDict()
    for p, g in zip(params, T.grad(cost, params), strict=True):
        velocity = theano.shared(p.get_value() * np.float32(0))
        updates[velocity] = 0.9 * velocity - 0.05 * g
        updates[p] = p + updates[velocity]
    train = theano.function([x, target], cost, updates=updates, allow_input_downcast=True)
    wave = np.sin(np.arange(41) / 3.0)[:, None]
    costs = [float(train(wave[:-1], wave[1:])) for _ in range(150)]
    assert costs[-1] < 0.1 * costs[0]
