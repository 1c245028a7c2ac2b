"""Functions as graphs of the calls that they make, for backends of `torch.compile`."""
