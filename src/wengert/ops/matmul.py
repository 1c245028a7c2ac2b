"""Operations: matmul."""

from __future__ import annotations

__all__: list[str] = []
FUNCTIONAL: tuple[str, ...] = ()
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
