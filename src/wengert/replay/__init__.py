"""Compiled functions as checked replay: the machinery behind `wengert.compiler`."""
