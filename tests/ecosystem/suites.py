"""The tests that packages bring along, run on wengert and on PyTorch.

    python -m tests.ecosystem.suites            # all of suites.txt, and docs/compatibility.md
    python -m tests.ecosystem.suites nflows     # these alone, with the errors of what fails

What counts is how many of the tests that pass on PyTorch pass here, too. PyTorch is that of the
interpreter that runs this module; the packages are those of the environment without one.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from tests.ecosystem.report import ENVIRONMENT, HERE, PYTHON, ROOT, install, replace

SDISTS = ROOT / "build" / "sdists"
BEGIN, END = "<!-- suites: begin -->", "<!-- suites: end -->"
SECONDS = 120  # for one suite on PyTorch
PATIENCE = 4  # times as long for it here: what was not run would count as failed
CAUSES = 2  # of failures, in the table
SETTINGS = {"MPLBACKEND": "agg", "HF_HUB_OFFLINE": "1", "EINOPS_TEST_BACKENDS": "numpy,torch"}


@dataclass
class Suite:
    """A source distribution, and which of its tests are run."""

    package: str
    version: str
    paths: list[str]

    def unpacked(self) -> Path:
        """The folder with the source, downloaded if it is not there."""
        stem = f"{self.package.replace('-', '_')}-{self.version}"
        if not (SDISTS / stem).is_dir():
            SDISTS.mkdir(parents=True, exist_ok=True)
            if download(f"{self.package}=={self.version}"):
                # Who builds with PyTorch finds that of this interpreter.
                download(f"{self.package}=={self.version}", "--no-build-isolation", check=True)
            with tarfile.open(SDISTS / f"{stem}.tar.gz") as archive:
                archive.extractall(SDISTS, filter="data")
        return SDISTS / stem

    def outcomes(self, command: list[str], packages: Path, seconds: int) -> dict[str, str]:
        """The error of each test by its name, or why it was skipped; empty for those that pass.

        Those that time did not suffice for are left out.
        """
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "tests.xml")
            options = [
                "-q", "-c", os.devnull, "--rootdir=.", f"--junitxml={file}", "--tb=short",
                "-p", "no:cacheprovider", "-W", "ignore", "--timeout=60",
                f"--session-timeout={seconds}", "--continue-on-collection-errors",
            ]  # fmt: skip
            environment = {**os.environ, **SETTINGS, "PYTHONPATH": str(packages)}
            done = subprocess.run(
                [*command, "-m", "pytest", *options, *self.paths],
                cwd=self.unpacked(), env=environment, timeout=2 * seconds, check=False,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            )  # fmt: skip
            outcomes = read(file) if file.exists() else {}
            if not outcomes:
                raise RuntimeError(f"{self.package}: no test was run\n{done.stdout[-3000:]}")
            return outcomes


def download(wanted: str, *options: str, check: bool = False) -> int:
    """Fetch a source distribution; the status of pip, which looks into its metadata, too."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *options]
    target = ["--no-binary", ":all:", "--dest", str(SDISTS), wanted]
    return subprocess.run([*command, *target], check=check, capture_output=not check).returncode


def read(file: Path) -> dict[str, str]:
    """The outcomes in a report in JUnit's format."""
    outcomes: dict[str, str] = {}
    numbers = Counter[str]()
    for case in ET.parse(file).iter("testcase"):
        # Parameters without a name of their own have their address, which differs from run to run.
        name = re.sub(r" at 0x\w+", "", f"{case.get('classname')}.{case.get('name')}")
        numbers[name] += 1
        name += f" ({numbers[name]})" if numbers[name] > 1 else ""
        errors = [*case.iter("failure"), *case.iter("error"), *case.iter("skipped")]
        outcomes[name] = cause_of(errors[0]) if errors else ""
    return outcomes


def cause_of(error: ET.Element) -> str:
    """The error in one line; of one while a file was imported, the last one it tells of."""
    text = error.get("message") or ""
    lines = re.findall(r"^E +(\w*(?:Error|Exception|Warning)\b.*)", error.text or "", re.M)
    if lines and text == "collection failure":
        text = lines[-1]
    text = re.sub(r" \(this process runs wengert in place of PyTorch\).*", "", text.split("\n")[0])
    text = f"skipped: {text}" if error.tag == "skipped" else text
    return text[:120].replace("|", "\\|").replace("<", "&lt;") or "an error without a text"


def suites() -> list[Suite]:
    """What suites.txt lists."""
    lines = [line for line in (HERE / "suites.txt").read_text().splitlines() if line[0] != "#"]
    words = [line.split() for line in lines]
    return [Suite(*first.split("=="), paths) for first, *paths in words]


def compare(suite: Suite, verbose: bool) -> str:
    """The row of the table for a suite."""
    purelib = sysconfig.get_path("purelib", vars={"base": ENVIRONMENT})
    theirs = suite.outcomes([sys.executable], Path(purelib), SECONDS)
    command = [str(PYTHON), "-m", "wengert", "run", "--quiet", "--full-traceback"]
    ours = suite.outcomes(command, ROOT / "src", PATIENCE * SECONDS)
    passing = [name for name, error in theirs.items() if not error]
    broken_files = {name.strip("."): error for name, error in ours.items() if error}
    errors = {name: ours.get(name, missing(name, broken_files)) for name in passing}
    failed = {name: error for name, error in errors.items() if error}
    if verbose:
        for name, error in failed.items():
            print(f"{name}: {error}")
    most = Counter(failed.values()).most_common(CAUSES)
    causes = "; ".join(f"{error} ({n})" for error, n in most)
    row = [suite.package, suite.version, str(len(passing) - len(failed)), str(len(passing)), causes]
    return f"| {' | '.join(row)} |"


def missing(name: str, broken_files: dict[str, str]) -> str:
    """Why a test was not run: its file could not be imported, or time was over."""
    for file, error in broken_files.items():
        if name.startswith(f"{file}."):
            return error
    return "not run"


def processor() -> str:
    """The name of the CPU."""
    text = Path("/proc/cpuinfo").read_text() if sys.platform == "linux" else ""
    names = re.findall(r"^model name\s*: (.*)", text, re.M)
    return names[0] if names else platform.processor()


def main(names: list[str]) -> int:
    """Run the suites."""
    install()
    rows = []
    for suite in suites():
        if not names or suite.package in names:
            rows.append(compare(suite, bool(names)))
            print(rows[-1], flush=True)
    if not names:
        release = version("torch")
        head = f"Counted on {processor()}, against PyTorch {release}.\n\n"
        head += "| package | version | passed | of | most frequent errors |\n|---|---|---|---|---|"
        replace(BEGIN, END, "\n".join([head, *rows]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
