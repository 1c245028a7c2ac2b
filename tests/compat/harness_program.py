"""Tests written as PyTorch's own are. `test_harness` runs them on wengert and on PyTorch."""

import contextlib
import io
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
    ADDRESS_IN_USE,
    FILE_SCHEMA,
    BytesIOContext,
    LazyVal,
    SwapTensorsGuard,
    TestCase,
    bytes_to_scalar,
    coalescedonoff,
    decorateIf,
    disable_gc,
    do_test_dtypes,
    do_test_empty_full,
    freeze_rng_state,
    gradcheck,
    gradgradcheck,
    instantiate_parametrized_tests,
    is_coalesced_indices,
    lazy_skip_if,
    make_tensor,
    noncontiguous_like,
    numpy_to_torch_dtype,
    parametrize,
    patch_test_members,
    raise_on_run_directly,
    random_hermitian_pd_matrix,
    random_matrix_with_scaled_reduction_dim,
    random_sparse_matrix,
    random_sparse_pd_matrix,
    recover_orig_fp32_precision,
    reparametrize,
    retry,
    retry_on_connect_failures,
    run_concurrently,
    set_default_dtype,
    set_default_tensor_type,
    skip_but_pass_in_sandcastle_if,
    skip_exception_type,
    skip_if_pytest,
    skipIfNoLapack,
    skipIfPythonVersionMismatch,
    subtest,
    suppress_warnings,
    swap,
    with_ieee_matmul_precision,
    xfail_inherited_tests,
)


class TestCreation(TestCase):
    def test_dtypes(self):
        do_test_dtypes(self, [torch.int32, torch.float64], torch.strided, torch.device("cpu"))

    def test_empty_full(self):
        do_test_empty_full(self, [torch.int32, torch.float64], torch.strided, torch.device("cpu"))


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


def even(name, arguments):
    yield (f"{name}_even", arguments) if arguments["x"] % 2 == 0 else None


class TestAttempts(TestCase):
    depth = 1

    @reparametrize(parametrize("x", range(4)), even)
    def test_adapted(self, x):
        self.assertIn(x, (0, 2))

    @swap([True, False])
    def test_swapped(self):
        before = torch.__future__.get_swap_module_params_on_conversion()
        with SwapTensorsGuard(not before):
            self.assertEqual(torch.__future__.get_swap_module_params_on_conversion(), not before)
        self.assertEqual(torch.__future__.get_swap_module_params_on_conversion(), before)

    def test_tried_again(self):
        calls = []

        @retry(ValueError, tries=3, delay=0)
        def third():
            calls.append(1)
            if len(calls) < 3:
                raise ValueError
            return "third"

        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(third(), "third")
        calls.clear()

        @retry_on_connect_failures
        def second():
            calls.append(1)
            if len(calls) < 2:
                raise RuntimeError(f"connect: {ADDRESS_IN_USE}")

        second()
        self.assertEqual(len(calls), 2)
        with self.assertRaises(unittest.SkipTest), skip_exception_type(NotImplementedError):
            raise NotImplementedError

        @retry(ValueError, tries=2, delay=0, skip_after_retries=True)
        def never():
            raise ValueError("never")

        with contextlib.redirect_stdout(io.StringIO()):
            self.assertRaises(unittest.SkipTest, never)

    def test_at_once(self):
        self.assertEqual(run_concurrently(lambda k: k + 1, 3, args=(1,)), [2, 2, 2])
        self.assertRaises(ZeroDivisionError, run_concurrently, lambda: 1 / 0, 2)

    @lazy_skip_if(lambda: True, "always")
    def test_skipped_late(self):
        self.fail("not reached")

    @skipIfPythonVersionMismatch(lambda major, minor, micro: major == 2)
    def test_another_python(self):
        self.fail("not reached")

    @skip_but_pass_in_sandcastle_if(True, "always")
    def test_passed_elsewhere(self):
        self.fail("not reached")

    @skip_if_pytest
    @patch_test_members({"depth": 2})
    def test_members(self):
        self.assertEqual(self.depth, 2)

    @coalescedonoff
    def test_coalesced(self, coalesced):
        x = torch.sparse_coo_tensor([[1, 0]], [1.0, 2.0], (2,))
        x = x.coalesce() if coalesced else x
        self.assertEqual(is_coalesced_indices(x), coalesced)

    @recover_orig_fp32_precision
    def test_precision(self):
        torch.backends.cudnn.conv.fp32_precision = "ieee"

    @with_ieee_matmul_precision
    def test_products(self):
        self.assertEqual(torch.backends.cuda.matmul.fp32_precision, "ieee")

    def test_values(self):
        self.assertTrue(LazyVal(lambda: 1))
        self.assertEqual(FILE_SCHEMA[:7], "file://")
        self.assertEqual(bytes_to_scalar([0, 0, 128, 63], torch.float, "cpu"), torch.tensor(1.0))
        self.assertEqual(numpy_to_torch_dtype(torch.ones(1).numpy().dtype), torch.float32)
        self.assertRaises(RuntimeError, raise_on_run_directly, "all.py")
        with set_default_tensor_type(torch.DoubleTensor):
            self.assertEqual(torch.ones(1).dtype, torch.float64)

    def test_matrices(self):
        self.assertEqual(random_matrix_with_scaled_reduction_dim(2, 3, 4).shape, (4, 2, 3))
        a = random_sparse_matrix(8, 6, density=0.3).to_dense()
        self.assertEqual(torch.linalg.matrix_rank(a), 6)
        b = random_sparse_pd_matrix(8, density=0.3).to_dense()
        self.assertEqual(b, b.T)
        self.assertGreater(torch.linalg.eigvalsh(b).min(), 0.0)


class Given(TestCase):
    def test_fails(self):
        self.assertFalse(type(self) is TestInherited)


@xfail_inherited_tests(["test_fails"])
class TestInherited(Given):
    pass


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
instantiate_parametrized_tests(TestAttempts)
instantiate_device_type_tests(TestDevices, globals())

suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
result = unittest.TestResult()
suite_names = sorted(test.id().partition(".")[2] for group in suite for test in group)
suite.run(result)
print(*suite_names, sep="\n")
print("skipped", *sorted(test.id().partition(".")[2] for test, _ in result.skipped))
print("failed", [(t.id(), text) for t, text in result.failures + result.errors])
print("expected", len(result.expectedFailures), result.unexpectedSuccesses)
