"""Dictionaries of tensors: indexing, stacking, modules, functional parameters."""

import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule, TensorDictSequential
from torch import nn

torch.manual_seed(0)
data = TensorDict({"x": torch.randn(8, 4), "inner": {"y": torch.zeros(8, 1)}}, batch_size=[8])
assert data[:3].batch_size == (3,)
assert torch.stack([data, data]).shape == (2, 8)
assert torch.cat([data, data])["x"].shape == (16, 4)
assert data["inner", "y"].shape == (8, 1)
assert data.reshape(2, 4)["x"].shape == (2, 4, 4)
module = TensorDictSequential(
    TensorDictModule(nn.Linear(4, 8), in_keys=["x"], out_keys=["hidden"]),
    TensorDictModule(nn.Linear(8, 1), in_keys=["hidden"], out_keys=["out"]),
)
optimizer = torch.optim.Adam(module.parameters(), lr=1e-2)
losses = []
for _ in range(10):
    loss = (module(data.clone())["out"] - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0], losses
parameters = TensorDict.from_module(module)
with parameters.data.zero_().to_module(module):
    assert (module(data.clone())["out"] == 0).all()
