"""The one form of a message about a graph's life: what happened, where, and what to change.

Each has an id, under which `wengert explain` says more: there is a page for it in
`explanations/`. A message is put together when it is raised, and never before.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert._core import caller, getframe
from wengert._storage import place


def message(
    id: str,
    head: str,
    facts: Sequence[tuple[str, str]] = (),
    remedies: Sequence[str] = (),
    cause: str = "",
) -> str:
    """`head`, a line for each fact, the remedies by number, and where to read more."""
    width = max((len(label) for label, _ in facts), default=0) + 1
    lines = [head, *(f"  {label + ':':<{width}} {text}" for label, text in facts)]
    lead = f"  {cause} " if cause else "  "
    if len(remedies) == 1:
        lines.append(f"{lead}Remedy: {remedies[0]}")
    elif remedies:
        lines.append(f"{lead}Remedies:")
        lines += [f"    {k}. {remedy}" for k, remedy in enumerate(remedies, 1)]
    elif cause:
        lines.append(f"  {cause}")
    lines.append(more(id))
    return "\n".join(lines)


def more(id: str) -> str:
    """The last line of a message."""
    return f"  More: wengert explain {id}"


def here(what: str) -> str:
    """A call that is under way, and the user's line that it comes from."""
    return f"{what}  at {place(*caller(getframe(1)))}"
