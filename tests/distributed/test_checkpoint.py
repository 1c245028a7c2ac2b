"""Checkpoints of objects that have states, of tensors that are cut in any way, and as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import wengert
from tests.distributed.ranks import Ranks
from tests.distributed.test_dtensor import mesh_of, values
from wengert import distributed as dist
from wengert import nn
from wengert.compiler import compile
from wengert.distributed import checkpoint
from wengert.distributed.checkpoint.format_utils import dcp_to_torch_save, torch_save_to_dcp
from wengert.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from wengert.distributed.checkpoint.stateful import Stateful
from wengert.distributed.fsdp import fully_shard
from wengert.distributed.tensor import Replicate, Shard, distribute_tensor


class Training(Stateful):
    def __init__(self) -> None:
        self.model = fully_shard(nn.Linear(4, 5).double())
        self.optimizer = wengert.optim.Adam(self.model.parameters(), lr=0.1)

    def step(self) -> float:
        loss = (self.model(values(3, 4)) ** 2).sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def state_dict(self) -> dict[str, Any]:
        weights, moments = get_state_dict(self.model, self.optimizer)
        return {"model": weights, "optimizer": moments}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        set_state_dict(
            self.model, self.optimizer, model_state_dict=state_dict["model"],
            optim_state_dict=state_dict["optimizer"],
        )  # fmt: skip


def check_objects(rank: int, size: int, folder: str) -> None:
    training = Training()
    training.step()
    future = checkpoint.async_save({"app": training, "step": 1}, checkpoint_id=folder)
    assert future.result() is None
    expected = [training.step(), training.step()]
    again = Training()
    again.step()
    state = {"app": again, "step": 0}
    checkpoint.load(state, checkpoint_id=folder)
    assert state["step"] == 1
    assert state["app"] is again
    assert [again.step(), again.step()] == expected


def check_placements(rank: int, size: int, folder: str) -> None:
    """What is cut in one way is read as it is cut in another."""
    mesh, whole = mesh_of(size), values(7, 5)
    cuts = {"rows": Shard(0), "columns": Shard(1), "whole": Replicate()}
    state = {name: distribute_tensor(whole, mesh, [cut]) for name, cut in cuts.items()}
    checkpoint.save(state, checkpoint_id=folder)
    for cut in cuts.values():
        read = {name: distribute_tensor(0 * whole, mesh, [cut]) for name in cuts}
        checkpoint.load(read, checkpoint_id=folder)
        assert all(wengert.equal(tensor.full_tensor(), whole) for tensor in read.values())
    plain = {name: 0 * whole for name in cuts}
    checkpoint.load(plain, checkpoint_id=folder)
    assert all(wengert.equal(tensor, whole) for tensor in plain.values())


def check_one_file(rank: int, size: int, folder: str) -> None:
    """A checkpoint becomes a file with whole tensors, and that a checkpoint."""
    state = {"a": {0: distribute_tensor(values(7, 5), mesh_of(size), [Shard(0)]), "b": "text"}}
    checkpoint.save(state, checkpoint_id=f"{folder}/first")
    if rank == 0:
        dcp_to_torch_save(f"{folder}/first", f"{folder}/whole.pt")
        whole = wengert.load(f"{folder}/whole.pt")
        assert list(whole) == ["a"]
        assert whole["a"]["b"] == "text"
        assert wengert.equal(whole["a"][0], values(7, 5))
        torch_save_to_dcp(f"{folder}/whole.pt", f"{folder}/second")
    dist.barrier()
    local = state["a"][0].to_local()
    expected = local.clone()
    local.zero_()
    checkpoint.load(state, checkpoint_id=f"{folder}/second")
    assert wengert.equal(local, expected)


def test_names_in_states_are_those_without_compile() -> None:
    model = nn.Sequential(compile(nn.Linear(2, 3)), nn.Linear(3, 1))
    compiled = compile(model)
    optimizer = wengert.optim.Adam(compiled.parameters())
    state, of_optimizer = get_state_dict(compiled, optimizer)
    names = ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert [*state] == [*of_optimizer["state"]] == names
    other = compile(nn.Sequential(nn.Linear(2, 3), compile(nn.Linear(3, 1))))
    found = set_state_dict(
        other, wengert.optim.Adam(other.parameters()),
        model_state_dict=state, optim_state_dict=of_optimizer,
    )  # fmt: skip
    assert (found.missing_keys, found.unexpected_keys) == ([], [])
    assert all(map(wengert.equal, other.state_dict().values(), state.values()))


def test_checkpoints(ranks: Ranks, tmp_path: Path) -> None:
    for check in (check_objects, check_placements, check_one_file):
        ranks.run(check, str(tmp_path / check.__name__))
