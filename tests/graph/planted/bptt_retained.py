"""Truncated backpropagation that truncates nothing: the graph is retained instead.

kind: state
held: state
remedy: state = cell(chunk, state.detach())
"""

import torch
from torch import nn


def read(cell, head, chunks):
    state, losses = torch.zeros(2, 8), []
    for chunk in chunks:
        state = cell(chunk, state)  # HERE
        loss = (head(state) - chunk.mean(1, keepdim=True)).square().mean()
        loss.backward(retain_graph=True)
        losses.append(loss.item())
    return state, losses


torch.manual_seed(0)
cell, head = nn.RNNCell(4, 8), nn.Linear(8, 1)
optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()])
state, losses = read(cell, head, torch.randn(40, 2, 4))
optimizer.step()
print(f"{sum(losses) / len(losses):.3f}")
