"""Which module of wengert stands for which of torch, where the paths differ."""

from __future__ import annotations

from typing import Any

from wengert import compiler
from wengert.compat._version import TorchVersion

VERSION = TorchVersion("2.13.0+wengert")

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

# What torch has at its top; the other modules of wengert (ops, graph, ...) stay hidden.
TOP = {
    "accelerator", "amp", "ao", "autograd", "backends", "compiler", "cpu", "cuda",
    "distributed", "distributions", "export", "fft", "func", "functional", "futures", "fx",
    "hub", "jit", "library", "linalg", "masked", "mps", "multiprocessing", "nested", "nn",
    "onnx", "ops", "optim", "overrides", "package", "profiler", "quantization", "random",
    "return_types", "serialization", "signal", "sparse", "special", "storage", "testing",
    "torch_version", "types", "utils", "version", "xpu",
}  # fmt: skip

# Modules that wengert keeps in one piece, or under another name.
ELSEWHERE: dict[str, str] = {
    "torch.__config__": "wengert._config",
    "torch._dynamo": "wengert.compat._compilers",
    "torch._inductor": "wengert.compat._compilers",
    "torch.autograd.grad_mode": "wengert.autograd",
    "torch.cuda.memory": "wengert.cuda",
    "torch.cuda.random": "wengert.cuda",
    "torch.cuda.streams": "wengert.cuda",
    "torch.nn.parallel.distributed": "wengert.nn.parallel",
    "torch.storage": "wengert.tensor._storages",
    "torch.utils._pytree": "wengert.utils._pytree",
    "torch.ops": "wengert.utils.checkpoint._aten",
    "torch.functional": "wengert",
    "torch.nn.modules": "wengert.nn",
    "torch.nn.parameter": "wengert.nn",
    "torch.torch_version": "wengert.compat._version",
    "torch.utils.data._utils": "wengert.utils.data",
    "torch.utils.data._utils.collate": "wengert.utils.data.collate",
    "torch.utils.data._utils.worker": "wengert.utils.data.worker",
    "torch.utils.data.dataloader": "wengert.utils.data",
    "torch.utils.data.dataset": "wengert.utils.data",
    "torch.utils.data.sampler": "wengert.utils.data",
}
_OPTIMIZERS = (
    "adadelta", "adagrad", "adam", "adamax", "adamw", "asgd", "lbfgs", "nadam", "radam",
    "rmsprop", "rprop", "sgd", "sparse_adam",
)  # fmt: skip
ELSEWHERE |= {f"torch.optim.{name}": "wengert.optim" for name in _OPTIMIZERS}


def candidates(name: str) -> list[str]:
    """Paths under wengert that may stand for a module of torch, the best first."""
    parts = name.split(".")[1:]
    if name in ELSEWHERE:
        return [ELSEWHERE[name], ".".join(["wengert", *parts])]
    if any(part.startswith("_") for part in parts) or (parts and parts[0] not in TOP):
        return []
    paths = [".".join(["wengert", *parts])]
    if name.startswith("torch.nn.modules."):
        paths.append("wengert.nn")
    return paths
