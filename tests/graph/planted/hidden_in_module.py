"""A module keeps its hidden state, and every step goes on from it.

kind: state
held: policy.hidden
remedy: self.hidden = self.cell(observation, self.hidden.detach())
"""

import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.GRUCell(4, 16), nn.Linear(16, 2)
        self.value = nn.Linear(4, 1)
        self.hidden = torch.zeros(1, 16)

    def forward(self, observation):
        self.hidden = self.cell(observation, self.hidden)  # HERE
        return self.head(self.hidden).argmax(1)


torch.manual_seed(0)
policy = Policy()
optimizer = torch.optim.SGD(policy.value.parameters(), lr=0.1)
for _ in range(40):
    observation = torch.randn(1, 4)
    action = policy(observation)
    loss = (policy.value(observation) - action).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(f"{loss.item():.3f}")
