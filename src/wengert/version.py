"""What this build supports, under the names of ``torch.version``."""

from __future__ import annotations

cuda: str | None = None
hip: str | None = None
xpu: str | None = None
debug: bool = False
git_version: str = "unknown"
