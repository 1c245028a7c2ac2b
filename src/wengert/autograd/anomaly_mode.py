"""Anomaly detection: which operation's derivative produced the first nan, and foreign writes.

Nodes record their line and module anyway, so the mode only inspects gradients as they are
computed, and keeps the graph until the walk is done: after an error it is intact.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.autograd import errors, naming
from wengert.autograd.engine import Grads, Walk, anomaly
from wengert.autograd.saved.writes import watch
from wengert.core.messages import message
from wengert.core.signals import call_despite_signals, without_entry_signals
from wengert.core.sparse import SparseTensor
from wengert.core.tensor import Leaf, Node, Tensor, memory_of
from wengert.ops.subscript import Deferred
from wengert.ops.variadic import Partial


def is_anomaly_enabled() -> bool:
    """Whether anomaly detection is on.

    >>> import wengert
    >>> with wengert.autograd.detect_anomaly():
    ...     wengert.autograd.anomaly_mode.is_anomaly_enabled()
    True
    """
    return anomaly.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly detection, where it is on, looks for nan.

    >>> import wengert
    >>> wengert.autograd.anomaly_mode.is_anomaly_check_nan_enabled()
    True
    """
    return anomaly.check_nan


def set_anomaly_enabled(enabled: bool, check_nan: bool = True, check_writes: bool = False) -> None:
    """Turn anomaly detection on or off, for all threads (`check_writes` for this one).

    >>> import wengert
    >>> wengert.autograd.anomaly_mode.set_anomaly_enabled(False)
    """
    flags = {"enabled": enabled, "check_nan": check_nan, "check_writes": check_writes}
    for position, (name, value) in enumerate(flags.items(), 1):
        if not isinstance(value, bool):
            raise TypeError(
                f"set_anomaly_enabled(): argument '{name}' (position {position}) must be bool,"
                f" not {type(value).__name__}"
            )
    anomaly.enabled, anomaly.check_nan = enabled, check_nan
    anomaly.check = _check if enabled and check_nan else None
    watch(enabled and check_writes)


class set_detect_anomaly:  # noqa: N801 (PyTorch's name)
    """Turn anomaly detection on or off by a flag; works as a call or as a context.

    >>> import wengert
    >>> with wengert.autograd.set_detect_anomaly(False):
    ...     wengert.autograd.anomaly_mode.is_anomaly_enabled()
    False
    """

    def __init__(self, mode: bool, check_nan: bool = True, check_writes: bool = False) -> None:
        self._before = anomaly.enabled, anomaly.check_nan, anomaly.check_writes
        set_anomaly_enabled(mode, check_nan, check_writes)

    def __enter__(self) -> None:
        pass

    @without_entry_signals
    def __exit__(self, *exception: object) -> None:
        call_despite_signals(set_anomaly_enabled, *self._before)


class detect_anomaly:  # noqa: N801
    """A context in which a backward raises RuntimeError where a derivative is nan.

    The error names the operation, its line and module, the first nan element, the gradient that
    arrived and the saved values. No gradient is added, and the graph stays intact.

    Args:
        check_nan: look for nan.
        check_writes: also store a digest of everything this thread's operations save, and
            raise SavedTensorOverwrittenError before a backward begins if NumPy, or other
            code that shares the memory, has written to it since. Costs one pass over
            every saved value when it is saved and one when it is used.

    >>> import wengert
    >>> x = wengert.tensor([4.0, 0.0], requires_grad=True)
    >>> with wengert.autograd.detect_anomaly():
    ...     try:
    ...         (x.sqrt() * 0).sum().backward()
    ...     except RuntimeError as error:
    ...         print(str(error).splitlines()[0])
    Function 'SqrtBackward0' returned nan values in its 0th output.
    """

    def __init__(self, check_nan: bool = True, check_writes: bool = False) -> None:
        self._before = anomaly.enabled, anomaly.check_nan, anomaly.check_writes
        self._check_nan, self._check_writes = check_nan, check_writes

    def __enter__(self) -> None:
        try:
            set_anomaly_enabled(True, self._check_nan, self._check_writes)
        except BaseException:
            set_anomaly_enabled(*self._before)
            raise

    @without_entry_signals
    def __exit__(self, *exception: object) -> None:
        call_despite_signals(set_anomaly_enabled, *self._before)


def _check(walk: Walk, node: Node, g: Any, grads: Grads) -> None:
    """Raise if a derivative holds a nan; with no derivatives, if the arriving gradient does."""
    last = None
    for k, value in enumerate(grads):
        if value is None or value is last:
            continue
        if _has_nan(value):
            raise _nan_error(walk, node, g, grads, k)
        last = value
    if not grads and _has_nan(g):
        raise _nan_error(walk, node, g, grads, 0)


def _has_nan(g: Any) -> bool:
    """Whether a gradient holds a nan. Exact: sums, where inf - inf gives nan, are not relied on."""
    if type(g) is not np.ndarray:
        g = _array(g)
        if g is None:
            return False
    if not g.flags.c_contiguous:
        g = _distinct(g)
    try:
        value = g.item(g.argmax())  # the first nan, if there is one
    except ValueError:
        return False  # no elements
    return bool(value != value)


def _array(g: Any) -> Any:
    if isinstance(g, SparseTensor):
        g = g._stored
    if isinstance(g, Tensor):
        return memory_of(g)
    if isinstance(g, Deferred):
        return g.dense()
    # Gradients on their way to an operation with several outputs have been checked already.
    return None if type(g) is Partial else np.asarray(g)


def _distinct(g: np.ndarray) -> np.ndarray:
    """The elements of an array in memory order, without those repeated by expansion."""
    repeated = tuple([slice(1) if step == 0 else slice(None) for step in g.strides])
    return g[repeated].ravel("K")


def _nan_error(walk: Walk, node: Node, g: Any, grads: Grads, k: int) -> Exception:
    """The error: where, which element, and the inputs of the derivative."""
    bad = _array(grads[k] if grads else g)
    nans = np.isnan(bad)
    index = tuple(int(i) for i in np.unravel_index(int(nans.argmax()), bad.shape))
    count = f"{int(nans.sum())} of {bad.size} elements"
    head = f"Function '{node.name()}' returned nan values in its {k}th output."
    facts = [
        ("this call", naming.describe_call(walk.call)),
        ("made by", naming.describe_node(node)),
        ("first nan", f"{_at(index)}, shape {list(bad.shape)}, {count}"),
    ]
    if not grads:
        cause = (
            "the gradients that arrive there have a nan sum: some were inf and some -inf,"
            " or a hook or the gradient given to this call had it"
        )
    else:
        cause = _cause(node, _array(g), index, bad.shape, facts)
    text = message("nan-gradient", head, facts, cause=f"Cause: {cause}")
    return errors.NanGradientError(text)


def _cause(
    node: Node, arrived: Any, index: tuple[int, ...], shape: tuple[int, ...],
    facts: list[tuple[str, str]],
) -> str:  # fmt: skip
    """The cause of a nan derivative; adds its inputs to the facts."""
    if arrived is not None:
        facts.append(("arrived", _describe_array(arrived, index, shape)))
    blame = ""
    for slot, owner in node.saved:
        value = getattr(node, slot)
        if type(value) is not np.ndarray or value.dtype.kind not in "fcV":
            continue
        name = slot.removeprefix("s_")
        facts.append(("saved", f"{name} = {_describe_array(value, index, shape)}"))
        if not blame and _has_nan(value):
            blame = _blame_saved_value(node, name, owner)
    if arrived is not None and _has_nan(arrived):
        blame = (
            "what arrived was nan already: inf and -inf were added on the way here, or a hook"
            " or the gradient given to this call had it"
        )
    return blame or "nothing that went in was nan; it arose in this derivative"


def _blame_saved_value(node: Node, name: str, owner: int | None) -> str:
    """The message for a saved value that is nan."""
    source = None if owner is None or owner < 0 else node.edges[owner]
    if source is None or type(source) is Leaf:
        where = f"in {naming.describe_node(node)}"
    else:
        where = f"after {naming.describe_node(source)}"
    return f"the forward was nan already: {name}, {where}"


def _describe_array(value: np.ndarray, index: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """The element of `value` matching the bad one, if that can be told, and its flaws."""
    flaws = [what for what, has in (("nan", np.isnan), ("inf", np.isinf)) if bool(has(value).any())]
    summary = f"shape {list(value.shape)}, {' and '.join(flaws) or 'all finite'}"
    try:
        element = np.broadcast_to(value, shape)[index]
    except ValueError:
        return summary
    return (
        f"{element.item()!r} at {_at(index)} ({summary})" if value.ndim else f"{element.item()!r}"
    )


def _at(index: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, index))}]"
