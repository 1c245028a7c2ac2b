"""Averages of weights over training: models, functions and schedulers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from itertools import chain
from typing import Any

import numpy as np

from wengert.autograd.grad_mode import no_grad
from wengert.core.storage import before_writes, stamp_all
from wengert.core.tensor import Tensor, caller, getframe, wrap
from wengert.kernels import optim as formulas
from wengert.kernels.jit.formulas import Formula
from wengert.nn.module import Module
from wengert.nn.modules.batchnorm import _BatchNorm
from wengert.optim._scheduler import LRScheduler, for_groups
from wengert.optim.optimizer import Optimizer

Average = Callable[[Tensor, Tensor, Any], Tensor]
Averages = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """Return a function that updates an exponential average, given it, a value and a count.

    >>> import wengert
    >>> average = wengert.optim.swa_utils.get_ema_avg_fn(0.75)
    >>> average(wengert.tensor(0.0), wengert.tensor(1.0), 1)
    tensor(0.2500)
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        average: Tensor = decay * ema_param + (1 - decay) * current_param
        return average

    return ema_update


def get_swa_avg_fn() -> Average:
    """Return a function that updates an equally weighted average, given it, a value and a count.

    >>> import wengert
    >>> average = wengert.optim.swa_utils.get_swa_avg_fn()
    >>> average(wengert.tensor(0.0), wengert.tensor(1.0), 1)
    tensor(0.5000)
    """

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        average: Tensor = averaged_param + (current_param - averaged_param) / (num_averaged + 1)
        return average

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Averages:
    """As `get_ema_avg_fn`, for lists of averages and values; the averages change in place.

    >>> import wengert
    >>> average = wengert.optim.swa_utils.get_ema_multi_avg_fn(0.75)
    >>> w = wengert.tensor([0.0])
    >>> average([w], [wengert.tensor([1.0])], 1)
    >>> w
    tensor([0.2500])
    """
    average = get_ema_avg_fn(decay)

    def ema_update(
        ema_param_list: Sequence[Tensor], current_param_list: Sequence[Tensor], _: Any
    ) -> None:
        numbers = {"keep": decay, "share": 1 - decay}
        if not _update_in_one_pass(formulas.blended, numbers, ema_param_list, current_param_list):
            _update_one_by_one(average, ema_param_list, current_param_list, None)

    return ema_update


def get_swa_multi_avg_fn() -> Averages:
    """As `get_swa_avg_fn`, for lists of averages and values; the averages change in place.

    >>> import wengert
    >>> average = wengert.optim.swa_utils.get_swa_multi_avg_fn()
    >>> w = wengert.tensor([0.0])
    >>> average([w], [wengert.tensor([1.0])], 1)
    >>> w
    tensor([0.5000])
    """
    average = get_swa_avg_fn()

    def swa_update(
        averaged_param_list: Sequence[Tensor],
        current_param_list: Sequence[Tensor],
        num_averaged: Any,
    ) -> None:
        numbers = {"divisor": float(num_averaged + 1)}
        if not _update_in_one_pass(
            formulas.approached, numbers, averaged_param_list, current_param_list
        ):
            _update_one_by_one(average, averaged_param_list, current_param_list, num_averaged)

    return swa_update


def _check_decay(decay: float) -> None:
    if not 0 <= decay <= 1:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


def _update_one_by_one(
    average: Average, averaged: Sequence[Tensor], current: Sequence[Tensor], count: Any
) -> None:
    """Update all averages in place."""
    for a, b in zip(averaged, current, strict=True):
        a.detach().copy_(average(a.detach(), b, count))


def _update_in_one_pass(
    formula: Formula, numbers: dict[str, float], averaged: Sequence[Tensor],
    current: Sequence[Tensor],
) -> bool:  # fmt: skip
    """Update all averages in one pass; False if some are not floats of equal dtypes."""
    averages, values = ([t._array for t in tensors] for tensors in (averaged, current))
    for a, b in zip(averages, values, strict=True):
        if a.dtype.kind != "f" or a.dtype != b.dtype or a.shape != b.shape:
            return False
    before_writes(averages)
    formula([averages, values], [numbers] * len(averages))
    stamp_all(averages, "update_parameters()", *caller(getframe(1)))
    return True


class AveragedModel(Module):
    """A copy of a model with its weights averaged over training.

    Args:
        model: the model to copy.
        device: the device of the copy, the CPU.
        avg_fn: a function of an average, a value and their count that gives the next average.
        multi_avg_fn: the same for lists, updating the averages in place. Without either, all
            weights count equally.
        use_buffers: average buffers too; otherwise the model's are copied.

    >>> import wengert
    >>> model = wengert.nn.Linear(1, 1, bias=False)
    >>> averaged = wengert.optim.swa_utils.AveragedModel(model)
    >>> for value in (1.0, 2.0, 6.0):
    ...     with wengert.no_grad():
    ...         _ = model.weight.fill_(value)
    ...     averaged.update_parameters(model)
    >>> averaged(wengert.ones(1)).item()
    3.0
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: Averages | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", wrap(np.array(0, np.int64)))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the averaged copy."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Add the current weights of a model to the average."""
        averaged, current = (
            [t.detach() for t in self._averaged_tensors(m)] for m in (self.module, model)
        )
        if self.n_averaged == 0:
            for a, b in zip(averaged, current, strict=False):
                a.copy_(b)
        elif self.avg_fn is None:
            average = self.multi_avg_fn or get_swa_multi_avg_fn()
            # By dtype, so that a function may compute with all tensors of a list at once.
            for dtype in dict.fromkeys(a.dtype for a in averaged):
                pairs = zip(averaged, current, strict=True)
                alike = [pair for pair in pairs if pair[0].dtype is dtype]
                average([a for a, _ in alike], [b for _, b in alike], self.n_averaged)
        else:
            _update_one_by_one(self.avg_fn, averaged, current, self.n_averaged)
        if not self.use_buffers:
            for a, b in zip(self.module.buffers(), model.buffers(), strict=True):
                a.detach().copy_(b.detach())
        self.n_averaged += 1

    def _averaged_tensors(self, model: Module) -> Iterable[Tensor]:
        """The tensors of a model that are averaged."""
        parameters = model.parameters()
        return chain(parameters, model.buffers()) if self.use_buffers else parameters


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Recompute the statistics of a model's batch norms in one pass over data.

    Args:
        loader: batches; of a tuple or list, the first element is the input.
        model: the model.
        device: the device to move inputs to, the CPU.

    >>> import wengert
    >>> model = wengert.nn.BatchNorm1d(1)
    >>> wengert.optim.swa_utils.update_bn([wengert.tensor([[1.0], [3.0]])], model)
    >>> model.running_mean
    tensor([2.])
    """
    momenta = {m: m.momentum for m in model.modules() if isinstance(m, _BatchNorm)}
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.reset_running_stats()
        module.momentum = None  # the mean over all batches
    for batch in loader:
        x = batch[0] if isinstance(batch, list | tuple) else batch
        model(x if device is None else x.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Anneals learning rates to a constant, for averaging weights.

    Args:
        optimizer: the optimizer to schedule.
        swa_lr: the rate to go to, for all groups or for each.
        anneal_epochs: the number of annealing epochs.
        anneal_strategy: ``"cos"`` or ``"linear"``.
        last_epoch: -1, or the last epoch when resuming training.

    >>> import wengert
    >>> optimizer = wengert.optim.SGD([wengert.zeros(2, requires_grad=True)], lr=1.0)
    >>> scheduler = wengert.optim.swa_utils.SWALR(optimizer, 0.5, 2, "linear")
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for group, lr in zip(
            optimizer.param_groups, for_groups("swa_lr", optimizer, swa_lr), strict=True
        ):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t: float) -> float:
        """The annealing progress after a fraction of the epochs."""
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self) -> list[Any]:
        self._check_called_within_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = (
            self.anneal_func(max(0, min(1, n / max(1, self.anneal_epochs))))
            for n in (step - 1, step)
        )
        rates = []
        for group in self.optimizer.param_groups:
            lr, end = group["lr"], group["swa_lr"]
            start = end if before == 1 else (lr - before * end) / (1 - before)
            rates.append(end * now + start * (1 - now))
        return rates


__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]
