"""``torch._higher_order_ops.associative_scan``, whose steps are taken one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.autograd.transforms.control_flow import cond as cond
from wengert.autograd.transforms.control_flow import while_loop as while_loop
from wengert.autograd.transforms.tree import flatten_tree, unflatten_tree
from wengert.core.tensor import Tensor
from wengert.ops import stack


def associative_scan(
    combine_fn: Callable[[Any, Any], Any],
    xs: Any,
    dim: int,
    reverse: bool = False,
    combine_mode: str = "pointwise",
) -> Any:
    """What `combine_fn` makes of all slices up to each one, along a dimension.

    `xs` is a tensor or a tree of tensors of equal length there. ValueError for
    ``combine_mode="pointwise"``, which is CUDA's.
    """
    leaves, spec = flatten_tree(xs)
    _check(combine_fn, leaves, dim, combine_mode)
    slices = [list(parts) for parts in zip(*(leaf.unbind(dim) for leaf in leaves), strict=True)]
    if reverse:
        slices.reverse()
    results = slices[:1]
    for parts in slices[1:]:
        combined = combine_fn(unflatten_tree(results[-1], spec), unflatten_tree(parts, spec))
        results.append(flatten_tree(combined)[0])
        if len(results[-1]) != len(leaves):
            raise AssertionError(
                f"associative_scan(): combine_fn returned {len(results[-1])} tensors, expected as"
                f" many as xs has, {len(leaves)}"
            )
    if reverse:
        results.reverse()
    return unflatten_tree([stack(list(r), dim) for r in zip(*results, strict=True)], spec)


def _check(combine_fn: Any, leaves: list[Any], dim: int, combine_mode: str) -> None:
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if combine_mode not in ("generic", "pointwise"):
        raise ValueError(
            f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}"
        )
    if combine_mode == "pointwise":
        raise ValueError(
            "For combine_mode='pointwise', all input tensors need to be on CUDA or XPU; expected"
            " combine_mode='generic'"
        )
    if not leaves:
        raise IndexError("associative_scan(): argument 'xs' has no tensors, expected one or more")
    if not all(isinstance(leaf, Tensor) for leaf in leaves):
        raise ValueError(f"xs leaves must be a Tensor, got {[type(x).__name__ for x in leaves]}")
    lengths = [leaf.size(dim) for leaf in leaves]
    if 0 in lengths or len({*lengths}) > 1:
        raise ValueError(
            f"associative_scan(): xs have {lengths} slices along dim {dim}, expected equal numbers"
            " above 0"
        )


__all__ = ["associative_scan"]
