"""Sparse tensors as parameters of modules."""

from __future__ import annotations

import copy
import io
from typing import Any

import numpy as np
import pytest

import wengert
from wengert import nn, optim

LAYOUTS = ["sparse_coo", "sparse_csr", "sparse_csc"]


def layer(m: Any, layout: str) -> Any:
    """A module with a sparse weight and a dense bias."""
    dense = m.tensor([[0.0, 0.0, 3.0], [4.0, 0.0, 5.0]])
    module = m.nn.Module()
    module.weight = m.nn.Parameter(dense.to_sparse(layout=getattr(m, layout)))
    module.bias = m.nn.Parameter(m.zeros(2, 1))
    return module


def loss_of(m: Any, module: Any) -> Any:
    x = m.tensor([[1.0], [2.0], [3.0]])
    return (m.sparse.mm(module.weight, x) + module.bias).square().sum()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_it_is_one_of_the_modules_parameters(layout: str) -> None:
    module = layer(wengert, layout)
    assert [name for name, _ in module.named_parameters()] == ["weight", "bias"]
    assert isinstance(module.weight, nn.Parameter)
    assert module.weight.is_leaf
    assert module.weight.requires_grad
    assert repr(module.weight).startswith("Parameter containing:\ntensor(")
    assert not nn.Parameter(module.weight.detach(), requires_grad=False).requires_grad


def test_it_shares_memory_with_its_data() -> None:
    data = wengert.eye(2).to_sparse()
    parameter = nn.Parameter(data)
    data.values().fill_(3.0)
    assert parameter.to_dense().tolist() == [[3.0, 0.0], [0.0, 3.0]]


@pytest.mark.torch
@pytest.mark.parametrize("options", [{}, {"momentum": 0.9}, {"maximize": True}])
def test_sgd_steps_are_pytorchs_of_the_dense_values(torch: Any, options: dict[str, Any]) -> None:
    """PyTorch's, of a dense weight whose gradient is cut to the pattern."""
    for layout in LAYOUTS:
        module, theirs = layer(wengert, layout), layer(torch, layout)
        theirs.weight = torch.nn.Parameter(theirs.weight.detach().to_dense())
        pattern = theirs.weight.detach() != 0
        steps = optim.SGD(module.parameters(), lr=0.01, **options)
        expected = torch.optim.SGD(theirs.parameters(), lr=0.01, **options)
        for _ in range(3):
            steps.zero_grad()
            loss_of(wengert, module).backward()
            steps.step()
            expected.zero_grad()
            x = torch.tensor([[1.0], [2.0], [3.0]])
            (theirs.weight @ x + theirs.bias).square().sum().backward()
            theirs.weight.grad *= pattern
            expected.step()
        np.testing.assert_allclose(
            module.weight.detach().to_dense().numpy(), theirs.weight.detach().numpy(), rtol=1e-5
        )
        assert module.weight.layout is getattr(wengert, layout)


@pytest.mark.torch
def test_a_step_of_sgd_is_pytorchs(torch: Any) -> None:
    results = []
    for m in (wengert, torch):
        with m.sparse.check_sparse_tensor_invariants():
            module = layer(m, "sparse_coo")
        steps = m.optim.SGD(module.parameters(), lr=0.01)
        # Of `torch.sparse.sum` the gradient is sparse in both.
        m.sparse.sum(module.weight).backward()
        steps.step()
        results.append(module.weight.detach().to_dense().tolist())
    np.testing.assert_allclose(results[0], results[1])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_state_goes_through_files_and_copies(layout: str) -> None:
    module, other = layer(wengert, layout), layer(wengert, layout)
    loss_of(wengert, module).backward()
    optim.SGD(module.parameters(), lr=0.01).step()
    file = io.BytesIO()
    wengert.save(module.state_dict(), file)
    file.seek(0)
    other.load_state_dict(wengert.load(file))
    twin = copy.deepcopy(module)
    for found in (other.weight, twin.weight):
        assert found.is_leaf
        assert found.requires_grad
        assert found.to_dense().tolist() == module.weight.to_dense().tolist()
    with wengert.no_grad():
        twin.weight.zero_()
    assert module.weight.to_dense().any()
    assert module.double().weight.dtype is wengert.float64
    assert isinstance(module.weight, nn.Parameter)


@pytest.mark.parametrize("name", ["Adam", "AdamW", "RMSprop"])
def test_optimizers_that_refuse_sparse_gradients_refuse_it(name: str) -> None:
    module = layer(wengert, "sparse_coo")
    optimizer = getattr(optim, name)([module.weight], lr=0.1)
    loss_of(wengert, module).backward()
    with pytest.raises(RuntimeError, match="does not support sparse gradients"):
        optimizer.step()


def test_sparse_adam_refuses_it_at_once() -> None:
    with pytest.raises(ValueError, match=r"\[\[0, 0\]\]: SparseAdam requires dense parameter"):
        optim.SparseAdam([layer(wengert, "sparse_coo").weight])


def test_writing_to_it_while_gradients_are_on_is_refused() -> None:
    weight = layer(wengert, "sparse_coo").weight
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        weight.mul_(2)


def test_buffers_of_it_are_ordinary_sparse_tensors() -> None:
    with pytest.raises(NotImplementedError, match="Buffer"):
        nn.Buffer(wengert.eye(2).to_sparse())
