"""Switches of ``torch.backends`` that scripts set; those of other devices change nothing."""

import sys
from collections.abc import Iterator

from wengert.backends import conv as conv
from wengert.backends import cpu as cpu
from wengert.backends import cuda as cuda
from wengert.backends import cudnn as cudnn
from wengert.backends import cusparselt as cusparselt
from wengert.backends import kleidiai as kleidiai
from wengert.backends import mha as mha
from wengert.backends import miopen as miopen
from wengert.backends import mkl as mkl
from wengert.backends import mkldnn as mkldnn
from wengert.backends import mps as mps
from wengert.backends import nnpack as nnpack
from wengert.backends import openmp as openmp
from wengert.backends import opt_einsum as opt_einsum
from wengert.backends import quantized as quantized
from wengert.backends import xnnpack as xnnpack
from wengert.backends.precision import PreciseModule, set_within
from wengert.backends.precision import everything as precise_operations
from wengert.core.signals import contextmanager

fp32_precision: str


def set_flags(_fp32_precision: str = "none") -> tuple[str]:
    """Set `fp32_precision` and return what it was.

    Raises RuntimeError for an unknown one.

    >>> import wengert
    >>> wengert.backends.set_flags("ieee")
    ('none',)
    >>> wengert.backends.set_flags()
    ('ieee',)
    """
    before = precise_operations.fp32_precision
    precise_operations.fp32_precision = _fp32_precision
    return (before,)


@contextmanager
def flags(fp32_precision: str = "none") -> Iterator[None]:
    """Another `fp32_precision` inside a ``with`` block."""
    with set_within(precise_operations, fp32_precision):
        yield


sys.modules[__name__].__class__ = PreciseModule
