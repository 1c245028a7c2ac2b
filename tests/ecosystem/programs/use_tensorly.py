"""A tensor is factored, and a regression on tensors is trained through its factors."""

import tensorly
import torch
from tensorly.decomposition import constrained_parafac, parafac, tucker

tensorly.set_backend("pytorch")
torch.manual_seed(0)
factors = [torch.rand(n, 2, dtype=torch.float64) for n in (5, 4, 3)]
whole = tensorly.cp_to_tensor((torch.ones(2, dtype=torch.float64), factors))
for found in (
    tensorly.cp_to_tensor(parafac(whole, rank=2, random_state=0, n_iter_max=200)),
    tensorly.tucker_to_tensor(tucker(whole, rank=[2, 2, 2])),
):
    assert torch.linalg.norm(found - whole) < 1e-2 * torch.linalg.norm(whole)
bounded = constrained_parafac(whole, rank=2, non_negative=True, random_state=0, n_iter_max=5)
assert all((factor >= 0).all() for factor in bounded.factors)

for factor in factors:
    factor.requires_grad_()
optimizer = torch.optim.Adam(factors, lr=0.05)
losses = []
for _ in range(20):
    model = tensorly.cp_to_tensor((torch.ones(2, dtype=torch.float64), factors))
    loss = (model - 2 * whole).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0], losses
