"""`DistributedDataParallel`: a module whose gradients are averages over ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from inspect import signature
from typing import Any

from wengert.autograd import is_grad_enabled
from wengert.core.tensor import Tensor
from wengert.distributed import schedules
from wengert.distributed._reducer import Reducer
from wengert.distributed.algorithms.join import Join, Joinable, JoinHook
from wengert.distributed.arguments import with_outputs
from wengert.distributed.collectives import broadcast
from wengert.distributed.process_group import ProcessGroup
from wengert.distributed.world import default_group, get_backend
from wengert.nn.module import Module
from wengert.nn.modules.sparse import Embedding, EmbeddingBag

_MEBIBYTE = 1 << 20


class DistributedDataParallel(Module, Joinable):
    """A module that every rank calls with its part of the batch, and whose gradients are averaged.

    At the start, rank 0's parameters and buffers are copied to the others. Gradients are averaged
    in buckets while the backward goes on, each time a backward reaches a parameter: several
    losses, `retain_graph`, ``create_graph=True`` and `autograd.grad` give what one process gives
    on the joined batch.

    Args:
        module: the module; it stays as it is.
        device_ids: None, or a list with None: there is one device.
        output_device: without effect.
        dim: without effect.
        broadcast_buffers: copy rank 0's buffers to the others before each forward.
        init_sync: copy rank 0's parameters and buffers at the start.
        process_group: the ranks; None means all.
        bucket_cap_mb: how large buckets become.
        find_unused_parameters: without effect: ranks always say which parameters a backward uses.
        check_reduction: without effect.
        gradient_as_bucket_view: let `.grad` be the bucket's memory.
        static_graph: every backward uses the same parameters: ranks say so only once.
        delay_all_reduce_named_params: without effect.
        param_to_hook_all_reduce: without effect.
        mixed_precision: None.
        device_mesh: a mesh of the ranks, instead of a group.
        skip_all_reduce_unused_params: without effect: what no rank uses is never reduced.
        bucket_cap_mb_list: without effect.
        batched_grad_copy: without effect.
        forward_sync_buffers: the new name of `broadcast_buffers`.

    RuntimeError if no parameter requires a gradient.

    >>> import wengert, wengert.distributed as dist
    >>> dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    >>> net = wengert.nn.parallel.DistributedDataParallel(wengert.nn.Linear(2, 1))
    >>> net(wengert.ones(3, 2)).sum().backward()
    >>> net.module.weight.grad
    tensor([[3., 3.]])
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: ProcessGroup | None = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: Any = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ) -> None:
        super().__init__()
        Joinable.__init__(self)
        if device_mesh is not None:
            process_group = device_mesh.get_group()
        self.process_group = default_group() if process_group is None else process_group
        if mixed_precision is not None:
            raise NotImplementedError(
                "DistributedDataParallel: mixed_precision; use torch.autocast in the forward"
            )
        self.module = module
        self.device_ids, self.output_device, self.dim = None, None, dim
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        synced = forward_sync_buffers if broadcast_buffers is None else broadcast_buffers
        self.broadcast_buffers = True if synced is None else synced
        self.require_backward_grad_sync = True
        self.require_forward_param_sync = True
        ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        self.parameters_to_ignore = ignored
        shared = [(n, p) for n, p in module.named_parameters() if n not in ignored]
        trained = [p for _, p in shared if p.requires_grad]
        if not trained:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter"
                " that requires a gradient."
            )
        buffers = [b for n, b in module.named_buffers() if n not in ignored]
        if init_sync:
            self._copy_from(0, [p for _, p in shared] + buffers)
        cap = int((25 if bucket_cap_mb is None else bucket_cap_mb) * _MEBIBYTE)
        first = min(cap, _MEBIBYTE) if bucket_cap_mb is None else cap
        self.reducer = Reducer(
            trained, self.process_group, cap, first, gradient_as_bucket_view, static_graph,
            _sparse_places(module, trained),
        )  # fmt: skip

    def _copy_from(self, rank: int, tensors: Sequence[Tensor]) -> None:
        for tensor in tensors:
            broadcast(tensor, group=self.process_group, group_src=rank)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module."""
        recording = is_grad_enabled()
        if self._join is not None:
            self._join.announce(1)
        if recording:
            self.reducer.prepare_for_backward((), self.require_backward_grad_sync)
        if self.require_forward_param_sync and self.broadcast_buffers and self.module.training:
            self._sync_buffers()
        return self.module(*inputs, **kwargs)

    def _sync_buffers(self) -> None:
        buffers = [b for n, b in self.module.named_buffers() if n not in self.parameters_to_ignore]
        if not buffers:
            return
        root = 0 if self._join is None else self._join.first
        total = sum(buffer._array.nbytes for buffer in buffers)
        ranks = self.process_group.ranks
        signature = f"{len(buffers)} buffers, {total} bytes, from rank {ranks[root]}"
        algorithm = with_outputs(
            buffers, lambda comm, *rows: schedules.broadcast_rows(comm, rows, root)
        )
        self.process_group.run("broadcast", signature, algorithm, buffers)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """In its block forwards are followed by backwards that add to `.grad` on each rank alone.

        The first backward of a forward after the block averages what they added.
        """
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: object, hook: Callable[..., Any]) -> None:
        """Reduce buckets by ``hook(state, bucket)``, which returns a future of the result.

        TypeError unless it can be called; RuntimeError if there is a hook.
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        annotation = signature(hook).parameters.get("bucket")
        expected = ("GradBucket", "inspect._empty", "dist.GradBucket")
        if annotation is not None and not any(
            str(annotation.annotation).endswith((name, name + "'>")) for name in expected
        ):
            raise ValueError(
                "Communication hook: bucket annotation should be dist.GradBucket, got"
                f" {annotation.annotation!r}"
            )
        if self.reducer.hook is not None:
            raise RuntimeError(
                "register_comm_hook or register_builtin_comm_hook can only be called once."
            )
        self.reducer.hook = state, hook

    def _register_builtin_comm_hook(self, comm_hook_type: Any) -> None:
        from wengert.distributed.algorithms.ddp_comm_hooks import default_hooks

        name = "fp16_compress_hook" if "FP16" in str(comm_hook_type) else "allreduce_hook"
        self.register_comm_hook(self.process_group, getattr(default_hooks, name))

    def _set_static_graph(self) -> None:
        if self.reducer.has_run:
            raise RuntimeError("_set_static_graph() should be called before training loop starts")
        self.static_graph = self.reducer.static = True

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        parameters = self.reducer.parameters
        return {
            "backend_name": get_backend(self.process_group),
            "broadcast_buffers": int(self.broadcast_buffers),
            "find_unused_parameters": int(self.find_unused_parameters),
            "gradient_as_bucket_view": int(self.gradient_as_bucket_view),
            "module_name": type(self.module).__name__,
            "num_parameter_tensors": len(parameters),
            "rank": self.process_group.rank(),
            "total_parameter_size_bytes": sum(p.nbytes for p in parameters),
            "world_size": self.process_group.size(),
        }

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module: Module, names: Any) -> None:
        module._ddp_params_and_buffers_to_ignore = names

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Join:
        """In its block ranks may have different numbers of batches.

        Ranks that have none left take part in the others' reductions, with nothing to add. At the
        end all have the parameters of a rank that was last.

        Args:
            divide_by_initial_world_size: divide by the number of all ranks, not of those that
                still have batches.
            enable: False: do nothing.
            throw_on_early_termination: raise RuntimeError on all ranks when one has no more.
        """
        return Join(
            [self], enable, throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )  # fmt: skip

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a rank without batches does while the others go on."""
        return _DataParallelHook(self, kwargs.get("divide_by_initial_world_size", True))

    @property
    def join_device(self) -> Any:
        """The device of the module."""
        return next(self.module.parameters()).device

    @property
    def join_process_group(self) -> ProcessGroup:
        """The ranks."""
        return self.process_group

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        for name in ("process_group", "reducer", "_join"):
            state.pop(name, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.process_group = default_group()
        self._join = None
        trained = [p for p in self.module.parameters() if p.requires_grad]
        self.reducer = Reducer(
            trained, self.process_group, 25 * _MEBIBYTE, _MEBIBYTE,
            self.gradient_as_bucket_view, self.static_graph, _sparse_places(self.module, trained),
        )  # fmt: skip


def _sparse_places(module: Module, parameters: Sequence[Tensor]) -> frozenset[int]:
    """The places of those parameters whose gradients are sparse."""
    tables = {
        id(m.weight)
        for m in module.modules()
        if isinstance(m, Embedding | EmbeddingBag) and m.sparse
    }
    return frozenset(i for i, p in enumerate(parameters) if id(p) in tables)


class _DataParallelHook(JoinHook):
    def __init__(self, parallel: DistributedDataParallel, by_initial: bool) -> None:
        self.parallel, self.by_initial = parallel, by_initial
        parallel.reducer.announce = self._pass_announced

    def _pass_announced(self) -> float:
        """Tell of a pass; return the factor that turns the mean over ranks into the wanted one."""
        join = self.parallel._join
        if join is None:
            return 1.0
        if not join.joined:
            join.announce(2)
        return 1.0 if self.by_initial else self.parallel.process_group.size() / join.active

    def main_hook(self) -> None:
        """Do what the other ranks announced: a forward, or a pass."""
        parallel, join = self.parallel, self.parallel._join
        assert join is not None
        if join.event == 2:
            parallel.reducer.shadow()
        elif parallel.broadcast_buffers and parallel.module.training:
            parallel._sync_buffers()

    def post_hook(self, is_last_joiner: bool) -> None:
        """Take over the parameters and buffers of a rank that was last."""
        parallel = self.parallel
        parallel.reducer.announce = lambda: 1.0
        join = parallel._join
        assert join is not None
        values = [*parallel.module.parameters(), *parallel.module.buffers()]
        parallel._copy_from(join.last, values)


__all__ = ["DistributedDataParallel"]
