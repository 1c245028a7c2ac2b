"""``torch._higher_order_ops``: scans and maps, whose steps are taken one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.autograd.transforms.control_flow import cond as cond
from wengert.autograd.transforms.control_flow import while_loop as while_loop
from wengert.autograd.transforms.tree import flatten_tree, unflatten_tree
from wengert.compat._private.compiler_errors import UncapturedHigherOrderOpError
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


def scan(
    combine_fn: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any,
    *,
    dim: int = 0,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """A loop over the slices of `xs`: ``carry, y = combine_fn(carry, x)``, from ``carry = init``.

    `init` and `xs` are tensors or trees of them. The last carry and the stacked `y`, whose slices
    lie along `dim`, are returned; with `reverse` the last slice comes first.
    """
    leaves, spec = flatten_tree(xs)
    first, carry_spec = flatten_tree(init)
    _check_scan(combine_fn, first, leaves, dim, reverse)
    if not leaves:
        return init, []
    slices = list(zip(*(leaf.unbind(dim) for leaf in leaves), strict=True))
    carry, found, out_spec = init, [], spec
    for parts in reversed(slices) if reverse else slices:
        step = combine_fn(carry, unflatten_tree(list(parts), spec))
        if not isinstance(step, tuple | list) or len(step) != 2:
            raise UncapturedHigherOrderOpError(
                f"scan(): combine_fn returned {step!r:.80}, expected a carry and an output"
            )
        carry, y = step
        _check_carry(first, flatten_tree(carry), carry_spec)
        ys, out_spec = flatten_tree(y)
        found.append(ys)
    if reverse:
        found.reverse()
    stacked = [stack(list(ys)) for ys in zip(*found, strict=True)]
    at = dim % leaves[0].ndim
    laid = [y.movedim(0, min(at, y.ndim - 1)) for y in stacked]
    return carry, unflatten_tree(laid, out_spec)


def _check_scan(
    combine_fn: Any, init: list[Any], leaves: list[Any], dim: int, reverse: Any
) -> None:
    if not callable(combine_fn):
        raise RuntimeError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(dim, int):
        raise TypeError(f"scan(): argument 'dim' must be int, not {type(dim).__name__}")
    if not isinstance(reverse, bool):
        raise RuntimeError(f"Reverse must be a bool, but got {type(reverse)}")
    if not init:
        raise RuntimeError("scan() operator requires init leaves.")
    for name, values in (("init", init), ("xs", leaves)):
        for x in values:
            if not isinstance(x, Tensor):
                raise RuntimeError(f"All {name} leaves must be a Tensor but got {x}")
    lengths = [leaf.size(dim) for leaf in leaves]
    if 0 in lengths or len({*lengths}) > 1:
        raise RuntimeError(
            f"scan(): xs have {lengths} slices along dim {dim}, expected equal numbers above 0"
        )


def _check_carry(first: list[Any], carry: tuple[list[Any], Any], spec: Any) -> None:
    """UncapturedHigherOrderOpError unless the next carry is as the first one."""
    described = [(tuple(x.shape), x.dtype) for x in first]
    found = [(tuple(x.shape), x.dtype) if isinstance(x, Tensor) else x for x in carry[0]]
    if carry[1] != spec or described != found:
        raise UncapturedHigherOrderOpError(
            "Expected init and carry to have same metadata but found: init of"
            f" {described}, a carry of {found}"
        )


def map(f: Callable[..., Any], xs: Any, *args: Any) -> Any:
    """``f(x, *args)`` of each slice `x` of `xs` along its first dimension, stacked.

    `xs` is a tensor or a tree of tensors of equal length, and so is what `f` returns.
    """
    leaves, spec = flatten_tree(xs)
    if not leaves or not all(isinstance(leaf, Tensor) for leaf in leaves):
        raise RuntimeError(f"Mapped xs can only consist of tensors. Got xs {leaves}.")
    shapes = [leaf.shape for leaf in leaves]
    if any(not shape for shape in shapes):
        raise IndexError(f"map(): xs have shapes {shapes}, expected one dimension or more")
    if len({shape[0] for shape in shapes}) > 1:
        raise RuntimeError(
            f"Leading dimensions of mapped xs must be consistent. Got shapes {shapes}."
        )
    if shapes[0][0] == 0:
        raise RuntimeError("Leading dimensions of mapped xs cannot be 0.")
    found, out_spec = [], spec
    for parts in zip(*(leaf.unbind(0) for leaf in leaves), strict=True):
        results, out_spec = flatten_tree(f(unflatten_tree(list(parts), spec), *args))
        if not all(isinstance(y, Tensor) for y in results):
            raise UncapturedHigherOrderOpError(
                f"map(): f returned {[type(y).__name__ for y in results]}, expected tensors"
            )
        found.append(results)
    return unflatten_tree([stack(list(ys)) for ys in zip(*found, strict=True)], out_spec)


__all__ = ["associative_scan", "cond", "map", "scan", "while_loop"]
