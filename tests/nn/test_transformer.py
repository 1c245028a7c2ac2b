"""Transformer layers: masks, the causal promise, stacks, randomness, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from tests.nn.parity import array, flat, load, ours
from wengert import nn

WIDTH, HEADS = 8, 2


def both(torch: Any, make: Any) -> tuple[Any, Any]:
    """What `make(nn)` makes in both libraries, in float64 and with the same state."""
    torch.manual_seed(0)
    module, reference = make(nn).double(), make(torch.nn).double()
    load(module, reference)
    return module, reference


def same(a: Any, b: Any) -> None:
    for x, y in zip(flat(a), flat(b), strict=True):
        np.testing.assert_allclose(array(x), array(y), rtol=1e-10, atol=1e-12)


def causal(torch: Any, length: int) -> Any:
    return torch.nn.Transformer.generate_square_subsequent_mask(length, dtype=torch.float64)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:enable_nested_tensor")  # PyTorch's, of its own kernels
@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("mask", [None, "bool", "causal"])
@pytest.mark.parametrize("padded", [True, False])
def test_encoder(torch: Any, training: bool, mask: str | None, padded: bool) -> None:
    def make(nn: Any) -> Any:
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 6, 0.0, batch_first=True)
        return nn.TransformerEncoder(layer, 2, nn.LayerNorm(WIDTH))

    module, reference = (m.train(training) for m in both(torch, make))
    x = torch.randn(3, 5, WIDTH, dtype=torch.float64)
    given = {
        None: None, "causal": causal(torch, 5), "bool": torch.ones(5, 5).triu(2).bool(),
    }[mask]  # fmt: skip
    hidden = torch.arange(5) >= torch.tensor([[5], [3], [4]]) if padded else None
    if padded and mask == "causal":
        hidden = torch.where(hidden, -torch.inf, 0.0).double()
    theirs = reference(x, given, hidden)
    found = module(ours(x), ours(given), ours(hidden))
    if padded and not training:
        # PyTorch's nested tensors give zeros at positions of padding.
        keep = ~array(hidden) if hidden.dtype == torch.bool else array(hidden) == 0
        np.testing.assert_allclose(array(found)[keep], array(theirs)[keep], rtol=1e-10, atol=1e-12)
    else:
        same(found, theirs)


@pytest.mark.torch
def test_decoder_with_all_masks(torch: Any) -> None:
    def make(nn: Any) -> Any:
        return nn.TransformerDecoder(nn.TransformerDecoderLayer(WIDTH, HEADS, 6, 0.0), 2)

    module, reference = both(torch, make)
    x, memory = (torch.randn(n, 3, WIDTH, dtype=torch.float64) for n in (5, 4))
    masks = {
        "tgt_mask": causal(torch, 5),
        "memory_mask": torch.randn(5, 4, dtype=torch.float64),
        "tgt_key_padding_mask": torch.zeros(3, 5, dtype=torch.float64),
        "memory_key_padding_mask": torch.zeros(3, 4, dtype=torch.float64),
    }
    masks["memory_key_padding_mask"][1, 2:] = -torch.inf
    same(module(ours(x), ours(memory), **ours(masks)), reference(x, memory, **masks))
    promised = {"tgt_mask": masks["tgt_mask"], "tgt_is_causal": True}
    same(module(ours(x), ours(memory), **ours(promised)), reference(x, memory, **promised))


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_dropout_follows_the_seed(torch: Any) -> None:
    module, reference = both(
        torch, lambda nn: nn.Transformer(WIDTH, HEADS, 1, 1, 6, 0.3, activation="gelu")
    )
    x, y = (torch.randn(n, 3, WIDTH, dtype=torch.float64) for n in (5, 4))
    torch.manual_seed(5)
    theirs = reference(x, y)
    wengert.manual_seed(5)
    same(module(ours(x), ours(y)), theirs)


@pytest.mark.torch
@pytest.mark.parametrize("options", [
    {"need_weights": False},
    {"average_attn_weights": False},
    {"attn_mask": "causal", "is_causal": True},
    {"attn_mask": "causal", "is_causal": True, "need_weights": False},
    {"key_padding_mask": "hidden"},
    {"key_padding_mask": "hidden", "attn_mask": "heads", "need_weights": False},
], ids=str)  # fmt: skip
def test_options_of_attention(torch: Any, options: dict[str, Any]) -> None:
    module, reference = both(torch, lambda nn: nn.MultiheadAttention(WIDTH, HEADS))
    x = torch.randn(5, 3, WIDTH, dtype=torch.float64)
    hidden = torch.arange(5) >= torch.tensor([[5], [3], [4]])
    masks = {"causal": causal(torch, 5), "hidden": hidden, "heads": torch.eye(5).bool()}
    options = {k: masks.get(v, v) if isinstance(v, str) else v for k, v in options.items()}
    given = ours(x)
    found, theirs = module(given, given, given, **ours(options)), reference(x, x, x, **options)
    assert (found[1] is None) == (theirs[1] is None)
    same([t for t in found if t is not None], [t for t in theirs if t is not None])


def test_a_causal_mask_is_noticed_and_is_the_default() -> None:
    net = nn.TransformerEncoder(nn.TransformerEncoderLayer(WIDTH, HEADS, 6), 1).eval()
    x, y = wengert.randn(4, 1, WIDTH), wengert.randn(4, 1, WIDTH)
    y[:2] = x[:2]
    mask = nn.Transformer.generate_square_subsequent_mask(4)
    assert mask.tolist()[1] == [0, 0, -np.inf, -np.inf]
    assert wengert.allclose(net(x, mask)[:2], net(y, mask)[:2], atol=1e-6)
    assert not wengert.allclose(net(x)[:2], net(y)[:2], atol=1e-6)


def test_masks_of_two_dtypes_warn() -> None:
    attention, x = nn.MultiheadAttention(WIDTH, HEADS), wengert.zeros(4, 1, WIDTH)
    pairs, hidden = wengert.zeros(4, 4), wengert.zeros(1, 4, dtype=wengert.bool)
    with pytest.warns(UserWarning, match="mismatched key_padding_mask and attn_mask"):
        attention(x, x, x, hidden, attn_mask=pairs)


def test_frozen_attention_saves_no_inputs_of_its_projections() -> None:
    attention = nn.MultiheadAttention(WIDTH, HEADS).requires_grad_(False)
    x = wengert.zeros(4, 1, WIDTH, requires_grad=True)
    out, _ = attention(x, x, x, need_weights=False)
    (gradient,) = wengert.autograd.grad(out.sum(), x)
    assert gradient.shape == x.shape


@pytest.mark.torch
@pytest.mark.parametrize("text", [
    "nn.MultiheadAttention(0, 1)",
    "nn.MultiheadAttention(4, 3)",
    "nn.MultiheadAttention(4, 2)(torch.zeros(4), torch.zeros(4), torch.zeros(4))",
    "nn.TransformerEncoderLayer(4, 2, activation='tanh')",
    "nn.TransformerEncoderLayer(4, 2)(torch.zeros(3, 1, 4), is_causal=True)",
    "nn.TransformerEncoderLayer(4, 2)(torch.zeros(3, 1, 4), torch.zeros(3, 3).long())",
    "nn.Transformer(4, 2, 1, 1, 4)(torch.zeros(3, 2, 4), torch.zeros(3, 1, 4))",
    "nn.Transformer(4, 2, 1, 1, 4)(torch.zeros(3, 2, 5), torch.zeros(3, 2, 4))",
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_what_is_refused(text: str, torch: Any) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011 (whatever torch raises)
        eval(text, {"nn": torch.nn, "torch": torch})
    with pytest.raises(type(theirs.value)):
        eval(text, {"nn": nn, "torch": wengert})
