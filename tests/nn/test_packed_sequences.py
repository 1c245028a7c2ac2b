"""Padding and packing of sequences, and recurrent layers over them, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wengert
from tests.nn.parity import array, load, ours
from wengert import nn
from wengert.nn.utils import rnn

LENGTHS = [2, 4, 1, 3]


def same_packed(a: Any, b: Any) -> None:
    """The same sequences in the same layout."""
    assert type(a).__name__ == type(b).__name__ == "PackedSequence"
    for x, y in zip(a, b, strict=True):
        assert (x is None) == (y is None)
        if x is not None:
            assert str(x.dtype) == str(y.dtype)
            np.testing.assert_allclose(array(x), array(y), rtol=1e-10, atol=1e-12)


@pytest.mark.torch
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_packing_and_padding_equal_torch(
    shape: tuple[int, ...], batch_first: bool, torch: Any
) -> None:
    x = torch.randn(*((4, 5) if batch_first else (5, 4)), *shape, dtype=torch.float64)
    x.requires_grad_()
    mine, cotangent = ours(x), None
    for lengths, options in ((LENGTHS, {"enforce_sorted": False}), ([4, 4, 2, 1], {})):
        found = []
        for library, value in ((torch, x), (wengert, mine)):
            pack = library.nn.utils.rnn
            packed = pack.pack_padded_sequence(value, lengths, batch_first, **options)
            padded, known = pack.pad_packed_sequence(packed, batch_first, 7.0, total_length=6)
            assert known.tolist() == lengths
            if cotangent is None:
                cotangent = torch.randn(padded.shape, dtype=torch.float64)
            weight = cotangent if library is torch else ours(cotangent)
            (gradient,) = library.autograd.grad((padded * weight).sum(), value)
            found.append((packed, padded, gradient))
        (b, *theirs), (a, *mines) = found
        same_packed(a, b)
        for p, q in zip(mines, theirs, strict=True):
            np.testing.assert_array_equal(array(p), array(q))


@pytest.mark.torch
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("side", ["left", "right"])
def test_lists_of_sequences_equal_torch(batch_first: bool, side: str, torch: Any) -> None:
    several = [torch.randn(n, 3, dtype=torch.float64, requires_grad=True) for n in [*LENGTHS, 0]]
    mine = [ours(s) for s in several]
    a = rnn.pad_sequence(mine, batch_first, -1, side)
    b = torch.nn.utils.rnn.pad_sequence(several, batch_first, -1, side)
    np.testing.assert_array_equal(array(a), array(b))
    weight = torch.randn(b.shape, dtype=torch.float64)
    (b * weight).sum().backward()
    (a * ours(weight)).sum().backward()
    for p, q in zip(mine, several, strict=True):
        np.testing.assert_array_equal(array(p.grad), array(q.grad))
    unpadded = rnn.unpad_sequence(rnn.pad_sequence(mine), wengert.tensor([*LENGTHS, 0]))
    for p, q in zip(unpadded, mine, strict=True):
        np.testing.assert_array_equal(array(p), array(q))


@pytest.mark.torch
def test_sequences_packed_and_unpacked(torch: Any) -> None:
    several = [torch.randn(n, 3) for n in LENGTHS]
    a = rnn.pack_sequence([ours(s) for s in several], enforce_sorted=False)
    same_packed(a, torch.nn.utils.rnn.pack_sequence(several, enforce_sorted=False))
    for p, q in zip(rnn.unpack_sequence(a), several, strict=True):
        np.testing.assert_array_equal(array(p), array(q))


WRONG = [
    "pack_padded_sequence(torch.zeros(3, 2), [1, 3])",
    "pack_padded_sequence(torch.zeros(3, 2), [3, 0])",
    "pack_padded_sequence(torch.zeros(3, 2), [3, -1])",
    "pack_padded_sequence(torch.zeros(3, 2), [3, 1, 1])",
    "pack_padded_sequence(torch.zeros(3, 2), torch.tensor([[2, 1]]))",
    "pack_padded_sequence(torch.zeros(3), [2])",
    "pad_packed_sequence(pack_padded_sequence(torch.zeros(3, 2), [3, 1]), total_length=2)",
    "pack_sequence([torch.zeros(1), torch.zeros(3)])",
    "pad_sequence([torch.zeros(2, 3), torch.zeros(1, 4)])",
    "pad_sequence([torch.zeros(()), torch.zeros(())])",
    "pad_sequence([torch.zeros(2)], padding_side='x')",
    "pad_sequence([])",
    "pad_sequence(3)",
    "pad_sequence(['a'])",
    "unpad_sequence(torch.zeros(3, 2), torch.tensor([3]))",
    "PackedSequence(torch.zeros(3))",
    "PackedSequence((torch.zeros(3),))",
]


@pytest.mark.torch
@pytest.mark.parametrize("text", WRONG)
def test_errors_are_of_torchs_class(text: str, torch: Any) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011 (whatever torch raises)
        eval(text, {**vars(torch.nn.utils.rnn), "torch": torch})
    with pytest.raises(type(theirs.value)):
        eval(text, {**vars(rnn), "torch": wengert})


def test_lengths_beyond_the_padding_are_refused() -> None:
    with pytest.raises(RuntimeError, match="lengths of up to 4, for sequences padded to 3"):
        rnn.pack_padded_sequence(wengert.zeros(3, 2), [4, 1])


@pytest.mark.torch
def test_packed_sequences_are_tuples_with_conversions(torch: Any) -> None:
    b = torch.nn.utils.rnn.pack_sequence([torch.ones(2, 1), torch.ones(1, 1)])
    a = rnn.pack_sequence([wengert.ones(2, 1), wengert.ones(1, 1)])
    assert repr(a) == repr(b)
    assert a._fields == b._fields
    for name in ("double", "half", "long", "int", "short", "char", "byte"):
        same_packed(getattr(a, name)(), getattr(b, name)())
    assert a.float() is a
    assert a.to("cpu") is a.cpu() is a.to(wengert.float32) is a
    same_packed(a.to(wengert.float64), b.to(torch.float64))
    assert (a.is_cuda, a.is_pinned()) == (b.is_cuda, b.is_pinned())
    assert rnn.PackedSequence((a.data, a.batch_sizes)) == a
    order = wengert.tensor([2, 0, 1])
    assert rnn.PackedSequence(a.data, a.batch_sizes, order).unsorted_indices.tolist() == [1, 2, 0]
    assert rnn.invert_permutation(None) is None


def run(library: Any, layer: Any, several: Any, hx: Any, cotangents: Any) -> list[np.ndarray]:
    """Output and final states of a layer over packed sequences, and all gradients."""
    packed = library.nn.utils.rnn.pack_sequence(several, enforce_sorted=False)
    out, final = layer(packed, hx)
    padded, _ = library.nn.utils.rnn.pad_packed_sequence(out)
    results = [padded, *(final if isinstance(final, tuple) else (final,))]
    leaves = [*several, *layer.parameters(), *(hx if isinstance(hx, tuple) else (hx,))]
    leaves = [x for x in leaves if x is not None]
    gradients = library.autograd.grad(results, leaves, cotangents)
    return [array(x) for x in (*results, *gradients)]


@pytest.mark.torch
@settings(max_examples=40, deadline=None)
@given(
    kind=st.sampled_from(["RNN", "GRU", "LSTM"]),
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=5),
    layers=st.integers(1, 2),
    bidirectional=st.booleans(),
    bias=st.booleans(),
    given_state=st.booleans(),
    projected=st.booleans(),
)
def test_layers_over_packed_sequences_equal_torch(
    torch: Any, kind: str, lengths: list[int], layers: int, bidirectional: bool, bias: bool,
    given_state: bool, projected: bool,
) -> None:  # fmt: skip
    options = {"num_layers": layers, "bidirectional": bidirectional, "bias": bias}
    width = 2 if projected and kind == "LSTM" else 4
    if width == 2:
        options["proj_size"] = 2
    torch.manual_seed(0)
    reference = getattr(torch.nn, kind)(3, 4, **options).double()
    layer = getattr(nn, kind)(3, 4, **options).double()
    load(layer, reference)
    several = [torch.randn(n, 3, dtype=torch.float64, requires_grad=True) for n in lengths]
    count, batch = layers * (1 + bidirectional), len(lengths)
    states = [(count, batch, width), (count, batch, 4)][: 1 + (kind == "LSTM")]
    hx: Any = tuple(torch.randn(s, dtype=torch.float64, requires_grad=True) for s in states)
    hx = None if not given_state else hx if kind == "LSTM" else hx[0]
    shapes = [(max(lengths), batch, width * (1 + bidirectional)), *states]
    cotangents = [torch.randn(s, dtype=torch.float64) for s in shapes]
    expected = run(torch, reference, several, hx, cotangents)
    found = run(wengert, layer, ours(several), ours(hx), ours(cotangents))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)
