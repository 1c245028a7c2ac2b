"""Which module of wengert stands for which of torch, where the paths differ."""

from __future__ import annotations

import functools
import os
from typing import Any

from wengert import compiler
from wengert.compat._version import TorchVersion

VERSION = TorchVersion("2.13.0+wengert")

# The packages that the alias stands for; functorch is where PyTorch had `torch.func` before.
ROOTS = ("torch", "functorch")

# Names that the alias adds to those of wengert.
EXTRA: dict[str, Any] = {
    "torch.__version__": VERSION,
    "torch.version.__version__": VERSION,
    "torch.compile": compiler.compile,
}

# Names with an underscore that programs import from PyTorch all the same.
INNER: dict[str, frozenset[str]] = {
    module: frozenset(names.split())
    for module, names in {
        "torch._C": (
            "DisableTorchFunction DisableTorchFunctionSubclass _disabled_torch_function_impl"
        ),
        "torch.overrides": "_get_current_function_mode _get_current_function_mode_stack",
        "torch.nn.common_types": (
            "_maybe_indices_t _ratio_2_t _ratio_3_t _ratio_any_t _size_1_t _size_2_opt_t _size_2_t"
            " _size_3_opt_t _size_3_t _size_4_t _size_5_t _size_6_t _size_any_opt_t _size_any_t"
            " _tensor_list_t"
        ),
        "torch.nn.init": "_calculate_correct_fan _calculate_fan_in_and_fan_out",
        "torch.nn.modules.batchnorm": "_BatchNorm _NormBase",
        "torch.nn.modules.conv": "_ConvNd _ConvTransposeNd",
        "torch.nn.modules.dropout": "_DropoutNd",
        "torch.nn.modules.instancenorm": "_InstanceNorm",
        "torch.nn.modules.loss": "_Loss _WeightedLoss",
        "torch.nn.modules.module": "_IncompatibleKeys",
        "torch.nn.modules.padding": (
            "_CircularPadNd _ConstantPadNd _ReflectionPadNd _ReplicationPadNd"
        ),
        "torch.nn.modules.pooling": (
            "_AdaptiveAvgPoolNd _AdaptiveMaxPoolNd _AvgPoolNd _LPPoolNd _MaxPoolNd _MaxUnpoolNd"
        ),
        "torch.nn.modules.transformer": "_get_activation_fn _get_clones",
        "torch.nn.modules.utils": (
            "_list_with_default _ntuple _pair _quadruple _reverse_repeat_tuple _single _triple"
        ),
        "torch.optim.lr_scheduler": "_LRScheduler",
        "torch.types": "_TensorOrTensors _bool _device _dtype _float _int _size",
    }.items()
}

# Modules that wengert keeps in one piece, under another name, or in several places.
ELSEWHERE: dict[str, str] = {
    "functorch": "wengert.func",
    "torch.__config__": "wengert.platform.config",
    "torch._C": "wengert.overrides",
    "torch._dynamo": "wengert.compat._compilers",
    "torch._inductor": "wengert.compat._compilers",
    "torch.autograd.grad_mode": "wengert.autograd",
    "torch.cuda.memory": "wengert.cuda",
    "torch.cuda.random": "wengert.cuda",
    "torch.cuda.streams": "wengert.cuda",
    "torch.nn.parallel.distributed": "wengert.nn.parallel",
    "torch.storage": "wengert.tensor.storages",
    "torch.utils._pytree": "wengert.utils._pytree",
    "torch.ops": "wengert.checkpointing._aten",
    "torch.functional": "wengert",
    "torch.nn.parameter": "wengert.nn.parameter wengert.nn",
    "torch.torch_version": "wengert.compat._version",
    "torch.utils.tensorboard": "wengert.utils.tensorboard",
    "torch.utils.data._utils": "wengert.utils.data",
    "torch.utils.data._utils.collate": "wengert.data.collate",
    "torch.utils.data._utils.worker": "wengert.data.worker",
    **{
        f"torch.{package}.{name}": f"wengert.{package}.{name} wengert.{package}"
        for package, names in {
            "optim": (
                "adadelta adagrad adam adamax adamw asgd lbfgs nadam radam rmsprop rprop sgd"
                " sparse_adam"
            ),
        }.items()
        for name in names.split()
    },
    **{
        f"torch.utils.data.{name}": f"wengert.data.{name} wengert.data"
        for name in ("dataloader", "dataset", "distributed", "sampler")
    },
}


class TorchNames:
    """The names that a module of PyTorch has."""

    def __init__(self, listed: str | None, inner: frozenset[str]) -> None:
        words = [*(listed or "").split(), *inner]
        self._modules = frozenset(word[:-1] for word in words if word.endswith("/"))
        self._all = {w.removesuffix("/") for w in words}
        self._listed = listed is not None

    def __contains__(self, name: str) -> bool:
        """Whether the module has a name; of an unlisted one, any without an underscore."""
        return name in self._all or not (self._listed or name.startswith("_"))

    def words(self) -> list[str]:
        """The names that are listed."""
        return sorted(self._all or ())

    def is_module(self, name: str) -> bool:
        """Whether the name is that of a module."""
        return name in self._modules


@functools.cache
def _listed() -> dict[str, str]:
    """The names of each module of PyTorch that wengert stands for; a slash marks modules.

    The file is written by tools/torch_names.py.
    """
    with open(os.path.join(os.path.dirname(__file__), "names.txt"), encoding="utf-8") as file:
        pairs = [line.split(": ", 1) for line in file if line[0] != "#"]
    return {module: names for module, names in pairs}


def listed_modules() -> list[str]:
    """The modules of PyTorch that wengert stands for, as far as their names are listed."""
    return list(_listed())


def of_module(path: str) -> TorchNames:
    """The names that a module of PyTorch has."""
    return TorchNames(_listed().get(path), INNER.get(path, frozenset()))


def candidates(path: str) -> list[str]:
    """Paths under wengert that may stand for a module of torch, the best first."""
    if path in ELSEWHERE:
        return ELSEWHERE[path].split()
    if path not in _listed():
        return []
    native = path.replace("torch", "wengert", 1)
    return [native, "wengert.nn"] if path.startswith("torch.nn.modules") else [native]


def is_pytorchs(path: str) -> bool:
    """Whether PyTorch has a name; True as well where its names are not listed.

    >>> from wengert.compat.torch_names import is_pytorchs
    >>> is_pytorchs("torch.lobpcg"), is_pytorchs("torch.zork")
    (True, False)
    """
    module, _, name = path.rpartition(".")
    return name.startswith("_") or name in of_module(module) or not _is_listed(module)


def _is_listed(module: str) -> bool:
    return module in listed_modules()
