"""Values that are computed where they are to lie, instead of being copied there.

Rows that are joined (as those of all time steps, for one product) are an example: each value is
written into its part of the whole, and read there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from wengert.kernels import copies
from wengert.kernels.jit.pace import pace
from wengert.replay.emitting import F32, Call, Scalar, View, views_of


def placed(
    calls: Sequence[Call], bytes_of: Callable[[int], int], fixed: Collection[int],
    changed: Collection[int] = (),
) -> list[Call]:  # fmt: skip
    """The calls without copies of whole values into dense parts of others.

    `bytes_of` says how large the memory of a root is; the values that are `fixed` stay where they
    are, as somebody else has them. A value is written before it is copied, and by nobody later.
    Where other calls come before the copies to a whole, such as one that fills it with zeros, or
    write to it after them, as those of wholes that are `changed` do, they stay.
    """
    places: dict[int, View] = {}
    left: list[Call] = []
    written: set[int] = set()
    for call in pace.over(calls):
        copy = _copied(call)
        if copy is None:
            written.update([view.root for view in views_of(call)])
        else:
            source, out = copy
            root = source.root
            whole = source.offset == 0 and 4 * source.size == bytes_of(root)
            free = root not in fixed and root not in places
            free = free and out.root not in written and out.root not in changed
            if whole and free and root != out.root:
                places[root] = out
                continue
        left.append(call)
    return [_moved(call, places) for call in pace.over(left)] if places else left


def _copied(call: Call) -> tuple[View, View] | None:
    """What a call copies and where to, if that is dense there as well."""
    if call.kernel is not copies.copy_rows.f32:
        return None
    source, out, step, to_step, width = call.arguments
    if type(source) is not View or type(out) is not View or source.dtype != F32:
        return None
    together = call.total == 1 or step == to_step == width
    if not together or not source.is_dense or source.size != call.total * width:
        return None
    return source, out


def _moved(call: Call, places: dict[int, View]) -> Call:
    """A call on memory in other places."""
    return call._replace(arguments=tuple([_at(a, places) for a in call.arguments]))


def _at(argument: Any, places: dict[int, View]) -> Any:
    if type(argument) is Scalar:
        return Scalar(_at(argument.view, places))
    if type(argument) is not View:
        return argument
    view: View = argument
    while view.root in places:
        place = places[view.root]
        view = view._replace(root=place.root, offset=view.offset + place.offset)
    return view
