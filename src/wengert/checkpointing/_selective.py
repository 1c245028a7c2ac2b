"""Selective checkpoints: a policy decides per operation whether its results are kept.

In the first run each result of an operation that the policy wants to save goes to a store;
in the second run the operation is not recomputed, but its node is made from that result.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Callable, Sequence
from inspect import Parameter
from typing import Any, NamedTuple

import numpy as np

from wengert.autograd.saved.packing import enter_saver, leave_saver, saver_stack
from wengert.checkpointing._aten import OpOverload, OpOverloadPacket, aten_function
from wengert.checkpointing._recompute import uncomputed_node
from wengert.core import storage
from wengert.core.messages import more
from wengert.core.signals import call_despite_signals, without_entry_signals
from wengert.core.tensor import Node, mode, tick, wrap
from wengert.ops.op import Op

# Operations for which no policy is consulted (functions, as a policy would get them).
SAC_IGNORED_OPS: set[Any] = set()


class CheckpointPolicy(enum.Enum):
    """What to do with an operation's result in a selective checkpoint.

    Results with `MUST_SAVE` or `PREFER_SAVE` are kept, all others are recomputed.

    >>> from wengert.utils.checkpoint import CheckpointPolicy
    >>> CheckpointPolicy.MUST_SAVE
    <CheckpointPolicy.MUST_SAVE: 0>
    """

    __module__ = "wengert.utils.checkpoint"  # the name of it in files, which PyTorch reads too

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_SAVE = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)
Policy = Callable[..., CheckpointPolicy | bool]


class SelectiveCheckpointContext:
    """Passed to a policy along with the operation and its arguments.

    Attributes:
        is_recompute: False; policies are asked in the first run only.
        op_output: the result of the operation.

    >>> from wengert.utils.checkpoint import SelectiveCheckpointContext
    >>> SelectiveCheckpointContext(is_recompute=False).op_output is None
    True
    """

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute, self.op_output = is_recompute, op_output


class _Entry(NamedTuple):
    """A result that was kept, and since when."""

    array: np.ndarray
    aux: dict[str, Any]
    time: int


# Of each operation, the calls of a run in order; None for one that is to be computed again.
Store = dict[Op, list[_Entry | None]]


class _Selecting:
    """A context consulted before operations run, which leaves nodes to the enclosing saver."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.around: Any = None

    def __enter__(self) -> None:
        self.around = saver_stack.entries[-1][0] if saver_stack.entries else None
        enter_saver(self)

    @without_entry_signals
    def __exit__(self, *exception: object) -> None:
        call_despite_signals(leave_saver, self)
        self.around = None

    def recorded(self, node: Node) -> Node:
        """The node as the saver around leaves it."""
        return node if self.around is None else self.around.recorded(node)

    def instead(self, op: Op, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
        """The result of an operation, or None to have it computed."""
        raise NotImplementedError


class _Keeping(_Selecting):
    """The first run: consults the policy, and keeps results accordingly."""

    def __init__(self, policy: Policy, store: Store) -> None:
        super().__init__(store)
        self.policy = policy
        self.asking = False
        self.aux: dict[str, Any] = {}

    def recorded(self, node: Node) -> Node:
        op = getattr(node, "op", None)
        self.aux = {name: getattr(node, f"s_{name}", None) for name in op.aux} if op else {}
        return super().recorded(node)

    def instead(self, op: Op, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
        function = aten_function(op, inputs)
        if self.asking or function in SAC_IGNORED_OPS:
            return None
        self.asking = True
        site = mode.site
        try:
            result = op(inputs, params)
            mode.site = None  # what the policy computes is no part of the run
            saves = self._ask(op, function, inputs, params, wrap(result._array))
        finally:
            self.asking, mode.site = False, site
        # A view costs nothing to recreate, and would keep all of its memory alive.
        entry = _Entry(result._array, self.aux, tick()) if saves and not op.view else None
        self.store[op].append(entry)
        return result

    def _ask(
        self, op: Op, function: Any, inputs: Sequence[Any], params: dict[str, Any], output: Any
    ) -> bool:
        by_name = {**dict(zip(op.inputs, inputs, strict=True)), **params}
        args, kwargs = [], {}
        for name, parameter in op.signature.parameters.items():
            if parameter.kind is Parameter.KEYWORD_ONLY:
                kwargs[name] = by_name[name]
            else:
                args.append(by_name[name])
        context = SelectiveCheckpointContext(is_recompute=False, op_output=output)
        answer = self.policy(context, function, *args, **kwargs)
        return answer if isinstance(answer, bool) else answer in _SAVE


class _Serving(_Selecting):
    """The second run: hands out the kept results."""

    def __init__(self, store: Store, allow_mutation: bool) -> None:
        super().__init__(store)
        self.allow_mutation = allow_mutation
        self.calls: dict[Op, int] = defaultdict(int)

    def __enter__(self) -> None:
        self.calls.clear()
        super().__enter__()

    def instead(self, op: Op, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
        function = aten_function(op, inputs)
        if function in SAC_IGNORED_OPS:
            return None
        entries, call = self.store.get(op, ()), self.calls[op]
        self.calls[op] += 1
        if call >= len(entries):
            invocation = f"invocation index {call} " if entries else ""
            raise RuntimeError(
                f"{function} {invocation}encountered during backward but not found in storage. This"
                " can happen if the operations in the checkpointed region are nondeterministic or"
                " depend on global state that changed between forward and backward.\n"
                + more("checkpoint-mismatch")
            )
        entry = entries[call]
        if entry is None:
            return None if self.around is None else self.around.instead(op, inputs, params)
        if not self.allow_mutation:
            _check_unwritten(entry, op)
        result = wrap(entry.array)
        node = uncomputed_node(op, inputs, params, result, entry.aux, entry.array.shape)
        result._edge = self.recorded(node)
        return result


def _check_unwritten(entry: _Entry, op: Op) -> None:
    write = storage.write_after(entry.array, entry.time)
    if write is not None:
        raise RuntimeError(
            "Tensor cached during selective activation checkpoint has been mutated: the result of"
            f" {op.public_name}, {entry.array.dtype.name} {list(entry.array.shape)}, by {write.by}"
            f" at {storage.quoted_location(write.code, write.lasti)}; use the out-of-place form"
            " there, or let the policy recompute it (allow_cache_entry_mutation=True takes it as it"
            " is)\n" + more("saved-tensor-overwritten")
        )


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Policy | list[Any], allow_cache_entry_mutation: bool = False
) -> tuple[Any, Any]:
    """Return the contexts of a checkpoint that keeps some results, for `context_fn`.

    Args:
        policy_fn_or_list: called as ``policy(ctx, op, *args, **kwargs)`` after each operation
            with a gradient, where `op` is the function (`wengert.mm`), and returns a
            `CheckpointPolicy`; or the list of functions whose results are to be saved.
        allow_cache_entry_mutation: use results that were written to since, instead of raising
            RuntimeError.

    >>> import functools, wengert
    >>> from wengert.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> x = wengert.ones(2, 2, requires_grad=True)
    >>> keep = functools.partial(create_selective_checkpoint_contexts, [wengert.mm])
    >>> y = checkpoint(lambda t: wengert.mm(t, t).exp().sum(), x, use_reentrant=False,
    ...                context_fn=keep)
    >>> y.backward()
    >>> x.grad
    tensor([[29.5562, 29.5562],
            [29.5562, 29.5562]])
    """
    store: Store = defaultdict(list)
    policy = _policy_of(policy_fn_or_list)
    return _Keeping(policy, store), _Serving(store, allow_cache_entry_mutation)


def _policy_of(policy_fn_or_list: Any) -> Policy:
    if not isinstance(policy_fn_or_list, list):
        if callable(policy_fn_or_list):
            return policy_fn_or_list
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    ops = policy_fn_or_list
    for op in ops:
        if isinstance(op, OpOverloadPacket):
            raise ValueError(
                f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}."
                f" Please update it to a specific OpOverload, {op._only}"
            )
        if not callable(op) and not isinstance(op, OpOverload):
            raise ValueError(
                f"Expected op in `op_list` to be a function, such as wengert.mm, but got: {op} of"
                f" type {type(op)}"
            )

    def policy(ctx: SelectiveCheckpointContext, op: Any, *args: Any, **kwargs: Any) -> Any:
        save = op in ops
        return CheckpointPolicy.MUST_SAVE if save else CheckpointPolicy.PREFER_RECOMPUTE

    return policy
