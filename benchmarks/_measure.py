"""Measuring two libraries side by side: a clean process, interleaved rounds, medians, JSON."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"

# Users do not have these: the first two slow NumPy's matrix products down, the third makes
# every import compile.
UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "PYTHONDONTWRITEBYTECODE")


@dataclass
class Row:
    """One line of a report: the same quantity in both libraries."""

    name: str
    unit: str
    wengert: float
    torch: float | None = None

    @property
    def ratio(self) -> float | None:
        """wengert's value as a multiple of torch's: below 1 is less."""
        return None if self.torch is None else self.wengert / self.torch

    def text(self) -> str:
        """The row as a line of a plain table."""
        peer = "" if self.torch is None else f"{self.torch:12.2f}{self.ratio:9.2f}"
        return f"{self.name:<58}{self.unit:>8}{self.wengert:12.2f}{peer}"


def interleaved(contenders: dict[str, Callable[[], Iterable[float]]], rounds: int) -> Any:
    """Run the contenders in turns; the medians of what each returns, by contender.

    Every other round goes in the opposite order, so that neither always runs on the caches
    and clocks that the other left.
    """
    samples: dict[str, list[tuple[float, ...]]] = {name: [] for name in contenders}
    names = list(contenders)
    for turn in range(rounds + 2):
        for name in names if turn % 2 else reversed(names):
            sample = tuple(contenders[name]())
            if turn >= 2:  # the first turns warm up: first calls, caches, thread pools
                samples[name].append(sample)
    return {
        name: [statistics.median(column) for column in zip(*found, strict=True)]
        for name, found in samples.items()
    }


def in_clean_process(script: str, measure: Callable[[], list[Row]]) -> None:
    """Run `measure` in a process of its own without the variables in UNSET, print and save."""
    if "--inside" not in sys.argv:
        environment = {k: v for k, v in os.environ.items() if k not in UNSET}
        removed = [name for name in UNSET if name in os.environ]
        print(f"# measured in a process of its own, without {', '.join(UNSET)}"
              f" (set here: {', '.join(removed) or 'none'})", flush=True)  # fmt: skip
        command = [sys.executable, script, "--inside", *sys.argv[1:]]
        sys.exit(subprocess.run(command, env=environment, check=False).returncode)
    print(f"# {machine()}")
    print(f"{'':<58}{'unit':>8}{'wengert':>12}{'torch':>12}{'ratio':>9}")
    rows = measure()
    RESULTS.mkdir(exist_ok=True)
    target = RESULTS / f"{Path(script).stem}.json"
    found = {"machine": machine(), "rows": [asdict(row) | {"ratio": row.ratio} for row in rows]}
    target.write_text(json.dumps(found, indent=1) + "\n")


def shown(row: Row) -> Row:
    """Print a row as soon as it is there."""
    print(row.text(), flush=True)
    return row


def machine() -> str:
    """What the numbers depend on: processor, cores, versions."""
    versions = [f"{name} {metadata.version(name)}" for name in ("wengert", "torch", "numpy")]
    system = [_processor(), f"{os.cpu_count()} cores", f"Python {platform.python_version()}"]
    return ", ".join(system + versions)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
