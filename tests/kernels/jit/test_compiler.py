"""Kernels as functions of Python."""

from __future__ import annotations

import subprocess
import sys

import pytest

from wengert.kernels.jit import available

# The memory of what has gone is written to.
OUTLIVING = """
import ctypes, gc
import wengert
from wengert.kernels.jit import compiler
wengert.ones(40, 50).t().contiguous()
functions = [*compiler._loaded.values()]
names = [f.__name__ for f in functions]
vars(compiler).clear()
gc.collect()
others = [ctypes.create_string_buffer(b"\\xff" * 32) for _ in range(2000)]
print(bool(names) and [f.__name__ for f in functions] == names)
"""


@pytest.mark.skipif(not available(), reason="there are no kernels")
def test_kernels_outlive_their_module_as_profilers_at_exit_have_it() -> None:
    done = subprocess.run([sys.executable, "-c", OUTLIVING], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
