"""A variational autoencoder of scikit-learn's digits.

The encoder says which normal distribution of codes an image has, the decoder which pixels a code
has. A code is drawn with `rsample`, through which gradients flow to mean and deviation. What is
maximised is a bound of the likelihood: how well images come back, less how far the distributions
of their codes are from the standard normal one, from which new images are drawn in the end.

    python vae.py
"""

import argparse

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn, optim
from torch.distributions import Bernoulli, Independent, Normal, kl_divergence
from torch.utils.data import DataLoader, TensorDataset

PIXELS = 8 * 8


class VAE(nn.Module):
    def __init__(self, codes=8, width=256):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(PIXELS, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        )
        self.mean = nn.Linear(width, codes)
        self.log_deviation = nn.Linear(width, codes)
        self.decoder = nn.Sequential(nn.Linear(codes, width), nn.ReLU(), nn.Linear(width, PIXELS))
        self.register_buffer("zeros", torch.zeros(codes))
        self.register_buffer("ones", torch.ones(codes))

    def prior(self):
        return Independent(Normal(self.zeros, self.ones), 1)

    def encode(self, images):
        features = self.encoder(images)
        return Independent(Normal(self.mean(features), self.log_deviation(features).exp()), 1)

    def decode(self, codes):
        return Independent(Bernoulli(logits=self.decoder(codes), validate_args=False), 1)

    def forward(self, images):
        """What each image costs, in nats: to bring it back, and to say its code."""
        codes = self.encode(images)
        reconstruction = -self.decode(codes.rsample()).log_prob(images)
        return reconstruction, kl_divergence(codes, self.prior())


def digits():
    """Training and test set: images (N, 64), each pixel the chance of ink."""
    images = torch.tensor(load_digits().data, dtype=torch.float32) / 16
    train, test = train_test_split(images, test_size=0.2, random_state=0)
    return TensorDataset(train), TensorDataset(test)


def make_step(model, lr=2e-3):
    """A function that trains the model on a batch of images and returns the loss."""
    optimizer = optim.Adam(model.parameters(), lr=lr)

    def step(images):
        reconstruction, divergence = model(images)
        loss = (reconstruction + divergence).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


@torch.no_grad()
def evaluate(model, dataset):
    """Both costs on average."""
    costs = [torch.stack(model(images)).sum(dim=1) for (images,) in DataLoader(dataset, 256)]
    reconstruction, divergence = (sum(costs) / len(dataset)).tolist()
    return reconstruction, divergence


def drawn(images):
    """Images side by side, in characters."""
    shades = " .:-=+*#%@"
    levels = (images.reshape(-1, 8, 8) * 9).round().int()
    rows = levels.transpose(0, 1).tolist()
    return "\n".join(
        "  ".join("".join(2 * shades[level] for level in line) for line in row) for row in rows
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--codes", type=int, default=8, help="numbers in a code")
    parser.add_argument("--width", type=int, default=256, help="of the hidden layers")
    parser.add_argument("--report", type=int, default=10, help="print every so many epochs")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    torch.manual_seed(arguments.seed)
    train_set, test_set = digits()
    model = VAE(arguments.codes, arguments.width)
    step = make_step(model)
    loader = DataLoader(train_set, batch_size=arguments.batch, shuffle=True)
    for epoch in range(1, arguments.epochs + 1):
        total = sum(step(images).item() * len(images) for (images,) in loader)
        if epoch == 1 or epoch % arguments.report == 0:
            reconstruction, divergence = evaluate(model, test_set)
            print(
                f"epoch {epoch:3}:   training loss {total / len(train_set):.3f}   test loss"
                f" {reconstruction + divergence:.3f} (pixels {reconstruction:.3f},"
                f" codes {divergence:.3f})"
            )

    with torch.no_grad():
        originals = torch.stack([test_set[i][0] for i in range(6)])
        print("\nSix digits of the test set, and what their codes say of them:")
        print(drawn(originals))
        print(drawn(model.decode(model.encode(originals).mean).mean))
        print("\nSix that nobody wrote:")
        print(drawn(model.decode(model.prior().sample((6,))).mean))


if __name__ == "__main__":
    main()
