"""``torch.onnx.symbolic_opset9`` and later: modules that registered conversions refer to.

What is in them builds nodes of TorchScript's graphs. There are none here, and nothing calls it.
"""

__all__: list[str] = []
