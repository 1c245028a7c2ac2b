"""`ops`: a test for each operation of a list and each of its dtypes."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import Any

from wengert.compat._private.harness.dtype_lists import get_all_dtypes
from wengert.compat._private.harness.parameters import Case, _TestParametrizer
from wengert.core import dtypes as kinds
from wengert.core.dtypes import dtype as dtype_type

_DEVICE = "cpu"

OpDTypes = Enum(
    "OpDTypes",
    "supported unsupported supported_backward unsupported_backward any_one none"
    " any_common_cpu_cuda_one",
    start=0,
)

ANY_DTYPE_ORDER = (
    kinds.float32, kinds.float64, kinds.complex64, kinds.complex128, kinds.float16,
    kinds.bfloat16, kinds.int64, kinds.int32, kinds.int16, kinds.int8, kinds.uint8, kinds.bool_,
)  # fmt: skip


def no_cases(test: Callable[..., Any], what: str) -> Iterator[Case]:
    """One case, which is skipped: the list that a test goes through is empty."""
    yield Case("none", {}, (unittest.skip(f"{test.__name__} goes through no {what}"),))


def _one(dtypes: Iterable[dtype_type]) -> set[dtype_type]:
    return {next(dtype for dtype in ANY_DTYPE_ORDER if dtype in dtypes)} if dtypes else set()


def _dtypes_for(op: Any, wanted: Any) -> set[Any]:
    """The dtypes of an operation that a test runs with."""
    if isinstance(wanted, Sequence):
        return {*wanted}
    forward, backward = {*op.supported_dtypes(_DEVICE)}, op.supported_backward_dtypes(_DEVICE)
    choices: dict[Any, Callable[[], set[Any]]] = {
        OpDTypes.supported: lambda: forward,
        OpDTypes.unsupported: lambda: {*get_all_dtypes()} - forward,
        OpDTypes.supported_backward: lambda: backward,
        OpDTypes.unsupported_backward: lambda: {*get_all_dtypes()} - backward,
        OpDTypes.any_one: lambda: _one(forward & backward or forward),
        OpDTypes.any_common_cpu_cuda_one: lambda: _one(forward & {*op.dtypesIfCUDA}),
        OpDTypes.none: lambda: {None},
    }
    if wanted not in choices:
        raise RuntimeError(f"argument 'dtypes' is {wanted!r}, expected dtypes or an OpDTypes")
    return choices[wanted]()


class ops(_TestParametrizer):
    """Run a test for each operation of `op_list`, as `op`, and each of the dtypes, as `dtype`."""

    def __init__(
        self, op_list: Iterable[Any], *, dtypes: Any = OpDTypes.supported,
        allowed_dtypes: Sequence[dtype_type] | None = None, skip_if_dynamo: bool = True,
    ) -> None:  # fmt: skip
        self.op_list, self.opinfo_dtypes = [*op_list], dtypes
        self.allowed_dtypes = None if allowed_dtypes is None else {*allowed_dtypes}

    def _cases(self, test: Callable[..., Any]) -> Iterator[Case]:
        if not self.op_list:
            yield from no_cases(test, "operation")
        for op in self.op_list:
            dtypes = _dtypes_for(op, self.opinfo_dtypes)
            if self.allowed_dtypes is not None:
                dtypes &= self.allowed_dtypes
            for dtype in sorted(dtypes, key=str):
                arguments = {"op": op} | ({} if dtype is None else {"dtype": dtype})
                yield Case(op.formatted_name, arguments, subject=op)


__all__ = ["ANY_DTYPE_ORDER", "OpDTypes", "ops"]
