"""The step of a GAN's discriminator goes back into the generator, and releases its graph."""

import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
discriminator = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1))
opt_g = torch.optim.Adam(generator.parameters())
opt_d = torch.optim.Adam(discriminator.parameters())
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(16, 1), torch.zeros(16, 1)

for _ in range(3):
    real, fake = torch.randn(16, 2) + 3, generator(torch.randn(16, 4))
    d_loss = bce(discriminator(real), ones) + bce(discriminator(fake), zeros)
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()
    g_loss = bce(discriminator(fake), ones)
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()

print(f"discriminator {d_loss.item():.3f}, generator {g_loss.item():.3f}")
