"""``torch.optim.adam.adam`` and its kin: one step of an optimizer on lists of tensors.

Each is a step of the class of that name, to which the lists are parameters, gradients and state.
What it keeps is written to the tensors of the lists.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from inspect import Parameter
from typing import Any

from wengert import optim
from wengert.core.tensor import Tensor, caller
from wengert.tensor.creation import ones

Function = Callable[..., None]

# Options that stand for one of the class, in this order.
_TOGETHER = {
    "betas": ("beta1", "beta2"), "etas": ("etaminus", "etaplus"), "eps": ("eps1", "eps2"),
    "step_sizes": ("step_size_min", "step_size_max"),
}  # fmt: skip
_FALSE = {"capturable", "differentiable", "has_complex", "has_sparse_grad", "maximize",
          "decoupled_weight_decay"}  # fmt: skip
_NOT_OF_GROUPS = {"has_complex", "has_sparse_grad", "grad_scale", "found_inf"}


def _step(name: str, lists: str, flags: str, options: str, grads: str = "grads") -> Function:
    """The function of an optimizer.

    `lists` has pairs of the name of a list and that of the state in it, `flags` the arguments with
    a default, `options` those that are named and have none.
    """
    kept = dict(pair.split("=") for pair in lists.split())
    anywhere, named = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
    parameters = [Parameter(n, anywhere) for n in ("params", grads, *kept)]
    kind = named if name == "Muon" else anywhere
    defaults = {flag: False if flag in _FALSE else None for flag in flags.split()}
    parameters += [Parameter(n, kind, default=value) for n, value in defaults.items()]
    parameters += [Parameter(n, named) for n in options.split()]
    signature = inspect.Signature(parameters)

    def step(*args: Any, **kwargs: Any) -> None:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        values = bound.arguments
        params, gradients = values.pop("params"), values.pop(grads)
        columns = {state: values.pop(column) for column, state in kept.items()}
        _run(getattr(optim, name), params, gradients, columns, values)

    step.__name__ = step.__qualname__ = name.lower()
    step.__doc__ = f"One step of `torch.optim.{name}` on lists of tensors."
    step.__signature__ = signature  # type: ignore[attr-defined]
    return step


def _run(
    kind: Any, params: list[Tensor], grads: list[Tensor], columns: dict[str, list[Any]],
    values: dict[str, Any],
) -> None:  # fmt: skip
    name = kind.__name__.lower()
    if values.get("differentiable"):
        raise NotImplementedError(
            f"{name}(differentiable=True): use optim.{kind.__name__}(..., differentiable=True)"
        )
    if values.get("grad_scale") is not None or values.get("found_inf") is not None:
        raise AssertionError(f"{name}(): grad_scale and found_inf must be None")
    if not all(isinstance(step, Tensor) for step in columns.get("step", ())):
        raise RuntimeError(
            "API has changed, `state_steps` argument must contain a list of singleton tensors"
        )
    optimizer = kind([ones(1, 1)])  # whose defaults count
    group = {**optimizer.defaults, **_options(values), "params": params}
    optimizer.param_groups = [group]
    before = [getattr(p, "_grad", None) for p in params]
    try:
        for k, (p, g) in enumerate(zip(params, grads, strict=False)):
            p._grad = g
            given = {s: column[k] for s, column in columns.items() if k < len(column)}
            optimizer.state[p] = {s: x for s, x in given.items() if x is not None}
        optimizer._update(group, f"{name}()", *caller(sys._getframe(2)))
    except KeyError as error:
        raise IndexError(
            f"{name}(): {len(params)} params, but fewer tensors of state {error}"
        ) from None
    finally:
        for p, gradient in zip(params, before, strict=True):
            p._grad = gradient
    for k, p in enumerate(params):
        for state, column in columns.items():
            if k < len(column):
                column[k] = optimizer.state[p].get(state)


def _options(values: dict[str, Any]) -> dict[str, Any]:
    """The options of a group."""
    options = {n: v for n, v in values.items() if n not in _NOT_OF_GROUPS}
    for whole, parts in _TOGETHER.items():
        if parts[0] in options:
            options[whole] = tuple([options.pop(part) for part in parts])
    return options


_MOMENTS = "exp_avgs=exp_avg exp_avg_sqs=exp_avg_sq"
_SWITCHES = "foreach capturable differentiable"
_SCALED = "grad_scale found_inf"

adadelta = _step(
    "Adadelta", "square_avgs=square_avg acc_deltas=acc_delta state_steps=step",
    "capturable foreach differentiable has_complex", "lr rho eps weight_decay maximize",
)  # fmt: skip
adafactor = _step(
    "Adafactor", "row_vars=row_var col_vars=col_var variances=variance state_steps=step",
    f"foreach {_SCALED} has_complex", "d lr beta2_decay weight_decay eps1 eps2 maximize",
)  # fmt: skip
adagrad = _step(
    "Adagrad", "state_sums=sum state_steps=step",
    f"fused {_SCALED} has_sparse_grad foreach differentiable has_complex",
    "lr weight_decay lr_decay eps maximize",
)  # fmt: skip
adam = _step(
    "Adam", f"{_MOMENTS} max_exp_avg_sqs=max_exp_avg_sq state_steps=step",
    f"{_SWITCHES} fused {_SCALED} has_complex decoupled_weight_decay",
    "amsgrad beta1 beta2 lr weight_decay eps maximize",
)  # fmt: skip
adamax = _step(
    "Adamax", "exp_avgs=exp_avg exp_infs=exp_inf state_steps=step",
    "foreach maximize differentiable capturable has_complex", "eps beta1 beta2 lr weight_decay",
)  # fmt: skip
adamw = _step(
    "AdamW", f"{_MOMENTS} max_exp_avg_sqs=max_exp_avg_sq state_steps=step",
    f"{_SWITCHES} fused {_SCALED} has_complex", "amsgrad beta1 beta2 lr weight_decay eps maximize",
)  # fmt: skip
asgd = _step(
    "ASGD", "axs=ax mus=mu etas=eta state_steps=step",
    "foreach maximize differentiable capturable has_complex", "lambd lr t0 alpha weight_decay",
)  # fmt: skip
muon = _step(
    "Muon", "muon_momentum_bufs=momentum_buffer", "foreach",
    "lr weight_decay momentum nesterov ns_coefficients ns_steps eps adjust_lr_fn has_complex",
)  # fmt: skip
nadam = _step(
    "NAdam", f"{_MOMENTS} mu_products=mu_product state_steps=step",
    f"decoupled_weight_decay {_SWITCHES} has_complex maximize",
    "beta1 beta2 lr weight_decay momentum_decay eps",
)  # fmt: skip
radam = _step(
    "RAdam", f"{_MOMENTS} state_steps=step",
    "decoupled_weight_decay foreach differentiable capturable has_complex maximize",
    "beta1 beta2 lr weight_decay eps",
)  # fmt: skip
rmsprop = _step(
    "RMSprop",
    "square_avgs=square_avg grad_avgs=grad_avg momentum_buffer_list=momentum_buffer"
    " state_steps=step",
    "foreach maximize differentiable capturable has_complex",
    "lr alpha eps weight_decay momentum centered",
)  # fmt: skip
rprop = _step(
    "Rprop", "prevs=prev step_sizes=step_size state_steps=step",
    "foreach capturable maximize differentiable has_complex",
    "step_size_min step_size_max etaminus etaplus",
)  # fmt: skip
sgd = _step(
    "SGD", "momentum_buffer_list=momentum_buffer", f"has_sparse_grad foreach fused {_SCALED}",
    "weight_decay momentum lr dampening nesterov maximize", grads="d_p_list",
)  # fmt: skip

__all__ = [
    "adadelta", "adafactor", "adagrad", "adam", "adamax", "adamw", "asgd", "muon", "nadam", "radam",
    "rmsprop", "rprop", "sgd",
]  # fmt: skip
