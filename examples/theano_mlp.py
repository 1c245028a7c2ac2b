"""A network as people wrote it for Theano: parameters, a cost, its gradients, a list of updates.

Layers of sigmoid units learn to tell noisy pictures of 40 things apart. The gradients of all
parameters come from one call, `torch.autograd.grad(cost, parameters)`. The same gradients,
asked for parameter by parameter, need a walk through the graph each: the script checks that they
are equal and times both.

    python theano_mlp.py
    python theano_mlp.py --layers 16384 5000 3000 512 40 --steps 5    # 1.5 GB
"""

import argparse
import math
from itertools import pairwise
from time import perf_counter

import torch
from torch.nn import functional as F


def initial(inputs, outputs):
    """Weights and biases of a layer."""
    bound = 4 * math.sqrt(6 / (inputs + outputs))  # as suits sigmoid units
    weights = torch.empty(inputs, outputs).uniform_(-bound, bound)
    return weights.requires_grad_(), torch.zeros(outputs, requires_grad=True)


def network(layers):
    """The parameters of all layers: weights, biases, weights, biases, ..."""
    return [tensor for shape in pairwise(layers) for tensor in initial(*shape)]


def scores_of(parameters, x):
    *hidden, last_weights, last_biases = parameters
    for weights, biases in zip(hidden[::2], hidden[1::2], strict=True):
        x = torch.sigmoid(x @ weights + biases)
    return x @ last_weights + last_biases


def cost_of(parameters, x, labels):
    return F.cross_entropy(scores_of(parameters, x), labels)


def joint_gradients(cost, parameters, retain_graph=False):
    """The gradients of all parameters by one walk through the graph."""
    return torch.autograd.grad(cost, parameters, retain_graph=retain_graph)


def separate_gradients(cost, parameters):
    """The same gradients by one walk for each."""
    gradients = []
    for position, parameter in enumerate(parameters, start=1):
        more = position < len(parameters)
        gradients += torch.autograd.grad(cost, parameter, retain_graph=more)
    return gradients


@torch.no_grad()
def apply_updates(updates):
    for parameter, new in updates:
        parameter.copy_(new)


class Pictures:
    """Each class is a random picture; a sample is it with twice as much noise."""

    def __init__(self, pixels, classes):
        self.clean = torch.randn(classes, pixels)

    def batch(self, size):
        labels = torch.randint(len(self.clean), (size,))
        noise = torch.randn(size, self.clean.shape[1])
        return self.clean[labels] + 2 * noise, labels


def make_step(parameters, pictures, batch=64, learning_rate=0.5):
    """A function that takes a step of training and returns the cost."""

    def step():
        x, labels = pictures.batch(batch)
        cost = cost_of(parameters, x, labels)
        gradients = joint_gradients(cost, parameters)
        updates = [
            (parameter, parameter - learning_rate * gradient)
            for parameter, gradient in zip(parameters, gradients, strict=True)
        ]
        apply_updates(updates)
        return cost

    return step


def compare(parameters, pictures, batch, rounds):
    """The largest difference between joint and separate gradients; the seconds of both."""
    difference, joint_time, separate_time = 0.0, math.inf, math.inf
    for _ in range(rounds):
        cost = cost_of(parameters, *pictures.batch(batch))
        start = perf_counter()
        joint = joint_gradients(cost, parameters, retain_graph=True)
        middle = perf_counter()
        separate = separate_gradients(cost, parameters)
        end = perf_counter()
        joint_time = min(joint_time, middle - start)
        separate_time = min(separate_time, end - middle)
        for one, other in zip(joint, separate, strict=True):
            difference = max(difference, (one - other).abs().max().item())
    return difference, joint_time, separate_time


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--layers", type=int, nargs="+", default=[1024, 512, 256, 128, 40])
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5, help="how often to time the gradients")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    torch.manual_seed(arguments.seed)
    parameters = network(arguments.layers)
    pictures = Pictures(pixels=arguments.layers[0], classes=arguments.layers[-1])
    print(f"{len(parameters)} parameters, {sum(p.numel() for p in parameters):,} numbers")

    difference, joint, separate = compare(parameters, pictures, arguments.batch, arguments.rounds)
    print(f"gradients in one call: {joint * 1e3:.1f} ms, one by one: {separate * 1e3:.1f} ms "
          f"({separate / joint:.1f} times), largest difference {difference:.1g}")  # fmt: skip

    step = make_step(parameters, pictures, arguments.batch)
    for count in range(1, arguments.steps + 1):
        cost = step().item()
        if count == 1 or count % 20 == 0:
            print(f"step {count:4}: cost {cost:.4f}")

    x, labels = pictures.batch(1000)
    hits = (scores_of(parameters, x).argmax(dim=1) == labels).sum().item()
    print(f"new pictures: {hits / 1000:.1%} right")


if __name__ == "__main__":
    main()
