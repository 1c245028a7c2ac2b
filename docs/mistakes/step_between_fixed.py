"""Both losses go back before the optimizer steps."""

import torch
from torch import nn

torch.manual_seed(0)
trunk = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh())
price, sold = nn.Linear(16, 1), nn.Linear(16, 1)
params = [*trunk.parameters(), *price.parameters(), *sold.parameters()]
optimizer = torch.optim.Adam(params)
x, y, z = torch.randn(32, 6), torch.randn(32, 1), torch.randint(0, 2, (32, 1)).float()

for _ in range(3):
    hidden = trunk(x)
    price_loss = nn.functional.mse_loss(price(hidden), y)
    sold_loss = nn.functional.binary_cross_entropy_with_logits(sold(hidden), z)
    optimizer.zero_grad()
    price_loss.backward(retain_graph=True)
    sold_loss.backward()
    optimizer.step()

print(f"price {price_loss.item():.3f}, sold {sold_loss.item():.3f}")
