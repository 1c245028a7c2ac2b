"""A validation batch after each step, without `no_grad`; what comes out is kept for a plot.

kind: container
held: history['val_loss'][*]
remedy: history[name].append(value.item())
"""

import torch
from torch import nn


def validate(model, x, y):
    out = model(x)
    return {"val_loss": nn.functional.cross_entropy(out, y), "acc": (out.argmax(1) == y).sum()}


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 4))
optimizer = torch.optim.Adam(model.parameters())
x, y = torch.randn(64, 16), torch.randint(0, 4, (64,))
history = {"loss": [], "val_loss": [], "acc": []}
for _ in range(40):
    loss = nn.functional.cross_entropy(model(x[:48]), y[:48])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history["loss"].append(loss.item())
    for name, value in validate(model, x[48:], y[48:]).items():
        history[name].append(value)  # HERE

print(f"{history['loss'][-1]:.3f} {history['val_loss'][-1]:.3f}")
