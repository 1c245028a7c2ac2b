"""Loading data, and what else has no better place."""

from wengert.utils import data as data

__all__ = ["data"]
