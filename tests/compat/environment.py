"""A virtual environment of its own, with what wengert needs and no PyTorch."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.cli.process import ENVIRONMENT, Result
from tests.source import ROOT

NEEDED = ("numpy", "ml_dtypes", "llvmlite", "scipy", "safetensors")


@dataclass(frozen=True)
class Environment:
    """Its interpreter, and where its packages lie."""

    interpreter: Path
    packages: Path

    def python(self, *arguments: str) -> Result:
        """Run its interpreter."""
        environment = {k: v for k, v in ENVIRONMENT.items() if k != "PYTHONPATH"}
        command = [str(self.interpreter), *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=300, env=environment, cwd="/"
        )

    def wengert(self, *arguments: str) -> Result:
        """Run its ``wengert``."""
        return self.python("-m", "wengert", *arguments)


def create(folder: Path) -> Environment:
    """An environment that shares the installed packages which wengert needs."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    for name in NEEDED:
        for file in importlib.metadata.files(name) or ():
            top = file.parts[0]
            if top not in ("..", "__pycache__") and not (packages / top).exists():
                os.symlink(Path(file.locate()).parents[len(file.parts) - 2] if len(file.parts) > 1
                           else Path(file.locate()), packages / top)  # fmt: skip
    (packages / "wengert.pth").write_text(f"{ROOT / 'src'}\n")
    return Environment(folder / "bin" / "python", packages)
