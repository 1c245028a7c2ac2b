"""`DistributedOptimizer`: an optimizer that steps on the average of the ranks' gradients.

Gradients are reduced in the background while the backward goes on, several together, in an order
on which all ranks agree.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from wengert.autograd import no_grad
from wengert.core.tensor import Tensor, wrap
from wengert.horovod.common.process_sets import ProcessSet, global_process_set
from wengert.horovod.torch.compression import Compression
from wengert.horovod.torch.negotiation import synchronize
from wengert.horovod.torch.reductions import (
    Adasum,
    Average,
    Reduction,
    grouped_allreduce_,
    grouped_allreduce_async,
)

_BUCKET_BYTES = 25 << 20


class _Averaging:
    """What `DistributedOptimizer` puts in front of an optimizer's class."""

    param_groups: list[dict[str, Any]]

    def _follow(
        self,
        names: dict[Tensor, str],
        compression: Any,
        passes: int,
        op: Reduction,
        predivide: float,
        groups: Any,
        process_set: ProcessSet,
    ) -> None:
        self._names, self._compression, self.op = names, compression, op
        self.backward_passes_per_step, self.process_set = passes, process_set
        self.gradient_predivide_factor = predivide
        self._should_synchronize, self._synchronized = True, False
        self._buckets: list[list[Tensor]] = []
        self._handles: list[tuple[int, list[Any]]] = []
        if process_set.included() and process_set.group().size() > 1:
            self._arrange(groups)
        self._bucket_of = {p: i for i, bucket in enumerate(self._buckets) for p in bucket}
        self._passes = dict.fromkeys(self._bucket_of, 0)
        hook = partial(_arrived, weakref.ref(self))
        self._hooks = [p.register_post_accumulate_grad_hook(hook) for p in self._bucket_of]

    def _arrange(self, groups: Any) -> None:
        """Put parameters together that are reduced together: the last ones come first."""
        trained = [p for group in self.param_groups for p in group["params"] if p.requires_grad]
        trained.reverse()
        if isinstance(groups, int):
            size = -(-len(trained) // groups)
            self._buckets = [trained[i : i + size] for i in range(0, len(trained), size)]
            return
        together = [[p for p in group if p.requires_grad] for group in groups or ()]
        taken = {p for group in together for p in group}
        self._buckets = [group for group in together if group]
        size = _BUCKET_BYTES
        for p in trained:
            if p in taken:
                continue
            if size + p._array.nbytes > _BUCKET_BYTES:
                self._buckets.append([])
                size = 0
            self._buckets[-1].append(p)
            size += p._array.nbytes

    def set_backward_passes_per_step(self, passes: int) -> None:
        """Let so many backwards add up before the gradients are reduced."""
        self.backward_passes_per_step = passes
        self._passes = dict.fromkeys(self._passes, 0)

    def _count(self, parameter: Tensor) -> None:
        """Take note of a gradient; reduce the buckets that are complete."""
        if self._bucket_of[parameter] < len(self._handles):
            raise AssertionError(
                "Gradients were computed more than backward_passes_per_step times before call to"
                " step(). Increase backward_passes_per_step to accumulate gradients locally."
            )
        self._passes[parameter] += 1
        while len(self._handles) < len(self._buckets) and all(
            self._passes[p] >= self.backward_passes_per_step
            for p in self._buckets[len(self._handles)]
        ):
            self._launch()

    def _launch(self) -> None:
        """Reduce the next bucket."""
        number = len(self._handles)
        tensors = []
        for p in self._buckets[number]:
            if p.grad is None:
                p.grad = wrap(np.zeros_like(p._array))
            tensors.append(p.grad.to_dense() if p.grad.is_sparse else p.grad)
        smaller, contexts = zip(*map(self._compression.compress, tensors), strict=True)
        factor = self.gradient_predivide_factor
        handle = grouped_allreduce_async(
            smaller, None, f"gradients.{self._names[self._buckets[number][0]]}", self.op,
            1 / factor, factor, self.process_set,
        )  # fmt: skip
        self._handles.append((handle, list(contexts)))

    def synchronize(self) -> None:
        """Wait until all gradients are averages."""
        while len(self._handles) < len(self._buckets):
            self._launch()
        handles, self._handles = self._handles, []
        self._passes = dict.fromkeys(self._passes, 0)
        for bucket, (handle, contexts) in zip(self._buckets, handles, strict=True):
            for p, reduced, ctx in zip(bucket, synchronize(handle), contexts, strict=True):
                average = self._compression.decompress(reduced, ctx)
                sparse = p.grad is not None and p.grad.is_sparse
                p.grad = average.to_sparse() if sparse else average
        self._synchronized = True

    @contextmanager
    def skip_synchronize(self) -> Iterator[None]:
        """In its block `step` takes the gradients as they are: `synchronize` has been called."""
        self._should_synchronize = False
        try:
            yield
        finally:
            self._should_synchronize = True

    def step(self, closure: Any = None) -> Any:
        """Average the gradients, and step."""
        if self._should_synchronize:
            if self._synchronized:
                warnings.warn(
                    "optimizer.step() called without optimizer.skip_synchronize() context after"
                    " optimizer.synchronize(). This can cause training slowdown.",
                    stacklevel=2,
                )
            self.synchronize()
        self._synchronized = False
        return super().step(closure)  # type: ignore[misc]

    def zero_grad(self, *args: Any, **kwargs: Any) -> None:
        """Clear the gradients; AssertionError between a backward and `step`."""
        if self._handles:
            raise AssertionError(
                "optimizer.zero_grad() was called after loss.backward() but before"
                " optimizer.step() or optimizer.synchronize(). This is prohibited as it can cause"
                " a race condition."
            )
        super().zero_grad(*args, **kwargs)  # type: ignore[misc]

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """As the optimizer's own."""
        self._passes = dict.fromkeys(self._passes, 0)
        super().load_state_dict(state_dict)  # type: ignore[misc]


def _arrived(optimizer: Any, parameter: Tensor) -> None:
    averaging = optimizer()
    if averaging is not None:
        averaging._count(parameter)


class _AddingSteps:
    """Adasum: each rank steps on its own gradients, and the steps are added."""

    param_groups: list[dict[str, Any]]

    def _follow(self, compression: Any, process_set: ProcessSet) -> None:
        self._compression, self.process_set = compression, process_set

    def synchronize(self) -> None:
        """Nothing: `step` does it all."""

    @contextmanager
    def skip_synchronize(self) -> Iterator[None]:
        """AssertionError: there is nothing to skip."""
        raise AssertionError(
            "Skipping synchronization is not supported when using Adasum optimizer."
        )
        yield

    def step(self, closure: Any = None) -> Any:
        """Step, and add the steps of all ranks."""
        trained = [p for group in self.param_groups for p in group["params"] if p.requires_grad]
        before = [p.detach().clone() for p in trained]
        loss = super().step(closure)  # type: ignore[misc]
        with no_grad():
            steps = [p - start for p, start in zip(trained, before, strict=True)]
            smaller, contexts = zip(*map(self._compression.compress, steps), strict=True)
            added = grouped_allreduce_(smaller, op=Adasum, process_set=self.process_set)
            for p, start, step, ctx in zip(trained, before, added, contexts, strict=True):
                p.copy_(start + self._compression.decompress(step, ctx))
        return loss


def DistributedOptimizer(  # noqa: N802 (Horovod's name)
    optimizer: Any,
    named_parameters: Iterable[tuple[str, Tensor]] | None = None,
    compression: Any = Compression.none,
    backward_passes_per_step: int = 1,
    op: Any = Average,
    gradient_predivide_factor: float = 1.0,
    num_groups: int = 0,
    groups: int | Sequence[Sequence[Tensor]] | None = None,
    sparse_as_dense: bool = False,
    process_set: ProcessSet = global_process_set,
) -> Any:
    """An optimizer of the same class that steps on the average of the ranks' gradients.

    Args:
        optimizer: the optimizer; the new one takes over its groups and state.
        named_parameters: the parameters with their names; None numbers them.
        compression: how gradients travel.
        backward_passes_per_step: how many backwards add up before gradients are reduced.
        op: `Average`, `Sum`, or `Adasum`, which adds the steps of the ranks instead.
        gradient_predivide_factor: divide by it before summing, instead of afterwards.
        num_groups: the old name of `groups`.
        groups: what is reduced together: a number of groups, or lists of parameters.
        sparse_as_dense: without effect: sparse gradients always travel as dense ones.
        process_set: the ranks.

    >>> import wengert
    >>> import wengert.horovod.torch as hvd
    >>> hvd.init()
    >>> w = wengert.ones(1, requires_grad=True)
    >>> optimizer = hvd.DistributedOptimizer(wengert.optim.SGD([w], lr=0.5))
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.5000])
    >>> hvd.shutdown()
    """
    reduction = Reduction(op)
    if gradient_predivide_factor != 1.0 and reduction is not Average:
        raise ValueError("gradient_predivide_factor not supported with op != Average")
    names = _names_of(optimizer, named_parameters)
    chosen = groups if groups is not None else num_groups or None
    _check_groups(chosen)
    adding = reduction is Adasum and process_set.group().size() > 1
    front = _AddingSteps if adding else _Averaging
    cls = type(type(optimizer).__name__, (front, type(optimizer)), {})
    distributed: Any = object.__new__(cls)
    distributed.__dict__.update(optimizer.__dict__)
    if adding:
        distributed._follow(compression, process_set)
    else:
        distributed._follow(
            names, compression, backward_passes_per_step, reduction, gradient_predivide_factor,
            chosen, process_set,
        )  # fmt: skip
    return distributed


def _check_groups(groups: Any) -> None:
    if groups is None:
        return
    if not isinstance(groups, list) and not (isinstance(groups, int) and groups > 0):
        raise ValueError(
            "groups should be a non-negative integer or a list of list of torch.Tensor."
        )
    members = [p for group in groups for p in group] if isinstance(groups, list) else []
    if not all(isinstance(p, Tensor) for p in members):
        raise ValueError("groups must consist of torch.Tensor.")
    if len(set(members)) != len(members):
        raise ValueError("A parameter can only appear once in groups.")


def _names_of(optimizer: Any, named: Iterable[tuple[str, Tensor]] | None) -> dict[Tensor, str]:
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    if named is None:
        return {p: f"allreduce.noname.{i}" for i, p in enumerate(parameters)}
    pairs = list(named)
    if any(not isinstance(pair, tuple) for pair in pairs):
        raise ValueError(
            "named_parameters should be a sequence of tuples (name, parameter), usually produced by"
            " model.named_parameters()."
        )
    names = [name for name, _ in pairs]
    duplicates = sorted({name for name in names if names.count(name) > 1})
    if duplicates:
        raise ValueError(
            "Parameter names in named_parameters must be unique. Found duplicates:"
            f" {', '.join(duplicates)}"
        )
    by_parameter = {p: name for name, p in pairs}
    unnamed = [tuple(p.shape) for p in parameters if p not in by_parameter]
    if unnamed:
        raise ValueError(
            "named_parameters was specified, but one or more model parameters were not named; their"
            f" shapes: {unnamed}"
        )
    return by_parameter


__all__ = ["DistributedOptimizer"]
