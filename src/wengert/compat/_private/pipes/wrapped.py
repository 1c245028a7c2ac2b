"""Pipes that hold another one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wengert.compat._private.pipes.classes import IterDataPipe, MapDataPipe


class _IterDataPipeSerializationWrapper(IterDataPipe[Any]):
    """The stream of a pipe."""

    def __init__(self, datapipe: IterDataPipe[Any]) -> None:
        self._datapipe = datapipe

    def __iter__(self) -> Iterator[Any]:
        yield from self._datapipe

    def __len__(self) -> int:
        return len(self._datapipe)  # type: ignore[arg-type]


class _MapDataPipeSerializationWrapper(MapDataPipe[Any]):
    """The samples of a pipe."""

    def __init__(self, datapipe: MapDataPipe[Any]) -> None:
        self._datapipe = datapipe

    def __getitem__(self, index: Any) -> Any:
        return self._datapipe[index]

    def __len__(self) -> int:
        return len(self._datapipe)  # type: ignore[arg-type]


__all__ = [
    "IterDataPipe",
    "MapDataPipe",
    "_IterDataPipeSerializationWrapper",
    "_MapDataPipeSerializationWrapper",
]
