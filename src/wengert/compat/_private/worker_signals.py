"""``torch.utils.data._utils`` and its ``signal_handling``, for loaders with workers of their own.

No handlers are set: a worker that is killed is missed by the loader that polls it.
"""

from __future__ import annotations

from collections.abc import Sequence

HAS_NUMPY = True
MP_STATUS_CHECK_INTERVAL = 5.0
python_exit_status = False


def _set_worker_signal_handlers() -> None:
    """Nothing to set."""


def _set_SIGCHLD_handler() -> None:  # noqa: N802
    """Nothing to set."""


def _set_worker_pids(loader_id: int, child_pids: Sequence[int]) -> None:
    """Nothing to remember."""


def _remove_worker_pids(loader_id: int) -> None:
    """Nothing to forget."""


def _error_if_any_worker_fails() -> None:
    """Nothing is known of workers."""


__all__ = [
    "HAS_NUMPY",
    "MP_STATUS_CHECK_INTERVAL",
    "_error_if_any_worker_fails",
    "_remove_worker_pids",
    "_set_SIGCHLD_handler",
    "_set_worker_pids",
    "_set_worker_signal_handlers",
    "python_exit_status",
]
