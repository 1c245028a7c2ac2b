"""Kernels as functions of Python."""

from __future__ import annotations

import subprocess
import sys

import pytest

from wengert.kernels.jit import available

# The memory of what has gone is written to. The function is not called.
OUTLIVING = """
import ctypes, gc
from wengert.kernels.jit import compiler
address = ctypes.cast(ctypes.pythonapi.Py_IncRef, ctypes.c_void_p).value
kernel = compiler.function("doubled", address, compiler.NOARGS)
vars(compiler).clear()
gc.collect()
others = [ctypes.create_string_buffer(b"\\xff" * 32) for _ in range(2000)]
print(kernel.__name__)
"""


@pytest.mark.skipif(not available(), reason="there are no kernels")
def test_kernels_outlive_their_module_as_profilers_at_exit_have_it() -> None:
    done = subprocess.run([sys.executable, "-c", OUTLIVING], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "doubled\n"), done.stderr
