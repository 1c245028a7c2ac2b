"""Batched values for functions written for one sample: the basis of vmap.

The batch is always the first dimension of a tracer's value. Elementwise operations
align the other dimensions; the rest declare a batching rule (`batch=`), have a `reference`
made of operations that do, or run sample by sample.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from wengert.autograd.custom.transforms import apply_to_batch
from wengert.autograd.transforms.levels import Level, Shape, beside
from wengert.autograd.transforms.outlined import OutlinedTracer
from wengert.core.outline import Outline
from wengert.core.tensor import Tensor, Tracer
from wengert.ops.batch_fallbacks import one_by_one
from wengert.ops.batching import Batch
from wengert.ops.broadcasting import expand
from wengert.ops.joining import stack
from wengert.ops.shape import padded


class SampleOutline(Outline):
    """The outline of one sample of a batch: what its elements are differs between samples."""

    __slots__ = ()

    def refusal(self) -> Exception:
        """The error for reading elements."""
        return RuntimeError(
            "vmap: It looks like you're calling .item() on a Tensor, or attempting to use one in"
            " some data-dependent control flow (bool(), a print, NumPy). Its elements are not known"
            " inside of vmap: they differ between samples; compute with operations instead"
            " (torch.where for a condition)"
        )

    def shape_refusal(self, name: str) -> Exception:
        """The error of an operation whose result has a shape that depends on elements."""
        return RuntimeError(
            "vmap: We do not support batching operators that can output dynamic shape. Attempted"
            f" to vmap over {name}: the shape of its result depends on elements that differ"
            " between samples"
        )


class Batched(OutlinedTracer):
    """An arbitrary sample of a batch."""

    __slots__ = ()
    lead = 1
    outline = SampleOutline

    @property
    def _edge(self) -> Any:  # type: ignore[override]
        return self.value._edge

    def numpy(self, *args: Any, **options: Any) -> Any:
        """Raise RuntimeError: a sample of a batch has no memory of its own."""
        raise RuntimeError(
            "Cannot access data pointer of Tensor that doesn't have storage: numpy() inside of"
            " vmap, of a tensor that is vmapped over"
        )

    __array__ = numpy

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        return f"BatchedTensor(lvl={self.level.depth}, bdim=0, value=\n    {self.value!r}\n)"


class BatchLevel(Level):
    """A vmap over `size` samples."""

    what = "vmap"
    kind = Batched

    def __init__(self, size: int, randomness: str = "error") -> None:
        self.size, self.randomness = size, randomness

    def full_batch(self, value: Any) -> Any:
        """The value further out, always with the batch as its first dimension."""
        if self.owns(value):
            return value.value
        return expand(value, (self.size, *value.shape))

    def apply(self, op: Any, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
        """The operation on the whole batch."""
        if not self.depth:
            self.check_running()
        values = [x.value if isinstance(x, Batched) and x.level is self else x for x in inputs]
        if op.kind == "elementwise":
            if len(values) > 1:
                _align(values, inputs)
            return self.tracer(op(values, params))
        batched = {i for i, x, v in zip(op.inputs, inputs, values, strict=True) if x is not v}
        b = Batch(op, self.size, dict(zip(op.inputs, values, strict=True)), batched, params)
        if op.batch is not None:
            return self.tracer(op.batch(b))
        if op.reference is not None:
            return op.reference(*inputs, **params)
        _warn_slow(op)
        return self.tracer(one_by_one(b))

    def apply_list(self, op: Any, inputs: Sequence[Any], params: tuple[Any, ...]) -> Any:
        """The operation on a list of batches."""
        self.check_running()
        if op.batch is None:
            _warn_slow(op)
            batches = [self.full_batch(x) for x in inputs]
            samples = [op.function([x[k] for x in batches], *params) for k in range(self.size)]
            return self.tracer(stack(samples))
        params = op.batch(len(inputs[0].shape), *params)
        return self.tracer(op.function([self.full_batch(x) for x in inputs], *params))

    def apply_several(self, op: Any, input: Any, params: tuple[Any, ...]) -> tuple[Any, ...]:
        """The operation on the whole batch."""
        self.check_running()
        outs = op.function(input.value, *op.batch(*params))
        return tuple([self.tracer(out) for out in outs])

    def apply_function(self, function: Any, args: tuple[Any, ...]) -> Any:
        """The user's `vmap`, or the other methods on the whole batch."""
        self.check_running()
        return apply_to_batch(self, function, args)

    def detach(self, value: Any) -> Any:
        """The batch without its place in any graph."""
        return self.tracer(value.value.detach())

    def beside(self, value: Any, make: Callable[[Shape], Any], lead: Shape) -> Any:
        """A fresh batch."""
        return self.tracer(beside(value.value, make, (self.size, *lead)))

    def write(self, target: Any, result: Any, put: Callable[[Any, Any], None]) -> None:
        """Write the whole batch."""
        self.check_running()
        if not self.owns(target):
            raise RuntimeError(
                "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists"
                " a Tensor `other` in extra_args that has more elements than `self`. This happened"
                " due to `other` being vmapped over but `self` not being vmapped over at level"
                f" {self.depth}. Please try to use out-of-place operators instead of inplace"
                " arithmetic, or make `self` with x.new_zeros() or torch.zeros_like() of a tensor"
                " that is vmapped over."
            )
        put(target.value, self.full_batch(result))


def _align(values: list[Any], inputs: Sequence[Any]) -> None:
    """Let samples broadcast as they would alone: dimensions of size 1 after the batch."""
    ranks = []
    for x in inputs:
        rank = -1  # a number
        if isinstance(x, Tensor):
            lead = 0
            while isinstance(x, Tracer):
                lead += x.lead
                x = x.value
            rank = x._array.ndim - lead
        ranks.append(rank)
    rank = max(ranks)
    for k, x in enumerate(inputs):
        if x is not values[k] and ranks[k] < rank:
            values[k] = padded(values[k], rank)


_warned: set[Any] = set()


def _warn_slow(op: Any) -> None:
    if op not in _warned:
        _warned.add(op)
        name = getattr(op, "public_name", None) or op.function.__name__.strip("_")
        warnings.warn(
            "There is a performance drop because we have not yet implemented the batching rule"
            f" for {name}(): it runs sample by sample.",
            UserWarning,
            stacklevel=4,
        )
