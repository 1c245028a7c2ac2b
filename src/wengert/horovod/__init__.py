"""Horovod's names: ``import wengert.horovod.torch as hvd``.

`wengert.compat.install("horovod")`, and ``wengert run``, give them to ``import horovod.torch``.
"""

from wengert.horovod.runner import run as run

__version__ = "0.28.1+wengert"
