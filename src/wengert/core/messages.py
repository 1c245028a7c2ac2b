"""The format of messages about a graph's lifetime: what happened, where, and what to change.

Each has an id, under which `wengert explain` says more: there is a page for it in
`explanations/`. A message is only put together when it is raised.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from wengert.core.storage import quoted_location
from wengert.core.tensor import caller, getframe, internal


def message(
    id: str,
    head: str,
    facts: Sequence[tuple[str, str]] = (),
    remedies: Sequence[str] = (),
    cause: str = "",
) -> str:
    """`head`, a line for each fact, the numbered remedies, and where to read more."""
    return "\n".join([*message_lines(head, facts, remedies, cause), more(id)])


def message_lines(
    head: str,
    facts: Sequence[tuple[str, str]] = (),
    remedies: Sequence[str] = (),
    cause: str = "",
) -> list[str]:
    """The lines of a message, except the last one."""
    width = max((len(label) for label, _ in facts), default=0) + 1
    text = [head, *(f"  {label + ':':<{width}} {text}" for label, text in facts)]
    lead = f"  {cause} " if cause else "  "
    if len(remedies) == 1:
        text.append(f"{lead}Remedy: {remedies[0]}")
    elif remedies:
        text.append(f"{lead}Remedies:")
        text += [f"    {k}. {remedy}" for k, remedy in enumerate(remedies, 1)]
    elif cause:
        text.append(f"  {cause}")
    return text


def more(id: str) -> str:
    """The last line of a message."""
    return f"  More: wengert explain {id}"


def current_call(what: str, beyond: str = "") -> str:
    """A call in progress, and the user's line it comes from.

    `beyond` is another file whose frames are not the user's.
    """
    frame = getframe(1)
    code, lasti = caller(frame)
    while code.co_filename == beyond and frame.f_back is not None:
        frame = frame.f_back
        code, lasti = caller(frame)
    return f"{what}  at {quoted_location(code, lasti)}"


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn, pointing to the user's line; by default once for each line, as `warnings.warn` does."""
    frame = inner = getframe(1)
    while frame.f_code.co_filename in internal and frame.f_back is not None:
        frame = frame.f_back
    frame = inner if frame.f_code.co_filename in internal else frame
    scope = frame.f_globals
    warnings.warn_explicit(
        text, category, frame.f_code.co_filename, frame.f_lineno, scope.get("__name__", "<string>"),
        scope.setdefault("__warningregistry__", {}),
    )  # fmt: skip
