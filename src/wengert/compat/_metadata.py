"""What packaging tools read about the alias: a distribution of PyTorch's name and version.

`importlib.metadata` gets it from the finder while the alias is installed in a process, pip from the
files that ``wengert alias install`` writes.
"""

from __future__ import annotations

import os
from importlib.metadata import Distribution, DistributionFinder
from typing import TYPE_CHECKING, Any

from wengert.compat import torch_names

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "torch"
# The version of PyTorch's own distributions has no local part, whatever torch.__version__ says.
VERSION = str(torch_names.VERSION).partition("+")[0]
TOP_LEVEL = ("functorch", "torch")
FILES = {
    "METADATA": (
        "Metadata-Version: 2.1\n"
        f"Name: {NAME}\n"
        f"Version: {VERSION}\n"
        "Summary: The name of PyTorch for wengert (wengert alias remove deletes it)\n"
        "Requires-Dist: wengert\n"
    ),
    "INSTALLER": "wengert\n",
    "WHEEL": "Wheel-Version: 1.0\nGenerator: wengert\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "top_level.txt": "".join(f"{name}\n" for name in TOP_LEVEL),
}


class AliasDistribution(Distribution):
    """The distribution of the alias, which lies in no folder."""

    def read_text(self, filename: str | os.PathLike[str]) -> str | None:
        return FILES.get(os.fspath(filename))

    def locate_file(self, path: str | os.PathLike[str]) -> Any:
        raise FileNotFoundError(f"{os.fspath(path)!r}: the alias of torch has no files")


def distributions(context: DistributionFinder.Context) -> Iterator[Distribution]:
    """The alias, if it is asked for: by its name, or with all others."""
    if context.name is None or context.name.lower() == NAME:
        yield AliasDistribution()
