"""What `import wengert` loads. How long it takes is measured by benchmarks/overhead.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.public import is_user_namespace, namespaces

PROBE = """
import json, sys
import numpy
before = set(sys.modules)
import wengert
print(json.dumps(sorted(set(sys.modules) - before)))
"""

# Each has a way to be loaded when it is first needed.
HEAVY = ["asyncio", "concurrent.futures", "dataclasses", "email", "fractions", "http", "igraph",
         "llvmlite", "logging.config", "multiprocessing.pool", "numpy.polynomial", "pathlib", "pdb",
         "pydoc", "resvg_py", "rich", "scipy", "sklearn", "sqlite3", "ssl", "string", "torch",
         "tqdm", "unittest", "urllib.request", "xml"]  # fmt: skip


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    """The modules that `import wengert` adds to those of NumPy."""
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize("name", HEAVY)
def test_heavy_module_is_not_loaded(name: str, loaded: set[str]) -> None:
    assert name not in loaded


@pytest.mark.parametrize(
    "name",
    [
        "wengert.cli",
        "wengert.compat",
        "wengert.distributed",
        "wengert.kernels.jit.language",
        "wengert.kernels.jit.tracing",
        "wengert.kernels.attention",
        "wengert.kernels.conv",
        "wengert.kernels.products.gemm",
        "wengert.kernels.norm",
        "wengert.kernels.recurrent",
        "wengert.kernels.scan.native",
        "wengert.kernels.scatter",
        "wengert.kernels.selection",
        "wengert.kernels.softmax",
        "wengert.kernels.special",
        "wengert.kernels.twister",
    ],
)
def test_part_that_only_some_programs_need_is_not_loaded(name: str, loaded: set[str]) -> None:
    assert name not in loaded


def test_no_operation_is_written_before_its_first_call() -> None:
    code = "import linecache, wengert; print(sum(n.startswith('<op ') for n in linecache.cache))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"


def test_run_loads_what_counts_operations_and_no_other_view_of_graphs(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys, torch; print(*sorted(sys.modules))")
    command = [sys.executable, "-m", "wengert", "run", "--quiet", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = set(done.stdout.split())
    assert {n for n in found if n.startswith("wengert.graph.")} == {
        "wengert.graph.formatting",
        "wengert.graph._memory_sampler",
        "wengert.graph.memory",
        "wengert.graph.nodes",
        "wengert.graph._recorder",
    }


# In a process for each package, because a module that is imported is an attribute from then on.
REACH = """
import os, pkgutil, sys
import wengert
for package in sys.argv[1:]:
    if os.fork() == 0:
        place = wengert
        for part in package.split(".")[1:]:
            place = getattr(place, part)
        for name in [info.name for info in pkgutil.iter_modules(place.__path__)]:
            if name[0] != "_" and not hasattr(place, name):
                print(f"{package}.{name}", flush=True)
        os._exit(0)
    os.wait()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked")
def test_submodules_are_attributes_of_their_packages() -> None:
    """`wengert.nn.grad` needs no import of its own."""
    packages = [name for name, m in namespaces().items() if hasattr(m, "__path__")]
    packages = [name for name in packages if is_user_namespace(name)]
    done = subprocess.run(
        [sys.executable, "-c", REACH, *packages], capture_output=True, text=True, check=True
    )
    assert [name for name in done.stdout.split() if is_user_namespace(name)] == []
    assert len(packages) > 15
