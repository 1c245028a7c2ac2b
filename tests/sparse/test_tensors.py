"""Sparse tensors as objects: printing, files, copies, modules, errors."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import wengert
from tests.sparse.samples import LAYOUTS, assert_same, described, hybrid, sample
from wengert.testing import assert_close

quiet = pytest.mark.filterwarnings("ignore:Sparse", "ignore::UserWarning:torch")


@quiet
@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "complex128"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_repr(torch: Any, layout: str, dtype: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = repr(sample(torch, layout, dtype))
    assert repr(sample(wengert, layout, dtype)) == expected


@quiet
@pytest.mark.torch
def test_repr_of_hybrid_empty_and_recorded(torch: Any) -> None:
    for make in (
        hybrid,
        lambda t: t.sparse_coo_tensor(size=(2, 3)),
        lambda t: t.sparse_coo_tensor(size=(2, 3), dtype=t.float64),
        lambda t: sample(t, "coo", "float32").requires_grad_(),
        lambda t: sample(t, "coo", "float32").requires_grad_() * 2,
    ):
        assert repr(make(wengert)) == repr(make(torch))


@quiet
@pytest.mark.torch
@pytest.mark.parametrize("layout", LAYOUTS)
def test_files_go_both_ways(torch: Any, layout: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = sample(torch, layout)
        for source, reader, x in (
            (torch, wengert, theirs),
            (wengert, torch, sample(wengert, layout)),
            (wengert, wengert, sample(wengert, layout)),
        ):
            file = io.BytesIO()
            source.save({"x": x}, file)
            file.seek(0)
            assert_same(described(reader.load(file)["x"]), described(theirs))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_copies(layout: str) -> None:
    x = sample(wengert, layout)
    for y in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert repr(y) == repr(x)
    y = copy.deepcopy(x).requires_grad_()
    assert not x.requires_grad
    y._stored.data.zero_()
    assert x.to_dense().any()


class Net(wengert.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("adjacency", wengert.eye(3).to_sparse())
        self.register_buffer("rows", wengert.eye(3).to_sparse_csr())


def test_buffers_of_modules() -> None:
    net, other = Net(), Net()
    other.adjacency.mul_(5)
    net.load_state_dict(other.state_dict())
    assert_close(net.adjacency, other.adjacency)
    assert net.double().adjacency.dtype is wengert.float64
    assert net.rows.dtype is wengert.float64
    assert net.to(wengert.float32).rows.dtype is wengert.float32
    assert [name for name, _ in net.named_buffers()] == ["adjacency", "rows"]


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "bsc"])
def test_indices_have_the_names_of_their_layout(kind: str) -> None:
    names = ("crow_indices", "col_indices") if "r" in kind else ("ccol_indices", "row_indices")
    values = wengert.ones(2, 1, 1) if kind[0] == "b" else wengert.ones(2)
    given = dict(zip(names, ([0, 1, 2], [1, 0]), strict=True))
    made = getattr(wengert, f"sparse_{kind}_tensor")(**given, values=values, size=(2, 2))
    assert_close(made.to_dense(), wengert.tensor([[0.0, 1.0], [1.0, 0.0]]))


def test_assert_close() -> None:
    x = sample(wengert, "coo")
    assert_close(x, x.clone())
    assert_close(x, x.to_dense(), check_layout=False)
    for other in (x * 2, x.to_dense(), x.to_sparse_csr(), x.float(), x.t()):
        with pytest.raises(AssertionError):
            assert_close(x, other)


# Calls that fail in both, with the class of PyTorch's exception.
FAILING: dict[str, Callable[[Any], Any]] = {
    "uncoalesced indices": lambda t: sample(t, "uncoalesced").indices(),
    "uncoalesced values": lambda t: sample(t, "uncoalesced").values(),
    "exp": lambda t: sample(t).exp(),
    "sigmoid": lambda t: t.sigmoid(sample(t)),
    "view": lambda t: sample(t).view(20),
    "add number": lambda t: sample(t) + 1,
    "add dense": lambda t: sample(t) + t.ones(4, 5),
    "div dense": lambda t: sample(t) / t.ones(4, 5),
    "mean": lambda t: sample(t).mean(),
    "numpy": lambda t: sample(t).numpy(),
    "item": lambda t: sample(t).item(),
    "compare": lambda t: sample(t) > 1,
    "where": lambda t: t.where(sample(t), sample(t), sample(t)),
    "fill_": lambda t: sample(t).fill_(1),
    "crow_indices": lambda t: sample(t).crow_indices(),
    "dense indices": lambda t: t.ones(2).indices(),
    "dense coalesce": lambda t: t.ones(2).coalesce(),
    "csr indices": lambda t: sample(t, "csr").indices(),
    "csr coalesce": lambda t: sample(t, "csr").coalesce(),
    "csr ccol_indices": lambda t: sample(t, "csr").ccol_indices(),
    "csr stride": lambda t: sample(t, "csr").stride(),
    "csr sum": lambda t: sample(t, "csr").sum(0),
    "storage": lambda t: sample(t).storage(),
    "data_ptr": lambda t: sample(t).data_ptr(),
    "bool": lambda t: bool(sample(t)),
    "set item": lambda t: sample(t).__setitem__(0, 1),
    "mismatch": lambda t: sample(t) @ t.ones(3, 2).double(),
    "dtypes": lambda t: sample(t) @ t.ones(5, 2),
    "square product": lambda t: t.sparse.mm(sample(t), sample(t)),
    "to_sparse dim": lambda t: t.ones(2, 3).to_sparse(5),
    "blocks": lambda t: t.ones(2, 4).to_sparse_bsr((3, 2)),
    "negative": lambda t: t.sparse_coo_tensor([[-1]], [1.0]),
    "number of values": lambda t: t.sparse_coo_tensor([[0, 1]], [1.0]),
    "rank": lambda t: t.sparse_coo_tensor([[0], [1]], [1.0], (2,), check_invariants=True),
    "bounds": lambda t: t.sparse_coo_tensor([[5]], [1.0], (2,), check_invariants=True),
    "csr bounds": lambda t: t.sparse_csr_tensor(
        [0, 1, 2], [0, 5], [1.0, 2.0], (2, 2), check_invariants=True
    ),
    "csr start": lambda t: t.sparse_csr_tensor(
        [1, 1, 2], [0, 1], [1.0, 2.0], (2, 2), check_invariants=True
    ),
    "csr order": lambda t: t.sparse_csr_tensor(
        [0, 2, 2], [1, 0], [1.0, 2.0], (2, 2), check_invariants=True
    ),
    "no layout": lambda t: t.sparse_compressed_tensor([0, 1], [0], [1.0], (1, 1)),
    "clip": lambda t: t.nn.utils.clip_grad_norm_(looked_up(t), 1.0),
    "scale by frequency": lambda t: t.nn.functional.embedding(
        t.tensor([1]), t.ones(2, 2, requires_grad=True), sparse=True, scale_grad_by_freq=True
    ).sum().backward(),
    "max bags": lambda t: t.nn.functional.embedding_bag(
        t.tensor([[1]]), t.ones(2, 2), mode="max", sparse=True
    ),
}  # fmt: skip


def looked_up(t: Any) -> Any:
    """The parameters of an embedding with a sparse gradient."""
    table = t.nn.Embedding(3, 2, sparse=True)
    table(t.tensor([1, 2, 1])).sum().backward()
    return list(table.parameters())


@quiet
@pytest.mark.torch
@pytest.mark.parametrize("name", FAILING)
def test_errors_have_pytorchs_classes(torch: Any, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception) as theirs:  # noqa: PT011 (whatever PyTorch raises)
            FAILING[name](torch)
    with pytest.raises(type(theirs.value)) as ours:
        FAILING[name](wengert)
    assert type(ours.value) is type(theirs.value)


def test_what_there_is_not_says_what_to_do() -> None:
    with pytest.raises(NotImplementedError, match=r"'aten::exp'.*SparseCPU.*to_dense\(\)"):
        sample(wengert).exp()
    with pytest.raises(NotImplementedError, match=r"'aten::sort'.*SparseCsrCPU.*to_dense\(\)"):
        sample(wengert, "csr").sort()


def test_resizing() -> None:
    x = sample(wengert, "coo").clone().resize_(6, 7)
    assert x.shape == (6, 7)
    assert x._nnz() == 5
    with pytest.raises(RuntimeError, match="only dimensions that grow"):
        x.resize_(2, 2)
    assert x.sparse_resize_and_clear_((2, 3), 1, 1)._nnz() == 0


@quiet
@pytest.mark.torch
def test_the_old_constructor(torch: Any) -> None:
    def program(t: Any) -> list[Any]:
        x = sample(t, "coo")
        places, values = x._indices(), x._values()
        made = [
            x.new(), x.new(2, 3), x.new(t.Size([2, 3])), x.new(places, values),
            x.new(places, values.double(), x.shape), x.new().resize_as_(x),
        ]  # fmt: skip
        for wrong in ((x,), (t.ones(2),), ([1.0],), (places, 3)):
            with pytest.raises(TypeError):
                x.new(*wrong)
        with pytest.raises(RuntimeError):
            x.to_dense().to_sparse_csr().new()
        return [(repr(m), str(m.dtype), m.is_coalesced()) for m in made]

    assert program(wengert) == program(torch)


def without_entries(torch: Any, name: str) -> list[str]:
    """What functions that create tensors make in a sparse layout."""
    layout, dense = getattr(torch, name), torch.ones(2, 3, dtype=torch.float64)
    sparse = torch.eye(2).to_sparse(layout=layout)
    made = [
        torch.zeros(2, 3, layout=layout), torch.zeros(2, 3, 4, layout=layout, dtype=torch.int64),
        torch.zeros_like(dense, layout=layout), dense.new_zeros(2, 3, layout=layout),
        torch.zeros_like(sparse), sparse.new_zeros(3, 2), sparse.new_zeros(1, 2, dtype=torch.int8),
        torch.zeros(2, 2, layout=layout, requires_grad=True),
    ]  # fmt: skip
    shapes = [torch.empty(2, 3, layout=layout), dense.new_empty((4, 3), layout=layout)]
    said = [repr(x) for x in made] + [repr(x + x) for x in made[:2]]
    return said + [f"{x.shape} {x.layout} {x.dtype} {x._nnz()}" for x in shapes]


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("name", ["sparse_coo", "sparse_csr", "sparse_csc"])
def test_creation_without_entries(torch: Any, name: str) -> None:
    assert without_entries(wengert, name) == without_entries(torch, name)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Sparse")
def test_what_is_like_a_sparse_tensor(torch: Any) -> None:
    def told(torch: Any) -> list[Any]:
        csr, coo = torch.eye(2).to_sparse_csr(), torch.eye(2).to_sparse()
        dense = torch.zeros_like(coo, layout=torch.strided)
        found = [repr(torch.ones_like(csr)), repr(dense), torch.empty_like(csr)._nnz()]
        for refused in (
            lambda: torch.ones_like(coo), lambda: torch.rand_like(csr),
            lambda: torch.zeros_like(csr, layout=torch.strided),
            lambda: torch.zeros(3, layout=torch.sparse_csr),
            lambda: torch.empty_like(torch.ones(2), layout=torch.sparse_coo),
        ):  # fmt: skip
            with pytest.raises(RuntimeError):
                refused()
        return found

    assert told(wengert) == told(torch)
