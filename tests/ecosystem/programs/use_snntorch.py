"""A spiking network, trained through surrogate gradients."""

import snntorch
import torch
from snntorch import functional, surrogate
from torch import nn

torch.manual_seed(0)
spike = surrogate.fast_sigmoid(slope=25)
first, second = nn.Linear(6, 16), nn.Linear(16, 3)
leaky = snntorch.Leaky(beta=0.9, spike_grad=spike)
output = snntorch.Leaky(beta=0.9, spike_grad=spike)
x, y = torch.rand(8, 6), torch.randint(0, 3, (8,))
optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=1e-2)
loss_of = functional.ce_rate_loss()
losses = []
for _ in range(20):
    hidden, membrane = leaky.init_leaky(), output.init_leaky()
    spikes = []
    for _ in range(10):
        out, hidden = leaky(first(x), hidden)
        out, membrane = output(second(out), membrane)
        spikes.append(out)
    loss = loss_of(torch.stack(spikes), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0], losses
