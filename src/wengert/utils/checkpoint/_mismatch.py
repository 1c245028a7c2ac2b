"""What a recomputation that differs from the forward looks like, line by line."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from wengert.autograd.errors import op_name_of_class
from wengert.core.device import cpu
from wengert.core.dtypes import of_numpy
from wengert.core.messages import message
from wengert.core.size import Size
from wengert.core.storage import quoted_location
from wengert.core.tensor import Node, Site

_MOST_LINES = 40


class CheckpointError(RuntimeError):
    """The recomputation of a checkpointed function differs from its forward."""


# Shape and dtype of a saved array.
Outline = tuple[tuple[int, ...], np.dtype[Any]]


class Step(NamedTuple):
    """One recorded operation of a run: all that a report says of it."""

    kind: type[Node]
    code: CodeType
    lasti: int
    site: Site
    shape: tuple[int, ...]
    saved: tuple[Outline, ...]  # of each array that the recomputation is to bring

    def name(self) -> str:
        """The operation, as it was called."""
        return op_name_of_class(self.kind)


def tensors_in(steps: Sequence[Step]) -> list[tuple[Step, Outline]]:
    """Every saved tensor of a run in order: its operation and its outline."""
    return [(step, outline) for step in steps for outline in step.saved]


def agree(forward: Sequence[Step], again: Sequence[Step], check: bool) -> bool:
    """Whether a second run saved what the first one did; without `check`, as much as that."""
    a, b = tensors_in(forward), tensors_in(again)
    if len(a) != len(b):
        return False
    return not check or not (any(map(_differ, a, b)) or _other_operations(forward, again))


def _other_operations(forward: Sequence[Step], again: Sequence[Step]) -> bool:
    """Whether other operations saved tensors, those included that nobody has to bring: inputs."""
    saving = [[step for step in steps if step.kind.saved] for steps in (forward, again)]
    # The second run may end as soon as it has brought everything.
    return not all(_same_kind(a, b) for a, b in zip(*saving, strict=False))


def _differ(a: tuple[Step, Outline], b: tuple[Step, Outline]) -> bool:
    return not _same_kind(a[0], b[0]) or a[1] != b[1]


def _same_kind(a: Step, b: Step) -> bool:
    """Whether two steps are of one operation, or of a Function that each run has defined anew."""
    if a.kind is b.kind:
        return True
    one, other = (getattr(step.kind, "_forward_cls", None) for step in (a, b))
    return (
        one is not None
        and other is not None
        and (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)
    )


class Report(NamedTuple):
    """Two runs of a checkpointed function that differ."""

    function: str
    where: str  # of the call of checkpoint()
    forward: Sequence[Step]
    again: Sequence[Step]
    whole: bool  # whether to print everything

    def error(self) -> CheckpointError:
        """The error, in PyTorch's words first."""
        head = f"{self._headline()}\n{self._body()}"
        return CheckpointError(message("checkpoint-mismatch", head, remedies=[
            "the function must do the same both times: no counters, caches or switches that change"
            " between forward and backward",
            "random numbers must come from the default generator, with preserve_rng_state=True",
            "what has to run only once goes outside of the checkpointed function",
        ]))  # fmt: skip

    def _headline(self) -> str:
        known, found = tensors_in(self.forward), tensors_in(self.again)
        if len(found) < len(known):
            return (
                "torch.utils.checkpoint: A different number of tensors was saved during the"
                " original forward and recomputation.\n"
                f"Number of tensors saved during forward: {len(known)}\n"
                f"Number of tensors saved during recomputation: {len(found)}."
            )
        if len(found) > len(known):
            return (
                "torch.utils.checkpoint: trying to save more tensors during recomputation than"
                f" during the original forward pass: {len(found)}, not {len(known)}."
            )
        lines = [
            "torch.utils.checkpoint: Recomputed values for the following tensors have different"
            " metadata than during the forward pass."
        ]
        for i, (a, b) in enumerate(zip(known, found, strict=True)):
            if _differ(a, b):
                named = not _same_kind(a[0], b[0])
                lines += [
                    f"tensor at position {i}:",
                    f"saved metadata: {_metadata(*a, named)}",
                    f"recomputed metadata: {_metadata(*b, named)}",
                ]
        if len(lines) == 1:
            lines.append("they have the same metadata, but other operations saved them")
        return "\n".join(lines)

    def _body(self) -> str:
        lines = [
            f"  function:  {self.function}",
            f"  called by: {self.where}",
            "  what its two runs recorded, operation by operation (- forward only, + recomputation"
            " only):",
            *(f"    {line}" for line in self._difference()),
        ]
        return "\n".join(lines)

    def _difference(self) -> list[str]:
        a, b = ([_row(s) for s in steps] for steps in (self.forward, self.again))
        context = max(len(a), len(b)) if self.whole else 3
        found = list(difflib.unified_diff(a, b, "forward", "recomputation", lineterm="", n=context))
        if not found:
            return ["the same lines, with the same shapes"]
        first = next(i for i, line in enumerate(found) if i > 2 and line[:1] in "+-")
        found.insert(first, "  ~~ here they part ~~")
        if len(found) > _MOST_LINES and not self.whole:
            left = len(found) - _MOST_LINES
            found[_MOST_LINES:] = [f"... {left} more lines; debug=True prints all of them"]
        return found


def _row(step: Step) -> str:
    path = step.site.path()
    saved = ", ".join(f"{dtype.name} {list(shape)}" for shape, dtype in step.saved)
    text = f"{path + ': ' if path else ''}{step.name()} {list(step.shape)}"
    text += f"  saves {saved}" if saved else ""
    return f"{text:<48}  {quoted_location(step.code, step.lasti)}"


def _metadata(step: Step, outline: Outline, named: bool) -> dict[str, Any]:
    shape, dtype = outline
    described = {"shape": Size(shape), "dtype": of_numpy[dtype], "device": cpu}
    return {"op": step.name(), **described} if named else described
