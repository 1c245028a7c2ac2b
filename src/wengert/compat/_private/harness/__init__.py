"""``torch.testing._internal``: what tests of PyTorch, and of packages near it, use.

`cases` is the TestCase and its comparisons, `parameters` and `devices` write one test for each
parameter, device and dtype, `conditions` and `gpus` say when tests do not run, `attempts` how often
and under which settings, `matrices` draws operands and `dtype_lists` names groups of dtypes.
`common` is what PyTorch has in `common_utils`.

The database of operations (`common_methods_invocations`) is PyTorch's data and is not here.
"""

__all__: list[str] = []
