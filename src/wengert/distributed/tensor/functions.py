"""What computes functions of distributed tensors.

Functions of each element run on the parts, products on parts that fit; the rest is computed on the
whole, on each rank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from wengert.autograd import is_grad_enabled
from wengert.core.overriding import DisableTorchFunctionSubclass
from wengert.core.tensor import Tensor
from wengert.distributed.device_mesh import DeviceMesh
from wengert.distributed.tensor.dtensor import DTensor, distributed, local_of, redistributed
from wengert.distributed.tensor.layouts import Layout, Shared
from wengert.distributed.tensor.placements import Partial, Placement, Replicate, Shard
from wengert.nested.elementwise import ELEMENTWISE
from wengert.nn import init

Implementation = Callable[..., Any]

_RANDOM = frozenset({
    "alpha_dropout", "bernoulli", "dropout", "feature_alpha_dropout", "normal", "rand_like",
    "randint_like", "randn_like", "rrelu", "uniform",
})  # fmt: skip
# What concerns the tensor as an object, or its dtype and device.
_OF_OBJECT = frozenset({
    "__hash__", "data_ptr", "detach_", "element_size", "get_device", "is_complex",
    "is_contiguous", "is_floating_point", "is_inference", "is_pinned", "is_shared", "is_signed",
    "output_nr", "register_hook", "register_post_accumulate_grad_hook", "requires_grad_",
    "retain_grad", "share_memory_", "type",
})  # fmt: skip
_ELEMENTWISE = ELEMENTWISE - _RANDOM - {"requires_grad", "type"}
_LINEAR = frozenset({
    "bfloat16", "clone", "contiguous", "detach", "double", "float", "half", "neg", "negative", "to",
})  # fmt: skip

TABLE: dict[str, Implementation] = {}


def compute(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function of which an argument is distributed."""
    name: str = getattr(func, "__name__", str(func))
    first = next(_among((*args, *kwargs.values())))
    with DisableTorchFunctionSubclass():
        if name in ("__get__", "__set__", "__delete__"):
            return _attribute(func, args)
        if name in _OF_OBJECT:
            return func(*args, **kwargs)
        _check_mixture(name, (*args, *kwargs.values()))
        if name in TABLE:
            result = TABLE[name](func, *args, **kwargs)
            if result is not NotImplemented:
                return result
        elif _plain(name) in _ELEMENTWISE:
            result = _of_elements(func, name, args, kwargs)
            if result is not NotImplemented:
                return result
        return _of_whole(func, name, first, args, kwargs)


DTensor.compute = staticmethod(compute)


def handles(*names: str) -> Callable[[Implementation], Implementation]:
    """Have a function compute those of these names; it may return NotImplemented."""

    def add(function: Implementation) -> Implementation:
        TABLE.update(dict.fromkeys(names, function))
        return function

    return add


def _plain(name: str) -> str:
    """The name without what makes it an operator or an in-place form."""
    plain = name.strip("_")
    if name.startswith("__") and plain[:1] in "ri" and plain[1:] in _ELEMENTWISE:
        return plain[1:]
    return plain


def _in_place(name: str) -> bool:
    if name.startswith("__"):
        return name.strip("_")[:1] == "i" and name.strip("_")[1:] in _ELEMENTWISE
    return name.endswith("_")


def _among(values: Any) -> Iterator[DTensor]:
    """The distributed tensors among values, and in what they hold."""
    for value in values:
        if isinstance(value, DTensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _among(value)
        elif isinstance(value, dict):
            yield from _among(value.values())


def _check_mixture(name: str, values: Any) -> None:
    for value in values:
        if isinstance(value, Tensor) and not isinstance(value, DTensor) and value.numel() > 1:
            raise RuntimeError(
                f"{name}: got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to"
                f" DTensor before calling distributed operators! The Tensor has shape"
                f" {list(value.shape)}."
            )


def _attribute(func: Any, args: tuple[Any, ...]) -> Any:
    """An attribute; a tensor of the same part is distributed in the same way."""
    tensor = args[0]
    values = [local_of(x) if isinstance(x, DTensor) and x is not tensor else x for x in args]
    result = func(*values)
    if not isinstance(result, Tensor) or isinstance(result, DTensor):
        return result
    if result._outline.shape == tensor._outline.shape:
        return distributed(result, tensor._layout)
    whole = redistributed(tensor, [Replicate()] * tensor.device_mesh.ndim)
    return _replicated(func(local_of(whole), *values[1:]), tensor.device_mesh)


def _of_elements(func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function of each element, on the parts; NotImplemented if operands broadcast."""
    operands = list(_among((*args, *kwargs.values())))
    first = operands[0]
    if any(x.shape != first.shape or x.device_mesh != first.device_mesh for x in operands):
        return NotImplemented
    placements = list(first.placements if _in_place(name) else operands[-1].placements)
    if not _in_place(name):
        placements = [_common([x.placements[k] for x in operands]) for k in range(len(placements))]
    elif any(p.is_partial() for p in placements):
        return NotImplemented
    if len(operands) == 1 and _plain(name) in _LINEAR:
        placements = list(first.placements)

    def own(x: Any) -> Any:
        if isinstance(x, DTensor):
            return local_of(redistributed(x, placements))
        return type(x)(map(own, x)) if isinstance(x, list | tuple) else x

    plain = [own(x) for x in args]
    result = func(*plain, **{key: own(x) for key, x in kwargs.items()})
    if _in_place(name):
        first._edge, first._cut = result._edge, result._cut
        return first
    layout = first._layout.replaced(placements)
    return distributed(result, layout) if isinstance(result, Tensor) else result


def _common(placements: list[Placement]) -> Placement:
    """Where operands meet: in the first cut, or whole."""
    return next((p for p in placements if p.is_shard()), Replicate())


def _replicated(value: Any, mesh: DeviceMesh) -> Any:
    if isinstance(value, Tensor) and not isinstance(value, DTensor):
        layout = Layout(tuple(value.shape), mesh, (Replicate(),) * mesh.ndim)
        return distributed(value, layout)
    if isinstance(value, list | tuple) and type(value).__name__ != "Size":
        make = getattr(type(value), "_make", type(value))
        return make([_replicated(item, mesh) for item in value])
    return value


def _of_whole(
    func: Any, name: str, first: DTensor, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Any function, of the whole tensors."""

    def whole(x: Any) -> Any:
        if isinstance(x, DTensor):
            return local_of(redistributed(x, [Replicate()] * x.device_mesh.ndim))
        if isinstance(x, dict):
            return {key: whole(item) for key, item in x.items()}
        if isinstance(x, list | tuple) and type(x).__name__ != "Size":
            return getattr(type(x), "_make", type(x))([whole(item) for item in x])
        return x

    plain = [whole(x) for x in args]
    if not (_in_place(name) and isinstance(args[0], DTensor)):
        return _replicated(func(*plain, **whole(kwargs)), first.device_mesh)
    written = args[0]
    recorded = written.requires_grad and is_grad_enabled() and func.__module__ != init.__name__
    result = func(plain[0].detach().clone(), *plain[1:], **whole(kwargs))
    if recorded or result._edge is not None or result.shape != written.shape:
        raise NotImplementedError(
            f"{name}() of a DTensor with {list(written.placements)}, recorded in a graph: use"
            f" {name.strip('_')}(), or torch.no_grad()"
        )
    parts = redistributed(_replicated(result, first.device_mesh), written.placements)
    written._array[...] = parts._array
    return written


@handles("grad")
def _gradients(
    func: Any, outputs: Any, inputs: Any, grad_outputs: Any = None, *args: Any, **kwargs: Any
) -> Any:
    """Gradients, each placed as its tensor is."""
    several = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    found = func(outputs, several, _parts(grad_outputs), *args, **kwargs)
    return tuple(
        distributed(g, x._layout.of_gradient()) if isinstance(x, DTensor) and g is not None else g
        for x, g in zip(several, found, strict=True)
    )


@handles("backward")
def _backward(func: Any, tensors: Any, grad_tensors: Any = None, *args: Any, **kwargs: Any) -> Any:
    return func(tensors, _parts(grad_tensors), *args, **kwargs)


def _parts(value: Any) -> Any:
    """This rank's parts of tensors."""
    if isinstance(value, list | tuple):
        return [_parts(item) for item in value]
    return local_of(value) if isinstance(value, DTensor) else value


@handles("sum")
def _sum(func: Any, input: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """A sum of the parts, to be summed over ranks where a dimension is cut that goes away."""
    ndim = input.ndim
    dims = range(ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    gone = {d % ndim for d in dims} if ndim else set()
    placements: list[Placement] = []
    for placement in input.placements:
        if not isinstance(placement, Shard):
            placements.append(Replicate() if placement.is_partial() else placement)
        elif placement.dim in gone:
            placements.append(Partial())
        else:
            before = 0 if keepdim else sum(d < placement.dim for d in gone)
            placements.append(Shard(placement.dim - before))
    meeting = [Replicate() if p.is_partial() else p for p in input.placements]
    local = local_of(redistributed(input, meeting))
    result = local.sum(dim=tuple(sorted(gone)), keepdim=keepdim, dtype=dtype)
    shape = [1 if d in gone else n for d, n in enumerate(input.shape) if keepdim or d not in gone]
    return distributed(result, Layout(tuple(shape), input.device_mesh, tuple(placements)))


def _shared(tensor: DTensor, mesh_dims: list[int]) -> Tensor:
    """The part of a tensor, whose gradients add up over dimensions of the mesh."""
    local = local_of(tensor)
    shared: Tensor = Shared.apply(local, tensor.device_mesh, mesh_dims) if mesh_dims else local
    return shared


def _product(func: Callable[[Tensor, Tensor], Tensor], x: DTensor, w: DTensor, outward: int) -> Any:
    """A product over the last dimension of `x` and that of a matrix which is not `outward`.

    Along each dimension of the mesh, rows of `x`, columns of the result or terms of the sums are
    cut; what fits none of these is made whole.
    """
    mesh, last = x.device_mesh, x.ndim - 1
    at_x: list[Placement] = []
    at_w: list[Placement] = []
    result: list[Placement] = []
    x_shared, w_shared = [], []
    for k, (p, q) in enumerate(zip(x.placements, w.placements, strict=True)):
        if isinstance(p, Shard) and p.dim < last and q.is_replicate():
            result.append(p)
            w_shared.append(k)
        elif p.is_replicate() and q.is_shard(outward):
            result.append(Shard(last))
            x_shared.append(k)
        elif p.is_shard(last) and q.is_shard(1 - outward):
            result.append(Partial())
        else:
            p = q = Replicate()
            result.append(p)
        at_x.append(p)
        at_w.append(q)
    product = func(
        _shared(redistributed(x, at_x), x_shared), _shared(redistributed(w, at_w), w_shared)
    )
    shape = (*x.shape[:-1], w.shape[outward])
    return distributed(product, Layout(shape, mesh, tuple(result)))


@handles("linear")
def _linear(func: Any, input: Any, weight: Any, bias: Any = None) -> Any:
    if not _matrices(input, weight) or input.ndim < 1:
        return NotImplemented
    product = _product(func, input, weight, 0)
    return product if bias is None else _with_bias(product, bias)


def _with_bias(product: DTensor, bias: DTensor) -> Any:
    """A product and a vector, which is cut where the last dimension of the product is."""
    last = product.ndim - 1
    meeting = [Replicate() if p.is_partial() else p for p in product.placements]
    at_bias = [Shard(0) if p.is_shard(last) else Replicate() for p in meeting]
    rows = [k for k, p in enumerate(meeting) if p.is_shard() and not p.is_shard(last)]
    total = local_of(redistributed(product, meeting)) + _shared(redistributed(bias, at_bias), rows)
    return distributed(total, product._layout.replaced(meeting))


@handles("mm", "matmul", "__matmul__")
def _matmul(func: Any, input: Any, other: Any) -> Any:
    if not _matrices(input, other) or input.ndim < 2:
        return NotImplemented
    return _product(func, input, other, 1)


def _matrices(input: Any, matrix: Any) -> bool:
    both = isinstance(input, DTensor) and isinstance(matrix, DTensor)
    return both and matrix.ndim == 2 and input.device_mesh == matrix.device_mesh


@handles("t")
def _transposed(func: Any, input: Any) -> Any:
    if input.ndim != 2:
        return NotImplemented
    placements = [Shard(1 - p.dim) if isinstance(p, Shard) else p for p in input.placements]
    layout = Layout(tuple(input.shape[::-1]), input.device_mesh, tuple(placements))
    return distributed(func(local_of(input)), layout)


@handles("embedding")
def _embedding(func: Any, input: Any, weight: Any, *args: Any, **kwargs: Any) -> Any:
    """Rows of a matrix that is cut: each rank gives those that it has, or its columns."""
    mesh = weight.device_mesh
    whole = isinstance(input, DTensor) and all(p.is_replicate() for p in input.placements)
    if args or any(v not in (None, False, 2.0) for v in kwargs.values()) or not whole:
        return NotImplemented
    shape = (*input.shape, weight.shape[1])
    indices, (placement, *others) = local_of(input), weight.placements
    if others or placement.is_partial():
        return NotImplemented
    if placement.is_shard(0):
        rows = weight._layout.rows()
        outside = (indices < rows.start) | (indices >= rows.stop)
        own = func((indices - rows.start).masked_fill(outside, 0), local_of(weight))
        result: list[Placement] = [Partial()]
        local = own.masked_fill(outside.unsqueeze(-1), 0)
    else:
        result = [Shard(len(shape) - 1)] if placement.is_shard() else [placement]
        local = func(indices, local_of(weight))
    return distributed(local, Layout(shape, mesh, tuple(result)))


@handles("layer_norm", "rms_norm")
def _normalized(func: Any, input: Any, normalized_shape: Any, *args: Any, **kwargs: Any) -> Any:
    """Of vectors that are whole on some rank, with weights that each rank has whole."""
    kept = input.ndim - len(tuple(normalized_shape))
    cut = [k for k, p in enumerate(input.placements) if isinstance(p, Shard)]
    whole = [p for p in input.placements if not isinstance(p, Shard) or p.dim >= kept]
    weights = list(_among((*args, *kwargs.values())))
    whole += [p for w in weights for p in w.placements]
    if not all(p.is_replicate() for p in whole):
        return NotImplemented

    def own(x: Any) -> Any:
        return _shared(x, cut) if isinstance(x, DTensor) else x

    plain = {key: own(x) for key, x in kwargs.items()}
    result = func(local_of(input), normalized_shape, *map(own, args), **plain)
    return distributed(result, input._layout)
