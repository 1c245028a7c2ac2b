"""``torch.utils._triton``: whether there is Triton, for other devices. There is none."""

from __future__ import annotations


def has_triton() -> bool:
    """Whether kernels of Triton can run: they cannot."""
    return False


has_triton_package = has_triton_tma = has_triton_tma_device = has_triton_stable_tma_api = has_triton
has_triton_experimental_host_tma = has_triton_tensor_descriptor_host_tma = has_triton

__all__ = [
    "has_triton", "has_triton_experimental_host_tma", "has_triton_package",
    "has_triton_stable_tma_api", "has_triton_tensor_descriptor_host_tma", "has_triton_tma",
    "has_triton_tma_device",
]  # fmt: skip
