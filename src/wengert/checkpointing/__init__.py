"""Trading compute for memory: parts of a model that are recomputed in backward.

The values a checkpointed function would save for backward are dropped, its arguments are kept,
and the function runs once more when backward reaches it. Compare ``torch.utils.checkpoint``.
"""

from wengert.checkpointing._api import GraphExecGroup as GraphExecGroup
from wengert.checkpointing._api import checkpoint as checkpoint
from wengert.checkpointing._api import checkpoint_sequential as checkpoint_sequential
from wengert.checkpointing._api import noop_context_fn as noop_context_fn
from wengert.checkpointing._api import (
    set_checkpoint_debug_enabled as set_checkpoint_debug_enabled,
)
from wengert.checkpointing._api import set_checkpoint_early_stop as set_checkpoint_early_stop
from wengert.checkpointing._mismatch import CheckpointError as CheckpointError
from wengert.checkpointing._reentrant import CheckpointFunction as CheckpointFunction
from wengert.checkpointing._reentrant import check_backward_validity as check_backward_validity
from wengert.checkpointing._reentrant import detach_variable as detach_variable
from wengert.checkpointing._selective import SAC_IGNORED_OPS as SAC_IGNORED_OPS
from wengert.checkpointing._selective import CheckpointPolicy as CheckpointPolicy
from wengert.checkpointing._selective import (
    SelectiveCheckpointContext as SelectiveCheckpointContext,
)
from wengert.checkpointing._selective import (
    create_selective_checkpoint_contexts as create_selective_checkpoint_contexts,
)
from wengert.checkpointing._states import DefaultDeviceType as DefaultDeviceType
from wengert.checkpointing._states import get_device_states as get_device_states
from wengert.checkpointing._states import set_device_states as set_device_states

__all__ = [
    "SAC_IGNORED_OPS",
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "GraphExecGroup",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]
