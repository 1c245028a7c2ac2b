"""``torch.distributed.tensor``: tensors, and parameters of modules, that ranks share out."""

from wengert.distributed.device_mesh import DeviceMesh as DeviceMesh
from wengert.distributed.device_mesh import init_device_mesh as init_device_mesh
from wengert.distributed.tensor import functions as functions
from wengert.distributed.tensor import parameters as parameters
from wengert.distributed.tensor.creation import distribute_module as distribute_module
from wengert.distributed.tensor.creation import distribute_tensor as distribute_tensor
from wengert.distributed.tensor.creation import empty as empty
from wengert.distributed.tensor.creation import full as full
from wengert.distributed.tensor.creation import ones as ones
from wengert.distributed.tensor.creation import rand as rand
from wengert.distributed.tensor.creation import randn as randn
from wengert.distributed.tensor.creation import zeros as zeros
from wengert.distributed.tensor.dtensor import DTensor as DTensor
from wengert.distributed.tensor.placements import Partial as Partial
from wengert.distributed.tensor.placements import Placement as Placement
from wengert.distributed.tensor.placements import Replicate as Replicate
from wengert.distributed.tensor.placements import Shard as Shard
