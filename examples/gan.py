"""A GAN that learns to draw scikit-learn's digits.

The two networks train against each other, so each step has to keep the gradient of one out of
the other. The discriminator's step cuts the graph with `fake.detach()`. The generator's step has
to go through the discriminator, whose weights it freezes with `requires_grad_(False)`: then
nothing is computed for them.

A classifier of real digits says how good the samples are. The score is the "inception score"
with that classifier: 1 for the same digit over and over, 10 for all ten of them, each beyond doubt.

    python gan.py
"""

import argparse

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

PIXELS = 8 * 8
NOISE = 32


class Generator(nn.Sequential):
    def __init__(self, width=256):
        super().__init__(
            nn.Linear(NOISE, width, bias=False),
            nn.BatchNorm1d(width),
            nn.ReLU(),
            nn.Linear(width, width, bias=False),
            nn.BatchNorm1d(width),
            nn.ReLU(),
            nn.Linear(width, PIXELS),
            nn.Tanh(),
        )


class Discriminator(nn.Sequential):
    def __init__(self, width=256):
        super().__init__(
            nn.Linear(PIXELS, width),
            nn.LeakyReLU(0.2),
            nn.Dropout(0.3),
            nn.Linear(width, width),
            nn.LeakyReLU(0.2),
            nn.Dropout(0.3),
            nn.Linear(width, 1),
        )


def digits():
    """Images (N, 64) in -1..1, as the generator's Tanh gives them, and labels (N,)."""
    images, labels = load_digits(return_X_y=True)
    images = torch.tensor(images, dtype=torch.float32) / 8 - 1
    return images, torch.tensor(labels, dtype=torch.int64)


def make_step(generator, discriminator, lr=1e-3):
    """A function that trains both networks on a batch of real images and returns both losses."""
    generator_optimizer = optim.Adam(generator.parameters(), lr=lr, betas=(0.5, 0.999))
    discriminator_optimizer = optim.Adam(discriminator.parameters(), lr=lr, betas=(0.5, 0.999))
    criterion = nn.BCEWithLogitsLoss()

    def step(real):
        ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)
        fake = generator(torch.randn(len(real), NOISE))

        # Tell real from fake; the graph of the generator stays as it is for its own step.
        real_loss = criterion(discriminator(real), 0.9 * ones)
        fake_loss = criterion(discriminator(fake.detach()), zeros)
        discriminator_loss = (real_loss + fake_loss) / 2
        discriminator_optimizer.zero_grad()
        discriminator_loss.backward()
        discriminator_optimizer.step()

        # Fool the discriminator, through its weights and without gradients for them.
        discriminator.requires_grad_(False)
        generator_loss = criterion(discriminator(fake), ones)
        generator_optimizer.zero_grad()
        generator_loss.backward()
        generator_optimizer.step()
        discriminator.requires_grad_(True)
        return discriminator_loss, generator_loss

    return step


def train_classifier(images, labels, steps=300):
    """A network that knows real digits, frozen."""
    model = nn.Sequential(nn.Linear(PIXELS, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        batch = torch.randint(len(images), (128,))
        loss = F.cross_entropy(model(images[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.requires_grad_(False).eval()


def score(classifier, images):
    """How sure the classifier is of each image, and how much the images differ: 1 to 10."""
    log_p = F.log_softmax(classifier(images), dim=1)
    p = log_p.exp()
    overall = p.mean(dim=0)
    return (p * (log_p - overall.log())).sum(dim=1).mean().exp().item()


@torch.no_grad()
def sample(generator, count):
    generator.eval()
    images = generator(torch.randn(count, NOISE))
    generator.train()
    return images


def drawn(images):
    """Images side by side, in characters."""
    shades = " .:-=+*#%@"
    levels = ((images.reshape(-1, 8, 8) + 1) / 2 * 9).round().int()
    rows = levels.transpose(0, 1).tolist()
    return "\n".join(
        "  ".join("".join(2 * shades[level] for level in line) for line in row) for row in rows
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--width", type=int, default=256, help="of the hidden layers")
    parser.add_argument("--report", type=int, default=10, help="print every so many epochs")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    torch.manual_seed(arguments.seed)
    images, labels = digits()
    classifier = train_classifier(images, labels)
    print(f"real digits:   score {score(classifier, images):5.2f}")
    print(f"noise:         score {score(classifier, 2 * torch.rand(len(images), PIXELS) - 1):5.2f}")

    generator, discriminator = Generator(arguments.width), Discriminator(arguments.width)
    step = make_step(generator, discriminator)
    loader = DataLoader(
        TensorDataset(images), batch_size=arguments.batch, shuffle=True, drop_last=True
    )
    for epoch in range(1, arguments.epochs + 1):
        total = torch.zeros(2)
        for (real,) in loader:
            total += torch.stack(step(real)).detach()
        if epoch == 1 or epoch % arguments.report == 0:
            discriminator_loss, generator_loss = (total / len(loader)).tolist()
            quality = score(classifier, sample(generator, 1000))
            print(
                f"epoch {epoch:4}:    score {quality:5.2f}   discriminator's loss"
                f" {discriminator_loss:.4f}   generator's loss {generator_loss:.4f}"
            )
    print(drawn(sample(generator, 6)))


if __name__ == "__main__":
    main()
