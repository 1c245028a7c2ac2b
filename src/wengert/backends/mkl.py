"""``torch.backends.mkl``: not used."""

from __future__ import annotations

from contextlib import nullcontext

VERBOSE_OFF, VERBOSE_ON = 0, 1


def is_available() -> bool:
    """False."""
    return False


class verbose(nullcontext[None]):  # noqa: N801 (PyTorch's name)
    """A context that prints nothing: no call goes to MKL."""

    def __init__(self, enable: int) -> None:
        super().__init__()
        self.enable = enable
