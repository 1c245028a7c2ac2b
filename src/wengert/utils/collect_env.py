"""``torch.utils.collect_env``: what a report of a defect should say."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import version

from wengert.platform.config import show


def get_pretty_env_info() -> str:
    """Versions and the machine, as text.

    >>> from wengert.utils.collect_env import get_pretty_env_info
    >>> get_pretty_env_info().splitlines()[0].split(":")[0]
    'wengert version'
    """
    lines = {
        "wengert version": version("wengert"),
        "Python version": sys.version.replace("\n", " "),
        "Python platform": platform.platform(),
        "CPU": platform.processor() or platform.machine(),
        "Is CUDA available": "False",
    }
    return "\n".join(f"{name}: {value}" for name, value in lines.items()) + f"\n{show()}"


def main() -> None:
    """Print `get_pretty_env_info`.

    >>> from wengert.utils import collect_env
    >>> collect_env.main()  # doctest: +ELLIPSIS
    wengert version: ...
    """
    print(get_pretty_env_info())


__all__ = ["get_pretty_env_info", "main"]
