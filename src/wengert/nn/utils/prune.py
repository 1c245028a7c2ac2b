"""Pruning: parameters with elements held at zero by a mask.

A pruned `name` is computed before each forward: the parameter `name_orig` times the buffer
`name_mask`. Methods choose the elements to mask.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from numbers import Integral, Real
from typing import Any

from wengert.core.layout import contiguous_format
from wengert.core.tensor import Tensor
from wengert.nn.module import Module
from wengert.ops.joining import cat
from wengert.tensor.creation import ones_like, zeros_like

M = Any  # a module, of whatever class


class BasePruningMethod(ABC):
    """A method of choosing what to prune; subclasses define `compute_mask`.

    `PRUNING_TYPE` is ``"unstructured"`` (single elements), ``"structured"`` (whole slices) or
    ``"global"``; further methods use it to determine what is left to choose from.

    >>> import wengert
    >>> from wengert.nn.utils import prune
    >>> class EverySecond(prune.BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...
    ...     def compute_mask(self, t, default_mask):
    ...         mask = default_mask.clone()
    ...         mask.view(-1)[::2] = 0
    ...         return mask
    >>> layer = wengert.nn.Linear(4, 1)
    >>> method = EverySecond.apply(layer, "weight")
    >>> layer.weight_mask
    tensor([[0., 1., 0., 1.]])
    """

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """`default_mask` with zeros where `t` is to be pruned."""

    def apply_mask(self, module: Any) -> Any:
        """The current parameter, masked."""
        name = self._tensor_name
        mask = getattr(module, f"{name}_mask")
        original = getattr(module, f"{name}_orig")
        return mask.to(original.dtype) * original

    @classmethod
    def apply(
        cls, module: Any, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prune a parameter, or prune it further.

        Args:
            module: the module.
            name: its parameter.
            args: of the method's class.
            importance_scores: values to choose by instead of the parameter's.
            kwargs: of the method's class.
        """
        before = _methods(module, name)
        if len(before) > 1:
            raise AssertionError(
                f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}."
                " Use a PruningContainer."
            )
        method = cls(*args, **kwargs)
        method._tensor_name = name
        original = getattr(module, name)
        _check_scores(importance_scores, original)
        scores = original if importance_scores is None else importance_scores
        if before:
            ((key, old),) = before.items()
            container = PruningContainer(old)
            container.add_pruning_method(method)
            method = container
            del module._forward_pre_hooks[key]
            mask = method.compute_mask(scores, getattr(module, f"{name}_mask"))
            module.register_buffer(f"{name}_mask", mask)
        else:
            mask = method.compute_mask(scores, ones_like(original.detach()))
            parameter = module._parameters.pop(name)
            module.register_parameter(f"{name}_orig", parameter)
            module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Any = None, importance_scores: Any = None) -> Any:
        """A tensor pruned by this method, without a module."""
        _check_scores(importance_scores, t)
        scores = t if importance_scores is None else importance_scores
        mask = ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, mask)

    def remove(self, module: Any) -> None:
        """Make the pruned values the parameter's own."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        weight = self.apply_mask(module)
        delattr(module, name)
        original = module._parameters.pop(f"{name}_orig")
        original.data = weight.data
        del module._buffers[f"{name}_mask"]
        setattr(module, name, original)


def _methods(module: Any, name: str) -> dict[int, BasePruningMethod]:
    return {
        key: hook
        for key, hook in module._forward_pre_hooks.items()
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
    }


def _check_scores(scores: Any, like: Tensor) -> None:
    if scores is not None and scores.shape != like.shape:
        raise AssertionError(
            f"importance_scores should have the same shape as parameter, {tuple(like.shape)}, got"
            f" {tuple(scores.shape)}"
        )


class PruningContainer(BasePruningMethod):
    """A sequence of methods that prune one tensor, each what the previous ones left.

    Args:
        *args: pruning methods, applied in order.

    >>> import wengert
    >>> from wengert.nn.utils import prune
    >>> layer = wengert.nn.Linear(4, 1)
    >>> for _ in range(2):
    ...     layer = prune.l1_unstructured(layer, "weight", amount=1)
    >>> len(next(iter(layer._forward_pre_hooks.values())))
    2
    """

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if len(args) == 1 and not isinstance(args[0], Iterable):
            self._tensor_name = args[0]._tensor_name
        elif args:
            args = tuple(args[0]) if len(args) == 1 else args
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a method for the same tensor."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and method._tensor_name != self._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named"
                f" '{self._tensor_name}' to PruningContainer {self}. Found"
                f" '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Any:
        """The mask, pruned further by the last method added."""
        method = self._pruning_methods[-1]
        mask: Any = default_mask
        kind = method.PRUNING_TYPE
        if kind == "unstructured":
            left: Any = mask == 1
        elif kind == "structured":
            others = tuple(d for d in range(t.ndim) if d != method.dim % t.ndim)
            left = [slice(None)] * t.ndim
            left[method.dim] = mask.sum(others) != 0
            left = tuple(left)
        elif kind == "global":
            left = (slice(None),) * t.ndim
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {kind}")
        result = mask.clone()
        result[left] = method.compute_mask(t[left], mask[left]).to(mask.dtype)
        return result


class Identity(BasePruningMethod):
    """Prunes nothing, but sets up mask and parameter.

    >>> import wengert
    >>> from wengert.nn.utils import prune
    >>> layer = prune.identity(wengert.nn.Linear(2, 1), "weight")
    >>> prune.is_pruned(layer), layer.weight_mask
    (True, tensor([[1., 1.]]))
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The existing mask."""
        return default_mask


class _ByAmount(BasePruningMethod):
    """Base class of methods that prune a number or a fraction of elements."""

    def __init__(self, amount: Any) -> None:
        _check_amount(amount)
        self.amount = amount

    def _count(self, size: int) -> int:
        """How many of `size` are pruned."""
        if not isinstance(self.amount, Integral):
            return round(self.amount * size)
        if int(self.amount) > size:
            raise ValueError(
                f"amount={self.amount} should be smaller than the number of parameters to prune"
                f"={size}"
            )
        return int(self.amount)


def _check_amount(amount: Any) -> None:
    if not isinstance(amount, Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    most = float("inf") if isinstance(amount, Integral) else 1.0
    if not 0.0 <= float(amount) <= most:
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative"
            " integer"
        )


class RandomUnstructured(_ByAmount):
    """Prunes random elements.

    Args:
        amount: how many elements: a number, or a share between 0 and 1.

    >>> import wengert
    >>> from wengert.nn.utils import prune
    >>> layer = prune.random_unstructured(wengert.nn.Linear(4, 1), "weight", amount=3)
    >>> layer.weight_mask.sum()
    tensor(1.)
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """A mask without `amount` of the elements."""
        count = self._count(t.numel())
        mask = default_mask.clone(memory_format=contiguous_format)
        if count:
            drawn = t.new_empty(t.shape).uniform_().view(-1)
            mask.view(-1)[drawn.topk(count).indices] = 0
        return mask


class L1Unstructured(_ByAmount):
    """Prunes the elements that are smallest in absolute value.

    Args:
        amount: how many elements: a number, or a share between 0 and 1.

    >>> import wengert
    >>> from wengert.nn.utils import prune
    >>> prune.L1Unstructured(amount=2).prune(wengert.tensor([3.0, -1.0, 2.0]))
    tensor([3., -0., 0.])
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """A mask without the `amount` smallest."""
        count = self._count(t.numel())
        mask = default_mask.clone(memory_format=contiguous_format)
        if count:
            smallest = t.detach().abs().reshape(-1).topk(count, largest=False)
            mask.view(-1)[smallest.indices] = 0
        return mask


class _Structured(_ByAmount):
    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _slices(self, t: Any) -> int:
        """How many slices there are."""
        if t.ndim <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found"
                f" tensor of shape {t.shape} with {t.ndim} dims"
            )
        if not -t.ndim <= self.dim < t.ndim:
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        return int(t.shape[self.dim])

    def _without(self, default_mask: Any, keep: Any) -> Any:
        """The mask, of the slices that `keep` (indices or truth values) names."""
        mask = zeros_like(default_mask)
        index: list[Any] = [slice(None)] * mask.ndim
        index[self.dim] = keep
        mask[tuple(index)] = 1
        return mask * default_mask


class RandomStructured(_Structured):
    """Prunes random slices along `dim`.

    Args:
        amount: how many slices: a number, or a share between 0 and 1.
        dim: the dimension of the slices.

    >>> import wengert
    >>> from wengert.nn.utils import prune
    >>> layer = wengert.nn.Linear(4, 3)
    >>> layer = prune.random_structured(layer, "weight", amount=2, dim=0)
    >>> layer.weight_mask.sum()
    tensor(4.)
    """

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """A mask without `amount` of the slices."""
        slices = self._slices(t)
        count = self._count(slices)
        if not count:
            return default_mask
        drawn = t.new_empty(slices).uniform_()
        return self._without(default_mask, drawn > drawn.kthvalue(count).values)


class LnStructured(_Structured):
    """Prunes the slices along `dim` whose norm of order `n` is smallest.

    Args:
        amount: how many slices: a number, or a share between 0 and 1.
        n: degree of the norm.
        dim: the dimension of the slices.

    >>> import wengert
    >>> from wengert.nn.utils import prune
    >>> t = wengert.tensor([[1.0, 2.0], [0.5, 0.1]])
    >>> prune.LnStructured(1, n=2, dim=0).prune(t)
    tensor([[1., 2.],
            [0., 0.]])
    """

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """A mask without the `amount` smallest slices."""
        slices = self._slices(t)
        count = self._count(slices)
        if not count:
            return default_mask
        others = tuple(d for d in range(t.ndim) if d != self.dim % t.ndim)
        norms = t.detach().norm(self.n, others)
        return self._without(default_mask, norms.topk(slices - count).indices)


class CustomFromMask(BasePruningMethod):
    """Prunes where a given mask is zero.

    Args:
        mask: 1 where elements stay, 0 where they are zero; of the parameter's shape.

    >>> import wengert
    >>> from wengert.nn.utils import prune
    >>> mask = wengert.tensor([0, 1])
    >>> prune.CustomFromMask(mask).prune(wengert.tensor([3.0, 4.0]))
    tensor([0., 4.])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Any) -> Any:
        """The existing mask combined with the given one."""
        return default_mask * self.mask.to(default_mask.dtype)


def identity(module: M, name: str) -> M:
    """Set up mask and parameter of a pruned `name`, but prune nothing.

    >>> import wengert
    >>> layer = wengert.nn.utils.prune.identity(wengert.nn.Linear(2, 1), "bias")
    >>> list(layer.state_dict())
    ['weight', 'bias_orig', 'bias_mask']
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: M, name: str, amount: float) -> M:
    """Prune random elements: a number or a fraction of them.

    >>> import wengert
    >>> layer = wengert.nn.Linear(4, 1)
    >>> layer = wengert.nn.utils.prune.random_unstructured(layer, "weight", amount=0.5)
    >>> layer.weight_mask.sum()
    tensor(2.)
    """
    RandomUnstructured.apply(module, name, amount=amount)
    return module


def l1_unstructured(
    module: M, name: str, amount: float, importance_scores: Tensor | None = None
) -> M:
    """Prune the elements with the smallest absolute value: a number or a fraction of them.

    >>> import wengert
    >>> layer = wengert.nn.Linear(4, 1)
    >>> layer = wengert.nn.utils.prune.l1_unstructured(layer, "weight", amount=0.5)
    >>> layer.weight_mask.sum()
    tensor(2.)
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: M, name: str, amount: float, dim: int) -> M:
    """Prune random slices along `dim`: a number or a fraction of them.

    >>> import wengert
    >>> layer = wengert.nn.Linear(4, 2)
    >>> layer = wengert.nn.utils.prune.random_structured(layer, "weight", amount=1, dim=0)
    >>> layer.weight_mask.sum()
    tensor(4.)
    """
    RandomStructured.apply(module, name, amount=amount, dim=dim)
    return module


def ln_structured(
    module: M, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None
) -> M:
    """Prune the slices along `dim` whose norm of order `n` is smallest.

    >>> import wengert
    >>> layer = wengert.nn.Linear(4, 2)
    >>> layer = wengert.nn.utils.prune.ln_structured(layer, "weight", amount=1, n=2, dim=0)
    >>> layer.weight_mask.sum()
    tensor(4.)
    """
    LnStructured.apply(
        module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores
    )
    return module


def custom_from_mask(module: M, name: str, mask: Tensor) -> M:
    """Prune where `mask` is zero.

    >>> import wengert
    >>> layer = wengert.nn.utils.prune.custom_from_mask(
    ...     wengert.nn.Linear(2, 2), "bias", wengert.tensor([0, 1])
    ... )
    >>> layer.bias_mask
    tensor([0., 1.])
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Any, pruning_method: Any, importance_scores: Any = None, **kwargs: Any
) -> None:
    """Prune several parameters as if they were one tensor.

    Args:
        parameters: pairs of a module and a name.
        pruning_method: a method of single elements.
        importance_scores: values to choose by, by pair.
        kwargs: of the method.

    >>> import wengert
    >>> from wengert.nn.utils import prune
    >>> net = wengert.nn.Sequential(wengert.nn.Linear(2, 2), wengert.nn.Linear(2, 1))
    >>> prune.global_unstructured(
    ...     [(net[0], "weight"), (net[1], "weight")], prune.L1Unstructured, amount=0.5
    ... )
    >>> net[0].weight_mask.sum() + net[1].weight_mask.sum()
    tensor(3.)
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    pairs = list(parameters)
    chosen_by = {} if importance_scores is None else importance_scores
    if not isinstance(chosen_by, dict):
        raise TypeError("global_unstructured(): importance_scores should be of type dict")
    scores = [chosen_by.get((m, n), getattr(m, n)).detach().reshape(-1) for m, n in pairs]
    masks = []
    for module, name in pairs:
        value = getattr(module, name)
        mask = getattr(module, f"{name}_mask", None)
        masks.append((ones_like(value.detach()) if mask is None else mask).reshape(-1))
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method'
            f" {pruning_method} of type {method.PRUNING_TYPE}"
        )
    pruned_mask = container.compute_mask(cat(scores), cat(masks))
    start = 0
    for module, name in pairs:
        value = getattr(module, name)
        stop = start + value.numel()
        custom_from_mask(module, name, pruned_mask[start:stop].reshape(value.shape))
        start = stop


def is_pruned(module: Module) -> bool:
    """Whether a parameter of the module or its submodules is pruned.

    >>> import wengert
    >>> wengert.nn.utils.prune.is_pruned(wengert.nn.Linear(2, 2))
    False
    """
    return any(
        isinstance(hook, BasePruningMethod)
        for child in module.modules()
        for hook in child._forward_pre_hooks.values()
    )


def remove(module: M, name: str) -> M:
    """Make the pruned values the parameter's own, without a mask.

    >>> import wengert
    >>> from wengert.nn.utils import prune
    >>> layer = prune.l1_unstructured(wengert.nn.Linear(2, 1), "weight", amount=1)
    >>> list(prune.remove(layer, "weight").state_dict())
    ['bias', 'weight']
    """
    for key, method in _methods(module, name).items():
        method.remove(module)
        del module._forward_pre_hooks[key]
        return module
    raise ValueError(
        f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
    )


__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]
