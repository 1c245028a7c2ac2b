"""The ``*_copy`` functions: copies of what views show, which share no memory with their input."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from wengert.core.layout import contiguous_format
from wengert.core.tensor import Tensor
from wengert.ops.broadcasting import expand
from wengert.ops.complexes import view_as_complex, view_as_real
from wengert.ops.diagonals import diagonal
from wengert.ops.outputs import write_out
from wengert.ops.shape import clone, permute, squeeze, t, transpose, unsqueeze
from wengert.ops.splitting import narrow, select, split, split_with_sizes, unbind
from wengert.ops.strided import as_strided, unfold
from wengert.ops.subscript import basic
from wengert.tensor._shape import view


def _copied(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The function that copies what `function` shows, as `name`; it takes `out`."""

    @wraps(function)
    def copy(*args: Any, out: Any = None, **options: Any) -> Any:
        if out is not None:
            return write_out(copy, out, *args, **options)
        shown = function(*args, **options)
        if isinstance(shown, tuple):
            return tuple([clone(s, memory_format=contiguous_format) for s in shown])
        return clone(shown, memory_format=contiguous_format)

    copy.__name__ = copy.__qualname__ = name
    copy.__module__ = __name__
    copy.__doc__ = f"A copy of what `{name.removesuffix('_copy')}` shows, with memory of its own."
    return copy


def _alias(input: Tensor) -> Tensor:
    return input


def _detach(input: Tensor) -> Tensor:
    result: Tensor = input.detach()
    return result


def _split(input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    return split(input, split_size, dim)


def _slice(
    input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    axis = dim % max(input.ndim, 1)
    result: Tensor = basic(input, (*[slice(None)] * axis, slice(start, end, step)))
    return result


alias_copy = _copied(_alias, "alias_copy")
as_strided_copy = _copied(as_strided, "as_strided_copy")
detach_copy = _copied(_detach, "detach_copy")
diagonal_copy = _copied(diagonal, "diagonal_copy")
expand_copy = _copied(expand, "expand_copy")
narrow_copy = _copied(narrow, "narrow_copy")
permute_copy = _copied(permute, "permute_copy")
select_copy = _copied(select, "select_copy")
slice_copy = _copied(_slice, "slice_copy")
split_copy = _copied(_split, "split_copy")
split_with_sizes_copy = _copied(split_with_sizes, "split_with_sizes_copy")
squeeze_copy = _copied(squeeze, "squeeze_copy")
t_copy = _copied(t, "t_copy")
transpose_copy = _copied(transpose, "transpose_copy")
unbind_copy = _copied(unbind, "unbind_copy")
unfold_copy = _copied(unfold, "unfold_copy")
unsqueeze_copy = _copied(unsqueeze, "unsqueeze_copy")
view_as_complex_copy = _copied(view_as_complex, "view_as_complex_copy")
view_as_real_copy = _copied(view_as_real, "view_as_real_copy")
view_copy = _copied(view, "view_copy")

__all__ = [
    "alias_copy", "as_strided_copy", "detach_copy", "diagonal_copy", "expand_copy", "narrow_copy",
    "permute_copy", "select_copy", "slice_copy", "split_copy", "split_with_sizes_copy",
    "squeeze_copy", "t_copy", "transpose_copy", "unbind_copy", "unfold_copy", "unsqueeze_copy",
    "view_as_complex_copy", "view_as_real_copy", "view_copy",
]  # fmt: skip
