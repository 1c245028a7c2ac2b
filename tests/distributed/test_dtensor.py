"""Distributed tensors against whole ones, and layers that are shared out against one process."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import wengert
from tests.distributed.ranks import Ranks
from wengert import distributed as dist
from wengert import nn
from wengert.distributed import tensor as dt
from wengert.distributed.tensor import (
    DTensor,
    Partial,
    Replicate,
    Shard,
    distribute_module,
    distribute_tensor,
)
from wengert.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from wengert.nn import functional as F


def values(*shape: int) -> Any:
    return wengert.tensor(np.sin(np.arange(1.0, np.prod(shape) + 1)).reshape(shape))


def mesh_of(size: int) -> Any:
    return dist.init_device_mesh("cpu", (size,))


def check_placements(rank: int, size: int) -> None:
    """Parts of 7 rows and 5 columns, however they got there; and back."""
    mesh, whole = mesh_of(size), values(7, 5)
    for placement in (Shard(0), Shard(1), Shard(-1), Replicate()):
        mine = whole if rank == 0 else wengert.zeros(7, 5, dtype=wengert.float64)
        tensor = distribute_tensor(mine, mesh, [placement])
        assert tensor.shape == (7, 5)
        assert (tensor.size(0), len(tensor), tensor.numel(), tensor.dim()) == (7, 7, 35, 2)
        assert wengert.equal(tensor.full_tensor(), whole)
        for target in (Shard(0), Shard(1), Replicate()):
            moved = tensor.redistribute(placements=[target])
            assert moved.placements == (target,)
            assert wengert.equal(moved.full_tensor(), whole)
    chunk = -(-7 // size)
    rows = distribute_tensor(whole, mesh, [Shard(0)]).to_local()
    assert wengert.equal(rows, whole[rank * chunk : (rank + 1) * chunk])
    partial = DTensor.from_local(whole, mesh, [Partial()])
    assert wengert.allclose(partial.full_tensor(), size * whole)
    assert wengert.allclose(partial.redistribute(placements=[Shard(1)]).full_tensor(), size * whole)
    parts = DTensor.from_local(wengert.full((2, 3), float(rank)), mesh, [Shard(0)])
    assert parts.shape == (2 * size, 3)
    assert parts.full_tensor()[::2, 0].tolist() == list(range(size))


def check_two_dimensions(rank: int, size: int) -> None:
    """Both dimensions of a mesh cut the same rows, or rows and columns."""
    whole = values(5, 4)
    for shape in ((size, 1), (1, size)):
        mesh = dist.init_device_mesh("cpu", shape, mesh_dim_names=("a", "b"))
        for placements in ([Shard(0), Shard(0)], [Shard(1), Shard(0)], [Replicate(), Shard(1)]):
            tensor = distribute_tensor(whole, mesh, placements)
            assert tensor.placements == tuple(placements)
            assert wengert.equal(tensor.full_tensor(), whole)
            back = tensor.redistribute(placements=[Shard(1), Replicate()])
            assert wengert.equal(back.full_tensor(), whole)
            product = tensor @ distribute_tensor(whole.T, mesh, [Replicate()] * 2)
            assert wengert.allclose(product.full_tensor(), whole @ whole.T)


FUNCTIONS = [
    lambda x, w: x + x * 2 - x / 3,
    lambda x, w: F.relu(x).exp(),
    lambda x, w: x @ w,
    lambda x, w: wengert.mm(x, w).sum(0),
    lambda x, w: F.linear(x, w.t()),
    lambda x, w: x.sum(),
    lambda x, w: x.sum(0, keepdim=True),
    lambda x, w: x.sum(1),
    lambda x, w: x.mean(0),
    lambda x, w: F.softmax(x, 1),
    lambda x, w: x.transpose(0, 1).reshape(-1),
    lambda x, w: wengert.cat([x, x]),
    lambda x, w: (x - x.mean(1, keepdim=True)) ** 2,
    lambda x, w: F.layer_norm(x, (4,), w[0, :1].expand(4), None),
    lambda x, w: F.layer_norm(x, (4,)),
    lambda x, w: wengert.where(x > 0, x, -x),
    lambda x, w: x.T @ x,
    lambda x, w: x[1:3],
]


def check_functions(rank: int, size: int) -> None:
    """Values and first and second derivatives are those of whole tensors, wherever parts are."""
    mesh = mesh_of(size)
    x, w = values(6, 4), values(4, 3) + 0.1
    for number, function in enumerate(FUNCTIONS):
        expected = derivatives(function, x, w)
        for a in (Shard(0), Shard(1), Replicate()):
            for b in (Shard(0), Shard(1), Replicate()):
                parts = distribute_tensor(x, mesh, [a]), distribute_tensor(w, mesh, [b])
                for own, value in zip(derivatives(function, *parts), expected, strict=True):
                    message = f"function {number} with {a} and {b}"
                    np.testing.assert_allclose(own, value, 1e-9, 1e-12, err_msg=message)


def derivatives(function: Any, x: Any, w: Any) -> list[np.ndarray]:
    """A function's value, its derivatives, and those of a sum of their squares."""
    x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
    result = function(x, w)
    first = wengert.autograd.grad(
        (result**2).sum(), (x, w), create_graph=True, allow_unused=True, materialize_grads=True
    )
    assert all(type(g) is type(p) for g, p in zip(first, (x, w), strict=True))
    second = wengert.autograd.grad(
        sum((g**2).sum() for g in first), (x, w), allow_unused=True, materialize_grads=True
    )
    return [whole(tensor) for tensor in (result, *first, *second)]


def whole(tensor: Any) -> np.ndarray:
    full = tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
    array: np.ndarray = full.detach().numpy()
    return array


def check_writing(rank: int, size: int) -> None:
    mesh = mesh_of(size)
    tensor = distribute_tensor(values(6, 4), mesh, [Shard(0)])
    expected = values(6, 4)
    for x in (tensor, expected):
        x.mul_(2).add_(1)
        x += x
        x.clamp_(max=3.0)
        x.cumsum_(0)
    np.testing.assert_allclose(whole(tensor), expected.numpy())
    assert tensor.placements == (Shard(0),)
    wengert.manual_seed(3)
    nn.init.xavier_uniform_(tensor)
    wengert.manual_seed(3)
    assert wengert.equal(tensor.full_tensor(), nn.init.xavier_uniform_(expected))
    duplicate = copy.deepcopy(tensor)
    duplicate.zero_()
    assert tensor.sum().item() == pytest.approx(expected.sum().item())
    graph = distribute_tensor(values(4, 4), mesh, [Shard(0)]).requires_grad_() * 1
    with pytest.raises(NotImplementedError, match=r"cumsum_\(\) of a DTensor with"):
        graph.cumsum_(0)


def check_creation(rank: int, size: int) -> None:
    mesh = mesh_of(size)
    cut = {"device_mesh": mesh, "placements": [Shard(0)]}
    assert whole(dt.ones(5, 2, **cut)).sum() == 10
    assert whole(dt.zeros((5, 2), **cut)).shape == (5, 2)
    assert whole(dt.full((5,), 2.5, **cut)).tolist() == [2.5] * 5
    assert dt.empty(5, 2, **cut, requires_grad=True).requires_grad
    wengert.manual_seed(5)
    for make, plain in ((dt.rand, wengert.rand), (dt.randn, wengert.randn)):
        made = make(5, 2, **cut)
        wengert.manual_seed(5)
        np.testing.assert_array_equal(whole(made), plain(5, 2).numpy())
        wengert.manual_seed(5)


def check_refusals(rank: int, size: int) -> None:
    mesh = mesh_of(size)
    tensor = distribute_tensor(values(6, 4), mesh, [Shard(0)])
    with pytest.raises(RuntimeError, match=r"got mixed torch.Tensor and DTensor"):
        tensor + values(6, 4)
    with pytest.raises(ValueError, match=r"must have the same length as `device_mesh.ndim`"):
        distribute_tensor(values(6, 4), mesh, [Shard(0), Shard(1)])
    with pytest.raises(RuntimeError, match=r"Shard\(2\) of a tensor of 2 dimensions"):
        distribute_tensor(values(6, 4), mesh, [Shard(2)])
    with pytest.raises(RuntimeError, match="Can not redistribute to Partial"):
        tensor.redistribute(placements=[Partial()])
    with pytest.raises(RuntimeError, match="placements is needed"):
        tensor.redistribute()
    with pytest.raises(RuntimeError, match="expected Shard or Replicate"):
        distribute_tensor(values(6, 4), mesh, [Partial()])
    with pytest.raises(ValueError, match="use redistribute"):
        distribute_tensor(tensor, mesh, [Shard(1)])
    with pytest.raises(NotImplementedError, match="ColwiseParallel currently only supports"):
        parallelize_module(nn.LayerNorm(3), mesh, ColwiseParallel())
    with pytest.warns(UserWarning, match="'absent' could not be resolved"):
        parallelize_module(nn.Sequential(), mesh, {"absent": ColwiseParallel()})


class Block(nn.Module):
    """Positions are looked up, normalized, and go through two matrices."""

    def __init__(self) -> None:
        super().__init__()
        self.positions = nn.Embedding(9, 6)
        self.norm = nn.LayerNorm(6)
        self.up, self.down = nn.Linear(6, 12), nn.Linear(12, 6)

    def forward(self, indices: Any) -> Any:
        x = self.norm(self.positions(indices))
        return self.down(F.gelu(self.up(x)))


PLANS: list[dict[str, Any]] = [
    {"up": ColwiseParallel(), "down": RowwiseParallel()},
    {"up": ColwiseParallel(output_layouts=Replicate()), "down": RowwiseParallel(
        input_layouts=Replicate())},
    {"pos*": ColwiseParallel(output_layouts=Replicate())},
    {
        "positions": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
        "norm": SequenceParallel(),
        "up": ColwiseParallel(input_layouts=Shard(1)),
        "down": RowwiseParallel(output_layouts=Shard(1), use_local_output=False),
    },
]  # fmt: skip


def check_parallel_layers(rank: int, size: int) -> None:
    """Training is that of one process on the whole model, on the same batch."""
    mesh, indices = mesh_of(size), wengert.arange(18).reshape(3, 6) % 9
    for number, plan in enumerate(PLANS):
        wengert.manual_seed(1)
        expected = Block().double()
        model = copy.deepcopy(expected)
        assert parallelize_module(model, mesh, plan) is model
        for net in (expected, model):
            optimizer = wengert.optim.AdamW(net.parameters(), lr=0.05)
            for _ in range(3):
                optimizer.zero_grad()
                (net(indices) ** 2).sum().backward()
                optimizer.step()
        np.testing.assert_allclose(whole(model(indices)), whole(expected(indices)))
        for (name, own), p in zip(model.named_parameters(), expected.parameters(), strict=True):
            message = f"plan {number}, {name}"
            np.testing.assert_allclose(whole(own), whole(p), 1e-9, 1e-12, err_msg=message)


class Halved(nn.Module):
    def forward(self, x: Any, scale: Any = None) -> Any:
        self.seen = type(x), tuple(x.shape), scale
        return x / 2


def check_prepared(rank: int, size: int) -> None:
    """What comes in and goes out is where a module wants it."""
    mesh, x = mesh_of(size), values(2 * size, 3)
    for local in (True, False):
        model = Halved()
        parallelize_module(model, mesh, PrepareModuleInput(
            input_layouts=Replicate(), desired_input_layouts=Shard(0), use_local_output=local,
            input_kwarg_layouts={"scale": Replicate()},
            desired_input_kwarg_layouts={"scale": Shard(1)},
        ))  # fmt: skip
        layout = Shard(0)
        parallelize_module(model, mesh, PrepareModuleOutput(
            output_layouts=layout, desired_output_layouts=Replicate(), use_local_output=local
        ))  # fmt: skip
        result = model(x, scale=x)
        assert model.seen[:2] == ((wengert.Tensor, (2, 3)) if local else (DTensor, (2 * size, 3)))
        assert tuple(model.seen[2].shape) == (
            (2 * size, 3)
            if not local
            else (2 * size, len(np.arange(3)[rank * -(-3 // size) : (rank + 1) * -(-3 // size)]))
        )
        assert type(result) is (wengert.Tensor if local else DTensor)
        np.testing.assert_array_equal(whole(result), x.numpy() / 2)
    two = (Shard(0), None)
    style = PrepareModuleInput(input_layouts=two, desired_input_layouts=two)
    model = parallelize_module(Halved(), mesh, style)
    with pytest.raises(ValueError, match="should have same length, got 1 and 2"):
        model(x)


def check_modules(rank: int, size: int) -> None:
    """`distribute_module` calls functions with submodules, inputs and outputs."""
    mesh = mesh_of(size)

    def cut(name: str, module: Any, ranks: Any) -> None:
        if name == "1":
            weight = nn.Parameter(distribute_tensor(module.weight, ranks, [Shard(0)]))
            module.register_parameter("weight", weight)

    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 3), nn.BatchNorm1d(3)).double()
    for p in model.parameters():
        dist.broadcast(p.data, 0)
    expected = copy.deepcopy(model)
    distribute_module(
        model, mesh, cut,
        lambda own, args, ranks: (distribute_tensor(args[0], ranks, [Replicate()]),),
        lambda own, output, ranks: output.full_tensor(),
    )  # fmt: skip
    assert isinstance(model[1].weight, nn.Parameter)
    assert [p.placements for p in model[1].parameters()] == [(Shard(0),), (Replicate(),)]
    x = values(5, 4)
    assert wengert.allclose(model.eval()(x), expected.eval()(x))
    assert wengert.equal(model.state_dict()["1.weight"].full_tensor(), expected[1].weight)
    clipped = [p for p in model.parameters() if p.requires_grad]
    (model(x) ** 2).sum().backward()
    (expected(x) ** 2).sum().backward()
    for order in (1.0, 2.0, float("inf")):
        norm = nn.utils.clip_grad_norm_(clipped, 1e9, order)
        assert norm.item() == pytest.approx(
            nn.utils.clip_grad_norm_(expected.parameters(), 1e9, order).item()
        )


CHECKS = [
    check_placements, check_two_dimensions, check_functions, check_writing, check_creation,
    check_refusals, check_parallel_layers, check_prepared, check_modules,
]  # fmt: skip


@pytest.mark.parametrize("check", CHECKS)
def test_ranks(ranks: Ranks, check: Any) -> None:
    ranks.run(check)
