"""WGAN-GP: the critic's loss holds a gradient, and is differentiated again."""

import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
g_optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3)
c_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
for step in range(40):
    real, noise = torch.randn(16, 2) + 2, torch.randn(16, 4)
    fake = generator(noise)
    mix = torch.rand(16, 1)
    between = (mix * real + (1 - mix) * fake.detach()).requires_grad_()
    (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    penalty = (slope.norm(dim=1) - 1).square().mean()
    c_loss = critic(fake.detach()).mean() - critic(real).mean() + 10 * penalty
    c_optimizer.zero_grad()
    c_loss.backward()
    c_optimizer.step()
    if step % 3 == 0:
        g_loss = -critic(fake).mean()
        g_optimizer.zero_grad()
        g_loss.backward()
        g_optimizer.step()

print(f"{c_loss.item():.3f} {g_loss.item():.3f}")
