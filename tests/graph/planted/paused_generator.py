"""A generator that is read step by step keeps the outputs of its earlier steps.

kind: container
held: seen[*]
remedy: seen.append(scores.detach())
"""

import torch
from torch import nn


def rollouts(policy, state):
    seen = []
    while True:
        scores = policy(state).softmax(0)
        seen.append(scores)  # HERE
        state = torch.randn(4)
        yield state, scores.argmax().item(), len(seen)


torch.manual_seed(0)
policy, critic = nn.Linear(4, 3), nn.Linear(4, 1)
optimizer = torch.optim.Adam(critic.parameters())
rollout = rollouts(policy, torch.zeros(4))
for _ in range(40):
    state, action, length = next(rollout)
    loss = (critic(state) - action).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(length)
