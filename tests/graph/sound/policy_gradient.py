"""REINFORCE: log-probabilities wait in lists until the episode ends; a critic learns meanwhile."""

import torch
from torch import nn

torch.manual_seed(0)
policy, critic = nn.Linear(4, 2), nn.Linear(4, 1)
p_optimizer = torch.optim.Adam(policy.parameters())
c_optimizer = torch.optim.Adam(critic.parameters())
for episode in range(4):
    log_probs, rewards = [], []
    for _ in range(8 + 3 * episode):
        state = torch.randn(4)
        chosen = torch.distributions.Categorical(logits=policy(state))
        action = chosen.sample()
        log_probs.append(chosen.log_prob(action))
        rewards.append(float(action))
        c_loss = (critic(state) - rewards[-1]).square().mean()
        c_optimizer.zero_grad()
        c_loss.backward()
        c_optimizer.step()
    returns = torch.tensor(rewards).flip(0).cumsum(0).flip(0)
    loss = -(torch.stack(log_probs) * returns).sum()
    p_optimizer.zero_grad()
    loss.backward()
    p_optimizer.step()

print(f"{loss.item():.3f}")
