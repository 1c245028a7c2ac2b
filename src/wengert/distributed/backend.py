"""Names of ways to communicate. There is one, under several of them."""

from __future__ import annotations

from typing import Any, ClassVar


class Backend(str):
    """The name of a way to communicate, in small letters.

    >>> from wengert.distributed import Backend
    >>> Backend("GLOO")
    'gloo'
    """

    __slots__ = ()

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    MPI = "mpi"
    UCC = "ucc"
    XCCL = "xccl"

    default_device_backend_map: ClassVar[dict[str, str]] = {"cpu": "gloo"}
    backend_list: ClassVar[list[str]] = ["undefined", "gloo", "mpi"]
    backend_capability: ClassVar[dict[str, list[str]]] = {"gloo": ["cpu"], "mpi": ["cpu"]}

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be string-ish, got {name!r}")
        return super().__new__(cls, name.lower())


_ABSENT = ("nccl", "ucc", "xccl")


def checked_backend(name: Any) -> str:
    """The backend for tensors of the CPU that a name asks for; raises what PyTorch does."""
    if name is None:
        return Backend.GLOO
    chosen = Backend(name)
    if ":" in chosen:
        pairs = dict(entry.split(":", 1) for entry in chosen.split(","))
        return checked_backend(pairs.get("cpu", Backend.GLOO))
    if chosen in _ABSENT:
        raise RuntimeError(
            f"Distributed package doesn't have {chosen.upper()} built in: it is for GPUs; use the"
            " backend 'gloo'"
        )
    if chosen not in (Backend.GLOO, Backend.MPI):
        raise AssertionError(f"Unknown backend type {chosen}")
    return str(chosen)


def is_backend_available(backend: str) -> bool:
    """Whether there is a backend of that name.

    >>> from wengert.distributed import is_backend_available
    >>> is_backend_available("gloo"), is_backend_available("nccl")
    (True, False)
    """
    return backend.lower() in (Backend.GLOO, Backend.MPI)


def is_gloo_available() -> bool:
    """True: the library's own links go by this name.

    >>> from wengert.distributed import is_gloo_available
    >>> is_gloo_available()
    True
    """
    return True


def is_mpi_available() -> bool:
    """True: ranks that mpiexec starts find each other.

    >>> from wengert.distributed import is_mpi_available
    >>> is_mpi_available()
    True
    """
    return True


def is_nccl_available() -> bool:
    """False: it is for GPUs.

    >>> from wengert.distributed import is_nccl_available
    >>> is_nccl_available()
    False
    """
    return False


is_ucc_available = is_xccl_available = is_nccl_available

__all__ = [
    "Backend",
    "is_backend_available",
    "is_gloo_available",
    "is_mpi_available",
    "is_nccl_available",
    "is_ucc_available",
    "is_xccl_available",
]
