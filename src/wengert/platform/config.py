"""``torch.__config__``: what this library computes with."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.platform.settings import get_num_threads


def show() -> str:
    """The libraries that NumPy was built with, as text."""
    config: Any = np.show_config(mode="dicts")
    lines = [f"wengert on NumPy {np.__version__}"]
    for name, library in config.get("Build Dependencies", {}).items():
        lines.append(f"  - {name}: {library.get('name')} {library.get('version')}")
    extensions = config.get("SIMD Extensions", {}).get("found", [])
    return "\n".join([*lines, f"  - SIMD: {', '.join(extensions)}", ""])


def parallel_info() -> str:
    """How many threads compute, as text."""
    return f"NumPy's matrix products: {get_num_threads()} threads\nother operations: 1 thread\n"
