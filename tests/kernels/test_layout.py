"""Orders in memory, worked out of shapes and strides alone."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from wengert.kernels import layout
from wengert.kernels.layout import (
    arranged,
    arranged_by,
    as_images,
    by_columns,
    copy_with_gaps,
    element_strides,
    is_channels_last,
    is_dense,
    order_of,
    repeats,
    strides_of,
    writable,
)


def numbered(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape)


def channels_last(*shape: int) -> np.ndarray:
    n, c, *space = shape
    return np.moveaxis(numbered(n, *space, c), -1, 1)


# -- strides -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("array", "strides"),
    [
        (numbered(2, 3), (3, 1)),
        (numbered(2, 3).T, (1, 3)),
        (numbered(4, 6)[::2, 1::3], (12, 3)),
        (numbered(2, 3)[:, None], (3, 3, 1)),
        (numbered(2, 3)[None], (6, 3, 1)),
        (numbered(2, 3)[..., None], (3, 1, 1)),
        (numbered(3)[::-1], (-1,)),
        (np.broadcast_to(numbered(3), (2, 3)), (0, 1)),
        (np.zeros((2, 0, 3)), (3, 3, 1)),
        (np.zeros((0,)), (1,)),
        (np.zeros(()), ()),
    ],
)
def test_strides_in_elements(array: np.ndarray, strides: tuple[int, ...]) -> None:
    assert element_strides(array) == strides


def test_strides_of_dimensions_that_numpy_added() -> None:
    array = numbered(2, 3)[:, None]
    assert array.strides == (12, 0, 4)
    assert strides_of(array) == (12, 12, 4)
    expanded = np.broadcast_to(numbered(1, 3), (2, 3))
    assert strides_of(expanded) == (0, 4)  # repeated, not new
    assert strides_of(expanded[:, None]) == (0, 12, 4)


@pytest.mark.torch
def test_strides_against_pytorch(torch: Any) -> None:
    for key in itertools.product([slice(None), None], repeat=3):
        array, tensor = numbered(2, 3, 4)[key], torch.zeros(2, 3, 4)[key]
        assert element_strides(array) == tensor.stride(), key


# -- properties --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (channels_last(2, 3, 4, 5), True),
        (channels_last(2, 3, 4, 5, 6), True),
        (channels_last(2, 3, 4, 5)[:, :, ::2], True),
        (numbered(2, 3, 4, 5), False),
        (numbered(3, 4, 5), False),
        (np.moveaxis(numbered(2, 5, 3), -1, 1), False),  # three dimensions have no such order
        (channels_last(0, 3, 4, 5), False),
        (numbered(1, 1, 1, 1), False),
        (numbered(2, 4, 5, 1).transpose(0, 3, 1, 2), True),
        (np.broadcast_to(numbered(2, 1, 4, 5), (2, 3, 4, 5)), False),
    ],
)
def test_channels_last(array: np.ndarray, expected: bool) -> None:
    assert is_channels_last(array) is expected


@pytest.mark.torch
def test_channels_last_against_pytorch(torch: Any) -> None:
    for order in itertools.permutations(range(4)):
        for shape in ((2, 3, 4, 5), (1, 3, 4, 1), (2, 1, 4, 5), (1, 1, 1, 1), (1, 3, 1, 1)):
            tensor = torch.zeros(*[shape[d] for d in order]).permute(*np.argsort(order).tolist())
            array = np.lib.stride_tricks.as_strided(
                np.zeros(1, np.float32), shape, [4 * s for s in tensor.stride()]
            )
            # What PyTorch's layers for images look at.
            out = torch.nn.functional.avg_pool2d(tensor, 1)
            assert is_channels_last(array) == (
                out.is_contiguous(memory_format=torch.channels_last) and _told(out, shape)
            ), (order, shape)


def _told(out: Any, shape: tuple[int, ...]) -> bool:
    """Whether the strides of a result are those of channels last, of length 1 or not."""
    _n, c, h, w = shape
    return out.stride() == (h * w * c, 1, w * c, c) and out.stride() != (c * h * w, h * w, w, 1)


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (numbered(2, 3), False),
        (numbered(2, 3).T[::2], False),
        (np.broadcast_to(numbered(3), (2, 3)), True),
        (np.broadcast_to(numbered(6)[::2], (1, 3)), False),
        (np.broadcast_to(numbered(1, 3), (2, 3))[:1], False),
    ],
)
def test_repeated_elements(array: np.ndarray, expected: bool) -> None:
    assert repeats(array) is expected


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (numbered(2, 3, 4), True),
        (numbered(2, 3, 4).transpose(2, 0, 1), True),
        (numbered(2, 3)[:, ::2], False),
        (numbered(4, 3)[1:3], True),
        (np.broadcast_to(numbered(3), (2, 3)), False),
        (numbered(3)[::-1], False),
    ],
)
def test_density(array: np.ndarray, expected: bool) -> None:
    assert is_dense(array) is expected


# -- copies ------------------------------------------------------------------------------------

ARRAYS = {
    "rows": numbered(3, 4),
    "columns": numbered(4, 3).T,
    "gaps": numbered(6, 8)[::2, ::2],
    "backward": numbered(3, 4)[::-1],
    "expanded": np.broadcast_to(numbered(1, 4), (3, 4)),
    "empty": np.zeros((0, 4), np.float32),
    "images": channels_last(2, 3, 4, 5),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_copies_are_dense_and_in_order(name: str) -> None:
    array = ARRAYS[name]
    for out in (layout.copy(array), layout.empty_like(array), layout.zeros_like(array)):
        assert out.shape == array.shape
        assert out.dtype == array.dtype
        assert is_dense(out)
        assert not np.shares_memory(out, array)
        assert order_of(out.shape, ((out.shape, out.strides),)) == order_of(
            array.shape, ((array.shape, array.strides),)
        )
    np.testing.assert_array_equal(layout.copy(array), array)
    assert not layout.zeros_like(array).any()
    assert layout.empty_like(array, np.int64).dtype == np.int64


def test_copies_with_gaps() -> None:
    for name in ("rows", "columns", "gaps", "images"):
        out = copy_with_gaps(ARRAYS[name])
        assert out.strides == ARRAYS[name].strides
        np.testing.assert_array_equal(out, ARRAYS[name])
        assert out.flags.writeable
        assert not np.shares_memory(out, ARRAYS[name])
    assert is_dense(copy_with_gaps(ARRAYS["expanded"]))
    assert copy_with_gaps(ARRAYS["empty"]).shape == (0, 4)


def test_an_order_of_dimensions() -> None:
    array = layout.empty((2, 3, 4), np.float64, (1, 2, 0))
    assert array.strides == (8, 64, 16)
    assert is_dense(array)
    assert layout.empty((), np.float32, ()).shape == ()


def test_what_may_not_be_written_is_copied() -> None:
    array = numbered(2, 3)
    assert writable(array) is array
    array.flags.writeable = False
    out = writable(array)
    assert out.flags.writeable
    np.testing.assert_array_equal(out, array)
    expanded = np.broadcast_to(numbered(1, 3), (4, 3))
    out = writable(expanded)
    assert out.strides == expanded.strides  # it repeats elements as it did
    out[0, 0] = 7
    assert (out[:, 0] == 7).all()
    assert expanded[0, 0] == 0


def test_by_columns() -> None:
    array = numbered(2, 3, 4)
    out = by_columns(array)
    assert out.strides == (48, 4, 12)
    np.testing.assert_array_equal(out, array)
    assert np.shares_memory(by_columns(out), out)


def test_conversions_keep_the_order() -> None:
    columns = numbered(4, 3).T
    assert layout.astype(columns, np.float64).strides == (8, 24)
    assert layout.astype(columns, np.float32) is columns
    assert layout.astype(columns, np.float32, copy=True) is not columns
    expanded = np.broadcast_to(numbered(1, 4), (3, 4))
    assert layout.astype(expanded, np.float64).strides == (32, 8)


# -- images ------------------------------------------------------------------------------------


def test_images_follow_their_inputs() -> None:
    plain, last = numbered(2, 3, 4, 5), channels_last(2, 6, 4, 5)
    assert as_images(plain, plain) is plain
    out = as_images(plain, plain, last)
    assert is_channels_last(out)
    np.testing.assert_array_equal(out, plain)
    assert as_images(last, plain).flags.c_contiguous
    assert as_images(last, last).strides == last.strides


def test_images_of_one_line() -> None:
    line = np.moveaxis(numbered(2, 5, 3), -1, 1)
    assert as_images(numbered(2, 3, 5), line).flags.c_contiguous
    assert as_images(numbered(2, 3, 5), line, lines=True).strides == line.strides


def test_images_with_dimensions_of_one_have_the_strides_of_a_new_array() -> None:
    odd = np.lib.stride_tricks.as_strided(numbered(12), (1, 3, 1, 4), (400, 16, 64, 4))
    assert as_images(odd, odd).strides == (48, 16, 16, 4)


# -- arranged ----------------------------------------------------------------------------------


def strides_of_result(*operands: np.ndarray) -> tuple[int, ...]:
    """Those of a sum, which NumPy computed in C order."""
    shape = np.broadcast_shapes(*[a.shape for a in operands])
    return arranged(np.zeros(shape, np.float32), operands).strides


def test_a_result_in_the_right_order_is_left_alone() -> None:
    out = numbered(2, 3)
    assert arranged(out, [numbered(2, 3)]) is out
    assert arranged(out, [numbered(2, 6)[:, ::2]]) is out
    assert arranged(out, [None, numbered(2, 3)]) is out
    line = numbered(3)[None]
    assert arranged(line, [numbered(3, 1).T]) is line  # a stride over nothing


def test_the_first_operand_that_tells_decides() -> None:
    rows, columns = numbered(3, 4), numbered(4, 3).T
    assert strides_of_result(columns, rows) == (4, 12)
    assert strides_of_result(rows, columns) == (16, 4)
    assert strides_of_result(numbered(4), columns) == (4, 12)  # says nothing of two dimensions
    assert strides_of_result(numbered(1, 1), columns) == (4, 12)


def test_values_stay_where_they_are_moved() -> None:
    out = numbered(3, 4)
    moved = arranged(out, [numbered(4, 3).T])
    assert moved.strides == (4, 12)
    np.testing.assert_array_equal(moved, out)


def test_empty_results_are_left_alone() -> None:
    out = np.zeros((0, 3), np.float32)
    assert arranged_by(out, (((0, 3), (4, 40)),)) is out


@pytest.mark.parametrize(
    ("shape", "outlines", "order"),
    [
        ((2, 3, 4), [((2, 3, 4), (48, 16, 4))], (0, 1, 2)),
        ((2, 3, 4), [((2, 3, 4), (4, 8, 24))], (2, 1, 0)),
        ((2, 3, 4), [((3, 4), (4, 12))], (0, 2, 1)),
        ((2, 3), [((2, 3), (0, 4)), ((2, 3), (4, 8))], (1, 0)),  # expanded: the next one tells
        ((2, 3), [((1, 3), (4, 4)), ((2, 3), (4, 8))], (1, 0)),
        ((3, 2), [((3, 2), (4, 4))], (0, 1)),  # equal strides: the longer one outside
        ((2, 3), [((2, 3), (4, 4))], (1, 0)),
        ((), [((), ())], ()),
    ],
)
def test_orders(shape: Any, outlines: Any, order: Any) -> None:
    assert order_of(shape, tuple(outlines)) == order


@pytest.mark.torch
def test_orders_against_pytorch(torch: Any) -> None:
    """Sums of two operands, permuted, expanded or with new dimensions."""
    shape = (2, 3, 4)
    forms = []
    for order in itertools.permutations(range(3)):
        for expanded in ((), (0,), (1,), (2,), (0, 2)):
            base = torch.zeros(*[1 if d in expanded else shape[d] for d in order])
            forms.append(base.permute(*np.argsort(order).tolist()))
    for a, b in itertools.product(forms, forms[::3]):
        out = a + b
        own = arranged(np.zeros(tuple(out.shape), np.float32), [a.numpy(), b.numpy()])
        told = [d for d, n in enumerate(out.shape) if n > 1]
        assert [element_strides(own)[d] for d in told] == [out.stride(d) for d in told]


@pytest.mark.parametrize("n", [4, 200])  # a few numbers, and as many as a kernel copies
def test_another_shape_is_a_view_where_it_can_be(n: int) -> None:
    array = np.arange(n * n * 6.0).reshape(n, n, 6).transpose(1, 0, 2)
    view = layout.reshaped(array, (n, n, 2, 3))
    assert np.shares_memory(view, array)
    copy = layout.reshaped(array, (-1, 3))
    assert not np.shares_memory(copy, array)
    assert copy.flags.c_contiguous
    np.testing.assert_array_equal(copy, array.reshape(-1, 3))
    with pytest.raises(ValueError, match="reshape"):
        layout.reshaped(array, (n, 7))
