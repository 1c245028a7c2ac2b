"""Weights as a direction and a length, by a hook."""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

from wengert.nn.module import Module
from wengert.nn.parameter import Parameter, is_lazy
from wengert.nn.utils._norms import norm_except, weight_normed

M = TypeVar("M", bound=Module)


class WeightNorm:
    """The hook that assembles a weight before each forward.

    Args:
        name: of the parameter.
        dim: the dimension that keeps a length each; None: one for all.

    >>> import warnings, wengert
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     layer = wengert.nn.utils.weight_norm(wengert.nn.Linear(2, 3))
    >>> next(iter(layer._forward_pre_hooks.values())).name
    'weight'
    """

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module: Any) -> Any:
        """The weight from the module's current direction and norm."""
        magnitude = getattr(module, f"{self.name}_g")
        return weight_normed(magnitude, getattr(module, f"{self.name}_v"), self.dim)

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def _hooks(module: Any, name: str) -> dict[int, Any]:
    hooks = module._forward_pre_hooks.items()
    return {k: h for k, h in hooks if isinstance(h, WeightNorm) and h.name == name}


def weight_norm(module: M, name: str = "weight", dim: int = 0) -> M:
    """Train a weight as `name_v`, its direction, and `name_g`, its norm along `dim`.

    This is the older form; see also `nn.utils.parametrizations.weight_norm`.

    Args:
        module: the module.
        name: its parameter.
        dim: each index along it has its own norm; None means one for all.

    >>> import warnings, wengert
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     layer = wengert.nn.utils.weight_norm(wengert.nn.Linear(2, 3))
    >>> [(n, tuple(p.shape)) for n, p in layer.named_parameters()]
    [('bias', (3,)), ('weight_g', (3, 1)), ('weight_v', (3, 2))]
    """
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of"
        " `torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    if _hooks(module, name):
        raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    hook = WeightNorm(name, dim)
    weight: Any = getattr(module, name)
    if is_lazy(weight):
        raise ValueError(
            "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to"
            " run the dummy forward before applying weight normalization"
        )
    del module._parameters[name]
    length = norm_except(weight.detach(), hook.dim)
    module.register_parameter(f"{name}_g", Parameter(length))
    module.register_parameter(f"{name}_v", Parameter(weight.data))
    setattr(module, name, hook.compute_weight(module))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Undo `weight_norm`: the weight is one parameter again.

    >>> import warnings, wengert
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     layer = wengert.nn.utils.weight_norm(wengert.nn.Linear(2, 3))
    >>> list(wengert.nn.utils.remove_weight_norm(layer).state_dict())
    ['bias', 'weight']
    """
    for key, hook in _hooks(module, name).items():
        weight = hook.compute_weight(module)
        delattr(module, name)
        del module._parameters[f"{name}_g"], module._parameters[f"{name}_v"]
        setattr(module, name, Parameter(weight.data))
        del module._forward_pre_hooks[key]
        return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")


__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]
