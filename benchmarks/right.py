"""Which of twenty small programs each tool gets right: compiled, they are to do what they do.

    python benchmarks/right.py            # print the table
    python benchmarks/right.py --write    # and put it into docs/right.md

The programs are those of tests/replay/test_programs.py. For PyTorch their text is the same with
`torch` in the place of `wengert`; for jax they are written anew (right_jax.py). Each runs in a
process of its own, eager and compiled, and what it has noted is compared: numbers to rounding, all
else exactly.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import re
import subprocess
import sys
import types
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "right.md"
TOOLS = {
    "wengert": "wengert",
    "torch.compile": "torch",
    "jax.jit": "jax",
}
LIMIT = 300  # seconds a program
BEGIN, END = "<!-- table -->", "<!-- end -->"


def programs(package: str) -> Any:
    """The module of the programs, in terms of a package."""
    for name in ("harness", "test_programs"):
        path = ROOT / "tests" / "replay" / f"{name}.py"
        text = re.sub(r"^from wengert\.(compiler|replay) .*", "", path.read_text(), flags=re.M)
        text = text.replace("wengert", package).replace("float32", "float64")
        module = types.ModuleType(f"tests.replay.{name}")
        sys.modules[module.__name__] = module
        module.__file__ = f"{path.stem}_{package}.py"
        exec(compile(text, _written(module.__file__, text), "exec"), module.__dict__)
    return module


def _written(file: str, text: str) -> str:
    """A file of that text: compilers read the source again."""
    path = Path(os.environ["RIGHT_FOLDER"], file)
    path.write_text(text)
    return str(path)


def wrapper(tool: str) -> Callable[[Any], Any]:
    """What compiles a function."""
    if tool == "wengert":
        from wengert.compiler import compile as compiled

        return compiled
    if tool == "jax.jit":
        import jax

        return jax.jit
    import torch

    return torch.compile


def runner(tool: str, name: str) -> Callable[[Callable[[Any], Any]], list[Any]]:
    """What runs a program from a fixed start, and gives what it has noted."""
    if tool == "jax.jit":
        import right_jax

        function = right_jax.PROGRAMS[name]
    else:
        module = programs(TOOLS[tool])
        function = next(f for f in module.PROGRAMS if f.__name__ == name)

    def run(wrap: Callable[[Any], Any]) -> list[Any]:
        if tool != "jax.jit":
            package: Any = sys.modules[TOOLS[tool]]
            package.set_default_dtype(package.float64)
            package.manual_seed(0)
        random.seed(0)
        log: list[Any] = []
        function(wrap, log)
        return [*map(plain, log), random.random()]

    return run


def plain(value: Any) -> Any:
    """A value as numbers."""
    if hasattr(value, "detach"):
        return np.asarray(value.detach().numpy())
    if isinstance(value, tuple | list):
        return [plain(v) for v in value]
    return value


def difference(ours: Any, eager: Any) -> str:
    """What differs first between two logs; empty if nothing does."""
    if isinstance(eager, list):
        if not isinstance(ours, list):
            return f"{type(ours).__name__} for a list"
        for k, (a, b) in enumerate(zip(ours, eager, strict=False)):
            what = difference(a, b)
            if what:
                return what
            if isinstance(a, str) != isinstance(b, str):
                return f"entry {k}"
        return "" if len(ours) == len(eager) else f"{len(ours)} notes for {len(eager)}"
    if isinstance(eager, np.ndarray | float):
        if ours is None or isinstance(ours, str) or np.shape(ours) != np.shape(eager):
            return f"{_described(ours)} for {_described(eager)}"
        scale = max(1.0, float(np.abs(np.nan_to_num(eager)).max(initial=0)))
        close = np.allclose(ours, eager, 1e-6, 1e-7 * scale, equal_nan=True)
        return "" if close else f"numbers off by {np.nanmax(np.abs(ours - eager)):.1e}"
    return "" if ours == eager else f"{_described(ours)} for {_described(eager)}"


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return "numbers"
    return "a number" if isinstance(value, float) else repr(value)


def judged(run: Callable[[Callable[[Any], Any]], list[Any]], wrap: Callable[[Any], Any]) -> str:
    """Run a program eager and compiled: "right", or what is not."""
    eager = run(lambda f: f)
    try:
        ours = run(wrap)
    except Exception as error:
        return f"raises {type(error).__name__}"
    except BaseException as error:  # pytest's failures
        return f"**wrong**: {str(error).splitlines()[0]}"
    what = difference(ours, eager)
    return "right" if not what else f"**wrong**: {what}"


def verdict(tool: str, name: str) -> str:
    """How a tool fares with a program."""
    if tool == "jax.jit":
        import right_jax

        if name in right_jax.ABSENT:
            return f"not expressible: {right_jax.ABSENT[name]}"
    warnings.simplefilter("ignore")
    run = runner(tool, name)
    found = judged(run, wrapper(tool))
    if tool != "torch.compile" or not found.startswith("**wrong**"):
        return found
    import torch

    torch.compiler.reset()
    torch._inductor.config.fallback_random = True
    if judged(run, wrapper(tool)) == "right":
        return "other random numbers than eager (right with `fallback_random`)"
    return found


def in_process(tool: str, name: str, folder: str) -> str:
    """The verdict of a fresh process."""
    environment = os.environ | {
        "RIGHT_FOLDER": folder,
        "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
    }  # fmt: skip
    command = [sys.executable, __file__, "--one", tool, name]
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT, env=environment
        )
    except subprocess.TimeoutExpired:
        return f"no end after {LIMIT} s"
    lines = [line for line in result.stdout.splitlines() if line.startswith("VERDICT ")]
    if lines:
        return str(json.loads(lines[-1].removeprefix("VERDICT ")))
    return f"ends with {result.returncode}"


def names() -> list[str]:
    """The programs, in the order of their file."""
    text = (ROOT / "tests" / "replay" / "test_programs.py").read_text()
    return re.findall(r"^@program\ndef (\w+)", text, re.MULTILINE)


def table(tools: list[str], folder: str) -> str:
    """The table, as Markdown."""
    lines = [f"| | {' | '.join(f'`{t}`' for t in tools)} |", "|---" * (len(tools) + 1) + "|"]
    counts = dict.fromkeys(tools, 0)
    for name in names():
        row = []
        for tool in tools:
            row.append(in_process(tool, name, folder))
            counts[tool] += row[-1] == "right"
        lines.append(f"| {name.replace('_', ' ')} | {' | '.join(row)} |")
        print(lines[-1], flush=True)
    total = len(names())
    lines.append(f"| **right** | {' | '.join(f'{counts[t]} of {total}' for t in tools)} |")
    head = (
        f"Python {platform.python_version()}, PyTorch {version('torch')} (inductor), jax"
        f" {version('jax')}, NumPy {version('numpy')}; by `python benchmarks/right.py --write`."
    )
    return head + "\n\n" + "\n".join(lines)


def main() -> None:
    """Print the table, or one verdict."""
    import tempfile

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    parser.add_argument("--tools", nargs="*", default=list(TOOLS), choices=TOOLS)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print("VERDICT " + json.dumps(verdict(*options.one)))
        return
    with tempfile.TemporaryDirectory() as folder:
        text = table(options.tools, folder)
    print(text)
    if options.write:
        page = PAGE.read_text()
        before, after = page.split(BEGIN)[0], page.split(END)[1]
        PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")


if __name__ == "__main__":
    main()
