"""PyTorch's own records of its operations and modules, run over this library."""
