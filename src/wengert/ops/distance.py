"""Distances and similarities between vectors."""

from __future__ import annotations

from wengert import kernels
from wengert.core.dtypes import FLOAT, combine, of_numpy
from wengert.core.tensor import Tensor
from wengert.ops.batching import leading
from wengert.ops.broadcasting import broadcast_shapes, broadcast_tensors, expand
from wengert.ops.casting import convert
from wengert.ops.declare import Value, multilinear, primitive
from wengert.ops.norms import norm
from wengert.ops.numpy_names import either, either_keepdim
from wengert.ops.reduction import inverse_or_zero, norm_vjp, sum_over, vector_norm
from wengert.ops.shape import unsqueeze
from wengert.ops.variadic import require_tensor
from wengert.ops.zeros import no_slope


def pairwise_distance(
    x1: Tensor,
    x2: Tensor,
    p: float = 2.0,
    eps: float = 1e-06,
    keepdim: bool = False,
    *,
    keepdims: bool | None = None,
) -> Tensor:
    """The p-norm of ``x1 - x2 + eps`` over the last dimension.

    >>> import wengert
    >>> wengert.nn.functional.pairwise_distance(wengert.tensor([[3., 4.]]), wengert.zeros(1, 2))
    tensor([5.0000])
    """
    if keepdims is not None or (keepdim is not False and keepdim is not True):
        keepdim = either_keepdim("pairwise_distance", keepdim, keepdims)
    require_tensor("pairwise_distance", "x1", x1)
    require_tensor("pairwise_distance", "x2", x2, 2)
    return norm(x1 - x2 + eps, p, -1, keepdim)


def cosine_similarity(
    x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-08, *, axis: int | None = None
) -> Tensor:
    """The cosine of the angle between vectors along `dim`; norms below `eps` count as `eps`.

    >>> import wengert
    >>> wengert.cosine_similarity(wengert.tensor([[1., 0.]]), wengert.tensor([[1., 1.]]))
    tensor([0.7071])
    """
    if axis is not None:
        dim = either("cosine_similarity", "dim", dim, axis, 1)
    require_tensor("cosine_similarity", "x1", x1)
    require_tensor("cosine_similarity", "x2", x2, 2)
    common = combine([(of_numpy[x._outline.dtype], 2 if x.ndim else 1) for x in (x1, x2)])
    if common.category != FLOAT:
        raise RuntimeError(
            f"expected common dtype to be floating point, yet common dtype is {common.short}"
        )
    x1, x2 = convert(x1, common), convert(x2, common)
    if x1.shape != x2.shape:
        x1, x2 = broadcast_tensors(x1, x2)
    lengths = [vector_norm(x, 2, dim, True).clamp_min(eps) for x in (x1, x2)]
    return (x1 / lengths[0] * (x2 / lengths[1])).sum(dim)


@primitive(
    weight=lambda g, x1, x2: sum_over(g * x1, -1, True) - g @ x2.mT,
    x1=lambda g, weight: g * sum_over(weight, -1, True),
    x2=lambda g, weight: -(weight.mT @ g),
    batch=leading,
    name="cdist_backward",
)
def _weighed_differences(weight: Value, x1: Value, x2: Value) -> Value:
    """For each row of `x1` the weighted sum of its differences from the rows of `x2`."""
    return kernels.distance.weighed_differences(weight, x1, x2)


def _distances_vjp(g: Value, x1: Value, x2: Value, out: Value, p: float) -> Value:
    """The cotangent of `x1`."""
    if p == 2:
        return _weighed_differences(g * inverse_or_zero(out), x1, x2)
    if p == 0:
        return no_slope(x1)
    if not isinstance(g, Tensor) and not isinstance(x1, Tensor) and not isinstance(x2, Tensor):
        return kernels.distance.pullback(g, x1, x2, out, p)
    differences = unsqueeze(x1, -2) - unsqueeze(x2, -3)
    return sum_over(norm_vjp(g, differences, out, p, -1, False), -2, False)


@primitive(
    x1=_distances_vjp,
    x2=lambda g, x1, x2, out, p: _distances_vjp(g.mT, x2, x1, out.mT, p),
    batch=leading,
    label="CdistBackward0",
    name="cdist",
)
def _distances(x1: Value, x2: Value, p: float) -> Value:
    return kernels.distance.distances(x1, x2, p)


_MODES = (
    "use_mm_for_euclid_dist_if_necessary",
    "use_mm_for_euclid_dist",
    "donot_use_mm_for_euclid_dist",
)


def cdist(
    x1: Tensor, x2: Tensor, p: float = 2.0,
    compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
) -> Tensor:  # fmt: skip
    """The p-norm distances of all rows of `x1` (..., n, width) to those of `x2` (..., m, width).

    Every `compute_mode` uses the differences themselves, not products: close points need that.
    Raises RuntimeError for shapes that do not fit.

    >>> import wengert
    >>> wengert.cdist(wengert.tensor([[0., 0.]]), wengert.tensor([[3., 4.], [0., 1.]]))
    tensor([[5., 1.]])
    """
    require_tensor("cdist", "x1", x1)
    require_tensor("cdist", "x2", x2, 2)
    for name, x in (("X1", x1), ("X2", x2)):
        kind = of_numpy[x._outline.dtype]
        if kind.category != FLOAT:
            raise RuntimeError(
                f"cdist only supports floating-point dtypes, {name} got: {kind.short}"
            )
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )
    if p < 0:
        raise RuntimeError(f"cdist only supports non-negative p values, got {p}")
    if compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    if x1.shape[:-2] != x2.shape[:-2]:
        batch = broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
        x1, x2 = (expand(x, (*batch, *x.shape[-2:])) for x in (x1, x2))
    return _distances(x1, x2, float(p))


@multilinear(
    input=lambda g, input_shape: _placed_above(g, input_shape[-1]), batch=leading, name="pdist"
)
def _above(input: Value) -> Value:
    """The elements above the diagonal of a matrix, row by row."""
    return kernels.distance.above(input)


@multilinear(input=lambda g: _above(g), batch=leading, name="pdist_backward")
def _placed_above(input: Value, n: int) -> Value:
    return kernels.distance.placed_above(input, n)


def _pairs_vjp(g: Value, input: Value, out: Value, p: float) -> Value:
    """The cotangent of the rows, each of which is the first and the second of pairs."""
    if not any(isinstance(x, Tensor) for x in (g, input, out)):
        found = kernels.distance.pairs_pullback(g, input, out, p)
        if found is not None:
            return found
    n = input.shape[0]
    square, far = _placed_above(g, n), _placed_above(out, n)
    first = _distances_vjp(square, input, input, far, p)
    return first + _distances_vjp(square.mT, input, input, far.mT, p)


@primitive(
    input=_pairs_vjp,
    reference=lambda input, p: _above(_distances(input, input, p)),
    label="PdistBackward0",
    name="pdist",
)
def _pair_distances(input: Value, p: float) -> Value:
    return kernels.distance.pair_distances(input, p)


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norm distances between all pairs of rows of `input`, those of the first row first.

    >>> import wengert
    >>> wengert.nn.functional.pdist(wengert.tensor([[0., 0.], [3., 4.], [0., 1.]]))
    tensor([5.0000, 1.0000, 4.2426])
    """
    require_tensor("pdist", "input", input)
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if p < 0:
        raise RuntimeError(f"pdist only supports non-negative p values, got {p}")
    return _pair_distances(input, float(p))


__all__ = ["cdist", "cosine_similarity", "pairwise_distance", "pdist"]
FUNCTIONAL = ("cosine_similarity", "pairwise_distance", "pdist")
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
