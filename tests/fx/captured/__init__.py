"""Tests of `wengert.fx.captured`."""
