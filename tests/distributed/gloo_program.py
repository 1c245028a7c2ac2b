"""What two ranks get from calls of torch.distributed: run by PyTorch with gloo, and by wengert.

    python gloo_program.py RANK STORE OUT

Each case is called on both ranks; what it returns, or the class of what it raises, goes to OUT.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as recorded
from torch import nn
from torch.distributed import ReduceOp
from torch.nn.parallel import DistributedDataParallel

CASES: dict[str, Callable[[int], Any]] = {}
DTYPES = "float32 float64 float16 bfloat16 int8 uint8 int16 int32 int64 bool complex64 complex128"
REDUCTIONS = "SUM AVG PRODUCT MIN MAX BAND BOR BXOR"


def case(function: Callable[[int], Any]) -> Callable[[int], Any]:
    CASES[function.__name__] = function
    return function


def refused(name: str, call: Callable[[int], Any]) -> None:
    """A call that one of the libraries refuses, at least."""
    CASES[f"refused: {name}"] = call


def reduced(dtype: str, op: str, rank: int) -> Any:
    x = (torch.arange(5) + 2 * rank + 1).to(getattr(torch, dtype))
    dist.all_reduce(x, op=getattr(ReduceOp, op))
    return x


def exchanged(dtype: str, rank: int) -> Any:
    kind = getattr(torch, dtype)
    row = (torch.arange(4) + rank).to(kind)
    gathered = [torch.zeros(4, dtype=kind) for _ in range(2)]
    dist.all_gather(gathered, row)
    swapped, into = torch.zeros(4, dtype=kind), torch.zeros(8, dtype=kind)
    dist.all_to_all_single(swapped, row)
    dist.all_gather_into_tensor(into, row)
    scattered = torch.zeros(2, dtype=kind)
    dist.scatter(scattered, [row[:2], row[2:]] if rank == 0 else None, src=0)
    return gathered, swapped, into, scattered


for _dtype in DTYPES.split():
    CASES[f"exchange {_dtype}"] = partial(exchanged, _dtype)
    for _op in REDUCTIONS.split():
        CASES[f"all_reduce {_dtype} {_op}"] = partial(reduced, _dtype, _op)


def derived(collective: Callable[[int, Any], Any], rank: int) -> Any:
    """Values of a recorded collective, and the gradient of a weighted sum of them."""
    x = (torch.arange(4.0) + 1 + rank).requires_grad_()
    rows = collective(rank, x)
    rows = [rows] if isinstance(rows, torch.Tensor) else list(rows)
    weights = [torch.arange(float(row.numel())) + 1 + 2 * rank + k for k, row in enumerate(rows)]
    sum((row * weight).sum() for row, weight in zip(rows, weights, strict=True)).backward()
    return [row.detach() for row in rows], x.grad


F = recorded
RECORDED: dict[str, Callable[[int, Any], Any]] = {
    "all_reduce": lambda r, x: F.all_reduce(x),
    "all_reduce of a square": lambda r, x: F.all_reduce(x * x) * x,
    "broadcast": lambda r, x: F.broadcast(x, 0),
    "all_gather": lambda r, x: F.all_gather(x),
    "reduce_scatter": lambda r, x: F.reduce_scatter(torch.zeros(2), [1 * x[:2], 1 * x[2:]]),
    "all_to_all": lambda r, x: F.all_to_all(
        [torch.zeros(2), torch.zeros(2)], [2 * x[:2], x[2:] / 2]
    ),
    "all_to_all_single": lambda r, x: F.all_to_all_single(torch.zeros(4), x),
    "scatter": lambda r, x: F.scatter([x * 1, x * 2], 0),
}
for _name, _collective in RECORDED.items():
    CASES[f"derivative of {_name}"] = partial(derived, _collective)


@case
def parallel_training(rank: int) -> Any:
    """Losses and weights of a few steps with momentum, and with a parameter that is not used."""
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()
    for k, parameter in enumerate(model.parameters()):
        parameter.data = torch.linspace(-1, 1 + k, parameter.numel()).double().reshape_as(parameter)
    parallel = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for step in range(5):
        x = torch.sin(torch.arange(12.0).double() * (rank + 1) + step).reshape(4, 3)
        loss = parallel(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [parameter.detach() for parameter in model.parameters()]


@case
def objects(rank: int) -> Any:
    copied = [{"a": rank}, "b"] if rank == 0 else [None, None]
    dist.broadcast_object_list(copied, 0)
    everyone: list[Any] = [None, None]
    dist.all_gather_object(everyone, {"k": [rank, 1.5]})
    own: list[Any] = [None]
    dist.scatter_object_list(own, ["x", "y"] if rank == 0 else None, src=0)
    return copied, everyone, own


@case
def messages(rank: int) -> Any:
    own, other = torch.ones(2) * rank, torch.zeros(2)
    pair = dist.P2POp(dist.isend, own, 1 - rank), dist.P2POp(dist.irecv, other, 1 - rank)
    for work in dist.batch_isend_irecv(list(pair)):
        work.wait()
    return other


@case
def groups(rank: int) -> Any:
    alone = dist.new_group([0])
    subgroup, all_of_them = dist.new_subgroups(1)
    sizes = dist.get_rank(alone), dist.get_world_size(alone), len(all_of_them)
    world = dist.get_backend(), dist.get_process_group_ranks(dist.group.WORLD)
    return sizes, dist.get_rank(subgroup), world


@case
def work(rank: int) -> Any:
    started = dist.all_reduce(torch.ones(2), async_op=True)
    return started.wait(), started.is_completed(), started.is_success()


@case
def layouts(rank: int) -> Any:
    """A tensor that has a gradient, none with elements, none with dimensions."""
    trained, empty, number = torch.ones(2, requires_grad=True), torch.zeros(0), torch.tensor(3.0)
    for tensor in (trained, empty, number):
        dist.all_reduce(tensor)
    return trained.detach(), trained.requires_grad, empty, number


one, two = torch.ones(1), torch.ones(2)
refused("no tensor", lambda r: dist.all_reduce(3))  # type: ignore[arg-type]
refused("a list", lambda r: dist.all_reduce([two]))  # type: ignore[arg-type]
refused("no list", lambda r: dist.all_gather(two, two))  # type: ignore[arg-type]
refused("an operation's name", lambda r: dist.all_reduce(two, op="sum"))
refused("a root outside", lambda r: dist.broadcast(two, 5))
refused("a negative root", lambda r: dist.broadcast(two, -1))
refused("no root", lambda r: dist.broadcast(two))
refused("two roots", lambda r: dist.broadcast(two, src=0, group_src=0))
refused("no destination", lambda r: dist.reduce(two))
refused("a destination outside", lambda r: dist.reduce(two, 7))
refused("gather to nothing", lambda r: dist.gather(two, None, dst=r))
refused("gather elsewhere", lambda r: dist.gather(two, [two, two], dst=1 - r))
refused("scatter nothing", lambda r: dist.scatter(two, None, src=r))
refused("scatter from elsewhere", lambda r: dist.scatter(two, [two, two], src=1 - r))
refused("scatter too many", lambda r: dist.scatter(two, [two] * 3, src=r))
refused("gather too few", lambda r: dist.all_gather([one], one))
refused("gather other dtypes", lambda r: dist.all_gather([two.long(), two.long()], two))
refused("gather other shapes", lambda r: dist.all_gather([torch.zeros(3), torch.zeros(3)], two))
refused("gather into too little", lambda r: dist.all_gather_into_tensor(torch.zeros(3), two))
refused("gather into integers", lambda r: dist.all_gather_into_tensor(torch.zeros(4).long(), two))
refused("reduce too few", lambda r: dist.reduce_scatter(two, [two]))
refused("reduce other sizes", lambda r: dist.reduce_scatter_tensor(two, torch.ones(3)))
refused("exchange too few", lambda r: dist.all_to_all([one], [one]))
refused("splits", lambda r: dist.all_to_all_single(torch.zeros(4), torch.ones(4), [1, 1], [2, 2]))
refused("send to itself", lambda r: dist.send(one, r))
refused("isend to itself", lambda r: dist.isend(one, r))
refused("recv from itself", lambda r: dist.recv(one, r))
refused("a second start", lambda r: dist.init_process_group("gloo"))
refused("a group of one rank twice", lambda r: dist.new_group([0, 0]))
refused("a group of strangers", lambda r: dist.new_group([0, 5]))
refused("an unknown backend", lambda r: dist.new_group([0, 1], backend="nope"))
refused("nccl", lambda r: dist.new_group([0, 1], backend="nccl"))
refused("a group's name", lambda r: dist.all_reduce(one, group="x"))
refused("scatter objects nowhere", lambda r: dist.scatter_object_list([], ["a", "b"], src=r))
refused("messages of another kind", lambda r: dist.P2POp(dist.all_reduce, one, 0))
refused("large subgroups", lambda r: dist.new_subgroups(3))
refused("empty subgroups", lambda r: dist.new_subgroups(0))
refused("subgroups that overlap", lambda r: dist.new_subgroups_by_enumeration([[0], [0, 1]]))


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, torch.Tensor):
        shown = value.detach()
        shown = torch.view_as_real(shown) if shown.is_complex() else shown
        return [str(value.dtype), list(value.shape), shown.double().flatten().tolist()]
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return value


def main(rank: int, store: str, out: str) -> None:
    warnings.simplefilter("ignore")
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2,
                            timeout=timedelta(seconds=30))  # fmt: skip
    results: dict[str, Any] = {}
    for name, call in CASES.items():
        try:
            results[name] = plain(call(rank))
        except Exception as error:
            results[name] = {"raised": [kind.__name__ for kind in type(error).__mro__]}
            results[name]["text"] = str(error)
    with open(out, "w") as file:
        json.dump(results, file)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
