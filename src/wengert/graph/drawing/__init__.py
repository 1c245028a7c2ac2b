"""Pictures of graphs: a tree of boxes, a layout of each, and the formats."""
