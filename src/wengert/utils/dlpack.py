"""``torch.utils.dlpack``: tensors for other libraries, without a copy."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from wengert.core.tensor import Tensor
from wengert.tensor.creation import from_dlpack as from_dlpack


class DLDeviceType(IntEnum):
    """The numbers of kinds of devices, as ``__dlpack_device__`` gives them.

    >>> import wengert
    >>> wengert.zeros(2).__dlpack_device__()[0] == wengert.utils.dlpack.DLDeviceType.kDLCPU
    True
    """

    kDLCPU = 1  # noqa: N815 (the names are DLPack's)
    kDLCUDA = 2  # noqa: N815
    kDLCUDAHost = 3  # noqa: N815
    kDLOpenCL = 4  # noqa: N815
    kDLVulkan = 7  # noqa: N815
    kDLMetal = 8  # noqa: N815
    kDLVPI = 9  # noqa: N815
    kDLROCM = 10  # noqa: N815
    kDLROCMHost = 11  # noqa: N815
    kDLExtDev = 12  # noqa: N815
    kDLCUDAManaged = 13  # noqa: N815
    kDLOneAPI = 14  # noqa: N815
    kDLWebGPU = 15  # noqa: N815
    kDLHexagon = 16  # noqa: N815
    kDLMAIA = 17  # noqa: N815


def to_dlpack(tensor: Tensor) -> Any:
    """What another library's `from_dlpack` takes: the detached tensor, which has ``__dlpack__``.

    >>> import wengert
    >>> from wengert.utils.dlpack import from_dlpack, to_dlpack
    >>> from_dlpack(to_dlpack(wengert.arange(2)))
    tensor([0, 1])
    """
    return tensor.detach()


__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]
