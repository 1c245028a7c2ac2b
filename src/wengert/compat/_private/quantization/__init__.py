"""``torch.ao.quantization``: observers, fake quantisation and settings, for training with it.

No tensor is quantised: `observers` find the range of values, `fake` rounds them to what would be
stored, `settings` names pairs of both.
"""

__all__: list[str] = []
