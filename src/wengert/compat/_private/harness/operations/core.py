"""``torch.testing._internal.opinfo.core``: what operations are written down with."""

from __future__ import annotations

from wengert.compat._private.harness.operations import (
    elementwise,
    families,
    records,
    rules,
    sample_inputs,
)
from wengert.compat._private.harness.operations.elementwise import *  # noqa: F403
from wengert.compat._private.harness.operations.families import *  # noqa: F403
from wengert.compat._private.harness.operations.records import *  # noqa: F403
from wengert.compat._private.harness.operations.rules import *  # noqa: F403
from wengert.compat._private.harness.operations.sample_inputs import *  # noqa: F403

__all__ = [
    *elementwise.__all__, *families.__all__, *records.__all__, *rules.__all__,
    *sample_inputs.__all__,
]  # fmt: skip
