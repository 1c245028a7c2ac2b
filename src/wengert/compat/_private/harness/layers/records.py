"""``torch.testing._internal.common_modules``: a module, and tests that go through modules."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from enum import Enum
from functools import wraps
from typing import Any

import wengert
from wengert.compat._private.harness.op_cases import no_cases
from wengert.compat._private.harness.operations.sample_inputs import active_decorators
from wengert.compat._private.harness.parameters import Case, _TestParametrizer
from wengert.nn.modules.lazy import LazyModuleMixin

TrainEvalMode = Enum("TrainEvalMode", ("train_only", "eval_only", "train_and_eval"))


class FunctionInput:
    """The arguments of a call."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args, self.kwargs = args, kwargs


class ModuleInput:
    """What a module is constructed with, and what it is called on.

    `reference_fn` gets the module, its parameters, and the arguments of the call.
    """

    def __init__(
        self, constructor_input: FunctionInput, forward_input: FunctionInput | None = None,
        desc: str = "", reference_fn: Callable[..., Any] | None = None,
    ) -> None:  # fmt: skip
        self.constructor_input, self.forward_input = constructor_input, forward_input
        self.desc, self.reference_fn = desc, reference_fn
        if reference_fn is not None:

            @wraps(reference_fn)
            def of_copies(m: Any, *args: Any, **kwargs: Any) -> Any:
                args, kwargs = deepcopy(args), deepcopy(kwargs)
                return reference_fn(m, [*m.parameters()], *args, **kwargs)

            self.reference_fn = of_copies


class ModuleErrorEnum(Enum):
    """When a module raises an error."""

    CONSTRUCTION_ERROR = 0
    FORWARD_ERROR = 1


class ErrorModuleInput:
    """A `ModuleInput` with which a module raises this error, with a text that fits."""

    def __init__(
        self, module_error_input: ModuleInput, *,
        error_on: ModuleErrorEnum = ModuleErrorEnum.CONSTRUCTION_ERROR,
        error_type: Any = RuntimeError, error_regex: str,
    ) -> None:  # fmt: skip
        self.module_error_input, self.error_on = module_error_input, error_on
        self.error_type, self.error_regex = error_type, error_regex


def get_module_common_name(module_cls: type) -> str:
    """The name of a module's class, as users write it: ``nn.Linear``."""
    name = module_cls.__name__
    return f"nn.{name}" if getattr(wengert.nn, name, None) is module_cls else name


class ModuleInfo:
    """A module: its dtypes, and its inputs."""

    def __init__(
        self, module_cls: Any, *, module_inputs_func: Callable[..., list[ModuleInput]],
        skips: Iterable[Any] = (), decorators: Iterable[Any] | None = None,
        dtypes: Sequence[Any] = (wengert.float32, wengert.float64),
        supports_gradgrad: bool = True, gradcheck_nondet_tol: float = 0.0,
        module_memformat_affects_out: bool = False, train_and_eval_differ: bool = False,
        module_error_inputs_func: Callable[..., list[ErrorModuleInput]] | None = None,
        gradcheck_fast_mode: bool | None = None,
    ) -> None:  # fmt: skip
        self.module_cls, self.module_inputs_func = module_cls, module_inputs_func
        self.decorators, self.dtypes = (*(decorators or ()), *skips), dtypes
        self.supports_gradgrad = supports_gradgrad
        self.gradcheck_nondet_tol = gradcheck_nondet_tol
        self.gradcheck_fast_mode = gradcheck_fast_mode
        self.module_memformat_affects_out = module_memformat_affects_out
        self.train_and_eval_differ = train_and_eval_differ
        self.module_error_inputs_func = module_error_inputs_func
        self.is_lazy = issubclass(module_cls, LazyModuleMixin)

    @property
    def name(self) -> str:
        """The name as users write it."""
        return get_module_common_name(self.module_cls)

    @property
    def formatted_name(self) -> str:
        """The name as it is part of a test's name."""
        return self.name.replace(".", "_")

    def get_decorators(
        self, test_class: str, test_name: str, device: str, dtype: Any,
        param_kwargs: dict[str, Any],
    ) -> list[Any]:  # fmt: skip
        """The decorators of a test."""
        return active_decorators(
            self.decorators, test_class, test_name, device, dtype, param_kwargs
        )

    def supported_dtypes(self, device_type: Any) -> Sequence[Any]:
        """The dtypes of its parameters and inputs."""
        return self.dtypes


class modules(_TestParametrizer):
    """Run a test for each of the modules, as `module_info`, each `dtype`, and `training` or not."""

    def __init__(
        self, module_info_iterable: Iterable[Any], allowed_dtypes: Sequence[Any] | None = None,
        train_eval_mode: Any = TrainEvalMode.train_and_eval, skip_if_dynamo: bool = True,
    ) -> None:  # fmt: skip
        self.module_info_list = [*module_info_iterable]
        self.allowed_dtypes = None if allowed_dtypes is None else {*allowed_dtypes}
        self.train_eval_mode = train_eval_mode

    def _modes(self, info: Any) -> list[bool]:
        modes = {
            TrainEvalMode.train_only: [True],
            TrainEvalMode.eval_only: [False],
            TrainEvalMode.train_and_eval: [True, False],
        }[self.train_eval_mode]
        return modes if info.train_and_eval_differ else modes[:1]

    def _cases(self, test: Callable[..., Any]) -> Iterator[Case]:
        if not self.module_info_list:
            yield from no_cases(test, "module")
        for info in self.module_info_list:
            dtypes = {*info.supported_dtypes("cpu")}
            if self.allowed_dtypes is not None:
                dtypes &= self.allowed_dtypes
            modes = self._modes(info)
            for training, dtype in itertools.product(modes, sorted(dtypes, key=str)):
                mode = "_train_mode" if training else "_eval_mode"
                name = info.formatted_name + (mode if len(modes) > 1 else "")
                arguments = {"module_info": info, "dtype": dtype, "training": training}
                yield Case(name, arguments, subject=info)


__all__ = [
    "ErrorModuleInput", "FunctionInput", "ModuleErrorEnum", "ModuleInfo", "ModuleInput",
    "TrainEvalMode", "get_module_common_name", "modules",
]  # fmt: skip
