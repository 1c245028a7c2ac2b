"""``theano.scan_module.scan_checkpoints``: loops that keep some of their states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.symbolic.expressions.arithmetic import minimum
from wengert.symbolic.expressions.creation import arange, zeros
from wengert.symbolic.expressions.structure import join
from wengert.symbolic.expressions.type import as_tensor_variable
from wengert.symbolic.scanning import scan

__all__ = ["scan_checkpoints"]


def scan_checkpoints(
    fn: Callable[..., Any], sequences: Any = (), outputs_info: Any = None, non_sequences: Any = (),
    name: str = "checkpointscan_fn", n_steps: Any = None, save_every_N: int = 10,  # noqa: N803
    padding: bool = True,
) -> tuple[Any, Any]:  # fmt: skip
    """`scan` in chunks: the states after every `save_every_N` steps, and updates.

    The gradient runs the steps of a chunk again from the state before it, so that memory is needed
    for one state of each chunk and for the steps of one.

    Args:
        fn: builds a step, as that of `scan`; it sees elements, not taps, of sequences and states.
        sequences: arrays whose elements the steps see.
        outputs_info: first states, or None for what is not handed on.
        non_sequences: what every step sees.
        name: of the loop.
        n_steps: how many steps; by default as many as the shortest sequence has elements.
        save_every_N: how many steps a chunk has.
        padding: whether the last chunk may have fewer; without, the number of steps has to be a
            multiple of `save_every_N`.

    >>> from wengert.symbolic import function, scan_checkpoints
    >>> from wengert.symbolic import tensor as T
    >>> a = T.dscalar("a")
    >>> powers, _ = scan_checkpoints(
    ...     lambda p, a: p * a, outputs_info=T.ones_like(a), non_sequences=a, n_steps=6,
    ...     save_every_N=2)
    >>> function([a], powers)(2.0)
    array([ 4., 16., 64.])
    """
    arrays, states = _listed(sequences), _listed(outputs_info)
    if any(isinstance(x, dict) for x in (*arrays, *states)):
        raise RuntimeError("scan_checkpoints: sequences and states are variables, without taps")
    arrays = [as_tensor_variable(x) for x in arrays]
    if n_steps is None:
        if not arrays:
            raise RuntimeError("scan_checkpoints: n_steps is needed where there is no sequence")
        n_steps = arrays[0].shape[0]
        for x in arrays[1:]:
            n_steps = minimum(n_steps, x.shape[0])
    count, size = as_tensor_variable(n_steps), save_every_N
    chunks = (count + size - 1) // size if padding else count // size
    kept = len(arrays), len([s for s in states if s is not None])

    def chunk(index: Any, *values: Any) -> Any:
        own, given = values[: kept[0]], values[kept[0] :]
        earlier = iter(given[: kept[1]])
        first = [None if s is None else next(earlier) for s in states]
        found, updates = scan(
            fn, list(own), first or None, list(given[kept[1] :]),
            n_steps=minimum(size, count - index * size), name=f"{name}_chunk",
        )  # fmt: skip
        last = [v[-1] for v in found] if isinstance(found, list | tuple) else found[-1]
        return last, updates

    divided = [_divided(x, count, chunks, size, padding) for x in arrays]
    return scan(
        chunk, [arange(chunks), *divided], states or None, _listed(non_sequences), n_steps=chunks,
        name=name,
    )  # fmt: skip


def _listed(values: Any) -> list[Any]:
    return list(values) if isinstance(values, list | tuple) else [] if values is None else [values]


def _divided(x: Any, count: Any, chunks: Any, size: int, padding: bool) -> Any:
    """The elements of a sequence by chunks; steps do not reach the zeros at the end."""
    rest = [x.shape[d] for d in range(1, x.ndim)]
    if padding:
        x = join(0, x[:count], zeros([chunks * size - count, *rest], x.dtype))
    else:
        x = x[: chunks * size]
    return x.reshape([chunks, size, *rest], ndim=x.ndim + 1)
