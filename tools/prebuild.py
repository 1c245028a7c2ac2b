"""Compile the kernels of typical networks for levels of processors, into the package.

    python tools/prebuild.py [LEVEL ...]

Each level is compiled in a process of its own, by the steps of ``wengert cache --warm``, which run
what they compile: a level that this processor does not have is left out, and said to be. What the
package had before is removed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile

from wengert.graph.formatting import format_bytes, format_count
from wengert.kernels.jit import compiler, prebuilt
from wengert.kernels.jit.targets import LEVELS, Level, choose, host


def main(names: list[str]) -> None:
    """Compile for these levels, or for all."""
    shutil.rmtree(prebuilt.FOLDER, ignore_errors=True)
    for name in names or LEVELS:
        if not all(map(host().has, LEVELS[name].features)):
            print(f"{name}: left out, {host().name} is not of this level")
            continue
        with tempfile.TemporaryDirectory() as cache:
            environment = os.environ | {"WENGERT_CACHE": cache, "WENGERT_PREBUILT": "0"}
            subprocess.run([sys.executable, __file__, "--only", name], env=environment, check=True)
        files = list((prebuilt.FOLDER / name).iterdir())
        total = sum(file.stat().st_size for file in files)
        print(f"{name}: {format_count(len(files), 'kernel')}, {format_bytes(total)}")


def compile_for(level: Level) -> None:
    """Compile in this process, which has compiled nothing yet."""
    from wengert.cli._warming import warm_cache

    choose(level)
    compiler.listeners.append(lambda name, content: prebuilt.store(level, name, content))
    warm_cache(lambda what: print(f"  {what}", flush=True))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--only"]:
        compile_for(LEVELS[sys.argv[2]])
    else:
        main(sys.argv[1:])
