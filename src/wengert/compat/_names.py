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
    "adadelta", "adagrad", "adam", "adamax", "adamw", "asgd", "lbfgs", "nadam", "optimizer",
    "radam", "rmsprop", "rprop", "sgd", "sparse_adam",
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
