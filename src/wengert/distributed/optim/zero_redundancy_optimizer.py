"""`ZeroRedundancyOptimizer`: each rank keeps the state of some parameters, and updates those."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wengert.core.tensor import Tensor
from wengert.distributed.algorithms.join import Joinable, JoinHook
from wengert.distributed.collectives import broadcast
from wengert.distributed.objects import gather_object
from wengert.distributed.process_group import ProcessGroup
from wengert.distributed.world import default_group
from wengert.optim import Optimizer


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimizer of which every rank does a share: its parameters' state, and their steps.

    After a step the ranks send each other what they have updated.

    Args:
        params: the parameters, the same on all ranks.
        optimizer_class: the optimizer.
        process_group: the ranks; None means all.
        parameters_as_bucket_view: without effect.
        overlap_with_ddp: False.
        defaults: the optimizer's options.

    >>> import wengert, wengert.distributed as dist
    >>> from wengert.distributed.optim import ZeroRedundancyOptimizer
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> w = wengert.ones(1, requires_grad=True)
    >>> optimizer = ZeroRedundancyOptimizer([w], wengert.optim.SGD, lr=0.5)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.5000])
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        params: Iterable[Any],
        optimizer_class: type[Optimizer],
        process_group: ProcessGroup | None = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise NotImplementedError(
                "ZeroRedundancyOptimizer(overlap_with_ddp=True): expected False; steps follow the"
                " backward"
            )
        Joinable.__init__(self)
        self.process_group = default_group() if process_group is None else process_group
        self._optimizer_class, self._options = optimizer_class, defaults
        self.optim: Optimizer | None = None
        self._owner_of: dict[Tensor, int] = {}
        self._all_states: list[dict[str, Any]] | None = None
        super().__init__(params, defaults)
        self._share_out()

    def _share_out(self) -> None:
        """Give each parameter to the rank that has the least, the largest first."""
        self._owner_of = {}
        loads = [0] * self.process_group.size()
        own_groups = []
        for group in self.param_groups:
            largest_first = sorted(group["params"], key=Tensor.numel, reverse=True)
            for p in largest_first:
                owner = loads.index(min(loads))
                self._owner_of[p] = owner
                loads[owner] += p.numel()
            options = {k: v for k, v in group.items() if k not in ("params", "param_names")}
            own_groups.append({**options, "params": self._own(group)})
        own = self._optimizer_class(own_groups, **self._options)
        if self.optim is not None:
            own.state.update(self.optim.state)
        self.optim = own
        for group, theirs in zip(self.param_groups, own.param_groups, strict=True):
            for name, value in theirs.items():  # the defaults that the optimizer adds
                if name != "params":
                    group.setdefault(name, value)
        self.state = own.state

    def _own(self, group: dict[str, Any]) -> list[Tensor]:
        rank = self.process_group.rank()
        return [p for p in group["params"] if self._owner_of[p] == rank]

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a parameter group, on all ranks."""
        super().add_param_group(param_group)
        if self.optim is not None:
            self._share_out()

    def _sync_options(self) -> None:
        """Let the rank's own groups have the options that schedulers and programs set."""
        assert self.optim is not None
        for group, own in zip(self.param_groups, self.optim.param_groups, strict=True):
            own.update({k: v for k, v in group.items() if k not in ("params", "param_names")})

    def step(self, closure: Any = None) -> Any:
        """Update this rank's parameters, and take over those that the others have updated."""
        if self._join is not None and not self._join.joined:
            self._join.announce(2)
        loss = self._step_own(closure)
        self._share_parameters()
        return loss

    def _step_own(self, closure: Any) -> Any:
        assert self.optim is not None
        self._sync_options()
        return self.optim.step() if closure is None else self.optim.step(closure)

    def _share_parameters(self) -> None:
        works = [
            broadcast(p, group=self.process_group, group_src=owner, async_op=True)
            for p, owner in self._owner_of.items()
        ]
        for work in works:
            if work is not None:
                work.wait()

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Gather the whole state at rank `to` of the group, for its `state_dict`; all call this.

        In a group without that rank nobody gets it.
        """
        assert self.optim is not None
        self._sync_options()
        self._all_states = None
        if not 0 <= to < self.process_group.size():
            return
        numbers = self._numbers()
        own = {numbers[p]: state for p, state in self.optim.state.items()}
        here = self.process_group.rank() == to
        gathered: list[Any] | None = [None] * self.process_group.size() if here else None
        gather_object(own, gathered, group=self.process_group, group_dst=to)
        self._all_states = gathered

    def _numbers(self) -> dict[Tensor, int]:
        everyone = [p for group in self.param_groups for p in group["params"]]
        return {p: i for i, p in enumerate(everyone)}

    def state_dict(self) -> dict[str, Any]:
        """The whole state, as the optimizer's own `state_dict` on one rank has it.

        RuntimeError unless `consolidate_state_dict` has gathered it here.
        """
        if self._all_states is None:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank (rank"
                f" {self.process_group.rank()}). Please call `consolidate_state_dict(to="
                f"{self.process_group.rank()})` on all ranks beforehand if you meant to save the"
                " global state."
            )
        saved = super().state_dict()
        saved["state"] = {i: s for states in self._all_states for i, s in states.items()}
        return saved

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the rank's share of a whole state, saved on any number of ranks."""
        assert self.optim is not None
        own = {i for p, i in self._numbers().items() if self._owner_of[p] == self._rank()}
        share = {**state_dict, "state": {i: s for i, s in state_dict["state"].items() if i in own}}
        super().load_state_dict(share)
        self.optim.state.clear()
        self.optim.state.update(self.state)
        self.state = self.optim.state
        self._all_states = None
        self._sync_options()

    def _rank(self) -> int:
        return self.process_group.rank()

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a rank without batches does: step on the gradients that it has."""
        return _StepHook(self)

    @property
    def join_device(self) -> Any:
        """The device of the parameters."""
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self) -> ProcessGroup:
        """The ranks."""
        return self.process_group


class _StepHook(JoinHook):
    def __init__(self, optimizer: ZeroRedundancyOptimizer) -> None:
        self.optimizer = optimizer

    def main_hook(self) -> None:
        """Take part in a step."""
        self.optimizer.step()


__all__ = ["ZeroRedundancyOptimizer"]
