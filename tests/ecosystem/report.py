"""Which packages that build on PyTorch run on wengert.

    python -m tests.ecosystem.report              # every program, and docs/compatibility.md
    python -m tests.ecosystem.report timm captum  # these alone, with the ends of their output

`make ecosystem` is the first. The programs in `programs/` are plain PyTorch scripts, one or a few
for each package; they run under ``wengert run`` in an environment of their own, which has no
PyTorch: packages.txt is installed without what it requires, dependencies.txt is what that was,
less PyTorch.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ENVIRONMENT = ROOT / "build" / "ecosystem"
PYTHON = ENVIRONMENT / "bin" / "python"
PAGE = ROOT / "docs" / "compatibility.md"
BEGIN, END = "<!-- ecosystem: begin -->", "<!-- ecosystem: end -->"
SECONDS = 180  # for one program
# Distributions whose module has another name than theirs.
DISTRIBUTIONS = {
    "backpack": "backpack-for-pytorch",
    "ignite": "pytorch-ignite",
    "pyro": "pyro-ppl",
}


@dataclass
class Row:
    """What became of one program."""

    program: str
    package: str
    version: str
    imports: bool
    runs: bool
    cause: str
    output: str

    def __str__(self) -> str:
        marks = ("yes" if done else "no" for done in (self.imports, self.runs))
        return f"| {self.program} | {self.version} | {' | '.join(marks)} | {self.cause} |"


def install() -> None:
    """Make the environment, unless it is there and up to date; SystemExit if PyTorch got in."""
    wanted = [HERE / "packages.txt", HERE / "dependencies.txt", ROOT / "pyproject.toml"]
    stamp = ENVIRONMENT / "stamp"
    if not stamp.exists() or any(f.stat().st_mtime > stamp.stat().st_mtime for f in wanted):
        subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True)
        with tempfile.TemporaryDirectory() as folder:
            constraints = Path(folder, "constraints.txt")
            constraints.write_text("torch<0\n")  # there is none: who asks for one fails
            pip("--constraint", str(constraints), "-r", str(wanted[1]), "--editable", str(ROOT))
            pip("--no-deps", "-r", str(wanted[0]))
        stamp.touch()
    look = "import importlib.util as u, sys; sys.exit(u.find_spec('torch') is not None)"
    if subprocess.run([PYTHON, "-P", "-c", look], check=False).returncode:
        sys.exit(f"there is a PyTorch in {ENVIRONMENT}, and nothing would be tested")


def pip(*arguments: str) -> None:
    """Install into the environment."""
    command = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, *arguments], check=True)


def execute(*arguments: str) -> tuple[int | None, str]:
    """How a program ended (None: not in time) and what it printed."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "HF_HUB_OFFLINE": "1",
        "KERAS_BACKEND": "torch",
        "MPLBACKEND": "agg",
    }
    command = [PYTHON, "-m", "wengert", "run", "--quiet", "--full-traceback", *arguments]
    try:
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                command, env=environment, cwd=folder, timeout=SECONDS, check=False,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            )  # fmt: skip
    except subprocess.TimeoutExpired as expired:
        return None, bytes(expired.stdout or b"").decode(errors="replace")
    return done.returncode, done.stdout


def run(path: Path) -> Row:
    """Import the package of a program, and run the program."""
    name = path.stem.removeprefix("use_")
    imports = re.findall(r"^(?:import|from) (\w+)", path.read_text(), re.M)
    package = next(p for p in imports if name == p or (name.startswith(f"{p}_") and p != "torch"))
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "script.py")
        script.write_text(f"import {package}\n")
        imported, why_not = execute(str(script))
    code, output = execute(str(path))
    cause = "" if code == 0 else cause_of(code, output if imported == 0 else why_not)
    return Row(name, package, version_of(package), imported == 0, code == 0, cause, output)


def cause_of(code: int | None, output: str) -> str:
    """The error that a program ended with, in one line."""
    if code is None:
        return f"not done after {SECONDS} s"
    if code < 0:
        return f"killed by signal {-code}"
    lines = [line for line in output.splitlines() if re.match(r"[\w.]+(Error|Exception)\b", line)]
    # Packages that import lazily report a failure of their own; the first error is the cause.
    missing = [line for line in lines if "wengert" in line]
    lines = missing or lines
    text = lines[-1] if lines else (output.strip().splitlines() or ["no output"])[-1]
    text = re.sub(r" \(this process runs wengert in place of PyTorch\).*", "", text)
    return text[:160].replace("|", "\\|").replace("<", "&lt;")


def version_of(package: str) -> str:
    """The version of the distribution that a package came with."""
    name = DISTRIBUTIONS.get(package, package)
    code = f"from importlib.metadata import version; print(version({name!r}))"
    done = subprocess.run([PYTHON, "-c", code], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def table(rows: list[Row]) -> str:
    """The rows in Markdown, with their sums."""
    lines = [
        f"{sum(row.imports for row in rows)} of {len(rows)} programs import their package,"
        f" {sum(row.runs for row in rows)} run to the end.",
        "",
        "| program | version | imports | runs | what stops it |",
        "|---|---|---|---|---|",
    ]
    return "\n".join([*lines, *map(str, rows)])


def replace(begin: str, end: str, text: str) -> None:
    """Put a table between two marks of the page."""
    before, rest = PAGE.read_text().split(begin)
    _, after = rest.split(end)
    PAGE.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def main(names: list[str]) -> int:
    """Run the programs."""
    install()
    paths = sorted((HERE / "programs").glob("use_*.py"))
    if names:
        paths = [p for p in paths if any(p.stem.startswith(f"use_{name}") for name in names)]
    rows = []
    with ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        for row in pool.map(run, paths):
            print(row, flush=True)
            if names and not row.runs:
                print(row.output[-3000:])
            rows.append(row)
    if not names:
        replace(BEGIN, END, table(rows))
        print(table(rows).splitlines()[0])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
