"""Three tasks over one trunk, and three ways to train them.

From a noisy picture of a digit, one head says which digit it is, one where the middle of its ink
is, one how much ink there is, in the units in which it was measured: the last loss is hundreds of
times the first.

summed      the losses are added; one backward
sequential  a backward for each loss, with `retain_graph=True` for all but the last, because they
            share the graph of the trunk: the same gradients, as the script checks
balanced    each loss is divided by the norm of its gradient in the last layer that the tasks
            share, found by `torch.autograd.grad` in the same graph, so that all pull equally hard

    python multitask.py
"""

import argparse
import copy

import torch
from sklearn.datasets import load_digits
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

SIDE = 8
NOISE = 0.2
TASKS = ("digit", "middle", "ink")


class Multitask(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(1, 16, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(16 * (SIDE // 2) ** 2, width),
            nn.ReLU(),
        )
        outputs = {"digit": 10, "middle": 2, "ink": 1}
        self.heads = nn.ModuleDict({task: nn.Linear(width, n) for task, n in outputs.items()})

    def forward(self, pictures):
        features = self.trunk(pictures)
        return {task: head(features) for task, head in self.heads.items()}


def dataset():
    """Noisy pictures (N, 1, 8, 8), digits (N,), middles (N, 2) and ink (N, 1) off their means."""
    ink, digits = load_digits(return_X_y=True)
    ink = torch.tensor(ink, dtype=torch.float32).reshape(-1, SIDE, SIDE)
    amount = ink.sum(dim=(1, 2))
    places = torch.arange(SIDE, dtype=torch.float32)
    row = (ink.sum(dim=2) @ places) / amount
    column = (ink.sum(dim=1) @ places) / amount
    pictures = ink[:, None] / 16
    pictures = pictures + NOISE * torch.randn_like(pictures)
    middles = torch.stack([row, column], dim=1)
    middles, amount = middles - middles.mean(dim=0), amount - amount.mean()
    return TensorDataset(pictures, torch.tensor(digits), middles, amount[:, None])


def losses_of(model, pictures, digits, middles, ink):
    """The loss of each task."""
    answers = model(pictures)
    return {
        "digit": F.cross_entropy(answers["digit"], digits),
        "middle": F.mse_loss(answers["middle"], middles),
        "ink": F.mse_loss(answers["ink"], ink),
    }


def summed(model, losses):
    sum(losses.values()).backward()


def sequential(model, losses):
    *first, last = losses.values()
    for loss in first:
        loss.backward(retain_graph=True)
    last.backward()


def balanced(model, losses):
    """Each loss over the norm of its gradient in the trunk's last layer: equal pulls."""
    shared = model.trunk[-2].weight
    total = 0
    for loss in losses.values():
        (gradient,) = torch.autograd.grad(loss, shared, retain_graph=True)
        total = total + loss / gradient.norm()
    total.backward()


METHODS = (summed, sequential, balanced)


def make_step(model, backward, learning_rate=3e-3):
    """A function that takes a step of training and returns the losses."""
    optimizer = optim.Adam(model.parameters(), lr=learning_rate)

    def step(batch):
        losses = losses_of(model, *batch)
        optimizer.zero_grad()
        backward(model, losses)
        optimizer.step()
        return torch.stack([loss.detach() for loss in losses.values()])

    return step


def gradients(model, backward, batch):
    """The gradients of the trunk, as one vector."""
    model.zero_grad()
    backward(model, losses_of(model, *batch))
    return torch.cat([parameter.grad.flatten() for parameter in model.trunk.parameters()])


@torch.no_grad()
def evaluate(model, examples):
    """The share of right digits, and the root mean squared errors of middle and ink."""
    pictures, digits, middles, ink = examples[:]
    answers = model(pictures)
    right = (answers["digit"].argmax(dim=1) == digits).float().mean()
    middle = F.mse_loss(answers["middle"], middles).sqrt()
    amount = F.mse_loss(answers["ink"], ink).sqrt()
    return right.item(), middle.item(), amount.item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    torch.manual_seed(arguments.seed)
    examples = dataset()
    train_set, test_set = torch.utils.data.random_split(examples, [0.8, 0.2])
    first = Multitask(arguments.width)
    models = {method: copy.deepcopy(first) for method in METHODS}

    batch = next(iter(DataLoader(train_set, arguments.batch)))
    together, in_turn = (gradients(first, method, batch) for method in (summed, sequential))
    difference = (together - in_turn).norm() / together.norm()
    print(f"gradients of the trunk, summed and sequential: relative difference {difference:.1e}")

    steps = [make_step(model, method) for method, model in models.items()]
    print("     " + "".join(f"{method.__name__:>28}" for method in METHODS))
    print("epoch" + f"{'digit':>11}{'middle':>8}{'ink':>9}" * len(METHODS))
    for epoch in range(1, arguments.epochs + 1):
        totals = torch.zeros(len(METHODS), len(TASKS))
        batches = DataLoader(train_set, arguments.batch, shuffle=True)
        for batch in batches:
            for total, step in zip(totals, steps, strict=True):
                total += step(batch)
        means = totals / len(batches)
        columns = [f"{digit:11.3f}{middle:8.3f}{ink:9.1f}" for digit, middle, ink in means]
        print(f"{epoch:5}" + "".join(columns))

    print("on pictures not seen:")
    for method, model in models.items():
        right, middle, ink = evaluate(model, test_set)
        print(f"{method.__name__:>10}: {right:.1%} of digits right, middle to {middle:.2f} pixels, "
              f"ink to {ink:.1f}")  # fmt: skip


if __name__ == "__main__":
    main()
