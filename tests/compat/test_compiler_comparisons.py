"""How PyTorch's tests of its compilers compare results, and what they make their inputs of."""

from __future__ import annotations

import types
import unittest
from typing import Any

import numpy as np
import pytest

import wengert
from wengert import compiler
from wengert.compat._private import compiler_tests, dynamo_settings
from wengert.compat._private.compiler_comparisons import (
    clone_me,
    empty_line_normalizer,
    ifdynstaticdefault,
    istype,
    rand_strided,
    reduce_to_scalar_loss,
    remove_trailing_space,
    requires_bwd_pass,
    rmse,
    same,
)

ONES = wengert.ones(3)
NAN = wengert.tensor([float("nan")])
NEAR, FAR = ONES + 5e-5, ONES + 5e-3


@pytest.mark.parametrize(
    ("ref", "res", "options", "expected"),
    [
        (ONES, NEAR, {}, True),
        (ONES, FAR, {}, False),
        (ONES, FAR, {"tol": 1e-2}, True),
        (ONES, FAR, {"cos_similarity": True}, True),
        (ONES, -ONES, {"cos_similarity": True}, False),
        (ONES, ONES.double(), {}, False),
        (ONES, ONES.double(), {"exact_dtype": False}, True),
        (ONES, wengert.ones(2), {}, False),
        (ONES, 1.0, {}, False),
        (NAN, NAN, {}, False),
        (NAN, NAN, {"equal_nan": True}, True),
        (ONES.long(), ONES.long() * 2, {}, False),
        (ONES.long(), ONES.long() * 2, {"ignore_non_fp": True}, True),
        ([ONES, {"a": (1.0, None)}], [NEAR, {"a": (1.00001, None)}], {}, True),
        ([ONES], [ONES, ONES], {}, False),
        ({"a": 1}, {"b": 1}, {}, False),
        ({"a": 1}, {"a": 2}, {}, False),
        ({1, 2}, {2, 1}, {}, True),
        (np.ones(2), np.ones(2) + 1e-5, {}, True),
        ("text", "text", {}, True),
        (types.SimpleNamespace(x=1), types.SimpleNamespace(x=1), {}, True),
    ],
)
def test_same(ref: Any, res: Any, options: dict[str, Any], expected: bool) -> None:
    assert same(ref, res, **options) is expected


def test_same_of_objects_and_of_other_containers() -> None:
    class Output:
        def __init__(self, x: Any) -> None:
            self.x = x

    assert same(Output(ONES), Output(NEAR))
    assert not same(Output(ONES), Output(FAR))
    for ref, res in (([ONES], {"a": ONES}), ({"a": ONES}, [ONES])):
        with pytest.raises(AssertionError):
            same(ref, res)


def test_inputs_and_losses() -> None:
    x = rand_strided((2, 3), (1, 4), wengert.float64)
    assert (x.shape, x.stride(), x.dtype) == ((2, 3), (1, 4), wengert.float64)
    assert rand_strided((0, 3), (3, 1)).shape == (0, 3)
    leaf = clone_me((ONES * 2).requires_grad_())
    assert leaf.is_leaf
    assert leaf.requires_grad
    assert clone_me(None) is None
    assert reduce_to_scalar_loss([ONES, {"a": ONES * 2}]) == 1.5
    with pytest.raises(NotImplementedError, match="no loss of a result of type str"):
        reduce_to_scalar_loss("text")
    assert [requires_bwd_pass(out) for out in (ONES, leaf, [ONES, (leaf,)], "a")] == [
        False, True, True, False,
    ]  # fmt: skip
    assert rmse(ONES, ONES * 3) == 2
    assert [istype(True, bool), istype(True, int), istype([], (tuple, list))] == [True, False, True]
    assert empty_line_normalizer("a\n\n \nb") == "a\nb"
    assert remove_trailing_space("a \nb\t") == "a\nb"
    settings: Any = dynamo_settings
    with settings.patch(assume_static_by_default=False):
        assert ifdynstaticdefault(1, 2) == 2
    assert ifdynstaticdefault(1, 2) == 1


def test_nothing_is_compiled_before_and_after_a_test() -> None:
    double = compiler.compile(lambda x: x * 2)
    sizes = []

    class Case(compiler_tests.TestCase):
        def test(self) -> None:
            sizes.append(double.compiled.record.size)
            for _ in range(3):
                self.assertEqual(double(ONES), ONES * 2)  # noqa: PT009
            sizes.append(double.compiled.record.size)

    for _ in range(3):
        double(ONES)
    result = unittest.TestResult()
    Case("test").run(result)
    assert result.wasSuccessful()
    assert sizes == [0, sizes[1]]
    assert double.compiled.record.size == 0
