"""torchaudio without its libraries: spectra, resampling, filters, a Conformer that trains."""

import math

import torch
import torchaudio
from torchaudio import functional, transforms
from torchaudio.models import Conformer

torch.manual_seed(0)
time = torch.arange(8000) / 8000
tone = torch.sin(2 * math.pi * 440 * time)
spectrum = transforms.Spectrogram(n_fft=800)(tone)
assert spectrum.mean(1).argmax() == 44  # 10 Hz a bin
assert transforms.MFCC(8000, 13, melkwargs={"n_mels": 40})(tone).shape[0] == 13
slower = functional.resample(tone, 8000, 4000)
expected = torch.sin(2 * math.pi * 440 * time[::2])
torch.testing.assert_close(slower[100:-100], expected[100:-100], atol=0.01, rtol=0)
low = functional.lowpass_biquad(tone, 8000, 50.0)
assert low[4000:].abs().max() < 0.05
echo = functional.lfilter(tone[:50], torch.tensor([1.0, -0.5]), torch.tensor([1.0, 0.0]), False)
recursion = [0.0]
for value in tone[:50].tolist():
    recursion.append(value + 0.5 * recursion[-1])
torch.testing.assert_close(echo, torch.tensor(recursion[1:]))

model = Conformer(13, num_heads=1, ffn_dim=16, num_layers=1, depthwise_conv_kernel_size=3)
head = torch.nn.Linear(13, 2)
features = torch.randn(16, 10, 13)
labels = (features.mean((1, 2)) > 0).long()
optimizer = torch.optim.Adam([*model.parameters(), *head.parameters()], lr=1e-2)
losses = []
for _ in range(15):
    optimizer.zero_grad()
    encoded, _ = model(features, torch.full((16,), 10))
    loss = torch.nn.functional.cross_entropy(head(encoded.mean(1)), labels)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < 0.7 * losses[0], losses
print(torchaudio.__version__, losses[-1])
