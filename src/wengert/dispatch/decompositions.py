"""What a mode sees in the place of an operation that PyTorch has as several.

A decomposition has the arguments of the operation's function, and returns NotImplemented where
the operation is to be seen as it is: where its arguments do not fit, for its error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from wengert.core.dtypes import of_numpy
from wengert.core.outline import Outline
from wengert.core.tensor import Tensor
from wengert.dispatch.aten import aten
from wengert.meta.shapes import standing_in
from wengert.ops.arithmetic import add, mul, reciprocal
from wengert.ops.broadcasting import expand
from wengert.ops.expansion import flip
from wengert.ops.matmul import addmm, bmm, dot, mm, mv
from wengert.ops.op import REGISTRY
from wengert.ops.reduction import sum as total
from wengert.ops.shape import clone, squeeze, t, transpose, unsqueeze, view

Shape = tuple[int, ...]


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """`addmm` of the rows of the input and the transposed weight, or `mm`."""
    factors = [x for x in (input, weight, bias) if x is not None]
    if not all(type(x) is Tensor or isinstance(x, Tensor) for x in factors):
        return NotImplemented
    if weight.ndim != 2 or not input.ndim or input.shape[-1] != weight.shape[1]:
        return NotImplemented
    if len({x.dtype for x in factors}) > 1 or (bias is not None and bias.shape != weight.shape[:1]):
        return NotImplemented
    if bias is None:
        return matmul(input, t(weight))
    if input.ndim == 2:
        return addmm(bias, input, t(weight))
    if input.ndim > 2 and input.is_contiguous():
        shape = (*input.shape[:-1], len(weight))
        rows = view(input, (prod(shape[:-1]), input.shape[-1]))
        return view(addmm(bias, rows, t(weight)), shape)
    return add(matmul(input, t(weight)), bias)


def div(input: Any, other: Any) -> Any:
    """A number divided by a tensor: a product with the reciprocal."""
    if isinstance(input, Tensor) or not isinstance(other, Tensor):
        return NotImplemented
    if not (other.is_floating_point() or other.is_complex()):
        return NotImplemented
    return mul(reciprocal(other), input)


def matmul(input: Any, other: Any) -> Any:
    """A product of vectors, matrices or batches of matrices, by ranks."""
    if not (isinstance(input, Tensor) and isinstance(other, Tensor)):
        return NotImplemented
    a, b = input.shape, other.shape
    if not a or not b or input.dtype != other.dtype or a[-1] != b[-2 if len(b) > 1 else 0]:
        return NotImplemented
    if len(a) <= 2 and len(b) <= 2:
        return _of_matrices(input, other)
    if len(b) <= 2:
        rows = reshape(input, (prod(a[:-1]), a[-1]))
        product = mm(rows, other) if len(b) == 2 else mv(rows, other)
        return aten._unsafe_view.default(product, [*a[:-1], *b[1:]])
    return _of_batches(input, other)


def _of_matrices(input: Tensor, other: Tensor) -> Tensor:
    if input.ndim == other.ndim == 1:
        return dot(input, other)
    if other.ndim == 1:
        return mv(input, other)
    if input.ndim == 1:
        return squeeze(mm(unsqueeze(input, 0), other), 0)
    return mm(input, other)


def _of_batches(input: Tensor, other: Tensor) -> Any:
    row, column = input.ndim == 1, other.ndim == 1
    a = unsqueeze(input, 0) if row else input
    b = unsqueeze(other, 1) if column else other
    try:
        lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        return NotImplemented
    n, k, m = a.shape[-2], a.shape[-1], b.shape[-1]
    a = reshape(expand(a, (*lead, n, k)), (prod(lead), n, k))
    b = reshape(expand(b, (*lead, k, m)), (prod(lead), k, m))
    shape = (*lead, *(() if row else (n,)), *(() if column else (m,)))
    return aten._unsafe_view.default(bmm(a, b), [*shape])


def reshape(input: Any, shape: int | Sequence[int]) -> Any:
    """A view where the memory allows it, or else of a copy."""
    if not isinstance(input, Tensor):
        return NotImplemented
    sizes = [shape] if isinstance(shape, int) else [int(n) for n in shape]
    memory = input._array
    try:
        elements = standing_in(input)._array if isinstance(memory, Outline) else memory
        np.reshape(elements, sizes, copy=False)
    except ValueError:
        if -1 in sizes:
            others = prod(n for n in sizes if n != -1)
            sizes[sizes.index(-1)] = input.numel() // others if others else 0
        if prod(sizes) != input.numel():
            return NotImplemented
        return aten._unsafe_view.default(clone(input), sizes)
    return aten.view.default(input, sizes)


def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """`reshape` to fewer dimensions."""
    if not isinstance(input, Tensor) or not input.ndim:
        return NotImplemented
    rank = input.ndim
    if not (-rank <= start_dim < rank and -rank <= end_dim < rank):
        return NotImplemented
    first, last = start_dim % rank, end_dim % rank
    if first >= last:
        return input if first == last else NotImplemented
    shape = input.shape
    return reshape(input, (*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :]))


def times(input: Tensor, other: Tensor, shape: Shape) -> Tensor:
    """A product of matrices, summed down to a shape."""
    return summed(matmul(input, other), shape)


def times_transposed(input: Tensor, other: Tensor, shape: Shape) -> Tensor:
    """``input @ other.mT``, summed down to a shape."""
    return summed(matmul(input, _transposed(other)), shape)


def transposed_times(input: Tensor, other: Tensor, shape: Shape) -> Tensor:
    """``input.mT @ other``, summed down to a shape."""
    return summed(matmul(_transposed(input), other), shape)


def _transposed(x: Tensor) -> Tensor:
    return t(x) if x.ndim == 2 else transpose(x, -2, -1)


def outer_of_linear(grad: Tensor, input: Tensor) -> Tensor:
    """The gradient of a weight: the product of the rows of the output's and the input."""
    rows = grad if grad.ndim == 2 else reshape(grad, (-1, grad.shape[-1]))
    inputs = input if input.ndim == 2 else reshape(input, (-1, input.shape[-1]))
    return mm(t(rows), inputs)


def summed(input: Tensor, shape: Shape) -> Tensor:
    """The sum down to a shape that broadcasts to the input's."""
    own = input.shape
    if own == shape:
        return input
    lead = len(own) - len(shape)
    dims = [*range(lead), *(k for k in range(lead, len(own)) if own[k] != shape[k - lead])]
    result = total(input, dims, keepdim=True)
    return aten.view.default(result, [*shape]) if lead else result


def expanded(input: Tensor, shape: Shape) -> Tensor:
    """The input broadcast to a shape."""
    return input if input.shape == shape else expand(input, shape)


def sum_backward(input: Tensor, shape: Shape, dim: Any, keepdim: bool) -> Tensor:
    """The cotangent of a sum, repeated over what was summed."""
    dims = [dim] if isinstance(dim, int) else [*dim] if dim is not None else []
    if not dims:
        return expand(input if input.ndim == 0 else aten.view.default(input, []), shape)
    if not keepdim:
        for k in sorted(d % len(shape) for d in dims):
            input = unsqueeze(input, k)
    return expand(input, shape)


def item_of(input: Tensor, key: Any) -> Any:
    """A basic subscript: `select` for each number, `slice` for each slice that leaves some out."""
    dim = 0
    for position, part in enumerate(key):
        if part is None:
            input, dim = unsqueeze(input, dim), dim + 1
        elif part is Ellipsis:
            dim = input.ndim - sum(p is not None for p in key[position + 1 :])
        elif isinstance(part, slice):
            input, dim = _sliced(input, dim, part), dim + 1
        else:
            input = aten.select.int(input, dim, int(part))
    return input


def _sliced(input: Tensor, dim: int, part: slice) -> Tensor:
    size = input.shape[dim]
    start, stop, step = part.indices(size)
    if step < 0:
        return flip(input, (dim,)) if (start, step) == (size - 1, -1) else NotImplemented
    if (start, stop, step) == (0, size, 1):
        return input
    end = 9223372036854775807 if part.stop is None else stop
    arguments = (input, dim, start, end, step)
    return aten.slice.Tensor(*(arguments if step != 1 else arguments[:-1]))


def cast(input: Tensor, to: np.dtype[Any], source: Any = None) -> Tensor:
    """A copy of another dtype."""
    return aten._to_copy.default(input, dtype=of_numpy[to])


def attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Any, factor: float, is_causal: bool
) -> Any:
    """Two products with a softmax between them, as PyTorch has it where there is dropout."""
    reference = REGISTRY["_attention"].reference
    assert reference is not None
    return reference(query, key, value, mask, factor, is_causal)


# By the name of the declared operation.
DECOMPOSITIONS: dict[str, Callable[..., Any]] = {
    "_attention": attention,
    "_cast": cast,
    "_discrete": cast,
    "_div": div,
    "_outer": outer_of_linear,
    "basic": item_of,
    "expand_back": sum_backward,
    "expand_to": expanded,
    "flatten": flatten,
    "linear": linear,
    "matmul": matmul,
    "reshape": reshape,
    "sum_to_shape": summed,
    "times": times,
    "times_transposed": times_transposed,
    "transposed_times": transposed_times,
}
