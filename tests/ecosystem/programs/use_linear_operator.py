"""Structured matrices: solves, log determinants and their gradients."""

import torch
from linear_operator import to_linear_operator
from linear_operator.operators import DiagLinearOperator, ToeplitzLinearOperator

torch.manual_seed(0)
root = torch.randn(6, 6, dtype=torch.float64)
dense = (root @ root.T + 6 * torch.eye(6, dtype=torch.float64)).requires_grad_()
right = torch.randn(6, 2, dtype=torch.float64)
operator = to_linear_operator(dense)
torch.testing.assert_close(operator.solve(right), torch.linalg.solve(dense, right))
torch.testing.assert_close(operator.logdet(), torch.logdet(dense))
(gradient,) = torch.autograd.grad(operator.logdet(), dense)
torch.testing.assert_close(gradient, torch.linalg.inv(dense.detach()))
diagonal = DiagLinearOperator(torch.arange(1.0, 5.0))
torch.testing.assert_close((diagonal @ torch.ones(4, 1)).squeeze(-1), torch.arange(1.0, 5.0))
toeplitz = ToeplitzLinearOperator(torch.tensor([4.0, 1.0, 0.5, 0.0]))
torch.testing.assert_close(toeplitz @ torch.eye(4), toeplitz.to_dense())
torch.testing.assert_close(
    (diagonal + toeplitz).to_dense(), diagonal.to_dense() + toeplitz.to_dense()
)
