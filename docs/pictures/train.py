"""Trains a network on digits, with two mistakes that its report points out."""

import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(0)
digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
labels = torch.tensor(digits.target)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Flatten(),
        )  # fmt: skip
        self.digit, self.odd = nn.Linear(512, 10), nn.Linear(512, 1)
        self.extra = nn.Linear(512, 4)

    def forward(self, x):
        features = self.trunk(x)
        return self.digit(features), self.odd(features)


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
history = []
for _ in range(200):
    batch = torch.randint(0, len(images), (64,))
    digit, odd = net(images[batch])
    loss = nn.functional.cross_entropy(digit, labels[batch])
    parity = (labels[batch] % 2).float().unsqueeze(1)
    loss = loss + nn.functional.binary_cross_entropy_with_logits(odd, parity)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(net(images[:32])[0].mean())
print(f"loss {loss.item():.3f}")
