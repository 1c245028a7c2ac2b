"""An average of weights, a teacher that follows, and copies for early stopping."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
student = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
teacher = copy.deepcopy(student).requires_grad_(False)
optimizer = torch.optim.Adam(student.parameters())
best, best_state, states = float("inf"), None, []
for epoch in range(40):
    x = torch.randn(8, 8)
    loss = nn.functional.mse_loss(student(x), teacher(x + 0.1).detach())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for mean, p in zip(teacher.parameters(), student.parameters(), strict=True):
            mean.mul_(0.99).add_(p, alpha=0.01)
    if loss.item() < best:
        best = loss.item()
        best_state = {k: v.clone() for k, v in student.state_dict().items()}
    if epoch % 10 == 0:
        states.append(copy.deepcopy(student.state_dict()))

student.load_state_dict(best_state)
print(f"{best:.3f} {len(states)}")
