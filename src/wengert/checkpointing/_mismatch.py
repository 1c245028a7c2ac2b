"""Reports on a recomputation that differs from the forward, line by line."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from wengert.autograd.naming import op_name_of_class
from wengert.core.device import cpu
from wengert.core.dtypes import of_numpy
from wengert.core.messages import message
from wengert.core.size import Size
from wengert.core.storage import quoted_location
from wengert.core.tensor import Node, Site

_MOST_LINES = 40


class CheckpointError(RuntimeError):
    """The recomputation of a checkpointed function differs from its forward."""

    __module__ = "wengert.utils.checkpoint"  # as tracebacks show it, and where users import it from


# A value that a node saved: the name of its slot, and an index where the slot holds a list.
SavedSlot = tuple[str, int | None]
# Shape and dtype of a saved array.
Outline = tuple[tuple[int, ...], np.dtype[Any]]


class RecordedOp(NamedTuple):
    """One recorded operation of a run, as described in a report."""

    kind: type[Node]
    code: CodeType
    lasti: int
    site: Site
    shape: tuple[int, ...]
    saved: tuple[Outline, ...]  # of each array that the recomputation is to bring
    slots: tuple[SavedSlot, ...] = ()  # where the node has them

    def name(self) -> str:
        """The operation, as it was called."""
        return op_name_of_class(self.kind)


def saved_tensors(steps: Sequence[RecordedOp]) -> list[tuple[RecordedOp, Outline]]:
    """Every saved tensor of a run in order: its operation and its outline."""
    return [(step, outline) for step in steps for outline in step.saved]


def agree(forward: Sequence[RecordedOp], again: Sequence[RecordedOp], check: bool) -> bool:
    """Whether a second run saved the same as the first; without `check`, as many values."""
    a, b = saved_tensors(forward), saved_tensors(again)
    if len(a) != len(b):
        return False
    return not check or not (any(map(_differ, a, b)) or _other_operations(forward, again))


def _other_operations(forward: Sequence[RecordedOp], again: Sequence[RecordedOp]) -> bool:
    """Whether other operations saved tensors, those included that nobody has to bring: inputs."""
    saving = [[step for step in steps if step.kind.saved] for steps in (forward, again)]
    # The second run may stop as soon as it has recomputed everything.
    return not all(_same_kind(a, b) for a, b in zip(*saving, strict=False))


def _differ(a: tuple[RecordedOp, Outline], b: tuple[RecordedOp, Outline]) -> bool:
    return not _same_kind(a[0], b[0]) or a[1] != b[1]


def _same_kind(a: RecordedOp, b: RecordedOp) -> bool:
    """Whether two steps are of one operation, or of a Function redefined by each run."""
    if a.kind is b.kind:
        return True
    one, other = (getattr(step.kind, "_forward_cls", None) for step in (a, b))
    return (
        one is not None
        and other is not None
        and (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)
    )


class MismatchReport(NamedTuple):
    """Two runs of a checkpointed function that differ."""

    function: str
    where: str  # of the call of checkpoint()
    forward: Sequence[RecordedOp]
    again: Sequence[RecordedOp]
    verbose: bool  # whether to print everything

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
        first, second = saved_tensors(self.forward), saved_tensors(self.again)
        if len(second) < len(first):
            return (
                "torch.utils.checkpoint: A different number of tensors was saved during the"
                " original forward and recomputation.\n"
                f"Number of tensors saved during forward: {len(first)}\n"
                f"Number of tensors saved during recomputation: {len(second)}."
            )
        if len(second) > len(first):
            return (
                "torch.utils.checkpoint: trying to save more tensors during recomputation than"
                f" during the original forward pass: {len(second)}, not {len(first)}."
            )
        lines = [
            "torch.utils.checkpoint: Recomputed values for the following tensors have different"
            " metadata than during the forward pass."
        ]
        for i, (a, b) in enumerate(zip(first, second, strict=True)):
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
        context = max(len(a), len(b)) if self.verbose else 3
        diff = list(difflib.unified_diff(a, b, "forward", "recomputation", lineterm="", n=context))
        if not diff:
            return ["the same lines, with the same shapes"]
        first = next(i for i, line in enumerate(diff) if i > 2 and line[:1] in "+-")
        diff.insert(first, "  ~~ here they part ~~")
        if len(diff) > _MOST_LINES and not self.verbose:
            left = len(diff) - _MOST_LINES
            diff[_MOST_LINES:] = [f"... {left} more lines; debug=True prints all of them"]
        return diff


def _row(step: RecordedOp) -> str:
    path = step.site.path()
    saved = ", ".join(f"{dtype.name} {list(shape)}" for shape, dtype in step.saved)
    text = f"{path + ': ' if path else ''}{step.name()} {list(step.shape)}"
    text += f"  saves {saved}" if saved else ""
    return f"{text:<48}  {quoted_location(step.code, step.lasti)}"


def _metadata(step: RecordedOp, outline: Outline, named: bool) -> dict[str, Any]:
    shape, dtype = outline
    described = {"shape": Size(shape), "dtype": of_numpy[dtype], "device": cpu}
    return {"op": step.name(), **described} if named else described
