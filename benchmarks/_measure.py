"""Measuring two libraries side by side: a clean process, interleaved rounds, medians, JSON."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"

# Users do not have these: the first two slow NumPy's matrix products down, the third makes
# every import compile, the others change the default number of threads.
UNSET = (
    "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "PYTHONDONTWRITEBYTECODE",
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
)  # fmt: skip


@dataclass
class Row:
    """One line of a report: the same quantity in both libraries."""

    name: str
    unit: str
    wengert: float
    torch: float | None = None
    onnxruntime: float | None = None

    @property
    def ratio(self) -> float | None:
        """wengert's value as a multiple of torch's: below 1 is less."""
        return None if self.torch is None else self.wengert / self.torch

    @property
    def onnxruntime_ratio(self) -> float | None:
        """wengert's value as a multiple of ONNX Runtime's."""
        return None if self.onnxruntime is None else self.wengert / self.onnxruntime

    def text(self) -> str:
        """The row as a line of a plain table."""
        peer = "" if self.torch is None else f"{self.torch:12.2f}{self.ratio:9.2f}"
        if self.onnxruntime is not None:
            peer += f"   ONNX Runtime{self.onnxruntime:10.2f}{self.onnxruntime_ratio:9.2f}"
        return f"{self.name:<58}{self.unit:>8}{self.wengert:12.2f}{peer}"


def turns(
    contenders: dict[str, Callable[[], Iterable[float]]], rounds: int, warming: int = 2
) -> dict[str, list[tuple[float, ...]]]:
    """Run the contenders in turns; what each returns in every round, by contender.

    Every other round goes in the opposite order, so that neither always runs on the caches
    and clocks that the other left.
    """
    samples: dict[str, list[tuple[float, ...]]] = {name: [] for name in contenders}
    names = list(contenders)
    for number in range(rounds + warming):
        for name in names if number % 2 else reversed(names):
            sample = tuple(contenders[name]())
            if number >= warming:  # the first turns warm up: first calls, caches, thread pools
                samples[name].append(sample)
    return samples


def interleaved(contenders: dict[str, Callable[[], Iterable[float]]], rounds: int) -> Any:
    """Run the contenders in turns; the medians of what each returns, by contender."""
    return {
        name: [statistics.median(column) for column in zip(*found, strict=True)]
        for name, found in turns(contenders, rounds).items()
    }


def turn(call: Callable[[], Any], count: int) -> tuple[float]:
    """Microseconds of one of `count` calls."""
    start = time.perf_counter()
    for _ in range(count):
        call()
    return ((time.perf_counter() - start) / count * 1e6,)


def calls_compared(
    name: str,
    ours: Callable[[], Any],
    theirs: Callable[[], Any],
    seconds: float,
    rounds: int,
    at_once: int = 1,
) -> Row:
    """A call in both libraries, for so many seconds a turn; `at_once` calls find out how many."""
    contenders = {}
    for library, call in (("wengert", ours), ("torch", theirs)):
        once = min(turn(call, at_once)[0] for _ in range(4))
        contenders[library] = partial(turn, call, max(1, int(seconds * 1e6 / once)))
    medians = interleaved(contenders, rounds)
    return Row(name, "us", medians["wengert"][0], medians["torch"][0])


def peak_of(work: Callable[[], Any]) -> int:
    """The most bytes that this process has during some work, beside those that it had before."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = _status("VmRSS")
    work()
    return _status("VmHWM") - before


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))


def clean_environment() -> dict[str, str]:
    """The variables of this process, without those in UNSET."""
    return {k: v for k, v in os.environ.items() if k not in UNSET}


def in_clean_process(script: str, measure: Callable[[], list[Row]]) -> None:
    """Run `measure` in a process of its own without the variables in UNSET, print and save."""
    if "--inside" not in sys.argv:
        environment = clean_environment()
        removed = [name for name in UNSET if name in os.environ]
        print(f"# measured in a process of its own, without {', '.join(UNSET)}"
              f" (set here: {', '.join(removed) or 'none'})", flush=True)  # fmt: skip
        command = [sys.executable, script, "--inside", *sys.argv[1:]]
        sys.exit(subprocess.run(command, env=environment, check=False).returncode)
    print(f"# {machine()}")
    print(f"{'':<58}{'unit':>8}{'wengert':>12}{'torch':>12}{'ratio':>9}")
    rows = measure()
    ratios = [{"ratio": row.ratio, "onnxruntime_ratio": row.onnxruntime_ratio} for row in rows]
    found = [asdict(row) | ratio for row, ratio in zip(rows, ratios, strict=True)]
    save(script, {"rows": found})


def save(script: str, found: dict[str, Any]) -> None:
    """Write what a script has found, and the machine, to where report.py reads it."""
    RESULTS.mkdir(exist_ok=True)
    target = RESULTS / f"{Path(script).stem}.json"
    origin = {"machine": machine(), "date": time.strftime("%Y-%m-%d")}
    target.write_text(json.dumps(origin | found, indent=1) + "\n")


def shown(row: Row) -> Row:
    """Print a row as soon as it is there."""
    print(row.text(), flush=True)
    return row


# Flags of Linux for the extensions that set the pace of kernels, the best first.
_VECTORS = {"amx_bf16": "AVX-512, AMX", "avx512f": "AVX-512", "avx2": "AVX2"}


def machine() -> str:
    """What the numbers depend on: processor, cores, versions."""
    versions = [f"{name} {metadata.version(name)}" for name in ("wengert", "torch", "numpy")]
    system = [_processor(), f"{os.cpu_count()} cores", f"Python {platform.python_version()}"]
    return ", ".join(system + versions)


def _processor() -> str:
    """Its name, which alone may stand for several generations, and how wide its vectors are."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    told = [(head.strip(), text.split()) for head, _, text in (x.partition(":") for x in lines)]
    names = (" ".join(words) for head, words in told if head == "model name")
    flags = {flag for head, words in told if head == "flags" for flag in words}
    widest = next((name for flag, name in _VECTORS.items() if flag in flags), None)
    name = next(names, platform.machine())
    return name if widest is None else f"{name} ({widest})"
