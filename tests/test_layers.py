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
    "platform": (
        "_config _settings accelerator amp backends compiler cpu cuda mps overrides version xpu"
    ),
    "ops": "ops",
    "autograd": "autograd",
    "tensor": "random tensor types",
    # Operations under the names of a field.
    "fields": "fft linalg masked signal special",
    "func": "func",
    "graph": "graph",
    "compile": "compile",
    "nn": "nn",
    "distributions": "distributions",
    "optim": "optim",
    "serialization": "serialization",
    "utils": "hub jit multiprocessing profiler return_types testing utils",
    "distributed": "distributed",
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
EXTRAS = {"igraph", "resvg_py", "rich"}  # of the extra `graph`


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


def test_no_circle_of_imports() -> None:
    """Modules that import each other, where both do so at import time.

    Modules of `ops` may use a sibling inside a function or a rule: derivatives go in circles
    (a view's is a scatter, a scatter's is a view), imports do not.
    """
    graph = {
        module: {n for n, _ in imports_of(module, into_functions=False) if n in modules()}
        for module in modules()
    }
    while graph:
        leaves = {module for module, below in graph.items() if not below & graph.keys()}
        assert leaves, f"these modules import each other: {sorted(graph)}"
        for module in leaves:
            del graph[module]
