"""Ways to use collectives: uneven inputs, communication hooks, averages of parameters."""

from wengert.distributed.algorithms import ddp_comm_hooks as ddp_comm_hooks
from wengert.distributed.algorithms import join as join
from wengert.distributed.algorithms import model_averaging as model_averaging
