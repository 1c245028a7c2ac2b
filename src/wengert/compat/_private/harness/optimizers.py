"""``torch.testing._internal.common_optimizers``: every optimizer, and how tests construct it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from enum import Enum
from typing import Any, NamedTuple

import wengert
from wengert import Tensor, optim
from wengert.compat._private.harness.op_cases import no_cases
from wengert.compat._private.harness.operations.sample_inputs import active_decorators
from wengert.compat._private.harness.parameters import Case, _TestParametrizer
from wengert.optim import lr_scheduler

# Keyword arguments that choose how an optimizer computes; only one of them at a time.
_WAYS = ("foreach", "fused", "differentiable")


class OptimizerInput:
    """What an optimizer is constructed with."""

    def __init__(self, params: Any, kwargs: dict[str, Any], desc: str = "") -> None:
        self.params, self.kwargs, self.desc = params, kwargs, desc

    def __repr__(self) -> str:
        return f"params={self.params}, kwargs={self.kwargs}, desc={self.desc}"


class OptimizerErrorEnum(Enum):
    """When an optimizer raises an error."""

    CONSTRUCTION_ERROR = 0
    STEP_ERROR = 1


class ErrorOptimizerInput:
    """An `OptimizerInput` with which an optimizer raises this error, with a text that fits."""

    def __init__(
        self, optimizer_error_input: OptimizerInput, *,
        error_on: OptimizerErrorEnum = OptimizerErrorEnum.CONSTRUCTION_ERROR,
        error_type: Any = RuntimeError, error_regex: str = "",
    ) -> None:  # fmt: skip
        self.optimizer_error_input, self.error_on = optimizer_error_input, error_on
        self.error_type, self.error_regex = error_type, error_regex


def _step_lr(optimizer: Any) -> Any:
    return lr_scheduler.StepLR(optimizer, gamma=0.9, step_size=10)


class OptimizerInfo:
    """An optimizer: how it is constructed, and what it supports."""

    def __init__(
        self, optim_cls: Any, *, optim_inputs_func: Callable[..., list[OptimizerInput]],
        scheduler_inputs: Sequence[Any] = ([_step_lr, lr_scheduler.ReduceLROnPlateau],),
        supported_impls: tuple[str, ...] = ("foreach", "differentiable"),
        not_og_supported_flags: tuple[str, ...] = (
            "foreach", "differentiable", "maximize", "capturable",
        ),
        supports_sparse: bool = False, has_capturable_arg: bool = False,
        only_supports_sparse_grads: bool = False, metadata_for_sparse: Any = ({}, []),
        supports_complex: bool = True, step_requires_closure: bool = False,
        supports_param_groups: bool = True, supports_multiple_devices: bool = True,
        skips: Iterable[Any] = (), decorators: Iterable[Any] | None = None,
        optim_error_inputs_func: Callable[..., list[ErrorOptimizerInput]] | None = None,
        supports_fused_on: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.optim_cls, self.optim_inputs_func = optim_cls, optim_inputs_func
        self.scheduler_inputs, self.supported_impls = scheduler_inputs, supported_impls
        self.not_og_supported_flags = not_og_supported_flags
        self.supports_sparse, self.has_capturable_arg = supports_sparse, has_capturable_arg
        self.only_supports_sparse_grads = only_supports_sparse_grads
        self.metadata_for_sparse = metadata_for_sparse
        self.supports_complex = supports_complex
        self.step_requires_closure = step_requires_closure
        self.supports_param_groups = supports_param_groups
        self.supports_multiple_devices = supports_multiple_devices
        self.decorators = (*(decorators or ()), *skips)
        self.optim_error_inputs_func = optim_error_inputs_func
        self.supports_fused_on = supports_fused_on

    @property
    def name(self) -> str:
        """The name of the class."""
        name: str = self.optim_cls.__name__
        return name

    def get_decorators(
        self, test_class: str, test_name: str, device: str, dtype: Any,
        param_kwargs: dict[str, Any],
    ) -> list[Any]:  # fmt: skip
        """The decorators of a test."""
        return active_decorators(
            self.decorators, test_class, test_name, device, dtype, param_kwargs
        )


class optims(_TestParametrizer):
    """Run a test for each of the optimizers, as `optim_info`, with each dtype of its parameters."""

    def __init__(
        self, optim_info_iterable: Iterable[Any], dtypes: Sequence[Any] | None = None
    ) -> None:
        self.optim_info_list = [*optim_info_iterable]
        self.dtypes = [wengert.float32] if dtypes is None else [*dtypes]

    def _cases(self, test: Callable[..., Any]) -> Iterator[Case]:
        if not self.optim_info_list:
            yield from no_cases(test, "optimizer")
        for info, dtype in itertools.product(self.optim_info_list, self.dtypes):
            yield Case(info.name, {"optim_info": info, "dtype": dtype}, subject=info)


class _Row(NamedTuple):
    """Keyword arguments by what they are for, and values that are refused."""

    kwargs: dict[str, dict[str, Any]]
    refused: dict[str, Any]


_DECAY = {
    "weight decay": {"weight_decay": 0.1},
    "maximize": {"weight_decay": 0.1, "maximize": True},
}
_BETAS = {"another beta": {"lr": 0.01, "betas": (0.8, 0.95)}}
_BAD_BETAS = {"betas": (1.0, 0.0)}
_ROWS: dict[str, _Row] = {
    "Adadelta": _Row(
        {"lr": {"lr": 0.01}, **_DECAY, "rho": {"rho": 0.95, "weight_decay": 0.9}}, {"rho": 1.1}
    ),
    "Adafactor": _Row(
        {
            "lr": {"lr": 0.1}, "decay of the step": {"beta2_decay": -0.5, "d": 1.5}, **_DECAY,
        },
        {"beta2_decay": 0.1, "d": 0.5},
    ),
    "Adagrad": _Row(
        {
            "lr": {"lr": 0.1}, **_DECAY, "first sum": {"initial_accumulator_value": 0.1},
            "lr decay": {"lr": 0.1, "lr_decay": 0.5, "weight_decay": 0.1},
        },
        {"lr_decay": -0.5},
    ),
    "Adam": _Row(
        {"lr": {"lr": 0.01}, **_BETAS, **_DECAY,
         "amsgrad": {"amsgrad": True, "weight_decay": 0.1}}, _BAD_BETAS
    ),
    "Adamax": _Row({"lr": {"lr": 0.01}, **_BETAS, **_DECAY}, {"betas": (0.0, 1.0)}),
    "AdamW": _Row(
        {"lr": {"lr": 0.01}, **_BETAS, **_DECAY,
         "amsgrad": {"amsgrad": True, "weight_decay": 0.1}}, _BAD_BETAS
    ),
    "ASGD": _Row(
        {"lr": {"lr": 0.02}, "lambd": {"lambd": 0.1}, "t0": {"t0": 100}, **_DECAY},
        {"weight_decay": -0.5},
    ),
    "LBFGS": _Row(
        {"lr": {"lr": 0.01}, "tolerance": {"tolerance_grad": 1e-6},
         "line search": {"line_search_fn": "strong_wolfe"}}, {},
    ),
    "Muon": _Row(
        {"lr": {"lr": 0.01}, "weight decay": {"weight_decay": 0.2},
         "momentum": {"momentum": 0.8, "nesterov": False}, "steps": {"ns_steps": 3}},
        {"momentum": -0.1},
    ),
    "NAdam": _Row(
        {"lr": {"lr": 0.001}, "momentum decay": {"momentum_decay": 0.006}, **_DECAY,
         "decoupled": {"weight_decay": 0.1, "decoupled_weight_decay": True}},
        {"momentum_decay": -0.2, **_BAD_BETAS},
    ),
    "RAdam": _Row(
        {"lr": {"lr": 0.002}, "eps": {"eps": 1e-6}, **_DECAY,
         "decoupled": {"weight_decay": 0.1, "decoupled_weight_decay": True}}, _BAD_BETAS
    ),
    "RMSprop": _Row(
        {"lr": {"lr": 0.001}, **_DECAY, "centered": {"centered": True},
         "momentum": {"momentum": 0.1, "centered": True, "weight_decay": 0.1}},
        {"momentum": -1.0},
    ),
    "Rprop": _Row(
        {"lr": {"lr": 2e-4}, "etas": {"etas": (0.5, 1.5)},
         "step sizes": {"step_sizes": (2e-6, 100)}, "maximize": {"maximize": True}},
        {"etas": (1.0, 0.5)},
    ),
    "SGD": _Row(
        {"lr": {"lr": 0.01}, "momentum": {"momentum": 0.9}, **_DECAY,
         "dampening": {"momentum": 0.9, "dampening": 0.5},
         "nesterov": {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}},
        {"momentum": -0.5},
    ),
    "SparseAdam": _Row({"lr": {"lr": 0.01}, **_BETAS, "maximize": {"maximize": True}}, _BAD_BETAS),
}  # fmt: skip


def _inputs_of(row: _Row) -> Callable[..., list[OptimizerInput]]:
    def inputs(device: Any, dtype: Any = None) -> list[OptimizerInput]:
        written: dict[str, dict[str, Any]] = {"default": {}} | row.kwargs
        return [OptimizerInput(None, deepcopy(kwargs), desc) for desc, kwargs in written.items()]

    return inputs


def _errors_of(row: _Row) -> Callable[..., list[ErrorOptimizerInput]]:
    def errors(device: Any, dtype: Any) -> list[ErrorOptimizerInput]:
        wrong = get_error_inputs_for_all_optims(device, dtype)
        for name, value in row.refused.items():
            given = OptimizerInput([wengert.nn.Parameter(wengert.ones(1, 2))], {name: value}, name)
            wrong.append(
                ErrorOptimizerInput(given, error_type=ValueError, error_regex="(?i)invalid|should")
            )
        return wrong

    return errors


def get_error_inputs_for_all_optims(device: Any, dtype: Any) -> list[ErrorOptimizerInput]:
    """What every optimizer refuses: a tensor in place of parameters, a tensor twice, nothing."""
    parameter = wengert.nn.Parameter(wengert.randn(2, 3, device=device, dtype=dtype))
    plain = wengert.randn(2, 3, device=device, dtype=dtype)
    rows: list[tuple[Any, str, Any, str]] = [
        (plain, "a tensor", TypeError, "params argument given to the optimizer should be an iter"),
        ([], "no parameters", ValueError, "optimizer got an empty parameter list"),
        ([parameter, parameter], "twice", UserWarning, "a parameter group with duplicate param"),
        ([{"params": [parameter]}, {"params": [parameter]}], "twice, in two groups", ValueError,
         "some parameters appear in more than one parameter group"),
    ]  # fmt: skip
    return [
        ErrorOptimizerInput(OptimizerInput(params, {}, desc), error_type=kind, error_regex=text)
        for params, desc, kind, text in rows
    ]


def _get_device_type(device: Any) -> str:
    """The kind of a device, such as "cpu"."""
    kind = device.type if isinstance(device, wengert.device) else device
    if not isinstance(kind, str):
        raise AssertionError(f"argument 'device' is {device!r}, expected a device or its name")
    return kind.partition(":")[0]


def _get_optim_inputs_including_global_cliquey_kwargs(
    device: Any, dtype: Any, optim_info: OptimizerInfo, skip: Sequence[str] = ()
) -> list[OptimizerInput]:
    """The inputs of an optimizer, each in every way it computes, and in none of them."""
    if unknown := {*skip} - {*_WAYS}:
        raise AssertionError(f"argument 'skip' holds {unknown}, expected some of {_WAYS}")
    fused = _get_device_type(device) in optim_info.supports_fused_on
    ways = [w for w in optim_info.supported_impls if w not in skip and (fused or w != "fused")]
    inputs = []
    for given in optim_info.optim_inputs_func(device):
        plain = given.kwargs | dict.fromkeys(ways, False)
        inputs.append(OptimizerInput(None, plain, given.desc))
        inputs += [OptimizerInput(None, plain | {w: True}, f"{given.desc} & {w}") for w in ways]
    return inputs


def _info(name: str, *ways: str, **known: Any) -> OptimizerInfo:
    row = _ROWS[name]
    flags = (*ways, "maximize", "capturable")
    return OptimizerInfo(
        getattr(optim, name), optim_inputs_func=_inputs_of(row),
        optim_error_inputs_func=_errors_of(row), supported_impls=ways,
        supports_fused_on=("cpu",) if "fused" in ways else (),
        **{"not_og_supported_flags": flags} | known,
    )  # fmt: skip


_BOTH, _ALL = ("foreach", "differentiable"), ("foreach", "differentiable", "fused")
optim_db: list[OptimizerInfo] = [
    _info("Adadelta", *_BOTH, has_capturable_arg=True),
    _info("Adafactor", "foreach", not_og_supported_flags=("foreach",), supports_complex=False),
    _info("Adagrad", *_ALL, supports_sparse=True,
          metadata_for_sparse=({"lr": 0.1, "weight_decay": 0, "lr_decay": 0}, [])),
    _info("Adam", *_ALL, has_capturable_arg=True),
    _info("Adamax", *_BOTH, has_capturable_arg=True),
    _info("AdamW", *_ALL, has_capturable_arg=True),
    _info("ASGD", *_BOTH, has_capturable_arg=True),
    _info("LBFGS", step_requires_closure=True, supports_param_groups=False,
          supports_multiple_devices=False),
    _info("Muon", not_og_supported_flags=(), supports_complex=False),
    _info("NAdam", *_BOTH, has_capturable_arg=True),
    _info("RAdam", *_BOTH, has_capturable_arg=True),
    _info("RMSprop", *_BOTH, has_capturable_arg=True),
    _info("Rprop", *_BOTH, has_capturable_arg=True),
    _info("SGD", *_ALL, supports_sparse=True,
          metadata_for_sparse=({"lr": 0.0048, "momentum": 0, "weight_decay": 0}, [])),
    _info("SparseAdam", only_supports_sparse_grads=True, metadata_for_sparse=({"lr": 0.04}, [])),
]  # fmt: skip


class TensorTracker:
    """Copies of tensors, to compare those of a second computation with, in their order."""

    def __init__(self, assert_eq_kwargs: dict[str, Any] | None = None) -> None:
        self.assert_eq_kwargs = assert_eq_kwargs or {}
        self.tensors: list[Tensor] = []

    def add(self, tensor: Tensor) -> None:
        """Keep a copy."""
        self.tensors.append(tensor.detach().clone())

    def pop_check_set(
        self, tensor_to_set: Tensor, testcase: Any,
        override_assert_eq_kwargs: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """A tensor equals the first copy left, and is set to it: differences do not grow."""
        testcase.assertGreater(len(self.tensors), 0, "no copies are left")
        copy = self.tensors.pop(0)
        options = (
            self.assert_eq_kwargs
            if override_assert_eq_kwargs is None
            else override_assert_eq_kwargs
        )
        testcase.assertEqual(tensor_to_set, copy, **options)
        with wengert.no_grad():
            tensor_to_set.copy_(copy)

    def all_popped(self) -> bool:
        """Whether no copies are left."""
        return not self.tensors


__all__ = [
    "ErrorOptimizerInput", "OptimizerErrorEnum", "OptimizerInfo", "OptimizerInput",
    "TensorTracker", "_get_device_type", "_get_optim_inputs_including_global_cliquey_kwargs",
    "get_error_inputs_for_all_optims", "optim_db", "optims",
]  # fmt: skip
