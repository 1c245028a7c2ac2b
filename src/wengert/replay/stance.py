"""Whether compiled functions run as they are."""

from __future__ import annotations


class Stance:
    """What `wengert.compiler.set_stance` says."""

    eager = False
