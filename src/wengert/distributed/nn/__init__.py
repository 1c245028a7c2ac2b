"""Collectives that can be differentiated."""

from wengert.distributed.nn.functional import *
