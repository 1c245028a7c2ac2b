"""Newton's method finds the springs of a chain from a noisy record of how it swings.

Weights hang between walls on springs of unknown stiffness, in a fluid of unknown friction. The
simulation is differentiable; the parameters that explain the record solve a least-squares
problem. Each Newton step solves H d = -g by conjugate gradients, which only need products of the
Hessian H with vectors: a gradient of a gradient (double backward), checked here against the
derivative of the gradient along the vector (forward over reverse). Prints the residual by
iteration, and the parameters that were found.

    python physics.py
"""

import argparse
import math

import torch
from torch.nn import functional as F

TIME_STEP = 0.05
STIFFENING = 0.5  # how much harder a spring pulls per squared extension


def simulate(parameters, start, steps):
    """The positions of all weights after each step, (steps, weights), all at rest at first.

    The parameters are logarithms: of each spring's stiffness, then of the friction.
    """
    stiffness, friction = parameters[:-1].exp(), parameters[-1].exp()
    kept = torch.exp(-friction * TIME_STEP)
    position, velocity = start, torch.zeros_like(start)
    positions = []
    for _ in range(steps):
        stretch = F.pad(position, (1, 1)).diff()
        pull = stiffness * stretch * (1 + STIFFENING * stretch**2)
        velocity = kept * (velocity + TIME_STEP * pull.diff())
        position = position + TIME_STEP * velocity
        positions.append(position)
    return torch.stack(positions)


class Experiment:
    """A chain with stiffnesses drawn at random, and a noisy record of its motion."""

    def __init__(self, weights=6, steps=160, noise=0.02):
        self.steps = steps
        self.start = torch.randn(weights, dtype=torch.float64)
        stiffness = torch.empty(weights + 1, dtype=torch.float64).uniform_(0.5, 2.0)
        friction = torch.tensor([0.1], dtype=torch.float64)
        self.truth = torch.cat([stiffness, friction]).log()
        motion = simulate(self.truth, self.start, steps)
        self.record = motion + noise * torch.randn_like(motion)

    def guess(self):
        """Springs all alike, and more friction than there is."""
        guess = torch.zeros_like(self.truth)
        guess[-1] = math.log(0.3)
        return guess

    def loss(self, parameters):
        """Half the mean squared difference between the simulation and the record."""
        motion = simulate(parameters, self.start, self.steps)
        return 0.5 * (motion - self.record).square().mean()


def gradient_and_curvature(loss, parameters):
    """The loss, its gradient and the function v -> H v, by double backward."""
    parameters = parameters.detach().requires_grad_()
    value = loss(parameters)
    (gradient,) = torch.autograd.grad(value, parameters, create_graph=True)

    def curvature(vector):
        (product,) = torch.autograd.grad(gradient, parameters, vector, retain_graph=True)
        return product

    return value.detach(), gradient.detach(), curvature


def forward_over_reverse(loss, parameters, vector):
    """H v as the derivative of the gradient in the direction of v."""
    _, product = torch.func.jvp(torch.func.grad(loss), (parameters,), (vector,))
    return product


def conjugate_gradients(curvature, gradient):
    """A direction d with H d = -g, roughly: the closer to the solution, the more precisely.

    Stops where the curvature is negative: what has been gathered so far leads downhill.
    """
    tolerance = min(0.5, gradient.norm().sqrt().item()) * gradient.norm()
    solution = torch.zeros_like(gradient)
    residual = -gradient
    direction = residual
    for iteration in range(2 * len(gradient)):
        product = curvature(direction)
        bend = direction @ product
        if bend <= 0:
            return (residual if iteration == 0 else solution), iteration + 1
        length = residual @ residual / bend
        solution = solution + length * direction
        remaining = residual - length * product
        if remaining.norm() <= tolerance:
            break
        direction = remaining + (remaining @ remaining) / (residual @ residual) * direction
        residual = remaining
    return solution, iteration + 1


def line_search(loss, parameters, value, slope, direction):
    """The first of 1, 1/2, 1/4, ... by which a step lowers the loss as it promises."""
    length = 1.0
    while loss(parameters + length * direction) > value + 1e-4 * length * slope and length > 1e-6:
        length /= 2
    return length


def make_step(loss, parameters):
    """A function that takes a Newton step.

    It returns the new parameters; of the old ones, the loss and the norm of its gradient; the
    number of Hessian-vector products, and how far along the direction it went.
    """

    def step():
        nonlocal parameters
        value, gradient, curvature = gradient_and_curvature(loss, parameters)
        direction, products = conjugate_gradients(curvature, gradient)
        with torch.no_grad():
            length = line_search(loss, parameters, value, gradient @ direction, direction)
            parameters = parameters + length * direction
        return parameters, value, gradient.norm(), products, length

    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--weights", type=int, default=6)
    parser.add_argument("--steps", type=int, default=15, help="of Newton's method, at most")
    parser.add_argument("--length", type=int, default=160, help="time steps of the record")
    parser.add_argument("--noise", type=float, default=0.02)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    torch.manual_seed(arguments.seed)
    experiment = Experiment(arguments.weights, arguments.length, arguments.noise)
    parameters = experiment.guess()

    vector = torch.randn_like(parameters)
    _, _, curvature = gradient_and_curvature(experiment.loss, parameters)
    forward = forward_over_reverse(experiment.loss, parameters, vector)
    difference = (curvature(vector) - forward).norm() / forward.norm()
    print(
        f"H v by double backward and by forward over reverse: relative difference {difference:.1e}"
    )

    step = make_step(experiment.loss, parameters)
    for count in range(1, arguments.steps + 1):
        parameters, loss, slope, products, length = step()
        print(f"iteration {count:2}: residual {(2 * loss).sqrt():.6f}, gradient {slope:.1e}, "
              f"{products:2} products H v, length {length:g}")  # fmt: skip
        if slope < 1e-9:
            break

    print("spring     found   truth")
    found, truth = parameters.exp().tolist(), experiment.truth.exp().tolist()
    for number, (ours, right) in enumerate(zip(found[:-1], truth[:-1], strict=True), start=1):
        print(f"{number:6}  {ours:8.4f}{right:8.4f}")
    print(f"friction{found[-1]:8.4f}{truth[-1]:8.4f}")


if __name__ == "__main__":
    main()
