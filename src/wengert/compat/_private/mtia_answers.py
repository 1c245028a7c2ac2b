"""``torch.mtia``: there is none, as there is no ``torch.xpu``."""

from wengert.xpu import device_count, is_available

__all__ = ["device_count", "is_available"]
