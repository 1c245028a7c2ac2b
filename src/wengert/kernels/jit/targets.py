"""What processor kernels are compiled for, and how their object code is told from others'."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from pathlib import Path
from typing import NamedTuple

import llvmlite
import llvmlite.binding as llvm

from wengert.core.forks import once

# PyArrayObject starts with the object's head, and then has the address of its data.
DATA = object.__basicsize__


class Processor(NamedTuple):
    """LLVM's name of a processor, and its features, each with a sign: ``+avx2,-sse4a``."""

    name: str
    features: str

    def has(self, feature: str) -> bool:
        """Whether it has a feature."""
        return f"+{feature}" in self.features.split(",")


def tuned(name: str, features: str) -> Processor:
    """A processor as kernels are compiled for it."""
    # LLVM would use half of each wide register of Intel's in loops that it vectorizes: an
    # exponential takes 1.4 times as long there.
    wide = ["-prefer-256-bit"] if "+avx512f" in features.split(",") else []
    return Processor(name, ",".join([features, *wide]))


class Level(NamedTuple):
    """Processors with all of these features."""

    name: str
    features: tuple[str, ...]

    def processor(self) -> Processor:
        """One that has nothing more."""
        return tuned(self.name, ",".join(f"+{feature}" for feature in self.features))

    def serves(self, host: Processor) -> bool:
        """Whether a processor runs its code, and kernels' texts for both are the same."""
        asked = {"avx", "avx512f", "f16c"}
        return all(map(host.has, self.features)) and all(
            host.has(feature) == (feature in self.features) for feature in asked
        )


_V3 = ("avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sahf",
       "sse3", "sse4.1", "sse4.2", "ssse3", "xsave")  # fmt: skip
_V4 = (*_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
# By the psABI of x86-64.
LEVELS = {level.name: level for level in (Level("x86-64-v3", _V3), Level("x86-64-v4", _V4))}


class _Chosen:
    """What is compiled for in this process, if not the processor that runs it."""

    processor: Processor | None = None


@once  # as LLVM has a lock of its own, which no fork may find held
def host() -> Processor:
    """The processor that runs this."""
    return tuned(llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())


def processor() -> Processor:
    """The processor that kernels are compiled for.

    What a kernel's text asks it beside `Level.serves`' features must be in the kernel's identity.
    """
    return _Chosen.processor or host()


def choose(level: Level) -> None:
    """Compile for a level in this process, which has compiled nothing yet."""
    _Chosen.processor = level.processor()


@cache
def _sources() -> bytes:
    """The digest of the package's kernels and of what compiles them."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.digest()


@cache
def _origin(processor: Processor, compiler: str) -> bytes:
    facts = (compiler, *processor, DATA, platform.python_implementation())
    return b"".join([f"{fact}\n".encode() for fact in facts]) + _sources()


def _digest(origin: bytes, name: str) -> str:
    return hashlib.sha256(origin + name.encode()).hexdigest()[:40]


def key(name: str) -> str:
    """What tells a module's object code from any other that this machine makes."""
    return _digest(_origin(processor(), llvmlite.__version__), name)


def level_key(level: Level, name: str) -> str:
    """The same of object code that was made elsewhere, with any compiler."""
    return _digest(_origin(level.processor(), _triple()), name)


@once
def _triple() -> str:
    """What LLVM compiles for."""
    triple: str = llvm.get_default_triple()
    return triple
