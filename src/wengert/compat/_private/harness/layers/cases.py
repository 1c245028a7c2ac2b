"""``torch.testing._internal.common_nn``: tests of single modules and losses."""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

import wengert
from wengert import Tensor, nn
from wengert.autograd import gradcheck as check_first
from wengert.compat._private.harness.cases import TestCase
from wengert.compat._private.harness.common import (
    freeze_rng_state,
    gradcheck,
    gradgradcheck,
    noncontiguous_like,
    set_default_dtype,
)
from wengert.compat._private.harness.layers import references, tables
from wengert.compat._private.harness.layers.references import *  # noqa: F403
from wengert.compat._private.harness.layers.tables import *  # noqa: F403

PRECISION = 1e-5


def _tensors(x: Any) -> list[Tensor]:
    """The tensors of nested sequences, one after the other."""
    if isinstance(x, Tensor):
        return [x]
    return list(itertools.chain.from_iterable(map(_tensors, x)))


class NNTestCase(TestCase):
    """A test that can call a module, and go back through it; a subclass says how."""

    __test__ = False

    def _forward(self, module: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def _backward(
        self, module: Any, input: Any, output: Any, grad_output: Any, create_graph: bool = False
    ) -> Any:
        raise NotImplementedError

    def _get_parameters(self, module: Any) -> tuple[list[Any], list[Any]]:
        raise NotImplementedError

    def _zero_grad_parameters(self, module: Any) -> None:
        raise NotImplementedError

    def _zero_grad_input(self, input: Any) -> None:
        for x in _tensors(input):
            if x.requires_grad and x.grad is not None:
                x.grad.zero_()
                x.grad.detach_()

    def _flatten_tensors(self, x: Any) -> Any:
        if isinstance(x, Tensor):
            return (x.to_dense() if x.is_sparse else x).reshape(-1)
        return tuple(map(self._flatten_tensors, x))

    def _analytical_jacobian(
        self, module: Any, input: Any, jacobian_input: bool = True,
        jacobian_parameters: bool = True,
    ) -> list[Tensor]:  # fmt: skip
        """A matrix for each input and parameter: its elements by those of the output."""
        output = self._forward(module, input)
        rows: list[list[Tensor]] = []
        for i in range(output.numel()):
            seed = wengert.zeros_like(output)
            seed.view(-1)[i] = 1
            self._zero_grad_parameters(module)
            if jacobian_input:
                self._zero_grad_input(input)
            by_input = self._backward(module, input, output, seed)
            parts = _tensors(by_input) if jacobian_input else []
            if jacobian_parameters:
                pairs = zip(*self._get_parameters(module), strict=True)
                parts = [*parts, *(wengert.zeros_like(p) if d is None else d for p, d in pairs)]
            rows.append([part.to_dense().reshape(-1).clone() for part in parts])
        return [wengert.stack(column, 1) for column in zip(*rows, strict=True)]

    def _numerical_jacobian(
        self, module: Any, input: Any, jacobian_input: bool = True,
        jacobian_parameters: bool = True,
    ) -> list[Tensor]:  # fmt: skip
        """The same by differences."""
        of = _tensors(input) if jacobian_input else []
        parameters = self._get_parameters(module)[0] if jacobian_parameters else []
        return [
            _by_differences(lambda: self._forward(module, input).detach().reshape(-1), x)
            for x in (*of, *parameters)
        ]

    def check_jacobian(self, module: Any, input: Any, jacobian_input: bool = True) -> None:
        """Derivatives of a module agree with differences."""
        which = jacobian_input, bool(self._get_parameters(module)[0])
        pairs = zip(
            self._analytical_jacobian(module, input, *which),
            self._numerical_jacobian(module, input, *which),
            strict=True,
        )
        for analytical, numerical in pairs:
            if analytical.numel():
                self.assertLessEqual(
                    float(wengert.dist(analytical, numerical, math.inf)), PRECISION
                )


def _by_differences(f: Callable[[], Tensor], x: Tensor, eps: float = 1e-6) -> Tensor:
    flat = x.detach().view(-1)
    rows = []
    for i in range(flat.numel()):
        middle = flat[i].item()
        ends = []
        for at in (middle + eps, middle - eps):
            flat[i] = at
            ends.append(f())
        flat[i] = middle
        rows.append((ends[0] - ends[1]) / (2 * eps))
    return wengert.stack(rows)


class TestBase:
    """A test of what a constructor makes; it is called with the test case that it is part of.

    What it takes is given as a value, or as ``NAME_fn``, which makes it, or as ``NAME_size``, of
    which it is drawn: `constructor_args`, `input`, `extra_args`.
    """

    __test__ = False
    _required_arg_names = frozenset({"constructor_args", "input", "extra_args"})

    def __init__(
        self, constructor: Any, desc: str = "", reference_fn: Callable[..., Any] | None = None,
        fullname: str | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        self.constructor, self.desc, self.fullname = constructor, desc, fullname
        self.reference_fn, self._extra_kwargs = reference_fn, kwargs
        self._drawn: dict[str, Any] = {}
        for name in ("constructor_args", "extra_args"):
            if not self._given(name):
                kwargs[name] = ()
        for name in sorted(self._required_arg_names):
            if not self._given(name):
                raise ValueError(
                    f"{self.get_name()}: expected one of {name}, {name}_fn and {name}_size"
                )
        dtype = kwargs.get("default_dtype")
        self.default_dtype = wengert.get_default_dtype() if dtype is None else dtype
        self.check_gradgrad = kwargs.get("check_gradgrad", True)
        self.check_batched_grad = kwargs.get("check_batched_grad", True)
        self.check_forward_only = kwargs.get("check_forward_only", False)
        self.should_test_cuda = kwargs.get("test_cuda", True)
        self.test_cpu = kwargs.get("test_cpu", True)
        self.with_tf32 = kwargs.get("with_tf32", False)
        self.tf32_precision = kwargs.get("tf32_precision", 0.001)

    def _given(self, name: str) -> bool:
        return any(name + end in self._extra_kwargs for end in ("", "_fn", "_size"))

    def get_name(self) -> str:
        """The name of the test."""
        name = self.fullname or "_".join(filter(None, (self.constructor.__name__, self.desc)))
        return f"test_{name}"

    def _get_arg(self, name: str, unpack: bool = False) -> Any:
        if name not in self._required_arg_names:
            raise AssertionError(f"{name!r} is none of {sorted(self._required_arg_names)}")
        if name not in self._drawn:
            kwargs = self._extra_kwargs
            if name in kwargs:
                self._drawn[name] = kwargs[name]
            elif name + "_fn" in kwargs:
                self._drawn[name] = kwargs[name + "_fn"]()
            else:
                self._drawn[name] = _of_sizes(kwargs[name + "_size"])
        return self._drawn[name]

    def _get_input(self, unpack: bool = True) -> Any:
        return _differentiable(self._get_arg("input"))

    @property
    def constructor_args(self) -> Any:
        """What the module is constructed with."""
        return self._get_arg("constructor_args")

    @property
    def extra_args(self) -> Any:
        """What it is called with besides its input."""
        return self._get_arg("extra_args")

    def __call__(self, test_case: Any) -> None:
        raise NotImplementedError

    def test_cuda(self, test_case: Any, *args: Any, **kwargs: Any) -> None:
        """Skip the test: there is no GPU."""
        test_case.skipTest("needs CUDA")


def _of_sizes(sizes: Any) -> Any:
    if isinstance(sizes, list):
        return [_of_sizes(size) for size in sizes]
    return sizes.double() if isinstance(sizes, Tensor) else wengert.randn(sizes)


def _differentiable(x: Any) -> Any:
    """Tensors that require grad in the place of those that can."""
    if isinstance(x, Tensor):
        return x.requires_grad_() if x.is_floating_point() or x.is_complex() else x
    if isinstance(x, tuple | list):
        return type(x)(map(_differentiable, x))
    return x


class ModuleTest(TestBase):
    """A test of a module: its reference, tensors that are not contiguous, a copy from a file."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.should_test_pickle = kwargs.get("pickle", True)
        self.jacobian_input = kwargs.get("jacobian_input", True)
        self.precision = kwargs.get("precision", 2e-4)

    def __call__(self, test_case: Any) -> None:
        with set_default_dtype(self.default_dtype):
            module, input = self.constructor(*self.constructor_args), self._get_input()
            if self.reference_fn is not None:
                out = test_case._forward(module, input)
                copies = deepcopy(input), test_case._get_parameters(module)[0], deepcopy(module)
                test_case.assertEqual(out, self.reference_fn(*copies), exact_dtype=False)
            if self.check_forward_only:
                return
            self.test_noncontig(test_case, module, input)
            if self.should_test_pickle:
                self._from_a_file(test_case, module, input)
            self._do_test(test_case, module, input)

    def _do_test(self, test_case: Any, module: Any, input: Any) -> Any:
        raise NotImplementedError

    def _from_a_file(self, test_case: Any, module: Any, input: Any) -> None:
        with tempfile.TemporaryFile() as file:
            wengert.save(module, file)
            file.seek(0)
            copy = wengert.load(file, weights_only=False)
        with freeze_rng_state():
            expected = test_case._forward(module, input)
        with freeze_rng_state():
            test_case.assertEqual(test_case._forward(copy, input), expected)

    def test_noncontig(self, test_case: Any, module: Any, input: Any) -> None:
        """Results and gradients do not depend on strides."""
        if any(x.dim() == 0 for x in _tensors(input)):
            return

        def run(x: Any, seed: Any = None) -> list[Any]:
            test_case._zero_grad_parameters(module)
            test_case._zero_grad_input(x)
            with freeze_rng_state():
                out = test_case._forward(module, x)
                out = out[0] if getattr(module, "return_indices", False) else out
                seed = wengert.randn_like(out) if seed is None else seed
                grads = test_case._backward(module, x, out, seed)
            by_parameter = test_case._get_parameters(module)[1]
            return [seed, out.detach().clone(), deepcopy(grads), deepcopy(by_parameter)]

        seed, *expected = run(input)
        strided = _map_tensors(noncontiguous_like, input)
        for x, g in itertools.product((input, strided), (seed, noncontiguous_like(seed))):
            for a, b in zip(run(x, g)[1:], expected, strict=True):
                test_case.assertEqual(a, b, atol=1e-4, rtol=0)


def _map_tensors(f: Callable[[Tensor], Tensor], x: Any) -> Any:
    if isinstance(x, Tensor):
        return f(x)
    return type(x)(_map_tensors(f, part) for part in x)


class NewModuleTest(ModuleTest):
    """A test of a module with its derivatives, its form in place, and other dtypes."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.check_inplace = kwargs.get("check_inplace", False)
        self.skip_double, self.skip_half = (
            kwargs.get(f"skip_{dtype}", False) for dtype in ("double", "half")
        )
        self.has_sparse_gradients = kwargs.get("has_sparse_gradients", False)
        self.gradcheck_fast_mode = kwargs.get("gradcheck_fast_mode")
        self.supports_forward_ad = kwargs.get("supports_forward_ad", False)
        self.supports_fwgrad_bwgrad = kwargs.get("supports_fwgrad_bwgrad", False)

    def _check_gradients(self, test_case: Any, module: Any, input_tuple: Any) -> None:
        if self.has_sparse_gradients:
            test_case.check_jacobian(module, input_tuple[0], input_tuple[0].is_floating_point())
            return
        count = len(input_tuple)
        given = (*input_tuple, *module.parameters())

        def call(*inputs_and_parameters: Any) -> Any:
            return test_case._forward(module, inputs_and_parameters[:count])

        options = {
            "check_batched_grad": self.check_batched_grad, "fast_mode": self.gradcheck_fast_mode,
        }  # fmt: skip
        forward = self.supports_forward_ad
        test_case.assertTrue(gradcheck(call, given, check_forward_ad=forward, **options))
        if self.check_gradgrad:
            over = self.supports_fwgrad_bwgrad
            test_case.assertTrue(gradgradcheck(call, given, check_fwd_over_rev=over, **options))

    def _do_test(self, test_case: Any, module: Any, input: Any) -> None:
        input_tuple = input if isinstance(input, tuple) else (input,)
        self._check_gradients(test_case, module, input_tuple)
        repr(module)
        if self.check_inplace:
            self._check_in_place(test_case, module, input_tuple[0])
        for real, complex_ in (
            (wengert.float32, wengert.complex64), (wengert.float64, wengert.complex128),
        ):  # fmt: skip
            converted = [
                x.to(complex_ if x.is_complex() else real)
                if x.is_complex() or x.is_floating_point()
                else x
                for x in input_tuple
            ]
            module.to(real)(*converted)
            test_case.assertTrue(all(p.dtype == real for p in module.parameters()))

    def _check_in_place(self, test_case: Any, module: Any, input: Tensor) -> None:
        """The module that writes into its input gives the same, and the same gradient."""
        writing = self.constructor(*self.constructor_args, inplace=True)
        other = input.detach().clone().requires_grad_()
        version = input._version
        with freeze_rng_state():
            output = module(input)
        test_case.assertEqual(input._version, version)
        written = other.clone()
        with freeze_rng_state():
            output_written = writing(written)
        test_case.assertNotEqual(written._version, 0)
        test_case.assertEqual(output, output_written)
        seed = wengert.randn_like(output)
        grads = wengert.autograd.grad(output, input, seed)
        test_case.assertEqual(wengert.autograd.grad(output_written, other, seed), grads)

    def _get_target(self) -> Any:
        return self._get_arg("target")


class CriterionTest(TestBase):
    """A test of a loss: its reference and its derivatives."""

    _required_arg_names = TestBase._required_arg_names | {"target"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, default in (("half", True), ("bfloat16", False), ("complex", False)):
            setattr(self, f"check_{name}", kwargs.get(f"check_{name}", default))

    def __call__(self, test_case: Any) -> None:
        with set_default_dtype(self.default_dtype):
            module, input = self.constructor(*self.constructor_args), self._get_input()
            target = self._get_target()
            repr(module)
            if self.reference_fn is not None:
                out = test_case._forward_criterion(
                    module, input, target, extra_args=self.extra_args
                )
                copies = deepcopy(input), deepcopy(target), *self.extra_args, module
                test_case.assertEqual(out, self.reference_fn(*copies))
            if self.check_forward_only:
                return
            inputs = input if isinstance(input, tuple) else (input,)
            count = len(inputs)

            def call(*given: Any) -> Any:
                return module(*given[:count], given[-1])

            given = (*inputs, *module.parameters(), target)
            check_first(call, given, check_batched_grad=self.check_batched_grad)
            if self.check_gradgrad:
                gradgradcheck(call, given, check_batched_grad=self.check_batched_grad)

    def _get_target(self) -> Any:
        return self._get_arg("target")


def _test_bfloat16_ops(
    test_case: Any, op: Any, device: Any, inp_dims: Iterable[int] = (), prec: float = 1e-2,
    scale_factor: float | None = None,
) -> None:  # fmt: skip
    """A module gives about the same in bfloat16, and about the same gradient."""
    x = wengert.randn(tuple(inp_dims), device=device)
    if scale_factor is not None:
        x = (wengert.rand(tuple(inp_dims), device=device).bfloat16() * scale_factor).float()
    wide, narrow = x.requires_grad_(), x.detach().bfloat16().requires_grad_()
    out = op(wide)
    seed = wengert.randn_like(out)
    out.backward(seed)
    out_narrow = op.bfloat16()(narrow)
    out_narrow.backward(seed.bfloat16())
    for a, b in ((out, out_narrow), (wide.grad, narrow.grad)):
        test_case.assertEqual(a, b, atol=prec, rtol=prec, exact_dtype=False)


def _test_module_empty_input(
    test_case: Any, module: Any, inp: Tensor, check_size: bool = True, inference: bool = False
) -> None:
    """A module takes an input without elements, and gives gradients of zeros."""
    if inference:
        out = module(inp)
    else:
        out = module(inp.requires_grad_())
        out.backward(wengert.rand_like(out))
        for x in (inp, *(p for p in module.parameters() if p.requires_grad)):
            test_case.assertEqual(x.grad, wengert.zeros_like(x))
    if check_size:
        test_case.assertEqual(out.size(), inp.size())


def _create_basic_net() -> tuple[nn.Module, nn.Module, nn.Module]:
    """A module, one that has such a one, and that one twice in a sequence."""

    class Inner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer_dummy_param = nn.Parameter(wengert.empty(3, 5))
            self.layer_dummy_buf = nn.Buffer(wengert.zeros(1, 3, 3, 7))

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.l1 = Inner()
            self.dummy_param = nn.Parameter(wengert.empty(3, 5))
            self.dummy_buf = nn.Buffer(wengert.zeros(7, 3, 3, 1))

    outer = Outer()
    return Inner(), outer, nn.Sequential(outer, outer)


__all__ = [
    *references.__all__, *tables.__all__, "PRECISION", "CriterionTest", "ModuleTest",
    "NNTestCase", "NewModuleTest", "TestBase", "_create_basic_net", "_test_bfloat16_ops",
    "_test_module_empty_input", "freeze_rng_state",
]  # fmt: skip
