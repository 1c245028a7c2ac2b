"""What a program says to the launcher that started it."""

from wengert.distributed.elastic.multiprocessing import errors as errors
