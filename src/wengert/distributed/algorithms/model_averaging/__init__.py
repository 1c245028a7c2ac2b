"""Averages of parameters instead of gradients, now and then: local SGD."""

from wengert.distributed.algorithms.model_averaging import averagers as averagers
from wengert.distributed.algorithms.model_averaging import utils as utils
