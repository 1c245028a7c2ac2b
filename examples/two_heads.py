"""One trunk, two heads: which digit is it, and is it odd?

Three convolutions feed two heads of three linear layers each. Every step backpropagates the
first loss with `retain_graph=True`, because the second loss goes through the same trunk, then
the second loss, and then updates all weights. Learns the 1,797 digits of scikit-learn.

    python two_heads.py
"""

import argparse
import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset
from tqdm import tqdm

REQUIRED_ACCURACY = 0.97


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(
            *convolution(1, 16),
            *convolution(16, 32),
            nn.MaxPool2d(2),
            *convolution(32, 64),
            nn.MaxPool2d(2),
            nn.Flatten(),
        )
        self.digit = head(64 * 2 * 2, 10)
        self.odd = head(64 * 2 * 2, 2)

    def forward(self, images):
        features = self.trunk(images)
        return self.digit(features), self.odd(features)


def convolution(channels_in, channels_out):
    return (
        nn.Conv2d(channels_in, channels_out, kernel_size=3, padding=1),
        nn.BatchNorm2d(channels_out),
        nn.ReLU(),
    )


def head(features, classes):
    return nn.Sequential(
        nn.Linear(features, 64),
        nn.ReLU(),
        nn.Linear(64, 32),
        nn.ReLU(),
        nn.Linear(32, classes),
    )


def digits():
    """Training and test set: images (N, 1, 8, 8) in 0..1, digits (N,), odd or not (N,)."""
    images, labels = load_digits(return_X_y=True)
    split = train_test_split(images, labels, test_size=0.2, stratify=labels, random_state=0)
    train_images, test_images, train_labels, test_labels = split
    return as_dataset(train_images, train_labels), as_dataset(test_images, test_labels)


def as_dataset(images, labels):
    images = torch.tensor(images, dtype=torch.float32).reshape(-1, 1, 8, 8) / 16
    labels = torch.tensor(labels, dtype=torch.int64)
    return TensorDataset(images, labels, labels % 2)


def train(model, dataset, epochs):
    loader = DataLoader(dataset, batch_size=32, shuffle=True)
    optimizer = optim.Adam(model.parameters(), lr=3e-3)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs * len(loader))
    criterion = nn.CrossEntropyLoss()
    model.train()
    for epoch in range(1, epochs + 1):
        progress = tqdm(loader, desc=f"epoch {epoch}/{epochs}")
        for images, labels, odd in progress:
            digit_scores, odd_scores = model(images)
            digit_loss = criterion(digit_scores, labels)
            odd_loss = criterion(odd_scores, odd)

            optimizer.zero_grad()
            digit_loss.backward(retain_graph=True)
            odd_loss.backward()
            optimizer.step()
            schedule.step()
            progress.set_postfix(digit=f"{digit_loss.item():.3f}", odd=f"{odd_loss.item():.3f}")


@torch.no_grad()
def accuracy(model, dataset):
    """The share of right answers of each head."""
    model.eval()
    digit_hits = odd_hits = 0
    for images, labels, odd in DataLoader(dataset, batch_size=256):
        digit_scores, odd_scores = model(images)
        digit_hits += (digit_scores.argmax(dim=1) == labels).sum().item()
        odd_hits += (odd_scores.argmax(dim=1) == odd).sum().item()
    return digit_hits / len(dataset), odd_hits / len(dataset)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    torch.manual_seed(arguments.seed)
    train_set, test_set = digits()
    model = TwoHeads()
    train(model, train_set, arguments.epochs)

    digit, odd = accuracy(model, test_set)
    print(f"test accuracy: digit {digit:.1%}, odd {odd:.1%}")
    if digit < REQUIRED_ACCURACY:
        sys.exit(f"expected a digit accuracy of at least {REQUIRED_ACCURACY:.0%}")


if __name__ == "__main__":
    main()
