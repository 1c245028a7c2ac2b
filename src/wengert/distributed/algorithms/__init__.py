"""Ways to use collectives: uneven inputs, communication hooks."""

from wengert.distributed.algorithms import ddp_comm_hooks as ddp_comm_hooks
from wengert.distributed.algorithms import join as join
