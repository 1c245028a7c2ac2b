"""Imports point downwards only, and outwards only to the dependencies."""

from __future__ import annotations

import sys

from tests.source import imports_of, modules

# Lowest first. A layer imports itself and what stands above it in this list. Imports inside
# functions count as well, those under `if TYPE_CHECKING` do not.
LAYERS = {
    "core": "core",
    "kernels": "kernels",
    # What scripts ask about the machine, and the few settings that they change.
    "platform": "accelerator amp backends cpu cuda mps overrides platform version xpu",
    "ops": "ops",
    "autograd": "autograd",
    "meta": "meta",
    "tensor": "random return_types tensor types",
    # Operations under the names of a field.
    "fields": "fft linalg masked quasirandom signal special",
    "sparse": "nested sparse",
    "func": "func",
    "graph": "graph",
    "dispatch": "dispatch library",
    "compile": "compiler replay",
    "nn": "nn",
    "checkpointing": "checkpointing",
    "distributions": "distributions",
    "optim": "optim",
    "data": "data",
    "serialization": "serialization",
    "utils": "hub multiprocessing profiler testing utils",
    "distributed": "distributed",
    "horovod": "horovod",
    # Programs as graphs: functions have the names that the package gives them.
    "fx": "fx",
    "export": "export jit",
    "onnx": "onnx",
    # Expressions under the names of Theano.
    "symbolic": "symbolic",
    # The torch alias and the commands use the package whole.
    "compat": "compat",
    "cli": "cli __main__",
}
RANK = {part: rank for rank, parts in enumerate(LAYERS.values()) for part in parts.split()}
# The package itself puts the layers together, up to distributed.
RANK[""] = RANK["distributed"] + 0.5

# What kernels may import beside each other.
BELOW_KERNELS = {"wengert.core.dtypes", "wengert.core.forks", "wengert.core"}

DEPENDENCIES = {"llvmlite", "numpy", "ml_dtypes", "safetensors", "scipy"}
EXTRAS = {"igraph", "resvg_py", "rich", "tabulate"}  # of the extras `graph` and `fx`
EXTRAS |= {"onnx", "onnxruntime"}  # of the extra `onnx`
EXTRAS |= {"mpi4py"}  # of the extra `mpi`


def part_of(module: str) -> str:
    """The first name below `wengert`."""
    return [*module.split("."), ""][1]


def rank_of(module: str) -> float:
    """How high a module stands."""
    return RANK[part_of(module)]


def test_every_module_has_a_layer() -> None:
    """A new part of the package belongs in LAYERS."""
    assert {part_of(module) for module in modules()} <= RANK.keys()


def test_imports_point_downwards() -> None:
    upwards = [
        f"{module}, line {line}: {name}"
        for module in modules()
        for name, line in sorted(imports_of(module))
        if name.split(".")[0] == "wengert" and rank_of(name) > rank_of(module)
    ]
    assert upwards == []


def test_underscored_modules_are_private_to_their_packages() -> None:
    across = [
        f"{module}, line {line}: {name}"
        for module in modules()
        for name, line in sorted(imports_of(module))
        if name.startswith("wengert.")
        and part_of(name) != part_of(module)
        and any(part.startswith("_") for part in name.split(".")[2:])
        and name in modules()
    ]
    assert across == []


def test_kernels_know_no_tensor() -> None:
    others = [
        f"{module}, line {line}: {name}"
        for module in modules()
        for name, line in sorted(imports_of(module))
        if part_of(module) == "kernels"
        and name.startswith("wengert")
        and part_of(name) != "kernels"
        and name not in BELOW_KERNELS
    ]
    assert others == []


def test_only_the_declared_dependencies_are_imported() -> None:
    newer = {"annotationlib"}  # of Python 3.14
    allowed = sys.stdlib_module_names | newer | DEPENDENCIES | EXTRAS | {"wengert"}
    others = [
        f"{module}, line {line}: {name}"
        for module in modules()
        for name, line in sorted(imports_of(module))
        if name.split(".")[0] not in allowed
    ]
    assert others == []


# Imports inside functions that close a circle, and why they stand there.
CLOSING = {
    ("wengert.compat._spawn", "wengert.compat"): "runs in a child, which has to import it itself",
    ("wengert.jit._scripting", "wengert.jit._files"): "programs come with first use",
    ("wengert.jit._scripting", "wengert.jit._tracing"): "programs come with first use",
    ("wengert.kernels.buffers", "wengert.kernels.jit.compiler"): "llvmlite comes with first use",
    ("wengert.kernels.jit", "wengert.kernels.jit.compiler"): "llvmlite comes with first use",
}


def test_no_circle_of_imports() -> None:
    """Modules that import each other, by whatever way round and inside functions as well."""
    graph = {
        module: {name for name, _ in imports_of(module) if name in modules()} - {module}
        for module in modules()
    }
    for module, name in CLOSING:
        assert name in graph[module], f"{module} does not import {name} any more"
        assert module in reachable(graph, name), f"{name} does not lead back to {module} any more"
    for module, name in CLOSING:
        graph[module].remove(name)
    below = {module: reachable(graph, module) for module in graph}
    circles = {m for m in graph if any(m in below[name] for name in graph[m])}
    assert circles == set()


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    """The modules that one imports, itself or through others; itself among them."""
    visited, todo = {start}, [start]
    while todo:
        below = graph[todo.pop()] - visited
        visited |= below
        todo += below
    return visited
