"""Tests that go through operations, as PyTorch's own do. `test_harness` runs them on both."""

import sys
import unittest

import torch
from torch.testing._internal.common_device_type import (
    OpDTypes,
    instantiate_device_type_tests,
    ops,
    tol,
    toleranceOverride,
)
from torch.testing._internal.common_methods_invocations import (
    ReductionOpInfo,
    UnaryUfuncInfo,
    binary_ufuncs,
    op_db,
    reduction_ops,
    unary_ufuncs,
)
from torch.testing._internal.common_utils import TestCase, gradcheck, parametrize
from torch.testing._internal.opinfo.core import DecorateInfo, OpInfo, SampleInput

NAMES = "sin abs nn.functional.relu add maximum sum amax addmm cat split polygamma".split()
LISTED = [op for op in op_db if op.name in NAMES]


def doubled(op, device, dtype, requires_grad, **kwargs):
    for n in (0, 3):
        x = torch.ones(n, device=device, dtype=dtype, requires_grad=requires_grad)
        yield SampleInput(x, 2).with_metadata(name=f"of {n}")


OWN = OpInfo(
    "mul",
    variant_test_name="by.two",
    dtypes=(torch.float32, torch.int64),
    sample_inputs_func=doubled,
    decorators=[
        DecorateInfo(unittest.skip("there"), "TestOperations", "test_skipped"),
        DecorateInfo(unittest.skip("elsewhere"), "TestOthers", "test_own"),
        DecorateInfo(unittest.expectedFailure, test_name="test_own", dtypes=[torch.int64]),
        DecorateInfo(
            toleranceOverride({torch.float32: tol(atol=0.5, rtol=0)}), test_name="test_own"
        ),
    ],
)


class TestOperations(TestCase):
    @ops(LISTED)
    def test_variants(self, device, dtype, op):
        for sample in op.sample_inputs(device, dtype):
            expected = op(sample.input, *sample.args, **sample.kwargs)
            for form in (op.get_method(), op.get_operator()):
                if (
                    form is not None
                    and isinstance(sample.input, torch.Tensor)
                    and not sample.kwargs
                ):
                    self.assertEqual(form(sample.input, *sample.args), expected)
            strided = sample.noncontiguous()
            result = op(strided.input, *strided.args, **strided.kwargs)
            self.assertEqual(result, expected, rtol=1e-2, atol=1e-2)

    @ops([op for op in unary_ufuncs + binary_ufuncs if op.name in NAMES], dtypes=OpDTypes.any_one)
    def test_references(self, device, dtype, op):
        for sample in op.reference_inputs(device, dtype):
            if op.ref is None or sample.input is None:
                continue
            n = sample.numpy()
            expected = torch.as_tensor(op.ref(n.input, *n.args, **n.kwargs))
            result = op(sample.input, *sample.args, **sample.kwargs)
            self.assertEqual(result, expected, exact_dtype=False, rtol=1e-4, atol=1e-5)

    @ops(
        [op for op in LISTED if op.name != "polygamma"],
        dtypes=OpDTypes.supported_backward,
        allowed_dtypes=(torch.double,),
    )
    def test_gradients(self, device, dtype, op):
        sample = next(iter(op.sample_inputs(device, dtype, requires_grad=True)))
        given = sample.input if isinstance(sample.input, (list, tuple)) else [sample.input]
        whole = given is sample.input
        inputs = tuple(x for x in given if x.requires_grad)

        def f(*xs):
            return op.gradcheck_wrapper(op, xs if whole else xs[0], *sample.args, **sample.kwargs)

        self.assertTrue(not inputs or gradcheck(f, inputs))

    @ops([op for op in reduction_ops if op.name in NAMES], dtypes=OpDTypes.none)
    @parametrize("keepdim", [False, True])
    def test_reductions(self, device, op, keepdim):
        self.assertIsInstance(op, ReductionOpInfo)
        x = torch.ones(2, 3, device=device)
        self.assertEqual(op(x, dim=1, keepdim=keepdim).ndim, 1 + keepdim)
        self.assertEqual(op.nan_policy, "propagate")

    @ops([op for op in binary_ufuncs if op.name in ("add", "maximum")], dtypes=OpDTypes.none)
    def test_errors(self, device, op):
        for error in op.error_inputs(device):
            sample = error.sample_input
            with self.assertRaisesRegex(error.error_type, error.error_regex):
                op(sample.input, *sample.args, **sample.kwargs)

    @ops([OWN])
    def test_own(self, device, dtype, op):
        samples = list(op.sample_inputs(device, dtype))
        self.assertEqual([s.name for s in samples], ["of 0", "of 3"])
        self.assertEqual(op(samples[1].input, *samples[1].args), torch.full((3,), 2.4).to(dtype))
        self.assertTrue(dtype == torch.float32)

    @ops([OWN], allowed_dtypes=[torch.float32])
    def test_skipped(self, device, dtype, op):
        self.fail("not reached")

    @ops([OWN], dtypes=(torch.half, torch.int64))
    def test_given(self, device, dtype, op):
        self.assertEqual(op.supports_dtype(dtype, "cpu"), dtype == torch.int64)
        self.assertEqual(op.full_name, "mul.by.two")

    def test_of_no_device(self, device):
        sine = next(op for op in unary_ufuncs if op.name == "sin")
        self.assertIsInstance(sine, UnaryUfuncInfo)
        self.assertTrue(sine.op is torch.sin and sine.get_inplace() is torch.Tensor.sin_)
        self.assertTrue(sine.supports_forward_ad and sine.supports_out)
        sample = SampleInput(torch.ones(2, 3), 1, kw=(torch.float32, [torch.ones(1)]))
        self.assertIn("size=(2, 3)", sample.summary())
        other = sample.transform(lambda x: x.sum() if isinstance(x, torch.Tensor) else "dtype")
        self.assertEqual(other.kwargs["kw"], ("dtype", [torch.tensor(1.0)]))
        with self.assertRaises(AssertionError):
            SampleInput(1, 2, args=(3,))


instantiate_device_type_tests(TestOperations, globals())

suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
result = unittest.TestResult()
print(*sorted(test.id().partition(".")[2] for group in suite for test in group), sep="\n")
suite.run(result)
print("skipped", *sorted(test.id().partition(".")[2] for test, _ in result.skipped))
print("failed", [(t.id(), text) for t, text in result.failures + result.errors])
print("expected", len(result.expectedFailures), result.unexpectedSuccesses)
