"""Evaluation keeps all outputs, and features for later, under `no_grad` or detached."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(), nn.Linear(16, 4))
optimizer = torch.optim.Adam(model.parameters())
scores, features = [], {}
for step in range(40):
    model.train()
    x, y = torch.randn(8, 8), torch.randint(0, 4, (8,))
    out = model(x)
    features[step] = out.detach()
    loss = nn.functional.cross_entropy(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        scores.append(model(x).softmax(1))
    with torch.inference_mode():
        scores.append(model(x).softmax(1))

print(len(scores), f"{sum(f.mean() for f in features.values()).item():.3f}")
