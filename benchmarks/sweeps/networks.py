"""Functions of networks: products, convolutions, pooling, normalisation, attention, losses."""

from __future__ import annotations

from typing import Any

from sweeps._sample import (
    IMAGES,
    LINES,
    ROWS,
    SEQUENCES,
    VOLUMES,
    Input,
    Sample,
    X,
    calling,
    fixed,
    of,
    places,
    sample,
)

SPACE = {1: of(LINES), 2: of(IMAGES), 3: of(VOLUMES)}
SHAPES = {1: LINES, 2: IMAGES, 3: VOLUMES}
F = "nn.functional"


def channels(dims: int, exponent: int) -> int:
    """Of the inputs with so many dimensions in space."""
    return SHAPES[dims][exponent][1]


def kernel_of(dims: int) -> Input:
    """The weights of a convolution by 3 that keeps the number of channels."""
    return Input(lambda k: (channels(dims, k),) * 2 + (3,) * dims)


def per_channel(dims: int, **options: Any) -> Input:
    """A number for each channel."""
    return Input(lambda k: (channels(dims, k),), **options)


CONVOLUTIONS = [
    *(calling(f"{F}.conv{d}d", SPACE[d], kernel_of(d), per_channel(d), most=7 if d < 3 else 6)(
        padding=1) for d in (1, 2, 3)),
    *(calling(f"{F}.conv_transpose{d}d", SPACE[d], kernel_of(d), most=7 if d < 2 else 6)(stride=2)
      for d in (1, 2)),
    calling(f"{F}.conv2d with stride", SPACE[2], kernel_of(2))(stride=2),
    sample(f"{F}.conv2d of groups", SPACE[2], Input(lambda k: (channels(2, k), 1, 3, 3)),
           call=lambda m, x, w: m.nn.functional.conv2d(x, w, groups=len(w), padding=1)),
    sample(f"{F}.linear", X, Input(lambda k: (256, ROWS[k][1])), fixed(256), most=6),
    calling(f"{F}.unfold", SPACE[2], most=6)(3),
    sample(f"{F}.fold", SPACE[2], most=6, call=lambda m, x: m.nn.functional.fold(
        m.nn.functional.unfold(x, 3), x.shape[2:], 3)),
]  # fmt: skip

POOLING = [
    *(calling(f"{F}.{kind}_pool{d}d", SPACE[d])(2) for kind in ("max", "avg") for d in (1, 2, 3)),
    calling(f"{F}.max_pool2d by 3 with stride 2", SPACE[2])(3, 2, 1),
    *(calling(f"{F}.adaptive_{kind}_pool2d", SPACE[2])(4) for kind in ("avg", "max")),
    calling(f"{F}.adaptive_avg_pool1d", SPACE[1])(8),
    *(calling(f"{F}.interpolate, {mode}", SPACE[2])(scale_factor=2, mode=mode)
      for mode in ("nearest", "bilinear", "bicubic")),
    calling(f"{F}.pixel_shuffle", of({k: (s[0], 8, *s[2:]) for k, s in IMAGES.items()}))(2),
    sample(f"{F}.grid_sample", SPACE[2],
           Input(lambda k: (IMAGES[k][0], *IMAGES[k][2:], 2), "uniform", -1.0, 1.0),
           call=lambda m, x, g: m.nn.functional.grid_sample(x, g, align_corners=False)),
    calling(f"{F}.local_response_norm", SPACE[2])(3),
]  # fmt: skip

NORMS = [
    sample(f"{F}.batch_norm", SPACE[2], per_channel(2), per_channel(2),
           call=lambda m, x, w, b: m.nn.functional.batch_norm(x, None, None, w, b, True)),
    sample(f"{F}.batch_norm in evaluation", SPACE[2], per_channel(2, wants=False),
           per_channel(2, kind="uniform", low=0.5, wants=False), per_channel(2), per_channel(2)),
    sample(f"{F}.layer_norm", X, call=lambda m, x: m.nn.functional.layer_norm(x, x.shape[1:])),
    sample(f"{F}.rms_norm", X, call=lambda m, x: m.nn.functional.rms_norm(x, x.shape[1:])),
    calling(f"{F}.group_norm", SPACE[2])(4),
    calling(f"{F}.instance_norm", SPACE[2])(),
]  # fmt: skip

# (batch, heads, time, features of a head)
HEADS = {3: (1, 2, 16, 32), 4: (1, 4, 40, 64), 5: (4, 4, 100, 64), 6: (8, 8, 256, 64)}
ATTENTION = [
    calling(f"{F}.scaled_dot_product_attention", *[of(HEADS)] * 3, most=6)(),
    calling(f"{F}.scaled_dot_product_attention, causal", *[of(HEADS)] * 3, most=6)(is_causal=True),
    sample(f"{F}.multi_head_attention_forward", of(SEQUENCES),
           Input(lambda k: (3 * SEQUENCES[k][2], SEQUENCES[k][2])),
           Input(lambda k: (SEQUENCES[k][2],) * 2), most=6,
           call=lambda m, x, w, o: m.nn.functional.multi_head_attention_forward(
               x, x, x, x.shape[2], 4, w / 10, None, None, None, False, 0.0, o / 10, None,
               need_weights=False)[0]),
]  # fmt: skip

CLASSES = places(lambda k: (ROWS[k][0],), lambda k: ROWS[k][1])
SIGNS = Input(lambda k: (ROWS[k][0],), "booleans", high=0.5)


def signs(x: Any) -> Any:
    """1 and -1 of a mask."""
    return x.float() * 2 - 1


LOSSES = [
    sample(f"{F}.cross_entropy", X, CLASSES),
    sample(f"{F}.nll_loss", X, CLASSES),
    sample(f"{F}.cross_entropy of images", SPACE[2],
           places(lambda k: (IMAGES[k][0], *IMAGES[k][2:]), lambda k: IMAGES[k][1])),
    sample(f"{F}.multi_margin_loss", X, CLASSES),
    sample(f"{F}.triplet_margin_loss", X, X, X),
    sample(f"{F}.cosine_embedding_loss", X, X, SIGNS,
           call=lambda m, x, y, t: m.nn.functional.cosine_embedding_loss(x, y, signs(t))),
    sample(f"{F}.ctc_loss", of({3: (20, 2, 25), 4: (50, 4, 50), 5: (100, 20, 50),
                                6: (200, 50, 100)}), most=6, call=lambda m, x: ctc(m, x)),
]  # fmt: skip


def ctc(m: Any, x: Any) -> Any:
    """The loss of targets that are a quarter as long as the input."""
    time, batch, classes = x.shape
    length = time // 4
    targets = (m.arange(batch * length) % (classes - 1) + 1).view(batch, length)
    return m.nn.functional.ctc_loss(
        x.log_softmax(2), targets, [time] * batch, [length] * batch
    )  # fmt: skip


FAMILY: list[Sample] = [*CONVOLUTIONS, *POOLING, *NORMS, *ATTENTION, *LOSSES]
