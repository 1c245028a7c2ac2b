"""Names from inside PyTorch that packages use although it promises none of them.

One module for each of PyTorch's; `torch_names.PRIVATE` says which, and a module's `__all__` what
it answers. Only what can be answered truthfully is here: the rest stays an AttributeError, or an
ImportError, which packages that look before they use it understand.
"""
