"""``torch.testing._internal``: what tests of PyTorch, and of packages near it, use.

`cases` is the TestCase and its comparisons, `parameters` and `devices` write one test for each
parameter, device and dtype, `conditions` and `gpus` say when tests do not run, `attempts` how often
and under which settings, `matrices` draws operands and `dtype_lists` names groups of dtypes.
`common` is what PyTorch has in `common_utils`.

`operations` lists operations with inputs of their own (`samples` is what PyTorch has in
`common_methods_invocations`), `layers` modules, and `optimizers` optimizers; `op_cases` writes a
test for each entry of such a list. What needs a GPU, a script's compiler or another process is not
here.
"""

__all__: list[str] = []
