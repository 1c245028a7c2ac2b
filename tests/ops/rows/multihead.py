"""Rows of `wengert.ops.multihead`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row

NAME = "nn.functional.multi_head_attention_forward"
E, HEADS = 4, 2


def made(lengths=(3, 5), batch=2, kdim=E, extra=False, out_bias=True):
    """Query, key and value, and all that follows them by position."""

    def make(rng):
        def normal(*shape):
            return rng.standard_normal(shape)

        lead = () if batch is None else (batch,)
        return (
            normal(lengths[0], *lead, E),
            normal(lengths[1], *lead, kdim),
            normal(lengths[1], *lead, kdim),
            E,
            HEADS,
            normal(3 * E, E) if kdim == E else None,
            normal(3 * E),
            normal(1, 1, E) if extra else None,
            normal(1, 1, E) if extra else None,
            extra,
            0.0,
            normal(E, E),
            normal(E) if out_bias else None,
        )

    return make


def separate(rng):
    return (*made(kdim=3)(rng), True, None, True, None, True, rng.standard_normal((E, E)),
            *rng.standard_normal((2, E, 3)))  # fmt: skip


def masked(need_weights, extra=False, batch=2):
    """With a mask of keys and one of pairs."""

    def make(rng):
        hidden = rng.random((2, 5) if batch else 5) < 0.4
        pairs = rng.random((3, 5) if batch else (HEADS, 3, 5)) < 0.3
        hidden[..., 0] = pairs[..., 0] = False
        return (*made(batch=batch, extra=extra)(rng), True, hidden, need_weights, pairs)

    return make


def static(rng):
    k, v = rng.standard_normal((2, 2 * HEADS, 5, E // HEADS))
    return (*made()(rng), True, None, True, None, False, None, None, None, k, v)


ROWS = [
    Row(NAME, made()),
    Row(NAME, made(batch=None, out_bias=False), {"need_weights": False}, tag="unbatched"),
    Row(NAME, made(extra=True), {"average_attn_weights": False}, tag="more keys"),
    Row(NAME, separate, tag="separate"),
    Row(NAME, masked(True, extra=True), tag="masks"),
    Row(NAME, masked(False, extra=True), tag="masks, no weights"),
    Row(NAME, masked(True, batch=None), tag="masks, unbatched"),
    Row(NAME, static, tag="static"),
]


def changed(make, index, value):
    """The arguments of `make` with one of them changed."""

    def made_so(rng):
        args = list(make(rng))
        args[index] = value
        return tuple(args)

    return made_so


def wrong(make, match, tag, kind=AssertionError, **options):
    return ErrorRow(NAME, make, kind, match, options, tag)


def masks(**shapes):
    return {name: np.zeros(shape, bool) for name, shape in shapes.items()}


ERRORS = [
    wrong(changed(made(), 0, np.zeros(4)), "2D or batched 3D", "rank"),
    wrong(changed(made(), 1, np.zeros((5, 4))), "`key` and `value` to be 3-D", "key"),
    wrong(changed(made(), 1, np.zeros((4, 2, 4))), "does not match value shape", "lengths"),
    wrong(changed(made(), 3, 6), "embedding dimension of 6", "width"),
    wrong(changed(made(), 4, 3), "not divisible by num_heads 3", "heads"),
    wrong(changed(made(), 5, None), "in_proj_weight is None", "weight"),
    wrong(made(), "2-D but found", "padding", **masks(key_padding_mask=5)),
    wrong(made(), "shape of \\(2, 5\\)", "padding size", **masks(key_padding_mask=(2, 4))),
    wrong(made(), "2-D or 3-D", "mask", **masks(attn_mask=5)),
    wrong(made(), "should be \\(3, 5\\)", "mask size", RuntimeError, **masks(attn_mask=(3, 4))),
    wrong(made(), "should be \\(4, 3, 5\\)", "mask heads", RuntimeError,
          **masks(attn_mask=(3, 3, 5))),
    wrong(made(batch=None), "to be \\(2, 3, 5\\)", "mask unbatched", **masks(attn_mask=(3, 3, 5))),
    wrong(made(), "bool and floating", "mask dtype", attn_mask=np.zeros((3, 5), int)),
    wrong(made(), "Need attn_mask", "causal", RuntimeError, is_causal=True),
    wrong(made(extra=True), "static key", "static", static_k=np.zeros((4, 5, 2))),
    wrong(made(), "static_k.size\\(0\\)", "static heads", static_k=np.zeros((3, 5, 2))),
    wrong(made(), "static_k.size\\(2\\)", "static width", static_k=np.zeros((4, 5, 3))),
    wrong(changed(separate, 18, None), "q_proj_weight is None", "separate"),
    wrong(changed(separate, 18, np.zeros((4, 3))), "q_proj_weight of shape", "separate size"),
]  # fmt: skip
