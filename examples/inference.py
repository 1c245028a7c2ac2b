"""Serving a trained network: save it, load it, and see how many images a second it classifies.

Trains a small convolutional network on scikit-learn's digits and saves its weights. A second
network, built anew, loads them with `weights_only=True`, which runs no code from the file. It
classifies the digits under `torch.inference_mode()`, in batches of several sizes and with several
numbers of threads.

    python inference.py
    python inference.py --weights digits.pt     # keep the file, and use it the next time
"""

import argparse
import os
import tempfile
import time
from itertools import chain, repeat

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset


class Classifier(nn.Module):
    def __init__(self, channels=16):
        super().__init__()
        self.features = nn.Sequential(
            *block(1, channels),
            *block(channels, 2 * channels),
            nn.MaxPool2d(2),
            *block(2 * channels, 2 * channels),
            nn.AdaptiveAvgPool2d(2),
        )
        self.scores = nn.Linear(2 * channels * 2 * 2, 10)

    def forward(self, images):
        return self.scores(self.features(images).flatten(start_dim=1))


def block(channels_in, channels_out):
    return (
        nn.Conv2d(channels_in, channels_out, kernel_size=3, padding=1, bias=False),
        nn.BatchNorm2d(channels_out),
        nn.ReLU(),
    )


def digits():
    """Training and test set: images (N, 1, 8, 8) in 0..1, digits (N,)."""
    images, labels = load_digits(return_X_y=True)
    images = torch.tensor(images, dtype=torch.float32).reshape(-1, 1, 8, 8) / 16
    labels = torch.tensor(labels, dtype=torch.int64)
    split = train_test_split(images, labels, test_size=0.2, stratify=labels, random_state=0)
    train_images, test_images, train_labels, test_labels = split
    return TensorDataset(train_images, train_labels), TensorDataset(test_images, test_labels)


def make_step(model, lr=3e-3):
    """A function that trains the model on a batch and returns the loss."""
    optimizer = optim.Adam(model.parameters(), lr=lr)
    criterion = nn.CrossEntropyLoss()

    def step(images, labels):
        loss = criterion(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def train(model, dataset, epochs):
    loader = DataLoader(dataset, batch_size=64, shuffle=True)
    step = make_step(model)
    model.train()
    for epoch in range(1, epochs + 1):
        total = sum(step(images, labels).item() for images, labels in loader)
        print(f"epoch {epoch}: loss {total / len(loader):.4f}")


def load(path):
    """The network in a file, ready for use."""
    model = Classifier()
    model.load_state_dict(torch.load(path, weights_only=True))
    return model.eval()


@torch.inference_mode()
def accuracy(model, dataset):
    hits = sum(
        (model(images).argmax(dim=1) == labels).sum().item()
        for images, labels in DataLoader(dataset, batch_size=256)
    )
    return hits / len(dataset)


@torch.inference_mode()
def images_per_second(model, dataset, batch, seconds):
    """The throughput in this many seconds, over and over the same dataset."""
    loader = DataLoader(dataset, batch_size=batch)
    count = 0
    start = time.perf_counter()
    for images, _ in chain.from_iterable(repeat(loader)):
        model(images).argmax(dim=1)
        count += len(images)
        passed = time.perf_counter() - start
        if passed > seconds:
            return count / passed


def measure(model, dataset, threads, batches, seconds):
    """Print a table: a line for each size of batches, a column for each number of threads."""
    print("images a second".ljust(18) + "".join(f"{n:>4} thread{'s' * (n > 1)}" for n in threads))
    for batch in batches:
        line = f"batches of {batch}".ljust(18)
        for n in threads:
            torch.set_num_threads(n)
            line += f"{images_per_second(model, dataset, batch, seconds):>11,.0f}"
        print(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--weights", help="a file to load, or to save if it does not exist yet")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8, 64, 256])
    parser.add_argument("--seconds", type=float, default=0.5, help="for each measurement")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    torch.manual_seed(arguments.seed)
    train_set, test_set = digits()
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.weights or os.path.join(folder, "digits.pt")
        if not os.path.exists(path):
            model = Classifier()
            train(model, train_set, arguments.epochs)
            torch.save(model.state_dict(), path)
        print(f"{os.path.basename(path)}: {os.path.getsize(path):,} bytes")
        model = load(path)
    print(f"test accuracy: {accuracy(model, test_set):.1%}")
    measure(model, test_set, arguments.threads, arguments.batches, arguments.seconds)


if __name__ == "__main__":
    main()
