"""``torch.mtia``: there is none."""


def is_available() -> bool:
    """False: wengert computes on the CPU."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


__all__ = ["device_count", "is_available", "is_initialized"]
