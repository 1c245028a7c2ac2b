"""Rearranging, reducing and repeating tensors, as functions and as layers."""

import torch
from einops import einsum, pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce
from torch import nn

torch.manual_seed(0)
x = torch.randn(2, 3, 8, 8, requires_grad=True)
patches = rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4)
assert patches.shape == (2, 4, 48)
torch.testing.assert_close(reduce(x, "b c h w -> b c", "mean"), x.mean((2, 3)))
assert repeat(x, "b c h w -> b c (h 2) w").shape == (2, 3, 16, 8)
a, b = torch.randn(2, 3, 4), torch.randn(2, 4, 5)
torch.testing.assert_close(einsum(a, b, "n i j, n j k -> n i k"), a @ b)
packed, shapes = pack([torch.zeros(2, 3), torch.zeros(2, 4, 3)], "b * c")
assert [t.shape for t in unpack(packed, shapes, "b * c")] == [(2, 3), (2, 4, 3)]
net = nn.Sequential(
    Rearrange("b c h w -> b (h w) c"),
    EinMix("b t c -> b t d", weight_shape="c d", bias_shape="d", c=3, d=5),
    Reduce("b t d -> b d", "max"),
)
net(x).sum().backward()
assert x.grad is not None
