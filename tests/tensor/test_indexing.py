"""`x[key]` and `x[key] = v`: values, gradients, views and refusals against torch."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import wengert
from tests.tensor.both import compare, numeric_gradients


class T:
    """A tensor inside a key, made by the library that the key is for."""

    def __init__(self, data: Any, dtype: str | None = None) -> None:
        self.data, self.dtype = data, dtype

    def __repr__(self) -> str:
        return f"T({self.data}{', ' + self.dtype if self.dtype else ''})"


def key_for(lib: Any, key: Any) -> Any:
    """The key with its `T`s as tensors of the library."""
    if isinstance(key, T):
        return lib.tensor(key.data, dtype=getattr(lib, key.dtype) if key.dtype else None)
    if type(key) in (tuple, list):
        return type(key)(key_for(lib, k) for k in key)
    return key


ALL = slice(None)
MASK = T([[True, False, True], [False, True, True]])
COLUMNS = T([True, False, True])

KEYS: dict[tuple[int, ...], list[Any]] = {
    (2, 3): [
        0, -1, (0, 1), (ALL, 0), (ALL, -1), (..., 1), (0, ...), ..., (), None, (..., None),
        (None, 0), (ALL, None, 1), slice(1, None), slice(0, 5), slice(2, 1), (ALL, slice(0, 3, 2)),
        slice(-1, None), (slice(0, 1), slice(1, 3)), (..., ...), np.int64(1), T(1), T(-1, "int8"),
        (1, T(1)), True, False, (True, 0), (..., True), T(True), T([1, 0, 1]), T([-1, -2]),
        T([[0, 1], [1, 0]]), T([0, 1], "int32"), T([], "int64"), [1, 1], [], [True, False],
        (ALL, [0, 2, 2]), (ALL, T([1, 0])), (T([0, 1]), T([2, 2])), (T([0, 1]), T([[0], [1]])),
        (range(2), T([0, 2])), ([0, 1], [1, 2]), (0, T([0, 2])), (T([1, 0]), 2), MASK,
        (ALL, COLUMNS), (T([True, True]), T([0, 2])), T([False, True]), (0, COLUMNS),
        np.array([0, 1]), np.array([[0, 1], [1, 0]]), (ALL, np.array([True, False, True])),
        (T([0, 1]), None, T([0, 1])), (None, T([1, 0])), (ALL, None, T([1])), (None, MASK),
        range(2),
    ],
    (2, 3, 4): [
        (0, ALL, T([0, 1])), (T([0, 1]), ALL, T([2, 3])), (ALL, 0, T([0, 1])),
        (None, T([0, 1]), 0), (T([1, 1]), 0), (0, T([0, 2]), ALL), (T([0, 1]), ALL, 0), MASK,
        (ALL, COLUMNS, T([0, 3])), (T(0), ALL, T([0, 1])), (..., T([0, 0, 3])), (T([1]), ...),
        (..., T([0]), ALL), (ALL, T([[0, 1], [2, 2]])), (slice(1, 2), T([0, 2]), slice(0, 4, 3)),
        (MASK, T([0, 1, 2, 3])), (0, None, T([1, 1])), (ALL, T([0, 2]), None, 1), (1, 2, 3),
        (T([0]), T([1]), T([2])), (..., 0, T([0, 1])),
    ],
    (): [..., (), None, True, (None, ...), T(True)],
    (0, 3): [slice(None), T([], "int64"), (ALL, T([0, 0])), (ALL, 1)],
}  # fmt: skip
CASES = [(shape, key) for shape, keys in KEYS.items() for key in keys]


@pytest.mark.torch
@pytest.mark.parametrize(("shape", "key"), CASES, ids=str)
def test_getitem_equals_torch(shape: tuple[int, ...], key: Any, torch: Any) -> None:
    compare(lambda lib, x: (x * 2)[key_for(lib, key)], torch, shape)


@pytest.mark.torch
@pytest.mark.parametrize(("shape", "key"), CASES, ids=str)
def test_getitem_shares_memory_where_torch_does(
    shape: tuple[int, ...], key: Any, torch: Any
) -> None:
    shared = []
    for lib in (wengert, torch):
        x = lib.from_numpy(np.zeros(shape))
        x[key_for(lib, key)].add_(1)
        shared.append(x.numpy())
    np.testing.assert_array_equal(*shared)


@pytest.mark.torch
@pytest.mark.parametrize(("shape", "key"), CASES, ids=str)
def test_setitem_equals_torch(shape: tuple[int, ...], key: Any, torch: Any) -> None:
    def number(lib: Any, x: Any) -> Any:
        y = x * 2
        y[key_for(lib, key)] = 1.5
        return y

    def tensor(lib: Any, x: Any, w: Any) -> Any:
        y = x * 2
        y[key_for(lib, key)] = w * 3
        return y

    compare(number, torch, shape)
    compare(tensor, torch, shape, ())


def test_gradient_of_repeated_indices() -> None:
    x = wengert.zeros(3, requires_grad=True)
    x[wengert.tensor([0, 0, 2])].sum().backward()
    assert x.grad.tolist() == [2.0, 0.0, 1.0]


def picked_log_probabilities(lib: Any, x: Any) -> Any:
    return -lib.tanh(x)[lib.arange(3), lib.tensor([0, 2, 2])]


def masked_and_scaled(lib: Any, x: Any) -> Any:
    y = x * 2
    y[x > 0] = 0
    y[x < -0.5] *= 3
    return y


def index_assignment(lib: Any, x: Any, w: Any) -> Any:
    y = x * 2
    y[lib.tensor([2, 0])] = w
    return y * x


def into_a_view_at_indices(lib: Any, x: Any, w: Any) -> Any:
    y = x * 2
    y[:, 1][lib.tensor([0, 2])] = w[0]
    y[1, :, None][1:] = w[:, None]
    return y


def gradient_arrives_in_plain_memory(lib: Any, w: Any) -> Any:
    y = lib.zeros(3, dtype=lib.float64)
    v = y[1:]
    y[lib.tensor([0, 2])] = w
    return y, v


def loop_over_rows(lib: Any, x: Any) -> Any:
    total = 0
    for k, row in enumerate(x):
        total = total + row * (k + 1)
    return total


def recurrent(lib: Any, x: Any) -> Any:
    h = x[0]
    out = lib.zeros(3, 3, dtype=lib.float64)
    for t in range(3):
        h = lib.tanh(h + x[t])
        out[t] = h
    return out


def broadcast_value(lib: Any, x: Any, w: Any) -> Any:
    y = x * 2
    y[:, :2] = w
    y[1:] = w[None, None, :1]
    return y


def shifted_onto_itself(lib: Any, x: Any) -> Any:
    y = x * 2
    y[1:] = y[:-1].clone()
    return y


def index_changed_afterwards(lib: Any, x: Any) -> Any:
    index = lib.tensor([0, 1])
    y = (x * 2)[index]
    if lib is wengert:  # the graph keeps its own copy; torch refuses to run backward
        index.add_(1)
    return y


PROGRAMS = [
    (picked_log_probabilities, (3, 3)), (masked_and_scaled, (3, 3)),
    (index_assignment, (3, 3), (2, 3)), (into_a_view_at_indices, (3, 3), (2,)),
    (gradient_arrives_in_plain_memory, (2,)), (loop_over_rows, (3, 3)), (recurrent, (3, 3)),
    (broadcast_value, (3, 3), (2,)), (shifted_onto_itself, (3, 3)),
    (index_changed_afterwards, (3, 3)),
]  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("case", PROGRAMS, ids=lambda c: c[0].__name__)
def test_program_equals_torch(case: Any, torch: Any) -> None:
    compare(case[0], torch, *case[1:])


@pytest.mark.parametrize("program", [recurrent, loop_over_rows, picked_log_probabilities])
def test_program_against_differences(program: Any) -> None:
    def flat(lib: Any, x: Any) -> Any:
        return program(lib, x).reshape(-1)

    numeric_gradients(flat, (3, 3))


M, V, S = (2, 3), (3,), ()
READS: list[tuple[tuple[int, ...], Any, type[Exception], str]] = [
    (M, 5, IndexError, "index 5 is out of bounds for dimension 0 with size 2"),
    (M, -3, IndexError, "index -3 is out of bounds for dimension 0 with size 2"),
    (M, (0, -4), IndexError, "index -4 is out of bounds for dimension 1 with size 3"),
    (M, (0, 0, 0), IndexError, "too many indices for tensor of dimension 2"),
    (M, (0, ..., 0, 0), IndexError, "too many indices for tensor of dimension 2"),
    (M, slice(None, None, -1), ValueError, "step must be greater than zero"),
    (M, slice(0, 2, 0), ValueError, "slice step cannot be zero"),
    (M, 1.0, IndexError, r"only integers, slices .* are valid indices \(got float\)"),
    (M, {}, IndexError, r"are valid indices \(got dict\)"),
    (M, "a", TypeError, "a tensor has no element 'a': an index is no str"),
    (M, (0, b"a"), TypeError, "an index is no bytes"),
    (M, T([0, 5]), IndexError, "index 5 is out of bounds for dimension 0 with size 2"),
    (M, T([-1, -3]), IndexError, "index -3 is out of bounds for dimension 0 with size 2"),
    (M, (T([0, 1]), 3), IndexError, "index 3 is out of bounds for dimension 1 with size 3"),
    (M, (ALL, T([0, 3])), IndexError, "index 3 is out of bounds for dimension 1 with size 3"),
    (M, T([0, 1], "int16"), IndexError, "must be long, int, byte or bool tensors"),
    (M, T([0.0]), IndexError, "must be long, int, byte or bool tensors"),
    (M, COLUMNS, IndexError, r"The shape of the mask \[3\] at index 0 does not match"),
    (M, (T([0, 1]), T([0, 1, 2])), IndexError, "shape mismatch: indexing tensors could not be"),
    (M, (MASK, 0), IndexError, "too many indices"),
    (S, 0, IndexError, "invalid index of a 0-dim tensor"),
    (M, (slice(0, 1.5),), TypeError, "slice indices must be integers"),
]


@pytest.mark.torch
@pytest.mark.parametrize(("shape", "key", "kind", "match"), READS, ids=str)
def test_refused_keys(
    shape: tuple[int, ...], key: Any, kind: type[Exception], match: str, torch: Any
) -> None:
    with pytest.raises(kind):
        torch.zeros(shape)[key_for(torch, key)]
    x = wengert.zeros(shape)
    with pytest.raises(kind, match=match):
        x[key_for(wengert, key)]
    with pytest.raises(kind, match=match):
        x[key_for(wengert, key)] = 1.0


def test_elements_are_not_deleted() -> None:
    x = wengert.zeros(2)
    with pytest.raises(TypeError, match="cannot be deleted"):
        del x[0]
    assert x.shape == (2,)


WRITES: list[tuple[Any, Any, type[Exception], str]] = [
    (0, [1, 2, 3], TypeError, "can't assign a list to a torch.FloatTensor"),
    (0, np.zeros(3), TypeError, "can't assign a numpy.ndarray to|can't assign a ndarray to"),
    (0, None, TypeError, "can't assign a NoneType to a torch.FloatTensor"),
    (T([0]), "a", TypeError, "can't assign a str to a torch.FloatTensor"),
    (0, T([1.0, 2.0]), RuntimeError, r"expanded size of the tensor \(3\) must match"),
    (0, T([[1.0] * 3] * 2), RuntimeError, r"number of sizes provided \(1\)"),
    ((0, 0), T([1.0, 2.0]), RuntimeError, r"number of sizes provided \(0\)"),
    (0, 1j, RuntimeError, "value cannot be converted to type float.* without overflow"),
    (T([0, 1]), 1j, RuntimeError, "without overflow"),
    (T([0, 1]), T([1.0, 2.0]), RuntimeError, r"value tensor of shape \[2\] cannot be broadcast"),
    (MASK, T([1.0, 2.0]), RuntimeError, r"value tensor of shape \[2\] cannot be broadcast"),
    (T([0, 1]), T([[1, 1, 1]]), RuntimeError, "source and destination dtypes match, got Float"),
    (T([0]), T(2.0, "float64"), RuntimeError, "source and destination dtypes match, got Float"),
]


@pytest.mark.torch
@pytest.mark.parametrize(("key", "value", "kind", "match"), WRITES, ids=str)
def test_refused_values(
    key: Any, value: Any, kind: type[Exception], match: str, torch: Any
) -> None:
    with pytest.raises(kind):
        torch.zeros(2, 3)[key_for(torch, key)] = key_for(torch, value)
    x = wengert.zeros(2, 3)
    with pytest.raises(kind, match=match):
        x[key_for(wengert, key)] = key_for(wengert, value)
    assert x.tolist() == [[0.0] * 3] * 2


@pytest.mark.torch
def test_values_convert_to_the_dtype_of_the_tensor(torch: Any) -> None:
    found = []
    for lib in (wengert, torch):
        x = lib.zeros(4, dtype=lib.int64)
        x[0] = 1.7
        x[1] = lib.tensor(-2.7)
        x[2] = True
        x[lib.tensor([3])] = 9.9
        y = lib.zeros(2)
        y[y == 0] = lib.tensor(2.5, dtype=lib.float64)
        assert y.tolist() == [2.5, 2.5]
        y[True] = lib.tensor([3, 4])
        z = lib.zeros(2, dtype=lib.int64).index_put((y > 3,), lib.tensor([2.5]))
        found.append((x.tolist(), str(x.dtype), y.tolist(), z.tolist(), str(z.dtype)))
    assert found[0] == found[1]


def test_a_nested_list_counts_as_a_tuple_with_a_warning() -> None:
    x = wengert.tensor([[1, 2], [3, 4]])
    with pytest.warns(UserWarning, match="non-tuple sequence"):
        assert x[[[0, 1], [1, 0]]].tolist() == [2, 3]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x[[0, 1]].tolist() == [[1, 2], [3, 4]]


def test_a_uint8_index_is_a_mask() -> None:
    x = wengert.tensor([5, 6])
    with pytest.warns(UserWarning, match="please use a dtype torch.bool instead"):
        assert x[wengert.tensor([0, 1], dtype=wengert.uint8)].tolist() == [6]


def test_length_iteration_containment() -> None:
    x = wengert.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert len(x) == 2
    assert [row.tolist() for row in x] == x.tolist()
    _, b = x
    assert b.tolist() == [3.0, 4.0]
    assert 3 in x
    assert wengert.tensor(5.0) not in x
    assert [row.tolist() for row in reversed(x)] == [[4.0, 3.0], [2.0, 1.0]]
    scalar = wengert.tensor(1.0)
    with pytest.raises(TypeError, match=r"len\(\) of a 0-d tensor"):
        len(scalar)
    with pytest.raises(TypeError, match="iteration over a 0-d tensor"):
        iter(scalar)
    with pytest.raises(RuntimeError, match="only supports Tensor or scalar"):
        "a" in x  # noqa: B015


def test_the_last_step_of_an_augmented_assignment_records_nothing() -> None:
    y = wengert.ones(2, 3, requires_grad=True) * 2
    y[0] += 1
    written = type(y._edge).__name__
    assert written == "CopySlices"
    assert type(y._edge.edges[0]).__name__ == "MulBackward0"


def test_names_of_nodes() -> None:
    x = wengert.ones(2, 3, requires_grad=True)
    index = wengert.tensor([0])
    for part, name in ((x[0], "Select"), (x[:1], "Slice"), (x[index], "Index")):
        assert type(part.grad_fn).__name__ == f"{name}Backward0"


@pytest.mark.torch
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_whole_dimensions_beside_index_tensors(torch: Any, order: tuple[int, ...]) -> None:
    every = slice(None)
    keys = [(every, 0), (every, every, 1), (1, every), (1, every, 0), (0, 1), (every, 1, 0), (1,)]
    for key in keys:
        found = []
        for lib in (wengert, torch):
            x = lib.arange(60.0).reshape(3, 4, 5).permute(order)
            tensors = [lib.tensor([[0, 2], [-1, 1]]), lib.tensor([1, 0])]
            part = x[tuple([tensors[k] if type(k) is int else k for k in key])]
            found.append((part.tolist(), part.stride()))
        assert found[0] == found[1], key


def test_indices_out_of_bounds_beside_whole_dimensions() -> None:
    x = wengert.zeros(3, 4)
    with pytest.raises(IndexError, match="out of bounds for dimension 1 with size 4"):
        x[:, wengert.tensor([0, 4])]
    with pytest.raises(IndexError, match="out of bounds for dimension 0 with size 3"):
        x[wengert.tensor([-4])] = 1.0
    with pytest.raises(IndexError, match="too many indices"):
        x[wengert.tensor([0]), wengert.tensor([0]), wengert.tensor([0])]
    assert not x.any()
