"""`vmap`: functions of one sample, for a batch of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any

from wengert.autograd.transforms.batched import BatchLevel
from wengert.autograd.transforms.tree import Spec, broadcast_prefix, flatten_tree, unflatten_tree
from wengert.core.generators import Generator, default_generator
from wengert.core.tensor import Tensor
from wengert.ops.joining import cat
from wengert.ops.shape import movedim

Dims = int | tuple[Any, ...] | list[Any] | dict[Any, Any] | None


def vmap(
    func: Callable[..., Any],
    in_dims: Dims = 0,
    out_dims: Dims = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that maps `func` over a batch in one pass, as ``torch.vmap``.

    Args:
        func: takes tensors (in tuples, lists and dicts too) and returns tensors, for one sample.
        in_dims: which dimension of each argument is the batch; None for one that all share. A
            number, or nested as the arguments are.
        out_dims: where the batch goes in the results.
        randomness: what random operations inside do: "error", "same" for all samples, or
            "different".
        chunk_size: the number of samples per pass; None for all.

    >>> import wengert
    >>> x, w = wengert.ones(3, 2), wengert.tensor([1.0, 2.0])
    >>> wengert.vmap(wengert.dot, in_dims=(0, None))(x, w)
    tensor([3., 3., 3.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got"
            f" {randomness}"
        )
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @wraps(func)
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = flatten_tree(args)
        dims = _checked_dims(in_dims, leaves, spec, func)
        size = _size(leaves, dims)
        call = partial(_call, func, spec, out_dims, randomness, kwargs)
        if chunk_size is None or chunk_size >= size:
            return call(leaves, dims, size)
        shared = default_generator if randomness == "same" else None
        return _in_chunks(call, leaves, dims, size, chunk_size, out_dims, shared)

    return vectorized


def over_batch(function: Callable[..., Any], batches: Sequence[Any]) -> tuple[Any, ...]:
    """Call a function, which returns a sequence, with a sample of each batch. None stays None."""
    leaves = [x for x in batches if x is not None]
    size = _size(leaves, [_checked_dim("grad(is_grads_batched=True):", 0, x) for x in leaves])
    with BatchLevel(size) as level:
        results = function([None if x is None else level.tracer(x) for x in batches])
        return tuple([None if r is None else level.full_batch(r) for r in results])


def function_name(func: Callable[..., Any]) -> str:
    """A function's name in messages."""
    return getattr(func, "__name__", type(func).__name__)


def _checked_dims(in_dims: Dims, leaves: list[Any], spec: Spec, func: Any) -> list[Any]:
    head = f"vmap({function_name(func)}, in_dims={in_dims}, ...)(<inputs>):"
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{head} expected `in_dims` to be int or a (potentially nested) tuple matching the"
            f" structure of inputs, got: {type(in_dims)}."
        )
    if not leaves:
        raise ValueError(
            f"vmap({function_name(func)})(<inputs>): got no inputs. Maybe you forgot to add"
            " inputs, or"
            " you are trying to vmap over a function with no inputs. The latter is unsupported."
        )
    dims = broadcast_prefix(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"{head} in_dims is not compatible with the structure of `inputs`. in_dims has"
            f" structure {flatten_tree(in_dims)[1]} but inputs has structure {spec}."
        )
    return [_checked_dim(head, d, x) for d, x in zip(dims, leaves, strict=True)]


def _checked_dim(head: str, dim: Any, x: Any) -> int | None:
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(
            f"{head} Got in_dim={dim} for an input but in_dim must be either an integer dimension"
            " or None."
        )
    if not isinstance(x, Tensor):
        raise ValueError(
            f"{head} Got in_dim={dim} for an input but the input is of type {type(x)}. We cannot"
            " vmap over non-Tensor arguments, please use None as the respective in_dim"
        )
    rank = x.dim()
    if not -rank <= dim < rank:
        raise ValueError(
            f"{head} Got in_dim={dim} for some input, but that input is a Tensor of dimensionality"
            f" {rank} so expected in_dim to satisfy -{rank} <= in_dim < {rank}."
        )
    return dim % rank


def _size(leaves: list[Any], dims: list[Any]) -> int:
    sizes = [x.shape[d] for x, d in zip(leaves, dims, strict=True) if d is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes"
            f" {sizes} for the mapped dimension"
        )
    return int(sizes[0])


def _call(
    func: Any, spec: Spec, out_dims: Dims, randomness: str, kwargs: Any,
    leaves: list[Any], dims: list[Any], size: int,
) -> Any:  # fmt: skip
    with BatchLevel(size, randomness) as level:
        inputs = [
            x if d is None else level.tracer(x if d == 0 else movedim(x, d, 0))
            for x, d in zip(leaves, dims, strict=True)
        ]
        results, tree = flatten_tree(func(*unflatten_tree(inputs, spec), **kwargs))
        dims_out = _checked_out_dims(out_dims, tree, func)
        outputs = [_output(level, func, r, d) for r, d in zip(results, dims_out, strict=True)]
    return unflatten_tree(outputs, tree)


def _checked_out_dims(out_dims: Dims, tree: Spec, func: Any) -> list[Any]:
    if not all(d is None or isinstance(d, int) for d in flatten_tree(out_dims)[0]):
        raise ValueError(
            f"vmap({function_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int,"
            " None or a python collection of ints representing where in the outputs the vmapped"
            " dimension should appear."
        )
    leaf_dims = broadcast_prefix(out_dims, tree)
    if leaf_dims is None:
        raise ValueError(
            f"vmap({function_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not"
            " compatible"
            " with the structure of `outputs`. out_dims has structure"
            f" {flatten_tree(out_dims)[1]} but"
            f" outputs has structure {tree}."
        )
    return leaf_dims


def _output(level: BatchLevel, func: Any, result: Any, dim: int | None) -> Any:
    if dim is None:
        if level.owns(result):
            raise ValueError(
                f"vmap({function_name(func)}, ...): `{function_name(func)}` can not return a"
                " BatchedTensor"
                " when out_dim is None"
            )
        return result
    if not isinstance(result, Tensor):
        raise ValueError(
            f"vmap({function_name(func)}, ...): `{function_name(func)}` must only return Tensors,"
            " got type"
            f" {type(result)}. Did you mean to set out_dims= to None for output?"
        )
    batch = level.full_batch(result)
    return batch if dim == 0 else movedim(batch, 0, dim)


def _in_chunks(
    call: Callable[..., Any], leaves: list[Any], dims: list[Any], size: int, step: int,
    out_dims: Dims, shared: Generator | None,
) -> Any:  # fmt: skip
    results_of_chunks: list[Sequence[Any]] = []
    state = None if shared is None else shared.get_state()
    for start in range(0, size, step):
        if shared is not None and state is not None:  # all chunks draw the same numbers
            shared.set_state(state)
        stop = min(start + step, size)
        chunk = [
            x if d is None else x[(slice(None),) * d + (slice(start, stop),)]
            for x, d in zip(leaves, dims, strict=True)
        ]
        results, tree = flatten_tree(call(chunk, dims, stop - start))
        results_of_chunks.append(results)
    leaf_dims = broadcast_prefix(out_dims, tree)
    assert leaf_dims is not None
    joined = [
        column[0] if dim is None else cat(column, dim)
        for column, dim in zip(zip(*results_of_chunks, strict=True), leaf_dims, strict=True)
    ]
    return unflatten_tree(joined, tree)
