"""Pictures of graphs: a tree of boxes, a layout of each, and the formats.

A `GraphReport` goes in, a `Drawing` comes out; `picture.py` has both ends and is to be read first.
Between them, in order: `_tree.py` groups nodes (calls of modules, repetitions, stretches of code),
`_inputs.py` adds leaves and data, `_levels.py` sorts members into layers, `_boxes.py` turns the
tree into data, `_layout.py` computes coordinates. `_svg.py`, `_dot.py`, `_png.py` and
`html_format.py` write them.
"""
