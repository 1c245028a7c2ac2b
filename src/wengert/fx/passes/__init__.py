"""Passes over graphs."""

from wengert.fx.passes import shape_prop as shape_prop
