"""Tests written as PyTorch's own are. `test_harness` runs them on wengert and on PyTorch."""

import sys
import unittest
import warnings

import torch
from torch.testing._internal.common_cuda import TEST_CUDA
from torch.testing._internal.common_device_type import (
    deviceCountAtLeast,
    dtypes,
    dtypesIfCUDA,
    instantiate_device_type_tests,
    onlyCPU,
    onlyCUDA,
    precisionOverride,
    skipMeta,
    tol,
    toleranceOverride,
)
from torch.testing._internal.common_dtype import all_types_and_complex_and, floating_types_and
from torch.testing._internal.common_utils import (
    BytesIOContext,
    TestCase,
    decorateIf,
    disable_gc,
    freeze_rng_state,
    gradcheck,
    gradgradcheck,
    instantiate_parametrized_tests,
    make_tensor,
    noncontiguous_like,
    parametrize,
    random_hermitian_pd_matrix,
    set_default_dtype,
    skipIfNoLapack,
    subtest,
    suppress_warnings,
)


class TestParameters(TestCase):
    @parametrize("p", [0, 1.5, "text", None])
    @parametrize("q,r", [subtest((1, 2), name="small"), (3, 4)])
    def test_product(self, p, q, r):
        self.assertLess(q, r)

    @parametrize("x", [1, 2], name_fn=lambda x: f"number{x}")
    @decorateIf(unittest.expectedFailure, lambda params: params["x"] == 2)
    def test_decorated(self, x):
        self.assertEqual(x, 1)

    @parametrize("f", [torch.sin, torch.nn.ReLU, torch.float32])
    def test_functions(self, f):
        self.assertTrue(f)


class TestEquality(TestCase):
    def test_equal(self):
        ones = torch.ones(3)
        for x, y in [
            (ones, [1, 1, 1]),
            ({"a": ones, "b": (1, "x")}, {"a": ones, "b": [1, "x"]}),
            (torch.tensor(2), 2),
            (torch.tensor(2.0), 2),
            (1, 1.0),
            (torch.Size([1]), (1,)),
            (float("nan"), float("nan")),
            (ones, ones.numpy()),
            ({1, 2}, {2, 1}),
            (None, None),
            (torch.float32, torch.float32),
        ]:
            self.assertEqual(x, y)
        self.assertEqual(ones, ones.double(), exact_dtype=False)
        self.assertEqual(ones, ones + 0.1, atol=0.2, rtol=0)

    def test_not_equal(self):
        ones = torch.ones(3)
        for x, y in [
            (ones, [1, 1, 2]),
            (ones, ones.double()),
            (ones, torch.ones(1, 3)),
            ([1], [1, 2]),
            ({"a": 1}, {"b": 1}),
            ("x", "y"),
            (1, 2),
            (ones, ones + 1e-4),
            (ones, None),
            (True, False),
        ]:
            with self.assertRaises(AssertionError):
                self.assertEqual(x, y)
        self.assertNotEqual(ones, torch.zeros(3))
        with self.assertRaisesRegex(AssertionError, "what for"):
            self.assertEqual(1, 2, msg="what for")

    def test_seeds(self):
        first = torch.rand(3)
        self.setUp()
        self.assertEqual(torch.rand(3), first, atol=0, rtol=0)

    def test_tools(self):
        x = torch.randn(3, dtype=torch.double, requires_grad=True)
        self.assertTrue(gradcheck(torch.sin, x) and gradgradcheck(torch.sin, x))
        with freeze_rng_state():
            first = torch.rand(2)
        self.assertEqual(torch.rand(2), first, atol=0, rtol=0)
        with set_default_dtype(torch.double):
            self.assertEqual(torch.ones(1).dtype, torch.double)
        with disable_gc(), BytesIOContext() as file:
            torch.save(first, file)
        file.seek(0)
        self.assertEqual(torch.load(file), first)
        matrix = random_hermitian_pd_matrix(3, 2, dtype=torch.cdouble, device="cpu")
        self.assertTrue((torch.linalg.eigvalsh(matrix) > 0).all())

    @suppress_warnings
    @skipIfNoLapack
    def test_warnings(self):
        warnings.warn("nobody hears it", stacklevel=1)
        self.assertNotWarn(lambda: torch.ones(1))
        with self.assertWarnsOnceRegex(UserWarning, "once"):
            warnings.warn("once", stacklevel=1)


class TestDevices(TestCase):
    @dtypes(torch.float, torch.double)
    @dtypesIfCUDA(torch.half)
    @precisionOverride({torch.float: 0.5})
    def test_precision(self, device, dtype):
        x = torch.ones(2, device=device, dtype=dtype)
        self.assertEqual(x, x + (0.4 if dtype == torch.float else 0))

    @dtypes(torch.float, torch.double)
    @toleranceOverride({torch.double: tol(atol=0, rtol=0.5)})
    def test_tolerance(self, device, dtype):
        x = torch.ones(2, device=device, dtype=dtype)
        self.assertEqual(x + (0.4 if dtype == torch.double else 0), x)

    @unittest.expectedFailure
    def test_not_precise(self, device):
        self.assertEqual(torch.ones(2, device=device), torch.ones(2) + 0.4)

    @onlyCUDA
    def test_elsewhere(self, device):
        self.fail("there is no GPU")

    @onlyCPU
    @skipMeta
    def test_here(self, device):
        self.assertEqual(device, "cpu")
        self.assertFalse(TEST_CUDA)

    @deviceCountAtLeast(2)
    def test_two_devices(self, devices):
        self.fail("there is one")

    @dtypes(*all_types_and_complex_and(torch.bool, torch.half))
    @parametrize("k", [1, 2])
    def test_dtypes(self, device, dtype, k):
        x = make_tensor(k, 3, dtype=dtype, device=device)
        self.assertEqual(noncontiguous_like(x), x)
        self.compare_with_numpy(lambda x: x + x, lambda x: x + x, x)

    @dtypes((torch.float, torch.int), (torch.half, torch.long))
    def test_pairs(self, device, dtypes):
        self.assertEqual(len(dtypes), 2)
        self.assertIn(dtypes[0], floating_types_and(torch.half))


instantiate_parametrized_tests(TestParameters)
instantiate_device_type_tests(TestDevices, globals())

suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
result = unittest.TestResult()
suite_names = sorted(test.id().partition(".")[2] for group in suite for test in group)
suite.run(result)
print(*suite_names, sep="\n")
print("skipped", *sorted(test.id().partition(".")[2] for test, _ in result.skipped))
print("failed", [(t.id(), text) for t, text in result.failures + result.errors])
print("expected", len(result.expectedFailures), result.unexpectedSuccesses)
