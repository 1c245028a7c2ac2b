"""``torch.nn.utils.stateless``: a module with other tensors for the length of a block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from wengert.compat._private.member_accessor import NamedMemberAccessor
from wengert.core.tensor import Tensor
from wengert.nn.module import Module


@contextmanager
def _reparametrize_module(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    *,
    tie_weights: bool = False,
    strict: bool = False,
    stack_weights: bool = False,
) -> Iterator[None]:
    """Put tensors in the place of parameters and buffers, and these back at the end.

    Args:
        module: the module.
        parameters_and_buffers: tensors by dotted names.
        tie_weights: what is one parameter under several names is replaced under all of them.
        strict: all names must be given, and no others.
        stack_weights: put back in the reverse order.
    """
    accessor = NamedMemberAccessor(module)
    tensors = parameters_and_buffers
    if tie_weights:
        tensors = _under_all_names(accessor, tensors)
    if strict:
        _check_strict(accessor, tensors)
    before, _ = accessor.swap_tensors_dict(tensors, allow_missing=True)
    try:
        yield
    finally:
        back = dict(reversed(before.items())) if stack_weights else before
        accessor.swap_tensors_dict(back, allow_missing=True)


def _under_all_names(
    accessor: NamedMemberAccessor, tensors: dict[str, Tensor]
) -> dict[str, Tensor]:
    """The tensors under every name of what each of them replaces."""
    groups: dict[int, list[str]] = {}
    for name, tensor in accessor.named_tensors(remove_duplicate=False):
        groups.setdefault(id(tensor), []).append(name)
    tied = dict(tensors)
    for names in groups.values():
        given = [name for name in names if name in tensors]
        if len({id(tensors[name]) for name in given}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(given)}, which are tied."
                " Consider using tie_weights=False"
            )
        tied |= {name: tensors[given[0]] for name in names if given}
    return tied


def _check_strict(accessor: NamedMemberAccessor, tensors: dict[str, Tensor]) -> None:
    missing, unexpected = accessor.check_keys(tensors)
    problems = [
        f"{what} key(s): {', '.join(map(repr, names))}."
        for what, names in (("Unexpected", unexpected), ("Missing", missing))
        if names
    ]
    if problems:
        kind = type(accessor.module).__name__
        raise RuntimeError("\n\t".join([f"Error(s) in reparametrizing for {kind}:", *problems]))


__all__ = ["_reparametrize_module"]
