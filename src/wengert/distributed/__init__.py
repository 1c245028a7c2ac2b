"""``torch.distributed`` for scripts that ask before they use it: there is one process."""

from __future__ import annotations

from typing import Any, NoReturn


def is_available() -> bool:
    """False: one process trains.

    >>> import wengert.distributed
    >>> wengert.distributed.is_available()
    False
    """
    return False


def is_initialized() -> bool:
    """False.

    >>> import wengert.distributed
    >>> wengert.distributed.is_initialized()
    False
    """
    return False


def is_torchelastic_launched() -> bool:
    """False.

    >>> import wengert.distributed
    >>> wengert.distributed.is_torchelastic_launched()
    False
    """
    return False


is_mpi_available = is_gloo_available = is_nccl_available = is_ucc_available = is_available


def _needs_group(name: str) -> Any:
    def refuse(*args: Any, **options: Any) -> NoReturn:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call"
            f" init_process_group. torch.distributed.{name}() works on process groups, and wengert"
            " has none: ask torch.distributed.is_available() first"
        )

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Raises ValueError: there is no process group."
    return refuse


def init_process_group(*args: Any, **options: Any) -> NoReturn:
    """Raises RuntimeError: there are no process groups."""
    raise RuntimeError(
        "torch.distributed.init_process_group(): wengert trains in one process; ask"
        " torch.distributed.is_available() first"
    )


all_gather = _needs_group("all_gather")
all_reduce = _needs_group("all_reduce")
barrier = _needs_group("barrier")
broadcast = _needs_group("broadcast")
destroy_process_group = _needs_group("destroy_process_group")
get_backend = _needs_group("get_backend")
get_rank = _needs_group("get_rank")
get_world_size = _needs_group("get_world_size")
new_group = _needs_group("new_group")
reduce = _needs_group("reduce")
