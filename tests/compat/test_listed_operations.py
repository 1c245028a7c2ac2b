"""Operations that PyTorch's tests go through: their samples give what PyTorch gives of them."""

from __future__ import annotations

from functools import reduce
from itertools import islice
from typing import Any

import numpy as np
import pytest

import wengert
from wengert import Tensor
from wengert.compat._private.harness.layers.lists import module_db
from wengert.compat._private.harness.operations import foreach, lists
from wengert.compat._private.harness.operations.elementwise import (
    generate_elementwise_binary_broadcasting_tensors as broadcasting,
)
from wengert.compat._private.harness.operations.elementwise import (
    generate_elementwise_binary_large_value_tensors as large_pairs,
)
from wengert.compat._private.harness.operations.elementwise import (
    generate_elementwise_binary_with_scalar_samples as with_numbers,
)
from wengert.compat._private.harness.operations.elementwise import (
    generate_elementwise_unary_extremal_value_tensors as extremal,
)
from wengert.compat._private.harness.operations.elementwise import (
    generate_elementwise_unary_small_value_tensors as small,
)
from wengert.compat._private.harness.operations.elementwise import (
    generate_elementwise_unary_tensors as plain,
)
from wengert.compat._private.harness.operations.recipes import Arranged
from wengert.compat._private.harness.operations.records import OpInfo
from wengert.core.dtypes import dtype as dtype_type

_BY_NAME = {op.full_name: op for op in lists.op_db}
# Its numbers are random.
_NOT_COMPARED = {"nn.functional.rrelu"}
# Whole numbers, which jump where a quotient of few digits is rounded another way.
_WHOLE = {
    "div.trunc_rounding",
    "div.floor_rounding",
    "floor_divide",
    "fmod",
    "remainder",
    "__rmod__",
}
_HALVES = {wengert.float16, wengert.bfloat16}
_TOLERANCES = {
    "float16": 2e-2, "bfloat16": 1e-1, "float32": 1e-4, "complex64": 1e-4, "float64": 1e-6,
    "complex128": 1e-6,
}  # fmt: skip


def _to(torch: Any, x: Any) -> Any:
    """The same in PyTorch: tensors, dtypes, and what holds them."""
    if isinstance(x, Tensor):
        wide = x.detach().float() if x.dtype == wengert.bfloat16 else x.detach()
        made = torch.from_numpy(np.array(wide.numpy())).to(getattr(torch, x.dtype.name))
        return made.requires_grad_(x.requires_grad)
    if isinstance(x, dtype_type):
        return getattr(torch, x.name)
    if type(x) in (list, tuple):
        return type(x)(_to(torch, part) for part in x)
    return {k: _to(torch, v) for k, v in x.items()} if isinstance(x, dict) else x


def _function(torch: Any, op: OpInfo) -> Any:
    path = op.op.path if isinstance(op.op, Arranged) else op.name
    method = getattr(torch.Tensor, op.name, None)
    if op.name in ("T", "H", "mT", "mH"):
        return method.__get__
    if op.op is getattr(Tensor, op.name, None):
        return method
    function = reduce(getattr, path.split("."), torch)
    if isinstance(op.op, Arranged):
        return lambda *args, **kwargs: op.op.call(function, *args, **kwargs)
    return function


def _flat(x: Any) -> list[Any]:
    return [y for part in x for y in _flat(part)] if isinstance(x, list | tuple) else [x]


def _compare(torch: Any, op: OpInfo, dtype: dtype_type) -> None:
    theirs = _function(torch, op)
    tolerance = _TOLERANCES.get(dtype.name, 1e-4)
    for sample in islice(op.sample_inputs("cpu", dtype), 3):
        expected = _flat(
            theirs(_to(torch, sample.input), *_to(torch, sample.args),
                   **_to(torch, sample.kwargs))
        )  # fmt: skip
        results = _flat(op(sample.input, *sample.args, **sample.kwargs))
        for ours, other in zip(results, expected, strict=True):
            if not isinstance(ours, Tensor):
                assert ours == other or ours != ours, (op, dtype)
                continue
            torch.testing.assert_close(
                _to(torch, ours), other.resolve_conj().resolve_neg().detach(), rtol=tolerance,
                atol=tolerance, equal_nan=True, msg=lambda text: f"{op} {dtype}: {text}",
            )  # fmt: skip


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::UserWarning")  # of both libraries, about what they discard
@pytest.mark.parametrize("part", range(3))
def test_samples_agree_with_pytorch(torch: Any, part: int) -> None:
    for i, op in enumerate(lists.op_db[part::3]):
        if op.full_name in _NOT_COMPARED:
            continue
        # One dtype each, another one for the next: together they are all that are listed.
        dtypes = sorted(op.dtypes - (_HALVES if op.full_name in _WHOLE else set()), key=str)
        _compare(torch, op, dtypes[i % len(dtypes)])


def test_lists_are_in_order() -> None:
    assert len(_BY_NAME) == len(lists.op_db) > 550
    assert [*map(len, (lists.reduction_ops, lists.spectral_funcs, lists.shape_funcs))] == [
        15,
        18,
        2,
    ]
    assert len(lists.unary_ufuncs) > 100
    assert len(lists.binary_ufuncs) > 60
    for op in lists.op_db:
        assert op.dtypes, op
        assert op.supported_backward_dtypes("cpu") <= op.dtypes, op
        for form in (*op.aliases, op.op):
            assert callable(form), op
        for form in (op.get_method(), op.get_inplace(), op.get_operator()):
            assert form is None or callable(form), op
    names = [info.formatted_name for info in module_db]
    assert len({*names}) == len(names) > 100


@pytest.mark.parametrize("name", ["sin", "log", "acos", "bitwise_not", "isnan", "angle"])
def test_generators_of_one_operand_stay_in_the_domain(name: str) -> None:
    op = _BY_NAME[name]
    low, high = op.domain
    for dtype in (wengert.float32, wengert.int8, wengert.uint8, wengert.bool, wengert.complex64):
        if dtype not in op.dtypes:
            continue
        for make in (small, plain):
            for sample in make(op, device="cpu", dtype=dtype):
                assert sample.input.dtype == dtype
                if dtype.is_floating_point and sample.input.numel():
                    assert low is None or sample.input.min() > low
                    assert high is None or sample.input.max() < high
                op(sample.input)
    if wengert.float32 in op.dtypes:
        (sample,) = extremal(op, device="cpu", dtype=wengert.float32)
        assert sample.input.isinf().any()


def test_generators_of_two_operands() -> None:
    op = _BY_NAME["true_divide"]
    for make in (broadcasting, large_pairs, with_numbers):
        for sample in make(op, device="cpu", dtype=wengert.float32):
            result = op(sample.input, *sample.args)
            assert not result.isnan().any()
    samples = [*with_numbers(op, device="cpu", dtype=wengert.float32)]
    assert all(isinstance(sample.args[0], float) for sample in samples)
    assert [*large_pairs(op, device="cpu", dtype=wengert.bool)] == []


def test_functions_of_lists_do_what_their_references_do() -> None:
    groups = [
        *foreach.foreach_unary_op_db, *foreach.foreach_binary_op_db,
        *foreach.foreach_pointwise_op_db, *foreach.foreach_reduce_op_db,
        *foreach.foreach_other_op_db,
    ]  # fmt: skip
    for op in groups:
        dtype = wengert.float64 if wengert.float64 in op.dtypes else wengert.float32
        for sample in op.sample_inputs("cpu", dtype):
            results = op(sample.input, *sample.args)
            expected = [op.ref(*xs) for xs in zip(sample.input, *sample.args, strict=True)]
            for a, b in zip(results, expected, strict=True):
                wengert.testing.assert_close(a, b, equal_nan=True)
