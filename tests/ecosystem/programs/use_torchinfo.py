"""The table of a model's layers, shapes and parameters."""

import torch
from torch import nn
from torchinfo import summary

model = nn.Sequential(
    nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(288, 5)
)
statistics = summary(model, input_size=(2, 3, 8, 8), verbose=0, device="cpu")
assert statistics.total_params == sum(p.numel() for p in model.parameters())
assert "Conv2d" in str(statistics)
assert statistics.total_mult_adds > 0
recurrent = summary(nn.LSTM(4, 8), input_data=torch.zeros(3, 1, 4), verbose=0)
assert recurrent.total_params == 4 * 8 * (4 + 8 + 2)
