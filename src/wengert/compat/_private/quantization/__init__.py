"""``torch.ao.quantization``: observers, fake quantization and settings, for training with it.

No tensor is quantized: `observers` find the range of values, `rounding` and the modules of `fake`
round them to what would be stored, `settings` names pairs of both.
"""

__all__: list[str] = []
