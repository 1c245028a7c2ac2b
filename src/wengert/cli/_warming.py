"""Typical training steps, for the kernels that they compile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import wengert as torch
from wengert import nn
from wengert.nn import functional as F


def warm_cache(tell: Callable[[str], None]) -> None:
    """Train typical networks for a step each; their kernels are on disk then."""
    for name, step in _steps():
        tell(name)
        step()


def _steps() -> Iterator[tuple[str, Callable[[], None]]]:
    yield "linear layers, activations, losses", _perceptrons
    yield "convolutions, pooling, normalization", _convolutions
    yield "residual and generative networks", _images
    yield "recurrent layers", _recurrent
    yield "attention", _attention
    yield "optimizers", _optimizers


def _train(net: nn.Module, *inputs: Any) -> None:
    """A forward and a backward."""
    result = net(*inputs)
    result = result[0] if isinstance(result, tuple) else result
    result.square().mean().backward()


def _perceptrons() -> None:
    x, labels = torch.randn(256, 512), torch.randint(0, 10, (256,))
    for activation in (nn.ReLU, nn.GELU, nn.SiLU, nn.Tanh, nn.Sigmoid, nn.LeakyReLU, nn.ELU):
        net = nn.Sequential(nn.Linear(512, 256), activation(), nn.Dropout(0.1), nn.Linear(256, 10))
        scores = net(x)
        F.cross_entropy(scores, labels).backward()
    scores = torch.randn(256, 512, requires_grad=True)
    target = torch.rand(256, 512)
    for loss in (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.binary_cross_entropy_with_logits):
        loss(scores, target).backward()
    scores.softmax(1).log().sum().backward()


def _convolutions() -> None:
    images = torch.randn(8, 16, 32, 32)
    for kernel, stride in ((3, 1), (3, 2), (1, 1), (5, 1)):
        padding = kernel // 2
        net = nn.Sequential(
            nn.Conv2d(16, 32, kernel, stride, padding), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Conv2d(32, 32, kernel, 1, padding), nn.GroupNorm(4, 32), nn.ReLU(),
            nn.MaxPool2d(2), nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )  # fmt: skip
        _train(net, images.clone().requires_grad_())
    _train(nn.ConvTranspose2d(16, 8, 4, 2, 1), images.clone().requires_grad_())
    _train(nn.Conv2d(16, 16, 3, padding=1, groups=16), images.clone().requires_grad_())


def _images() -> None:
    for batch, channels, size in ((32, 3, 32), (64, 1, 28)):
        images = torch.rand(batch, channels, size, size)
        stem = nn.Sequential(nn.Conv2d(channels, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16))
        x = F.relu(stem(images))
        for width in (16, 32, 64):
            stride = 1 if width == 16 else 2
            first = nn.Conv2d(x.shape[1], width, 3, stride, 1, bias=False)
            second = nn.Conv2d(width, width, 3, padding=1, bias=False)
            short = nn.Conv2d(x.shape[1], width, 1, stride, bias=False)
            norms = [nn.BatchNorm2d(width) for _ in range(3)]
            inner = F.relu(norms[0](first(x)))
            x = F.relu(norms[1](second(inner)) + norms[2](short(x)))
        scores = nn.Linear(64, 10)(F.adaptive_avg_pool2d(x, 1).flatten(1))
        F.cross_entropy(scores, torch.randint(0, 10, (batch,))).backward()
        noise = torch.randn(batch, 64, 4, 4)
        generator = nn.Sequential(
            nn.ConvTranspose2d(64, 32, 4, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU(),
            nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.LeakyReLU(0.2), nn.Upsample(scale_factor=2),
            nn.Conv2d(16, channels, 3, padding=1), nn.Tanh(),
        )  # fmt: skip
        _train(generator, noise)


def _recurrent() -> None:
    sequence = torch.randn(32, 16, 64, requires_grad=True)
    for kind in (nn.LSTM, nn.GRU, nn.RNN):
        _train(kind(64, 128), sequence)


def _attention() -> None:
    tokens = nn.Embedding(100, 64)(torch.randint(0, 100, (8, 64)))
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, activation="gelu")
    _train(layer, tokens)
    query = torch.randn(4, 4, 128, 32, requires_grad=True)
    F.scaled_dot_product_attention(query, query, query, is_causal=True).sum().backward()


def _optimizers() -> None:
    weights = [nn.Parameter(torch.randn(256, 256)) for _ in range(5)]
    for weight in weights:
        weight.grad = torch.randn(256, 256)
    optim = torch.optim
    optim.SGD(weights[:1], lr=1e-3, momentum=0.9).step()
    for kind, weight in zip((optim.Adam, optim.AdamW, optim.RMSprop, optim.Adagrad), weights[1:],
                            strict=True):  # fmt: skip
        kind([weight], lr=1e-3).step()
