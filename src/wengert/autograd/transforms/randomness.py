"""Random numbers inside `vmap`: one draw for all samples, or one for each.

Each vmap says which (`randomness=`), also when nested. All random functions get their
numbers from `wengert.core.generators.draw_numbers`, which calls in here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.autograd.transforms.levels import transform_stack
from wengert.core import generators
from wengert.core.generators import Draw
from wengert.core.tensor import Tensor, Tracer, wrap


def vmaps() -> list[Any]:
    """The levels of the vmaps running on this thread, outermost first."""
    if not transform_stack.levels:
        return []
    from wengert.autograd.transforms.batched import BatchLevel

    return [level for level in transform_stack.levels if isinstance(level, BatchLevel)]


def _draw_by_level(
    draw: Draw,
    shape: tuple[int, ...],
    dependencies: Sequence[Any],
    target: Tensor | None,
    partner: Tensor | None,
) -> Tensor:
    """See `wengert.core.generators.draw_numbers`."""
    memoryless = _memoryless_level((partner, target, *dependencies))
    if not transform_stack.levels and memoryless is None:
        return wrap(draw(shape))
    levels = vmaps()
    for level in reversed(levels):
        _check(level, dependencies, target)
    own = [level for level in levels if level.randomness == "different"]
    shape = (*[level.size for level in own], *shape)
    if memoryless is None:
        numbers = wrap(draw(shape))
    else:
        numbers = memoryless.empty(shape, draw((0,) * max(len(shape), 1)).dtype)
    for level in transform_stack.levels:
        if level in own:
            numbers, shape = level.tracer(numbers), shape[1:]
        elif level.composite:
            numbers = level.drawn(draw, shape, numbers)
    return numbers


def _memoryless_level(tensors: Sequence[Any]) -> Any:
    """The level of a tensor without elements among these, or below them; None without one."""
    for x in tensors:
        while isinstance(x, Tracer):
            if x.level.memoryless:
                return x.level
            x = x.value
    return None


def _check(level: Any, dependencies: Sequence[Any], target: Tensor | None) -> None:
    """Raise RuntimeError for a draw that a vmap's randomness mode does not allow."""
    if level.randomness == "error":
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the"
            " 'same' or 'different' randomness flags on vmap or perform the randomness operation"
            " out of vmap"
        )
    if level.randomness == "same" and any(_differs(x, level) for x in dependencies):
        raise RuntimeError(
            "Vmap does not currently support same randomness with a batched tensor input: the"
            " numbers depend on a tensor that differs between samples. Use"
            " randomness='different'"
        )
    if level.randomness == "different" and target is not None and not _differs(target, level):
        raise RuntimeError(
            "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will"
            " appear like same randomness. Fill a tensor that was made from one that is vmapped"
            " over (torch.empty_like), or use torch.rand, torch.randn, torch.bernoulli"
        )


def _differs(value: Any, level: Any) -> bool:
    """Whether a value differs across the samples of a level."""
    while isinstance(value, Tracer):
        if value.level is level:
            return True
        value = value.value
    return False


generators.by_level = _draw_by_level
