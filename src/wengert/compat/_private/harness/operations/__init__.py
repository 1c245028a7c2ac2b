"""``torch.testing._internal.opinfo``: operations that tests go through, with inputs for each.

`sample_inputs` is what an operation is called with, `records` what is known of one, `elementwise`
makes inputs of functions of elements, `recipes` writes inputs down that are drawn when they are
asked for, and the tables (`unary`, `binary`, `reducing`, …) list operations by family. `lists`
puts them together. An operation is listed with the dtypes that it has here.
"""

__all__: list[str] = []
