"""``torch.backends.quantized``: there are no quantized tensors."""

from __future__ import annotations

engine = "none"
supported_engines = ["none"]
