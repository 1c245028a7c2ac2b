"""A program for Theano: eight gradients of one cost, in one call and in eight.

A network of sigmoid layers; the gradients of its weights and biases are taken jointly and one by
one. Both functions compute the same graph, so both take the same time.

    wengert run --as theano theano_gradients.py
    wengert run --as theano theano_gradients.py --layers 16384 5000 3000 512 40 --rounds 3
"""

import argparse
import timeit
from itertools import pairwise

import numpy as np
import theano
import theano.tensor as T

theano.config.floatX = "float32"


def layer(rng, inputs, outputs):
    """Weights and biases, as suits sigmoid units."""
    bound = 4 * np.sqrt(6.0 / (inputs + outputs))
    weights = rng.uniform(-bound, bound, (inputs, outputs)).astype(theano.config.floatX)
    biases = np.zeros(outputs, theano.config.floatX)
    return theano.shared(weights, borrow=True), theano.shared(biases, borrow=True)


def network(x, sizes, seed=0):
    """Scores, and the parameters they depend on."""
    rng = np.random.RandomState(seed)
    parameters, hidden = [], x
    for inputs, outputs in pairwise(sizes):
        weights, biases = layer(rng, inputs, outputs)
        parameters += [weights, biases]
        scores = T.dot(hidden, weights) + biases
        hidden = T.nnet.sigmoid(scores)
    return scores, parameters


def build(sizes):
    """Functions of a batch: all gradients by one call of `grad`, by eight, and a step."""
    x, labels = T.matrix("x"), T.ivector("labels")
    scores, parameters = network(x, sizes)
    cost = T.nnet.categorical_crossentropy(T.nnet.softmax(scores), labels).mean()
    joint = T.grad(cost, parameters)
    separate = [T.grad(cost, p) for p in parameters]
    updates = [(p, p - 0.5 * g) for p, g in zip(parameters, joint, strict=True)]
    return (
        theano.function([x, labels], [cost, *joint]),
        theano.function([x, labels], [cost, *separate]),
        theano.function([x, labels], cost, updates=updates),
    )


def seconds(function, *values, rounds):
    """The shortest time of a call."""
    return min(timeit.repeat(lambda: function(*values), number=1, repeat=rounds))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--layers", type=int, nargs="+", default=[1024, 512, 256, 128, 40])
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--steps", type=int, default=50)
    arguments = parser.parse_args()

    joint, separate, step = build(arguments.layers)
    rng = np.random.RandomState(1)
    x = rng.randn(arguments.batch, arguments.layers[0]).astype(theano.config.floatX)
    labels = rng.randint(0, arguments.layers[-1], arguments.batch).astype("int32")
    pairs = zip(joint(x, labels), separate(x, labels), strict=True)
    print("largest difference", max(abs(a - b).max() for a, b in pairs))
    nodes = [len(f.maker.fgraph.toposort()) for f in (joint, separate)]
    print(f"operations in one call {nodes[0]}, one by one {nodes[1]}")
    together = seconds(joint, x, labels, rounds=arguments.rounds)
    apart = seconds(separate, x, labels, rounds=arguments.rounds)
    print(f"in one call {together * 1e3:.1f} ms, one by one {apart * 1e3:.1f} ms")
    costs = [float(step(x, labels)) for _ in range(arguments.steps)]
    print(f"cost {costs[0]:.4f}, after {len(costs)} steps: cost {costs[-1]:.4f}")


if __name__ == "__main__":
    main()
