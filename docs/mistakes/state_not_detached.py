"""The state of a recurrent network goes from window to window with its graph."""

import torch
from torch import nn

torch.manual_seed(0)
lstm, head = nn.LSTM(4, 16), nn.Linear(16, 4)
optimizer = torch.optim.Adam([*lstm.parameters(), *head.parameters()])
series = torch.sin(torch.arange(96.0)).reshape(96, 1, 1).expand(96, 2, 4)

state = torch.zeros(1, 2, 16), torch.zeros(1, 2, 16)
for window in series.split(24):
    out, state = lstm(window[:-1], state)
    loss = nn.functional.mse_loss(head(out), window[1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(f"loss {loss.item():.3f}")
