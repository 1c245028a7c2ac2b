"""``wengert alias``: the torch alias as an installed package."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

from wengert.compat import package


def run_alias(action: str) -> int:
    """Install the alias into the current environment, remove it, or say what there is."""
    folder = Path(sysconfig.get_path("purelib"))
    if action == "status":
        return _status(folder)
    try:
        if action == "install":
            package.install(folder)
            print(f"torch {package.version_in(folder)} is wengert now, in {folder}")
        else:
            package.remove(folder)
            print(f"the alias is gone from {folder}")
    except (package.AliasError, OSError) as error:
        print(f"wengert alias {action}: {error}", file=sys.stderr)
        return 1
    return 0


def _status(folder: Path) -> int:
    """Print what `import torch` gives; 0 if that is wengert."""
    version = package.version_in(folder)
    if version is not None:
        print(f"torch {version} is wengert, in {folder}")
        return 0
    other = package.installed_pytorch(folder)
    print("there is no alias, " + (f"torch is PyTorch, in {other}" if other else "nor a PyTorch"))
    return 1
