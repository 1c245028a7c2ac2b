"""What the package offers to its users: namespaces, and the names in them."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import wengert
from tests.source import tree_of
from wengert import Tensor


@cache
def namespaces() -> dict[str, ModuleType]:
    """The importable modules without an underscore anywhere in their name, by name."""
    found = {"wengert": wengert}
    for info in pkgutil.walk_packages(wengert.__path__, "wengert."):
        if not any(part.startswith("_") for part in info.name.split(".")):
            found[info.name] = importlib.import_module(info.name)
    return found


# Where users find operations is `wengert`, `wengert.nn.functional` and Tensor; these packages
# are how they are made.
INNER = (
    "wengert.checkpointing",
    "wengert.cli",
    "wengert.core",
    "wengert.data",
    "wengert.dispatch",
    "wengert.horovod",
    "wengert.kernels",
    "wengert.replay",
    "wengert.meta",
    "wengert.ops",
    "wengert.platform",
    "wengert.tensor",
)
# Modules that packages have for each other, beside those for users.
FOR_EACH_OTHER = {
    "amp": "casts state",
    "autograd": "counters custom diagnosis edges engine errors gc_queries grad_mode history hooks"
    " naming onward profiling refusals relay saved transforms",
    "compat": "differences missing_names package resolution torch_names",
    "distributed": "arguments backend batch_statistics objects observers process_group reduce_op"
    " run schedules sparse_sums store tcp_store workers world fsdp.fully_shard fsdp.gathering"
    " checkpoint.files fsdp.optimizer_state fsdp.rows fsdp.wrapper tensor.creation"
    " tensor.dtensor tensor.functions tensor.layouts tensor.parameters tensor.parallel.plans"
    " tensor.parallel.styles",
    "export": "dims exported_program files graph_signature tracing",
    "fx": "captured captured.functions captured.modes captured.names captured.paths"
    " captured.recording captured.settings captured.spelling captured.watching"
    " experimental.constants experimental.recorder experimental.sizes joint",
    "graph": "captures description drawing formatting hotness html_page layers memory nodes"
    " roots timelines unreached",
    "nested": "elementwise",
    "nn": "module",
    "onnx": "builder constants conversion conversions exporting onnx_program packages",
    "serialization": "archives tensor_files",
    "sparse": "construction invariants",
    "testing": "comparison",
    "symbolic": "arguments cloning containers differentiation dtypes expressions formulas functions"
    " generators gof.equilibrium gof.rewrites graph looping modes monitoring program_ops programs"
    " rebuilding sampling scanning settings sharing updates tensor.nnet.convolutions"
    " tensor.nnet.unshared",
    "utils": "tensorboard.summary tensorboard.writer",
}
INNER += tuple(
    f"wengert.{p}.{name}" for p, names in FOR_EACH_OTHER.items() for name in names.split()
)


def is_user_namespace(name: str) -> bool:
    """Whether users import from this module."""
    return not any(name == inner or name.startswith(f"{inner}.") for inner in INNER)


def names_of(module: ModuleType) -> list[str]:
    """The public names of a module: its `__all__`, or its names without an underscore.

    Imports are for its own use, except those that say otherwise: ``import *``, ``a as a``.
    """
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return list(listed)
    used = {
        alias.name
        for node in tree_of(Path(module.__file__ or "")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname is None
    }
    return [n for n, v in vars(module).items() if n[0] != "_" and n not in used and is_ours(v)]


def is_ours(value: Any) -> bool:
    """Whether a value is a function or class of this package."""
    home = getattr(value, "__module__", None) or ""
    return callable(value) and home.split(".")[0] == "wengert"


def is_exception(value: Any) -> bool:
    """Whether a value is an exception class."""
    return isinstance(value, type) and issubclass(value, BaseException)


@cache
def public() -> dict[str, Any]:
    """Every public function and class by its dotted name, each under its shortest one."""
    found: dict[str, Any] = {}
    seen: set[int] = set()
    for name in sorted(filter(is_user_namespace, namespaces()), key=lambda n: n.count(".")):
        for attribute in names_of(namespaces()[name]):
            value = getattr(namespaces()[name], attribute)
            if is_ours(value) and not isinstance(value, ModuleType) and id(value) not in seen:
                seen.add(id(value))
                found[f"{name}.{attribute}"] = value
    return found


@cache
def tensor_methods() -> dict[str, Any]:
    """The public methods of Tensor."""
    return {
        name: value
        for name, value in vars(Tensor).items()
        if not name.startswith("_") and inspect.isroutine(value)
    }
