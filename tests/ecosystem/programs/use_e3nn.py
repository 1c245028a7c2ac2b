"""Spherical harmonics and equivariant products; outputs turn with their inputs."""

import torch
from e3nn import o3
from e3nn.nn import FullyConnectedNet

torch.manual_seed(0)
irreps = o3.Irreps("2x0e + 1x1o")
linear = o3.Linear(irreps, irreps)
product = o3.FullyConnectedTensorProduct(irreps, "0e + 1o", irreps)
x = irreps.randn(5, -1)
directions = torch.randn(5, 3)
sphere = o3.spherical_harmonics("0e + 1o", directions, normalize=True)


def model(x, sphere):
    return linear(product(x, sphere))


turn = o3.rand_matrix()
turned = model(
    x @ irreps.D_from_matrix(turn).T,
    o3.spherical_harmonics("0e + 1o", directions @ turn.T, normalize=True),
)
expected = model(x, sphere) @ irreps.D_from_matrix(turn).T
torch.testing.assert_close(turned, expected, rtol=1e-3, atol=1e-4)
net = FullyConnectedNet([3, 8, 1], torch.relu)
(model(x, sphere).sum() + net(directions).sum()).backward()
assert all(p.grad is not None for p in [*linear.parameters(), *product.parameters()])
