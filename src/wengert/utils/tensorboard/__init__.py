"""``torch.utils.tensorboard``: what a run logs, in files that TensorBoard shows.

Read `writer.py` first (`SummaryWriter`), then `summary.py` (what a call writes). Everything needs
the package tensorboard, without TensorFlow; images need Pillow, figures Matplotlib.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

if TYPE_CHECKING:
    from wengert.utils.tensorboard.writer import FileWriter as FileWriter
    from wengert.utils.tensorboard.writer import SummaryWriter as SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]


def __getattr__(name: str) -> _Any:
    if name in ("summary", "writer"):
        return _import_module(f"{__name__}.{name}")
    if name in __all__:
        from wengert.utils.tensorboard._packages import tensorboard

        # First, so that `from torch.utils.tensorboard import SummaryWriter` says what is missing.
        records = tensorboard("summary.writer.record_writer")
        return records.RecordWriter if name == "RecordWriter" else getattr(_writers(), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _writers() -> _Any:
    return _import_module(f"{__name__}.writer")
