"""Layers on images whose channels lie last, as they come from tokens or `memory_format`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sweeps._sample import IMAGES, Sample, fixed, of

Call = Callable[..., Any]

LAST = of({k: (n, y, x, c) for k, (n, c, y, x) in IMAGES.items()})

CALLS: dict[str, Call] = {
    "max_pool2d": lambda m, x: m.nn.functional.max_pool2d(x, 3, 2, 1),
    "avg_pool2d": lambda m, x: m.nn.functional.avg_pool2d(x, 2),
    "adaptive_avg_pool2d": lambda m, x: m.nn.functional.adaptive_avg_pool2d(x, 1),
    "interpolate to nearest": lambda m, x: m.nn.functional.interpolate(x, scale_factor=2),
    "interpolate bilinear": lambda m, x: m.nn.functional.interpolate(
        x, scale_factor=2, mode="bilinear"
    ),
    "pad": lambda m, x: m.nn.functional.pad(x, (1, 1, 1, 1)),
    "pad by reflection": lambda m, x: m.nn.functional.pad(x, (1, 1, 1, 1), mode="reflect"),
    "pixel_shuffle": lambda m, x: m.nn.functional.pixel_shuffle(x, 2),
    "pixel_unshuffle": lambda m, x: m.nn.functional.pixel_unshuffle(x, 2),
    "batch_norm": lambda m, x: m.nn.functional.batch_norm(x, None, None, training=True),
    "group_norm": lambda m, x: m.nn.functional.group_norm(x, 4),
    "cat": lambda m, x: m.cat([x, x], 1),
    "flip": lambda m, x: x.flip(3),
    "roll": lambda m, x: m.roll(x, (1, 1), (2, 3)),
    "contiguous": lambda m, x: x.contiguous(),
    "sum over channels": lambda m, x: x.sum(1, keepdim=True),
    "mean over space": lambda m, x: x.mean((2, 3), keepdim=True),
    "softmax over channels": lambda m, x: x.softmax(1),
    "relu": lambda m, x: m.nn.functional.relu(x),
}


def _convolved(size: int, **options: Any) -> Call:
    """A convolution with a weight of as many channels as the image has, or one."""

    def call(m: Any, x: Any, weight: Any) -> Any:
        channels = x.shape[1]
        rows = 1 if options.get("groups") == -1 else channels
        groups = channels // rows
        w = weight.view(-1)[: channels * rows * size * size].view(channels, rows, size, size)
        return m.nn.functional.conv2d(x, w, **{**options, "groups": groups})

    return call


CONVOLUTIONS: dict[str, Call] = {
    "conv2d of 3x3": _convolved(3, padding=1),
    "conv2d of 1x1": _convolved(1),
    "conv2d of 2x2 with stride 2": _convolved(2, stride=2),
    "conv2d of 3x3, depthwise": _convolved(3, padding=1, groups=-1),
}


def _lying_last(call: Call) -> Call:
    """The call on the image that an array (batch, y, x, channel) shows, and its result as one."""

    def called(m: Any, x: Any, *others: Any) -> Any:
        return call(m, x.permute(0, 3, 1, 2), *others).permute(0, 2, 3, 1)

    return called


FAMILY = [
    *(Sample(f"{name}, channels last", _lying_last(call), (LAST,)) for name, call in CALLS.items()),
    *(
        Sample(f"{name}, channels last", _lying_last(call), (LAST, fixed(32, 32, 3, 3)), most=6)
        for name, call in CONVOLUTIONS.items()
    ),
]
