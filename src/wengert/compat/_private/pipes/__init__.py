"""``torch.utils.data.datapipes``: the classes that programs derive their pipes from.

A pipe is a dataset, and a loader reads it as one. Of PyTorch's own pipes the shuffler is here; the
methods that chain them are not.
"""

__all__: list[str] = []
