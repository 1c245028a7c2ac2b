"""Tests that go through operations, modules and optimizers, as PyTorch's own do.

`listed_tests.txt` is what PyTorch prints for it; `test_harness` compares.
"""

import sys
import unittest

import torch
from torch import nn
from torch._dynamo.test_case import TestCase as CompiledTestCase
from torch._dynamo.testing import CompileCounter, normalize_gm, same
from torch._inductor.test_case import TestCase as InductorTestCase
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
from torch.testing._internal.common_modules import TrainEvalMode, module_db, modules
from torch.testing._internal.common_nn import CriterionTest, NewModuleTest, NNTestCase
from torch.testing._internal.common_optimizers import TensorTracker, optim_db, optims
from torch.testing._internal.common_utils import (
    TestCase,
    freeze_rng_state,
    gradcheck,
    instantiate_parametrized_tests,
    make_dynamo_test,
    parametrize,
)
from torch.testing._internal.inductor_utils import GPU_TYPE, HAS_CPU, HAS_GPU, requires_gpu
from torch.testing._internal.logging_tensor import LoggingTensor, capture_logs, log_input
from torch.testing._internal.logging_utils import LoggingTestCase
from torch.testing._internal.opinfo.core import DecorateInfo, OpInfo, SampleInput
from torch.testing._internal.triton_utils import requires_cuda_and_triton
from torch.testing._internal.two_tensor import TwoTensor

NAMES = "sin nn.functional.relu add maximum sum cat special.polygamma".split()
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
    @ops(LISTED, allowed_dtypes=(torch.half, torch.float, torch.int32, torch.cfloat, torch.bool))
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

    @ops([op for op in unary_ufuncs if op.name == "sin"], dtypes=OpDTypes.any_one)
    def test_references(self, device, dtype, op):
        for sample in op.sample_inputs(device, dtype):
            n = sample.numpy()
            expected = torch.as_tensor(op.ref(n.input, *n.args, **n.kwargs))
            result = op(sample.input, *sample.args, **sample.kwargs)
            self.assertEqual(result, expected, exact_dtype=False, rtol=1e-4, atol=1e-5)

    @ops(
        [op for op in LISTED if op.name != "special.polygamma"],
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


class TestModules(TestCase):
    @modules([m for m in module_db if m.name in ("nn.Linear", "nn.BatchNorm1d", "nn.MSELoss")])
    def test_forward(self, device, dtype, training, module_info):
        for given in module_info.module_inputs_func(
            module_info, device=device, dtype=dtype, requires_grad=False, training=training
        ):
            built, called = given.constructor_input, given.forward_input
            module = module_info.module_cls(*built.args, **built.kwargs).to(dtype).train(training)
            with freeze_rng_state():
                out = module(*called.args, **called.kwargs)
            self.assertEqual(out.dtype, dtype)
            if given.reference_fn is not None:
                self.assertEqual(given.reference_fn(module, *called.args, **called.kwargs), out)

    @modules(
        [m for m in module_db if m.name == "nn.BatchNorm2d"],
        allowed_dtypes=[torch.double], train_eval_mode=TrainEvalMode.eval_only,
    )  # fmt: skip
    def test_one_mode(self, device, dtype, training, module_info):
        self.assertFalse(training)
        self.assertFalse(module_info.is_lazy)


class TestOptimizers(TestCase):
    @optims([o for o in optim_db if o.name in ("SGD", "Adam")], dtypes=[torch.float, torch.double])
    def test_foreach(self, device, dtype, optim_info):
        tracker = TensorTracker()
        for foreach in (False, True):
            for given in optim_info.optim_inputs_func(device=device):
                weight = nn.Parameter(torch.ones(2, 3, device=device, dtype=dtype))
                optimizer = optim_info.optim_cls([weight], foreach=foreach, **given.kwargs)
                for _ in range(2):
                    weight.grad = weight.detach().cos()
                    optimizer.step()
                    tracker.pop_check_set(weight, self) if foreach else tracker.add(weight)
        self.assertTrue(tracker.all_popped())

    @optims([o for o in optim_db if o.name == "SGD"])
    def test_errors(self, device, dtype, optim_info):
        for error in optim_info.optim_error_inputs_func(device, dtype):
            given = error.optimizer_error_input
            warns = issubclass(error.error_type, Warning)
            expect = self.assertWarnsRegex if warns else self.assertRaisesRegex
            with expect(error.error_type, error.error_regex):
                optim_info.optim_cls(given.params, **given.kwargs)


class TestNN(NNTestCase):
    def _forward(self, module, input):
        return module(*input) if isinstance(input, tuple) else module(input)

    def _backward(self, module, input, output, grad_output, create_graph=False):
        output.backward(grad_output, retain_graph=True, create_graph=create_graph)
        return input.grad

    def _forward_criterion(self, criterion, input, target, extra_args=None):
        return criterion(input, target, *(extra_args or ()))

    def _get_parameters(self, module):
        return [*module.parameters()], [p.grad for p in module.parameters()]

    def _zero_grad_parameters(self, module):
        module.zero_grad(set_to_none=False)

    def test_jacobian(self):
        x = torch.randn(2, 3, dtype=torch.double, requires_grad=True)
        self.check_jacobian(nn.Softplus(), x)
        with self.assertRaises(AssertionError):
            self.check_jacobian(Wrong(), x)


class Wrong(nn.Module):
    def forward(self, x):
        return x * x.detach()


def add_tests(kind, *rows):
    for row in rows:
        test = kind(**row, default_dtype=torch.double)
        assert not hasattr(TestNN, test.get_name())
        setattr(TestNN, test.get_name(), lambda self, test=test: test(self))


def clamped(x, parameters, module):
    return x.clamp_min(0)


add_tests(
    NewModuleTest,
    {"constructor": nn.Linear, "constructor_args": (3, 2), "input_size": (2, 3)},
    {"constructor": nn.ReLU, "input_size": (2, 3), "check_inplace": True, "reference_fn": clamped},
    {"constructor": nn.Tanh, "input_fn": lambda: torch.zeros(()), "desc": "of_one_number"},
)
add_tests(
    CriterionTest,
    {"constructor": nn.MSELoss, "input_size": (2, 3), "target_size": (2, 3),
     "reference_fn": lambda x, y, module: (x - y).square().mean()},
)  # fmt: skip


class TestCompiled(CompiledTestCase):
    @parametrize("n", [1, 2])
    def test_same(self, n):
        f = torch.compile(lambda x: x.sin() * n, backend="eager")
        x = torch.ones(3)
        self.assertTrue(same(f(x), x.sin() * n))
        self.assertEqual(CompileCounter().frame_count, 0)
        self.assertEqual(normalize_gm("  # b\na  \n\n\nc # d\n"), "a\n\nc # d\n")

    @make_dynamo_test
    def test_plain_python(self):
        self.assertEqual({1: 2} | {3: 4}, {1: 2, 3: 4})


class TestInductor(InductorTestCase):
    @requires_gpu()
    def test_on_gpu(self):
        self.fail(f"there is no {GPU_TYPE}")

    @requires_cuda_and_triton
    def test_with_triton(self):
        self.fail("there is none")

    def test_devices(self):
        self.assertTrue(HAS_CPU)
        self.assertFalse(HAS_GPU)


class TestLogs(LoggingTestCase):
    def test_calls(self):
        with capture_logs() as lines:
            x = LoggingTensor(torch.ones(2))
            log_input("x", x)
            torch.max(x * 2 + 1.5, 0)
        self.assertExpectedInline(
            "\n".join(lines),
            """\
$0: f32[2] = input('x')
$1: f32[2] = torch._ops.aten.mul.Tensor($0, 2)
$2: f32[2] = torch._ops.aten.add.Tensor($1, 1.5)
('$3: f32[]', '$4: i64[]') = torch._ops.aten.max.dim($2, 0)""",
        )

    def test_records(self):
        self.assertFalse(self.hasRecord([], "anything"))

    def test_pairs(self):
        both = TwoTensor(torch.ones(2), torch.zeros(2))
        out = both * 2 + both
        self.assertIsInstance(out, TwoTensor)
        self.assertEqual((out.a, out.b), (torch.full((2,), 3.0), torch.zeros(2)))
        with self.assertRaises(AssertionError):
            TwoTensor(torch.ones(2), torch.ones(3))


instantiate_parametrized_tests(TestCompiled)
instantiate_device_type_tests(TestOperations, globals())
instantiate_device_type_tests(TestModules, globals())
instantiate_device_type_tests(TestOptimizers, globals())

suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
result = unittest.TestResult()
print(*sorted(test.id().partition(".")[2] for group in suite for test in group), sep="\n")
suite.run(result)
print("skipped", *sorted(test.id().partition(".")[2] for test, _ in result.skipped))
print("failed", [(t.id(), text[-300:]) for t, text in result.failures + result.errors])
print("expected", len(result.expectedFailures), result.unexpectedSuccesses)
