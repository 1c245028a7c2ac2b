"""``nn.attention``: wishes for kernels are taken; masks and scores are functions of indices."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import wengert
from wengert.nn.attention import SDPBackend, bias, flex_attention, sdpa_kernel


@pytest.mark.parametrize("wish", [SDPBackend.MATH, [SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]])
def test_wishes_change_nothing(wish: SDPBackend | list[SDPBackend]) -> None:
    x = wengert.arange(6.0).reshape(3, 2)
    free = wengert.nn.functional.scaled_dot_product_attention(x, x, x)
    with sdpa_kernel(wish):
        assert wengert.equal(wengert.nn.functional.scaled_dot_product_attention(x, x, x), free)


def test_a_wish_names_kernels() -> None:
    with pytest.raises(AssertionError, match="SDPBackend"), sdpa_kernel(3):  # type: ignore[arg-type]
        pass


def causal(b: Any, h: Any, q: Any, kv: Any) -> Any:
    return q >= kv


def window(b: Any, h: Any, q: Any, kv: Any) -> Any:
    return (q - kv < 5) & (kv - q < 3 + h)


def none_of_the_first(b: Any, h: Any, q: Any, kv: Any) -> Any:
    return (q > 1) | (b > 0)


def farther(score: Any, b: Any, h: Any, q: Any, kv: Any) -> Any:
    return score - (h + 1) * (q - kv).abs() / 8


MASKS = {
    "no mask": None,
    "causal": (causal, None, None),
    "window": (window, None, 4),
    "both": ("and_masks", None, 4),
    "one of them": ("or_masks", None, 4),
    "a query sees nothing": (none_of_the_first, 2, None),
}


def mask_of(library: Any, name: str, sizes: tuple[int, int], **options: Any) -> Any:
    """A BlockMask of either library."""
    flex = library.nn.attention.flex_attention
    if MASKS[name] is None:
        return None
    mod, *batches = MASKS[name]
    mod = getattr(flex, mod)(causal, window) if isinstance(mod, str) else mod
    return flex.create_block_mask(mod, *batches, *sizes, device="cpu", **options)


@pytest.fixture(scope="module")
def flexible(torch: Any) -> Any:
    import torch.nn.attention.bias
    import torch.nn.attention.flex_attention

    return torch


def by_hand(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float, modified: bool, visible: Any
) -> tuple[np.ndarray, np.ndarray]:
    """The output and the logarithms of the sums, in float64."""
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], 1).astype(np.float64) for x in (k, v))
    scores = np.einsum("bhqe,bhke->bhqk", q, k) * scale
    if modified:
        far = np.abs(np.arange(q.shape[2])[:, None] - np.arange(k.shape[2]))
        scores -= np.arange(1, q.shape[1] + 1)[:, None, None] * far / 8
    terms = np.exp(scores) * (True if visible is None else visible)
    sums = terms.sum(-1)
    out = np.einsum("bhqk,bhke->bhqe", terms, v) / np.maximum(sums, 1e-300)[..., None]
    with np.errstate(divide="ignore"):
        return out, np.log(sums)


@pytest.mark.parametrize("heads", [4, 2])
@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("score_mod", [None, farther])
def test_flex_attention_is_the_sum_over_what_is_visible(
    name: str, score_mod: Any, heads: int
) -> None:
    rng = np.random.default_rng(0)
    shapes = (2, 4, 20, 8), (2, heads, 23, 8), (2, heads, 23, 6)
    arrays = [rng.standard_normal(s).astype(np.float32) for s in shapes]
    q, k, v = map(wengert.from_numpy, arrays)
    mask, visible = mask_of(wengert, name, (20, 23), BLOCK_SIZE=8), None
    if mask is not None:
        batches = [n or 1 for n in MASKS[name][1:]]
        visible = flex_attention.create_mask(mask.mask_mod, *batches, 20, 23).numpy()
    options = {"score_mod": score_mod, "block_mask": mask, "enable_gqa": heads != 4}
    plain = flex_attention.flex_attention(q, k, v, **options)
    request = flex_attention.AuxRequest(lse=True, max_scores=True)
    out, aux = flex_attention.flex_attention(q, k, v, **options, scale=0.5, return_aux=request)
    again, lse = flex_attention.flex_attention(q, k, v, **options, scale=0.5, return_lse=True)
    expected, _ = by_hand(*arrays, 8**-0.5, score_mod is not None, visible)
    np.testing.assert_allclose(plain.numpy(), expected, rtol=1e-4, atol=1e-5)
    expected, sums = by_hand(*arrays, 0.5, score_mod is not None, visible)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(aux.lse.numpy(), sums, rtol=1e-4, atol=1e-5)
    assert wengert.equal(again, out)
    assert wengert.equal(lse, aux.lse)
    assert bool((aux.max_scores <= aux.lse).all())


@pytest.mark.torch
@pytest.mark.parametrize("block", [128, 8, (4, 16)])
@pytest.mark.parametrize("name", [m for m in MASKS if MASKS[m]])
def test_block_masks_are_as_pytorchs(flexible: Any, name: str, block: Any) -> None:
    def told(library: Any) -> list[Any]:
        mask = mask_of(library, name, (40, 50), BLOCK_SIZE=block)
        part = mask[0, -1]
        # PyTorch's reads beyond its blocks unless those that go come last.
        smaller = mask._adjust(20, 30) if name == "causal" else mask._adjust(20, 50)
        arrays = [
            (x.shape, str(x.dtype), x.tolist())
            for m in (mask, part, smaller)
            for x in (m.kv_num_blocks, m.full_kv_num_blocks, m.q_num_blocks, m.to_dense())
        ]
        texts = [str(mask), repr(mask), mask.to_string((2, 2), 1), repr(smaller)]
        return [*arrays, *texts, mask.shape, mask.sparsity(), part.shape, smaller.seq_lengths]

    assert told(wengert) == told(flexible)


@pytest.mark.torch
def test_masks_of_functions_are_as_pytorchs(flexible: Any) -> None:
    def masks(library: Any) -> list[Any]:
        flex = library.nn.attention.flex_attention
        bound = library.full((), 3)
        far = lambda s, b, h, q, kv: library.where(q - kv > bound, -math.inf, s)  # noqa: E731
        return [flex.create_mask(f, 2, 3, 4, 5, "cpu").tolist() for f in (window, far)]

    assert masks(wengert) == masks(flexible)


def test_gradients_arrive_at_scores_and_what_they_read() -> None:
    wengert.manual_seed(0)
    q, k, v = (wengert.randn(1, 2, 5, 4, dtype=wengert.float64) for _ in range(3))
    table = wengert.randn(2, 5, dtype=wengert.float64, requires_grad=True)
    q.requires_grad_()

    def attend(q: Any, table: Any) -> Any:
        return flex_attention.flex_attention(q, k, v, lambda s, b, h, i, j: s * table[h, j])

    assert wengert.autograd.gradcheck(attend, (q, table))


def test_blocks_count_where_there_is_no_function() -> None:
    one = wengert.ones(1, 1, 1, dtype=wengert.int32)
    mask = flex_attention.BlockMask.from_kv_blocks(
        one, wengert.tensor([[[[1, 0]]]], dtype=wengert.int32), BLOCK_SIZE=2
    )
    x = wengert.arange(4.0).reshape(1, 1, 4, 1)
    out = flex_attention.flex_attention(x[:, :, :2], x, x, block_mask=mask)
    assert wengert.equal(out[0, 0, 0], wengert.tensor([2.5]))  # the mean of the second block


BAD = {
    "three dimensions": (lambda x, f: f(x[0], x[0], x[0]), NotImplementedError, "4D"),
    "widths": (lambda x, f: f(x, x[..., :2], x), ValueError, "E=3 and E=2"),
    "heads": (lambda x, f: f(x, x[:, :1], x[:, :1]), ValueError, "enable_gqa"),
    "multiples": (
        lambda x, f: f(x.repeat(1, 2, 1, 1)[:, :3], x, x, enable_gqa=True), ValueError, "multiple",
    ),
    "batches": (lambda x, f: f(x.repeat(2, 1, 1, 1), x, x), ValueError, "Bq=2, and Bkv=1"),
    "lengths": (
        lambda x, f: f(x, x, x, block_mask=flex_attention.create_block_mask(causal, 1, 1, 9, 9)),
        ValueError, "q_len=4",
    ),
    "part": (
        lambda x, f: f(x, x, x, block_mask=flex_attention.create_block_mask(causal, 1, 1, 4, 4)[0]),
        RuntimeError, "sliced",
    ),
    "dtypes": (lambda x, f: f(x, x.double(), x), ValueError, "dtype"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_does_not_fit_is_refused(name: str) -> None:
    call, error, text = BAD[name]
    with pytest.raises(error, match=text):
        call(wengert.ones(1, 2, 4, 3), flex_attention.flex_attention)


def test_functions_of_other_arguments_are_refused() -> None:
    with pytest.raises(AssertionError, match="got 2"):
        flex_attention.create_mask(lambda q, kv: q >= kv, 1, 1, 2, 2)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="mask_mod"):
        flex_attention.create_block_mask(farther, 1, 1, 2, 2)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="callable"):
        flex_attention.or_masks(causal, 3)  # type: ignore[arg-type]


@pytest.mark.torch
@pytest.mark.parametrize("form", ["causal_upper_left", "causal_lower_right"])
def test_causal_masks_are_as_pytorchs(flexible: Any, form: str) -> None:
    rng = np.random.default_rng(0)
    q, kv = (rng.standard_normal((2, 3, n, 4)).astype(np.float32) for n in (3, 7))

    def attend(library: Any) -> np.ndarray:
        mask = getattr(library.nn.attention.bias, form)(3, 7)
        x, y = library.from_numpy(q), library.from_numpy(kv)
        out = library.nn.functional.scaled_dot_product_attention(x, y, y, attn_mask=mask)
        assert type(out) is library.Tensor
        return out.numpy()

    np.testing.assert_allclose(attend(wengert), attend(flexible), rtol=1e-5, atol=1e-6)


def test_causal_masks_say_what_is_wrong() -> None:
    with pytest.warns(UserWarning, match="2 queries see no key"):
        mask = bias.causal_lower_right(3, 1)
    assert mask.tolist() == [[False], [False], [True]]
    assert repr(mask).startswith("tensor([[False]")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bias.causal_upper_left(3, 1)
    with pytest.raises(AssertionError, match="2D"):
        bias.causal_upper_left(3)
    with pytest.raises(AssertionError, match="CausalVariant"):
        bias.CausalBias(1, 2, 3)  # type: ignore[arg-type]
