"""Weights divided by their largest singular value, by a hook."""

from __future__ import annotations

from typing import Any, TypeVar

from wengert.autograd import no_grad
from wengert.nn.module import Module
from wengert.nn.parameter import Parameter, is_lazy
from wengert.nn.utils._norms import as_matrix, is_transposed, singular_value, unit
from wengert.ops.matmul import mv

M = TypeVar("M", bound=Module)


class SpectralNorm:
    """The hook that divides a weight before each forward.

    Args:
        name: of the parameter.
        n_power_iterations: iterations of each forward.
        dim: the dimension of the outputs in the parameter.
        eps: added to the denominator, against division by zero.

    >>> import wengert
    >>> layer = wengert.nn.utils.spectral_norm(wengert.nn.Linear(2, 3))
    >>> next(iter(layer._forward_pre_hooks.values())).n_power_iterations
    1
    """

    _version = 1

    def __init__(
        self,
        name: str = "weight",
        n_power_iterations: int = 1,
        dim: int = 0,
        eps: float = 1e-12,
    ) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got"
                f" n_power_iterations={n_power_iterations}"
            )
        self.name, self.dim, self.eps = name, dim, eps
        self.n_power_iterations = n_power_iterations

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Any:
        """The divided weight; power iterations update the singular vectors."""
        weight = getattr(module, f"{self.name}_orig")
        u, v = getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(unit(mv(matrix.mH, u), self.eps))
                    u.copy_(unit(mv(matrix, v), self.eps))
                # The buffers may be overwritten before this graph is walked.
                u, v = u.clone(), v.clone()
        return weight / singular_value(matrix, u, v)

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))


def _hooks(module: Any, name: str) -> dict[int, Any]:
    hooks = module._forward_pre_hooks.items()
    return {k: h for k, h in hooks if isinstance(h, SpectralNorm) and h.name == name}


def _note_version(module: Any, state_dict: Any, prefix: str, local_metadata: Any) -> None:
    """Record the layout version of spectral norm in a state."""
    versions = local_metadata.setdefault("spectral_norm", {})
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, SpectralNorm):
            versions[f"{hook.name}.version"] = hook._version


def spectral_norm(
    module: M,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> M:
    """Divide a weight by its largest singular value, estimated by power iteration.

    The trained parameter is `name_orig`; the singular vectors are the buffers `name_u`, `name_v`.

    Args:
        module: the module.
        name: its parameter.
        n_power_iterations: iterations per forward in training mode.
        eps: the smallest norm to divide by.
        dim: the output dimension; None infers it from the kind of module.

    >>> import wengert
    >>> layer = wengert.nn.utils.spectral_norm(wengert.nn.Linear(2, 3))
    >>> list(layer.state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    if _hooks(module, name):
        raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    hook = SpectralNorm(
        name, n_power_iterations, int(is_transposed(module)) if dim is None else dim, eps
    )
    weight: Any = module._parameters[name]
    if weight is None:
        raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
    if is_lazy(weight):
        raise ValueError(
            "The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to"
            " run the dummy forward before applying spectral normalization"
        )
    with no_grad():
        height, width = as_matrix(weight, hook.dim).shape
        u = unit(weight.new_empty(height).normal_(0, 1), eps)
        v = unit(weight.new_empty(width).normal_(0, 1), eps)
    delattr(module, name)
    module.register_parameter(f"{name}_orig", weight)
    setattr(module, name, weight.data)
    module.register_buffer(f"{name}_u", u)
    module.register_buffer(f"{name}_v", v)
    module.register_forward_pre_hook(hook)
    module._register_state_dict_hook(_note_version)
    return module


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Undo `spectral_norm`: the last divided weight becomes the parameter.

    >>> import wengert
    >>> layer = wengert.nn.utils.spectral_norm(wengert.nn.Linear(2, 3))
    >>> list(wengert.nn.utils.remove_spectral_norm(layer).state_dict())
    ['bias', 'weight']
    """
    for key, hook in _hooks(module, name).items():
        with no_grad():
            weight = hook.compute_weight(module, do_power_iteration=False)
        for suffix in ("", "_u", "_v", "_orig"):
            delattr(module, name + suffix)
        module.register_parameter(name, Parameter(weight.detach()))
        del module._forward_pre_hooks[key]
        return module
    raise ValueError(f"spectral_norm of '{name}' not found in {module}")


__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]
