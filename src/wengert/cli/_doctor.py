"""``wengert doctor``: what wengert computes with here, what is wrong, and how to mend it."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import sys
import sysconfig
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

import numpy as np

import wengert
from wengert.cli._cache import described
from wengert.cli._colour import Palette
from wengert.cli._data import package_versions
from wengert.compat import package
from wengert.graph.formatting import format_bytes
from wengert.kernels import jit
from wengert.kernels.jit import disk

_FAST_BLAS = ("openblas", "mkl", "accelerate", "blis", "armpl")
_EXTRAS = {"graph": ("igraph", "resvg_py", "rich"), "fx": ("tabulate",), "onnx": ("onnx",)}
_SETTINGS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "OPENBLAS_CORETYPE",
    "MKL_NUM_THREADS",
    "WENGERT_JIT",
    "WENGERT_CACHE",
    "WENGERT_BUFFERS",
)


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of the report: `problem` says what is wrong with it, `remedy` what helps."""

    name: str
    text: str
    problem: str = ""
    remedy: str = ""


def print_diagnosis(as_json: bool) -> int:
    """Print all facts, problems last; the exit code is 1 if there are any."""
    facts = [fact for look in LOOKS for fact in look()]
    problems = [fact for fact in facts if fact.problem]
    if as_json:
        print(json.dumps([asdict(fact) for fact in facts], indent=1))
    else:
        paint = Palette(sys.stdout)
        width = max(len(fact.name) for fact in facts)
        for fact in facts:
            mark = paint("!", "yellow") if fact.problem else " "
            name = paint(fact.name, "bold") + " " * (width - len(fact.name))
            print(f"{mark} {name}  {fact.text}")
        for fact in problems:
            print(f"\n{paint(f'{fact.name}: {fact.problem}', 'yellow')}\n  {fact.remedy}")
        if not problems:
            print(paint("\nnothing is wrong", "green"))
    return int(bool(problems))


def _versions() -> Iterator[Fact]:
    names = package_versions()
    yield Fact("wengert", f"{names['wengert']} in {os.path.dirname(wengert.__file__)}")
    yield Fact("stands for", f"PyTorch {names['torch']}")
    free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    text = f"{names['python']}{' (free-threaded)' if free_threaded else ''} at {sys.executable}"
    yield Fact("python", text)
    others = [f"{name} {_version(name)}" for name in ("numpy", "scipy", "llvmlite", "ml_dtypes")]
    yield Fact("packages", ", ".join(others))


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "missing"


def _machine() -> Iterator[Fact]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    system = f"{platform.system()} {platform.machine()}, {cores} of {os.cpu_count()} cores"
    yield Fact("machine", system)
    threads = wengert.get_num_threads()
    if threads < (cores or 1):
        name = "OMP_NUM_THREADS"
        cause = f"{name}={os.environ[name]} says so" if name in os.environ else "a setting says so"
        yield Fact("threads", str(threads), f"{threads} of {cores} cores are used: {cause}",
                   f"unset {name}, or call wengert.set_num_threads({cores})")  # fmt: skip
    else:
        yield Fact("threads", str(threads))


def _blas() -> Iterator[Fact]:
    config = np.show_config(mode="dicts") or {}
    blas = config.get("Build Dependencies", {}).get("blas", {})
    name = blas.get("name", "unknown")
    text = f"{name} {blas.get('version', '')}".strip()
    if any(library in name.lower() for library in _FAST_BLAS):
        yield Fact("BLAS", text)
    else:
        yield Fact("BLAS", text, "NumPy has no fast matrix products",
                   "pip install --force-reinstall numpy, whose wheels bring OpenBLAS")  # fmt: skip


def _kernels() -> Iterator[Fact]:
    if os.environ.get("WENGERT_JIT") == "0":
        yield Fact("kernels", "off", "NumPy computes everything: WENGERT_JIT=0 says so",
                   "unset WENGERT_JIT")  # fmt: skip
        return
    if importlib.util.find_spec("llvmlite") is None:
        yield Fact("kernels", "none", "llvmlite is missing, so that NumPy computes everything",
                   "pip install llvmlite")  # fmt: skip
        return
    from wengert.kernels.jit import prebuilt

    try:
        cpu = _compiled()
    except Exception as error:
        yield Fact("kernels", "none", f"none can be compiled: {type(error).__name__}: {error}",
                   "pip install --upgrade llvmlite numpy; WENGERT_JIT=0 does without")  # fmt: skip
        return
    level = prebuilt.level()
    brought = f", {prebuilt.count()} brought along for {level.name}" if level is not None else ""
    yield Fact("kernels", f"compiled for {cpu}{brought}")


def _compiled() -> str:
    """The processor that kernels are made for, after one has been computed with."""
    from wengert.kernels.jit.targets import processor

    if not jit.available():
        raise RuntimeError("this interpreter's arrays are not laid out as kernels expect")
    line = wengert.linspace(0.0, 1.0, 4 * jit.LARGE)
    if not wengert.allclose(line.exp().log(), line, atol=1e-5):
        raise RuntimeError("a kernel has computed wrong numbers")
    return processor().name


def _cache() -> Iterator[Fact]:
    if os.environ.get("WENGERT_CACHE") == "":
        yield Fact("cache", "none", "every process compiles its kernels again: WENGERT_CACHE is"
                   " empty", "unset WENGERT_CACHE")  # fmt: skip
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        folder = disk.folder()
    if folder is not None and os.access(folder, os.W_OK):
        yield Fact("cache", described())
        return
    reason = str(caught[0].message) if caught else f"the folder {folder} cannot be written to"
    yield Fact("cache", "none", reason.partition(". ")[0],
               "name a folder of your own in WENGERT_CACHE")  # fmt: skip


def _memory() -> Iterator[Fact]:
    stats = wengert.memory_stats()
    limit = format_bytes(stats["limit"]) if stats["limit"] else "nothing"
    yield Fact("memory", f"up to {limit} kept for later arrays")


def _alias() -> Iterator[Fact]:
    folder = Path(sysconfig.get_path("purelib"))
    version = package.version_in(folder)
    other = package.installed_pytorch(folder)
    if version is not None:
        yield Fact("import torch", f"wengert, as torch {version}")
    elif other:
        yield Fact("import torch", f"PyTorch, in {other}; wengert under `wengert run`")
    else:
        yield Fact(
            "import torch", "nothing; wengert under `wengert run` or `wengert alias install`"
        )


def _extras() -> Iterator[Fact]:
    for extra, modules in _EXTRAS.items():
        missing = [name for name in modules if importlib.util.find_spec(name) is None]
        hint = f"pip install 'wengert[{extra}]' ({', '.join(missing)} missing)"
        yield Fact(f"wengert[{extra}]", hint if missing else "installed")


def _settings() -> Iterator[Fact]:
    there = [f"{name}={os.environ[name]}" for name in _SETTINGS if name in os.environ]
    yield Fact("settings", ", ".join(there) or "none in the environment")
    if "OPENBLAS_CORETYPE" in os.environ:
        core = os.environ["OPENBLAS_CORETYPE"]
        yield Fact("OpenBLAS", f"for {core}", "OPENBLAS_CORETYPE chooses its kernels, not the"
                   " processor", "unset OPENBLAS_CORETYPE")  # fmt: skip


LOOKS: tuple[Callable[[], Iterator[Fact]], ...] = (
    _versions, _machine, _blas, _kernels, _cache, _memory, _alias, _extras, _settings,
)  # fmt: skip
