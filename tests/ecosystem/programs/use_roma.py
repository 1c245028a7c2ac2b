"""Rotations are averaged, and one is found from the points that it turns."""

import roma
import torch

torch.manual_seed(0)
rotation = roma.random_rotmat(dtype=torch.float64)
points = torch.randn(20, 3, dtype=torch.float64)
turned = points @ rotation.T + 0.1
found, offset = roma.rigid_points_registration(points, turned)
assert torch.allclose(found, rotation)
assert torch.allclose(offset, torch.full((3,), 0.1, dtype=torch.float64))

vector = torch.zeros(3, dtype=torch.float64, requires_grad=True)
optimizer = torch.optim.Adam([vector], lr=0.1)
losses = []
for _ in range(30):
    guess = roma.special_procrustes(roma.rotvec_to_rotmat(vector) + 0.01)
    loss = (points @ guess.T - points @ rotation.T).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0], losses
