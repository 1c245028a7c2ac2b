"""``torch.cuda.amp.common``."""


def amp_definitely_not_available() -> bool:
    """True: there is no CUDA."""
    return True


__all__ = ["amp_definitely_not_available"]
