"""Which tensors share memory, and what becomes of a tensor that is given other memory."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert

COPIES: dict[str, Callable[[Any, Any], Any]] = {
    "clone": lambda lib, e: e.clone(),
    "detach.clone": lambda lib, e: e.detach().clone(),
    "to": lambda lib, e: e.to(lib.float64),
    "double": lambda lib, e: e.double(),
    "type": lambda lib, e: e.type(lib.float64),
    "zeros_like": lambda lib, e: lib.zeros_like(e),
    "ones_like": lambda lib, e: lib.ones_like(e),
    "full_like": lambda lib, e: lib.full_like(e, 2.0),
    "empty_like": lambda lib, e: lib.empty_like(e).fill_(1),
    "rand_like": lambda lib, e: lib.rand_like(e).fill_(1),
    "new_zeros": lambda lib, e: e.new_zeros(2, 3),
    "new_tensor": lambda lib, e: e.new_tensor(e.tolist()),
    "Parameter": lambda lib, e: lib.nn.Parameter(e.clone()).detach(),
    "tensor": lambda lib, e: lib.asarray(e, copy=True),
    "contiguous": lambda lib, e: e.contiguous(),
    "flatten": lambda lib, e: e.flatten().contiguous().view(2, 3),
    "reshape": lambda lib, e: e.reshape(-1).contiguous().view(2, 3),
    "ravel": lambda lib, e: e.ravel().view(2, 3),
    "negative": lambda lib, e: -e,
    "sum": lambda lib, e: e + lib.zeros(2, 1),
    "where": lambda lib, e: lib.where(e > 1, e, 0.0),
    "index": lambda lib, e: e[lib.tensor([0, 1])],
    "cat": lambda lib, e: lib.cat([e[:1], e[1:]]),
    "stack": lambda lib, e: lib.stack([e[0], e[1]]),
    "flip": lambda lib, e: e.flip(0),
    "roll": lambda lib, e: e.roll(1, 0),
    "sort": lambda lib, e: e.sort(1)[0],
    "cumsum": lambda lib, e: e.cumsum(0),
    "relu": lambda lib, e: e.relu(),
}
EXPANDED: dict[str, Callable[[Any], Any]] = {
    "rows": lambda lib: lib.arange(3.0).expand(2, 3),
    "columns": lambda lib: lib.arange(2.0).view(2, 1).expand(2, 3),
    "number": lambda lib: lib.tensor(1.0).expand(2, 3),
    "transposed": lambda lib: lib.arange(6.0).view(3, 2).t(),
    "sliced": lambda lib: lib.arange(24.0).view(4, 6)[::2, ::2],
}


@pytest.mark.torch
@pytest.mark.parametrize("name", COPIES)
def test_writes_to_views_of_a_copy(name: str, torch: Any) -> None:
    for source in EXPANDED.values():
        seen = []
        for lib in (wengert, torch):
            e = source(lib)
            result = COPIES[name](lib, e)
            flat = result.t() if result.stride()[0] < result.stride()[1] else result
            flat.view(-1)[0] = 9
            flat.view(3, 2).mul_(2)
            seen.append((result.tolist(), result.stride(), result.is_contiguous(), e.tolist()))
        assert seen[0] == seen[1]


def test_view_does_not_copy() -> None:
    x = wengert.arange(6.0).view(2, 3)
    for y in (x.t(), x.t() * 2, x.expand(2, 2, 3), x[:, ::2]):
        with pytest.raises(RuntimeError, match=r"view size is not compatible .* Use \.reshape"):
            y.view(-1)
        y.reshape(-1)[0] = 7
        assert 7 not in x


def outcome(lib: Any, program: Callable[[Any], Any]) -> Any:
    try:
        return program(lib)
    except RuntimeError as error:
        return str(error)


def state(*tensors: Any) -> list[Any]:
    return [
        (t.tolist(), t.stride(), t.storage_offset(), t.requires_grad, t.is_leaf) for t in tensors
    ]


def leaf(lib: Any) -> Any:
    return lib.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], requires_grad=True)


def set_of_a_leaf(lib: Any) -> Any:
    p = lib.nn.Parameter(leaf(lib))
    with lib.no_grad():
        p.set_(lib.arange(4.0), 1, (2,), (2,))
    (p * 3).sum().backward()
    return state(p), p.grad.tolist()


def set_of_a_leaf_without_memory(lib: Any) -> Any:
    p = leaf(lib)
    with lib.no_grad():
        p.set_()
    p.sum().backward()
    return state(p), p.grad.shape


def set_of_a_leaf_that_is_recorded(lib: Any) -> Any:
    return leaf(lib).set_(lib.ones(2))


def set_of_a_result(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 2
    y.set_(lib.ones(4))
    z = y.sum()
    assert z.requires_grad
    z.backward()


def set_to_what_requires_grad(lib: Any) -> Any:
    y = lib.zeros(2).set_(leaf(lib))
    assert y.requires_grad
    y.sum().backward()


def data_of_integers(lib: Any) -> Any:
    leaf(lib).data = lib.arange(4)


def data_of_integers_of_a_result(lib: Any) -> Any:
    (leaf(lib) * 2).data = lib.arange(4)


def data_of_another_shape(lib: Any) -> Any:
    p = leaf(lib)
    p.data = lib.ones(4, dtype=lib.float64)
    (p * 2).sum().backward()
    return state(p), p.grad.tolist(), str(p.grad.dtype)


def data_of_a_result_in_its_shape(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 2
    y.data = lib.ones(2, 3)
    (y * y).sum().backward()
    return state(x, y), x.grad.tolist()


def data_of_a_view_of_the_same_memory(lib: Any) -> Any:
    x = lib.arange(6.0)
    y = x[1:3]
    y.data = lib.ones(2)
    y.mul_(5)
    x.mul_(3)
    return state(x, y)


def data_of_a_tensor_with_views(lib: Any) -> Any:
    x = lib.arange(6.0)
    y = x[1:3]
    x.data = lib.ones(6)
    y.mul_(5)
    x.mul_(3)
    return state(x, y)


def views_of_replaced_data(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 2
    a, b = y[0], y[:, 0]
    y.data = lib.ones(2, 3)
    a.mul_(5)
    b.sum().backward()
    return state(a, b), x.grad.tolist()


def transposed_leaf(lib: Any) -> Any:
    p = lib.nn.Parameter(leaf(lib))
    with lib.no_grad():
        p.t_()
    (p * lib.arange(6.0).view(3, 2)).sum().backward()
    return state(p), p.grad.tolist()


def unsqueezed_result(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 2
    with lib.no_grad():
        y.unsqueeze_(0)
    (y * y).sum().backward()
    return state(y), x.grad.tolist()


def write_through_a_view_made_without_grad(lib: Any) -> Any:
    x = leaf(lib) * 2
    with lib.no_grad():
        v = x[0]
    v.mul_(2)


def write_without_grad_through_a_view(lib: Any) -> Any:
    x = leaf(lib)
    v = x[0]
    with lib.no_grad():
        v.mul_(2)
        x[1].zero_()
    return state(x)


def write_to_a_view_of_a_leaf_that_is_a_view(lib: Any) -> Any:
    x = lib.arange(6.0).view(2, 3).requires_grad_()
    x[0] = 1.0


def write_to_a_leaf_that_is_a_view(lib: Any) -> Any:
    x = lib.arange(6.0).view(2, 3).requires_grad_()
    x.mul_(2)


def write_through_detach(lib: Any) -> Any:
    x = leaf(lib)
    x.detach()[0].mul_(2)
    x.data[1] = 7.0
    return state(x, x.detach(), x.data)


def resized_in_channels_last(lib: Any) -> Any:
    x = lib.arange(12.0)
    x.resize_(1, 2, 3, 2, memory_format=lib.channels_last)
    y = lib.arange(12.0)
    like = lib.zeros(1, 2, 3, 2).to(memory_format=lib.channels_last)
    y.resize_as_(like, memory_format=lib.preserve_format)
    return state(x, y)


def resized_in_its_shape(lib: Any) -> Any:
    x = lib.arange(6.0)[::2]
    y = lib.arange(6.0)[::2]
    return state(x.resize_(3), y.resize_(3, memory_format=lib.contiguous_format))


def resized_in_preserve_format(lib: Any) -> Any:
    lib.zeros(2).resize_(3, memory_format=lib.preserve_format)


def resized_in_channels_last_of_rank_3(lib: Any) -> Any:
    lib.zeros(2).resize_(1, 2, 1, memory_format=lib.channels_last)


def resized_array(lib: Any) -> Any:
    array = np.arange(4.0)
    lib.from_numpy(array)[1:].resize_(2).zero_()
    return array.tolist()


def requires_grad_of_a_result(lib: Any) -> Any:
    (leaf(lib) * 2).requires_grad = True


def outgrown_memory(lib: Any) -> Any:
    x = lib.arange(6.0).view(2, 3)
    x.resize_(3, 3)
    return x[:2].tolist()


PROGRAMS = [
    set_of_a_leaf, set_of_a_leaf_without_memory, set_of_a_leaf_that_is_recorded, set_of_a_result,
    set_to_what_requires_grad, data_of_integers, data_of_integers_of_a_result,
    data_of_another_shape, data_of_a_result_in_its_shape, data_of_a_view_of_the_same_memory,
    data_of_a_tensor_with_views, views_of_replaced_data, transposed_leaf, unsqueezed_result,
    write_through_a_view_made_without_grad, write_without_grad_through_a_view,
    write_to_a_view_of_a_leaf_that_is_a_view, write_to_a_leaf_that_is_a_view,
    write_through_detach, resized_in_channels_last, resized_in_its_shape,
    resized_in_preserve_format, resized_in_channels_last_of_rank_3, resized_array,
    requires_grad_of_a_result, outgrown_memory,
]  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program(program: Callable[[Any], Any], torch: Any) -> None:
    ours, theirs = outcome(wengert, program), outcome(torch, program)
    if isinstance(theirs, str):
        assert isinstance(ours, str)
        assert set(ours.lower().split()[:9]) & set(theirs.lower().split()[:3])
    else:
        assert ours == theirs


def test_data_of_another_shape_of_a_result() -> None:
    x = leaf(wengert)
    y = x * 2
    z = y * 1
    y.data = wengert.ones(4)
    z.sum().backward()
    assert x.grad.tolist() == [[2.0] * 3] * 2
    with pytest.raises(RuntimeError, match=r"shape \[2, 3\], to whose \.data one of shape \[4\]"):
        y.sum().backward()


def test_views_know_their_history_after_the_base_got_other_data() -> None:
    x = leaf(wengert)
    y = x * 2
    a, b = y[0], y[:, 0]
    y.data = wengert.ones(2, 3)
    a.mul_(5)
    (b.sum() + y.sum()).backward()
    assert (a.tolist(), b.tolist()) == ([0.0, 10.0, 20.0], [0.0, 6.0])
    assert x.grad.tolist() == [[12.0, 2.0, 2.0], [4.0, 2.0, 2.0]]


def test_more_memory_does_not_part_views() -> None:
    x = wengert.arange(4.0)
    y = x[:2]
    for tensor in (x, y):
        with pytest.raises(RuntimeError, match="they would part ways"):
            tensor.resize_(6)
    y.resize_(4)[3] = 7
    assert x[3] == 7


@pytest.mark.torch
def test_copies_of_tensors_that_share_memory(torch: Any) -> None:
    def copied(lib: Any) -> Any:
        x = lib.arange(6.0).view(2, 3)
        a, b, c, e = copy.deepcopy([x, x.t(), x[1:, ::2], x[0].expand(2, 3)])
        a[1, 0] = 9.0
        return state(a, b, c, e), x.tolist()

    assert copied(wengert) == copied(torch)


@pytest.mark.torch
def test_bytes_that_do_not_line_up_are_no_wider_elements(torch: Any) -> None:
    """A view of twice the width needs an even place, and even steps between its rows."""
    calls: list[Callable[[Any], Any]] = [
        lambda lib: lib.ones(2, 3, dtype=lib.bool)[:, :2].view(lib.int16),
        lambda lib: lib.arange(8, dtype=lib.int8)[1:7].view(lib.int16),
        lambda lib: lib.arange(8, dtype=lib.int8)[:, None].expand(8, 2).view(lib.int16),
        lambda lib: lib.zeros(1, 0, 0, dtype=lib.bool).view(lib.int16),
    ]
    for call in calls:
        with pytest.raises(RuntimeError) as theirs:
            call(torch)
        with pytest.raises(RuntimeError, match=re.escape(str(theirs.value))):
            call(wengert)
    assert wengert.arange(8, dtype=wengert.int8)[2:6].view(wengert.int16).tolist() == [770, 1284]


def test_a_tensor_without_elements_beyond_its_memory_is_copied() -> None:
    empty = wengert.arange(0).view(1, 0).diagonal(-1)
    for _ in range(5):
        empty = empty[None, ..., None]
    assert copy.deepcopy(empty).shape == empty.shape
