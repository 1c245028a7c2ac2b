# Where the names of the package are defined, for type checkers. Written by tools/stubs.py: do not
# edit.

from wengert.tensor.swapping import swap_tensors as swap_tensors
from wengert.utils import benchmark as benchmark
from wengert.utils import checkpoint as checkpoint
from wengert.utils import collect_env as collect_env
from wengert.utils import cpp_extension as cpp_extension
from wengert.utils import data as data
from wengert.utils import dlpack as dlpack
from wengert.utils import flop_counter as flop_counter
from wengert.utils import hooks as hooks
from wengert.utils import model_zoo as model_zoo
from wengert.utils import module_tracker as module_tracker
from wengert.utils import tensorboard as tensorboard
