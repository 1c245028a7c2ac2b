"""A replay buffer keeps what the network said of a state, with its graph.

kind: container
held: agent.memory.items[*].value
"""

import random
from collections import deque
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Transition:
    state: torch.Tensor
    value: torch.Tensor
    reward: float


class Memory:
    def __init__(self, capacity):
        self.items = deque(maxlen=capacity)

    def push(self, *parts):
        self.items.append(Transition(*parts))  # HERE

    def sample(self, count):
        return random.sample(list(self.items), count)


class Agent:
    def __init__(self):
        self.net, self.memory = nn.Linear(4, 2), Memory(1000)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def act(self, state):
        value, action = self.net(state).exp().max(0)
        self.memory.push(state, value, float(action))

    def learn(self):
        batch = self.memory.sample(4)
        states = torch.stack([t.state for t in batch])
        targets = torch.tensor([t.reward + 0.9 * t.value.item() for t in batch])
        loss = nn.functional.smooth_l1_loss(self.net(states).max(1).values, targets)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


torch.manual_seed(0)
random.seed(0)
agent = Agent()
for step in range(50):
    agent.act(torch.randn(4))
    if step >= 8:
        agent.learn()
print(len(agent.memory.items))
