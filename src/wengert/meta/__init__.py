"""The meta device: tensors with a shape and a dtype, and no memory.

In go operations on such tensors, out come the shapes, dtypes and strides of their results;
`tensors.py` has the tensors and how operations come to them, `shapes.py` the rules.
"""
