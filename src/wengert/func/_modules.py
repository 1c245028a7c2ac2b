"""Modules as functions of their parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from wengert.core.signals import call_despite_signals, contextmanager
from wengert.core.tensor import Tensor, Tracer
from wengert.ops.joining import stack


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors in the place of its parameters and buffers.

    Args:
        module: the module.
        parameter_and_buffer_dicts: tensors by the names of `named_parameters` and
            `named_buffers`; of several dicts, all count.
        args: positional arguments: a tuple, or one that is none.
        kwargs: keyword arguments.
        tie_weights: a parameter under several names is replaced under all of them.
        strict: all names must be given, and no others.

    >>> import wengert
    >>> layer = wengert.nn.Linear(2, 1, bias=False)
    >>> weights = {"weight": wengert.tensor([[1.0, 2.0]])}
    >>> wengert.func.functional_call(layer, weights, wengert.ones(2))
    tensor([3.])
    """
    tensors = _merge(parameter_and_buffer_dicts)
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    with _swapped_in(module, tensors, tie_weights, strict):
        return module(*arguments, **(kwargs or {}))


def _merge(dicts: Any) -> dict[str, Tensor]:
    if isinstance(dicts, dict):
        return dicts
    if not isinstance(dicts, Sequence):
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got"
            f" {type(dicts)}"
        )
    if not all(isinstance(d, dict) for d in dicts):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    merged: dict[str, Tensor] = {}
    for d in dicts:
        twice = sorted(merged.keys() & d.keys())
        if twice:
            raise ValueError(f"{twice} appeared in multiple dictionaries; behavior of functional"
                             " call is ambiguous")  # fmt: skip
        merged |= d
    return merged


# A module's `_parameters`, `_buffers` or attributes, and a key of it.
Slot = tuple[dict[str, Any], str]
_ABSENT = object()


def _slots_of(module: Any) -> dict[str, Slot]:
    slots: dict[str, Slot] = {}
    for prefix, child in module.named_modules(remove_duplicate=False):
        for table in (child._parameters, child._buffers):
            for name, value in table.items():
                if value is not None:
                    slots[f"{prefix}.{name}" if prefix else name] = table, name
    return slots


def _slot_at(module: Any, path: str) -> Slot:
    """Where to put a tensor by a name that no parameter or buffer has; the place may be empty."""
    *owners, name = path.split(".")
    if not name:
        raise KeyError(f'tensor name can\'t be empty string "", got {path!r}')
    for owner in owners:
        module = getattr(module, owner)
    for table in (module._parameters, module._buffers):
        if name in table:
            return table, name
    held = getattr(module, name, None)
    if held is not None and not isinstance(held, Tensor):
        raise TypeError(f"attribute `{name}`: {held} is not an instance of torch.Tensor")
    return module.__dict__, name


@contextmanager
def _swapped_in(
    module: Any, tensors: dict[str, Tensor], tie_weights: bool, strict: bool
) -> Iterator[None]:
    slots = _slots_of(module)
    for name, value in tensors.items():
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(f"{name!r}: {value} is not an instance of torch.Tensor")
    replacements = {name: value for name, value in tensors.items() if name in slots}
    if tie_weights:
        replacements = _tie(slots, replacements)
    if strict:
        _check_strict(type(module).__name__, slots, tensors, replacements)
    for name in tensors.keys() - slots.keys():
        slots[name], replacements[name] = _slot_at(module, name), tensors[name]
    before = {name: slots[name][0].get(slots[name][1], _ABSENT) for name in replacements}
    try:
        for name, value in replacements.items():
            table, key = slots[name]
            table[key] = value
        yield
    finally:
        call_despite_signals(_put_back, slots, before)


def _put_back(slots: dict[str, Slot], before: dict[str, Any]) -> None:
    for name, value in before.items():
        table, key = slots[name]
        if value is _ABSENT:
            table.pop(key, None)
        else:
            table[key] = value


def _tie(slots: dict[str, Slot], tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The given tensors under all names of what each of them replaces."""
    names: dict[int, list[str]] = {}
    for name, (table, key) in slots.items():
        names.setdefault(id(table[key]), []).append(name)
    tied = dict(tensors)
    for group in names.values():
        values = {id(tensors[n]): tensors[n] for n in group if n in tensors}
        if len(values) > 1:
            keys = sorted(n for n in group if n in tensors)
            raise ValueError(
                f"functional_call got multiple values for keys {keys}, which are tied. Consider"
                " using tie_weights=False"
            )
        for n in group if values else ():
            tied[n] = next(iter(values.values()))
    return tied


def _check_strict(
    kind: str, slots: dict[str, Slot], tensors: dict[str, Tensor], replacements: Any
) -> None:
    unexpected = sorted(tensors.keys() - slots.keys())
    missing = sorted(slots.keys() - replacements.keys())
    problems = []
    if unexpected:
        problems.append(f"Unexpected key(s): {', '.join(unexpected)}.")
    if missing:
        problems.append(f"Missing key(s): {', '.join(missing)}.")
    if problems:
        raise RuntimeError(f"Error(s) in reparametrizing for {kind}:\n\t" + "\n\t".join(problems))


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of models of one architecture, stacked, for `vmap`.

    >>> import wengert
    >>> models = [wengert.nn.Linear(2, 3) for _ in range(4)]
    >>> params, buffers = wengert.func.stack_module_state(models)
    >>> params["weight"].shape
    torch.Size([4, 3, 2])
    """
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    params = {
        name: _stack([dict(m.named_parameters())[name] for m in models], name)
        for name, _ in models[0].named_parameters()
    }
    buffers = {
        name: _stack([dict(m.named_buffers())[name] for m in models], name)
        for name, _ in models[0].named_buffers()
    }
    return params, buffers


def _stack(values: list[Tensor], name: str) -> Tensor:
    flags = {v.requires_grad for v in values}
    if len(flags) > 1:
        raise RuntimeError(
            f"Expected {name} from each model to have the same .requires_grad, but this is not the"
            " case"
        )
    stacked: Tensor = stack(values).detach()
    return stacked.requires_grad_() if True in flags else stacked


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Let the batch norms of a module forget their running statistics; returns the module.

    >>> import wengert
    >>> net = wengert.nn.Sequential(wengert.nn.BatchNorm1d(2))
    >>> wengert.func.replace_all_batch_norm_modules_(net)[0].running_mean is None
    True
    """
    for module in root.modules():
        if "running_mean" in getattr(module, "_buffers", ()) and hasattr(module, "momentum"):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """The function as it is: in-place writes need no removing here.

    >>> import wengert
    >>> wengert.func.functionalize(lambda x: x.clone().add_(1))(wengert.zeros(1))
    tensor([1.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}."
            " Valid options are: remove='mutations' or 'mutations_and_views'"
        )
    return func


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The tensor that one of a transform stands for, to be looked at, not computed with.

    Args:
        tensor: any tensor; one that is of no transform is given back.
        recurse: whether to go through all transforms that the tensor is of, or one.

    >>> import wengert
    >>> def show(x):
    ...     print(wengert.func.debug_unwrap(x))
    ...     return x
    >>> _ = wengert.func.vmap(show)(wengert.arange(3))
    tensor([0, 1, 2])
    """
    while isinstance(tensor, Tracer):
        tensor = tensor.value
        if not recurse:
            break
    return tensor
