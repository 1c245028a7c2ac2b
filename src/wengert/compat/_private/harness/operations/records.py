"""What is known of an operation: its forms, its dtypes, what it supports, and its inputs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import wengert
from wengert import Tensor
from wengert.compat._private.harness.dtype_lists import floating_and_complex_types_and
from wengert.compat._private.harness.operations.sample_inputs import (
    SampleInput,
    active_decorators,
)
from wengert.core.dtypes import dtype as dtype_type

Samples = Callable[..., Iterable[Any]]
_FROM_NAME: Any = object()
_DIFFERENTIABLE = floating_and_complex_types_and(
    wengert.bfloat16, wengert.float16, wengert.complex32
)
# Methods of Python that are functions of `operator` too, and with "i" before their name in place.
_OPERATORS = {
    "add": "add", "sub": "sub", "mul": "mul", "true_divide": "truediv", "div": "truediv",
    "floor_divide": "floordiv", "remainder": "mod", "pow": "pow", "matmul": "matmul",
    "bitwise_and": "and_", "bitwise_or": "or_", "bitwise_xor": "xor", "bitwise_not": "invert",
    "bitwise_left_shift": "lshift", "bitwise_right_shift": "rshift", "neg": "neg", "eq": "eq",
    "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "abs": "abs", "positive": "pos",
}  # fmt: skip


def function_at(path: str, root: Any = wengert) -> Any:
    """What a package has at a path, or its tensors have as a method."""
    for start in (root, root.Tensor):
        try:
            return reduce(getattr, path.split("."), start)
        except AttributeError:
            continue
    raise AttributeError(f"neither {root.__name__} nor its Tensor has {path!r}")


def _operator_of(name: str, prefix: str = "") -> Any:
    word = _OPERATORS.get(name)
    return None if word is None else getattr(operator, prefix + word.rstrip("_"), None)


class Alias:
    """Another name of an operation, with its forms."""

    def __init__(self, alias_name: str) -> None:
        self.name, self.op = alias_name, function_at(alias_name)
        self.method_variant = getattr(Tensor, alias_name, None)
        self.inplace_variant = getattr(Tensor, alias_name + "_", None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.op(*args, **kwargs)


@dataclass(eq=False, repr=False)
class OpInfo:
    """An operation.

    `op` is found by its name, and so are its method, its form in place and its operator, where
    they are not given. `dtypes` are those of its input, `backward_dtypes` those that have a
    gradient.
    """

    name: str
    ref: Callable[..., Any] | None = None
    aliases: Iterable[Any] = ()
    variant_test_name: str = ""
    op: Any = None
    method_variant: Any = _FROM_NAME
    inplace_variant: Any = _FROM_NAME
    operator_variant: Any = _FROM_NAME
    inplace_operator_variant: Any = _FROM_NAME
    skips: Any = ()
    decorators: Any = ()
    sample_inputs_func: Samples | None = None
    reference_inputs_func: Samples | None = None
    error_inputs_func: Samples | None = None
    dtypes: Any = ()
    backward_dtypes: Any = None
    dtypesIfCUDA: Any = None  # noqa: N815 (PyTorch's name)
    supports_out: bool = True
    supports_autograd: bool = True
    supports_gradgrad: bool | None = None
    supports_fwgrad_bwgrad: bool = False
    supports_inplace_autograd: bool | None = None
    supports_forward_ad: bool = False
    supports_varargs: bool = False
    gradcheck_wrapper: Callable[..., Any] = lambda op, *args, **kwargs: op(*args, **kwargs)
    check_batched_grad: bool | None = None
    check_batched_gradgrad: bool | None = None
    check_batched_forward_grad: bool | None = None
    check_inplace_batched_forward_grad: bool | None = None
    gradcheck_nondet_tol: float = 0.0
    gradcheck_fast_mode: bool | None = None
    aten_name: str | None = None
    assert_autodiffed: bool = False
    supports_sparse: bool = False
    supports_sparse_csr: bool = False
    supports_sparse_csc: bool = False
    supports_sparse_bsr: bool = False
    supports_sparse_bsc: bool = False
    supports_njt: bool = False
    supports_scripting: bool = True
    supports_tracing: bool = True
    supports_expanded_weight: bool = False
    promotes_int_to_float: bool = False
    test_conjugated_samples: bool = True
    test_neg_view: bool = True
    is_factory_function: bool = False
    has_nondeterministic_output: bool = False
    dtypesIf: dict[str, Any] = field(default_factory=dict)  # noqa: N815 (PyTorch's name)

    def __post_init__(self) -> None:
        self.dtypes = frozenset(self.dtypes)
        self.dtypesIfCUDA = self.dtypes if self.dtypesIfCUDA is None else self.dtypesIfCUDA
        if self.backward_dtypes is None:
            self.backward_dtypes = self.dtypes
        self.backward_dtypesIfCUDA = self.backward_dtypes
        self.aten_name = self.aten_name or self.name
        self.aliases = tuple(Alias(a) if isinstance(a, str) else a for a in self.aliases)
        self.decorators = (*self.decorators, *self.skips)
        self._find_forms()
        derived = self.supports_autograd
        self.supports_gradgrad = (
            derived if self.supports_gradgrad is None else self.supports_gradgrad
        )
        for check in ("check_batched_grad", "check_batched_forward_grad"):
            if getattr(self, check) is None:
                setattr(self, check, derived)
        if self.check_batched_gradgrad is None:
            self.check_batched_gradgrad = self.supports_gradgrad
        if self.supports_inplace_autograd is None:
            self.supports_inplace_autograd = derived and self.inplace_variant is not None

    def _find_forms(self) -> None:
        self.op = function_at(self.name) if self.op is None else self.op
        forms = {
            "method_variant": getattr(Tensor, self.name, None),
            "inplace_variant": getattr(Tensor, self.name + "_", None),
            "operator_variant": _operator_of(self.name),
            "inplace_operator_variant": _operator_of(self.name, "i"),
        }
        for form, value in forms.items():
            if getattr(self, form) is _FROM_NAME:  # a property, such as T, is no method
                setattr(self, form, value if callable(value) else None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.op(*args, **kwargs)

    def __str__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r}, dtypes={set(self.dtypes)})"

    def get_op(self) -> Any:
        """The function."""
        return self.op

    def get_method(self) -> Any:
        """The method of tensors; None if there is none."""
        return self.method_variant

    def get_inplace(self) -> Any:
        """The method that writes into its tensor; None if there is none."""
        return self.inplace_variant

    def get_operator(self) -> Any:
        """The operator of Python; None if there is none."""
        return self.operator_variant

    def get_inplace_operator(self) -> Any:
        """The operator of Python that writes into its tensor; None if there is none."""
        return self.inplace_operator_variant

    def sample_inputs(
        self, device: Any, dtype: Any, requires_grad: bool = False, **kwargs: Any
    ) -> Iterator[SampleInput]:
        """Inputs of the operation, each a `SampleInput`."""
        if self.sample_inputs_func is None:
            raise NotImplementedError(f"OpInfo {self.name!r} has no sample_inputs_func")
        yield from self.sample_inputs_func(self, device, dtype, requires_grad, **kwargs)

    def reference_inputs(
        self, device: Any, dtype: Any, requires_grad: bool = False, **kwargs: Any
    ) -> Iterator[SampleInput]:
        """Inputs to compare with the reference; those of `sample_inputs` if it has no others."""
        if self.reference_inputs_func is None:
            yield from self.sample_inputs(device, dtype, requires_grad, **kwargs)
        else:
            yield from self.reference_inputs_func(self, device, dtype, requires_grad, **kwargs)

    def conjugate_sample_inputs(
        self, device: Any, dtype: Any, requires_grad: bool = False, **kwargs: Any
    ) -> Iterator[SampleInput]:
        """The samples, whose first tensor is a conjugated view."""
        for sample in self.sample_inputs(device, dtype, requires_grad, **kwargs):
            if isinstance(sample.input, Tensor):
                sample.input = wengert.conj(sample.input)
            else:
                sample.input = [wengert.conj(sample.input[0]), *sample.input[1:]]
            yield sample

    def error_inputs(self, device: Any, **kwargs: Any) -> Iterable[Any]:
        """Inputs of which the operation raises an error, each an `ErrorInput`."""
        if self.error_inputs_func is None:
            raise NotImplementedError(f"OpInfo {self.name!r} has no error_inputs_func")
        return self.error_inputs_func(self, device, **kwargs)

    def supports_sparse_layout(self, layout: Any) -> bool:
        """Whether the operation takes tensors of a sparse layout."""
        word = str(layout).rpartition("_")[2].replace("coo", "")
        return bool(getattr(self, "supports_sparse" + "_" * bool(word) + word))

    def get_decorators(
        self, test_class: str, test_name: str, device: str, dtype: Any,
        param_kwargs: dict[str, Any],
    ) -> list[Any]:  # fmt: skip
        """The decorators of a test."""
        return active_decorators(
            self.decorators, test_class, test_name, device, dtype, param_kwargs
        )

    def supported_dtypes(self, device_type: Any) -> Any:
        """The dtypes of its input."""
        return self.dtypesIf.get(str(device_type), self.dtypes)

    def supported_backward_dtypes(self, device_type: Any) -> set[dtype_type]:
        """The dtypes that have a gradient."""
        return {*_DIFFERENTIABLE} & {*self.backward_dtypes} if self.supports_autograd else set()

    def supports_dtype(self, dtype: dtype_type, device_type: Any) -> bool:
        """Whether the operation has a dtype."""
        return dtype in self.supported_dtypes(device_type)

    @property
    def full_name(self) -> str:
        """The name with that of the variant, behind a dot."""
        return f"{self.name}.{self.variant_test_name}".removesuffix(".")

    @property
    def formatted_name(self) -> str:
        """The full name as it is part of a test's name."""
        return self.full_name.replace(".", "_")


__all__ = ["Alias", "OpInfo"]
