"""What a program says to the launcher that started it."""

from wengert.distributed.elastic import multiprocessing as multiprocessing
