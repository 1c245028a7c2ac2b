"""Function transforms: levels, their tracers, and the calls that run functions on them.

Read `levels` first, then `recording` (reverse mode), `dual` (forward mode) and `batched` (vmap).
"""
