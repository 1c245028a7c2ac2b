"""L-BFGS calls its closure as often as it likes."""

import torch
from torch import nn

torch.manual_seed(0)
model, x = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)), torch.randn(32, 4)
y = x.prod(1, keepdim=True)
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=15, line_search_fn="strong_wolfe")
seen = []


def closure():
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    seen.append(loss.item())
    return loss


for _ in range(5):
    final = optimizer.step(closure)

print(f"{final.item():.2f} {min(seen):.2f}")
