"""What users may do about saved tensors, in one place for `wengert.autograd.graph`."""

from wengert.autograd._saved_disk import save_to_disk as save_to_disk
from wengert.autograd._saved_hooks import (
    disable_saved_tensors_hooks as disable_saved_tensors_hooks,
)
from wengert.autograd._saved_hooks import save_on_cpu as save_on_cpu
from wengert.autograd._saved_hooks import saved_tensors_hooks as saved_tensors_hooks
from wengert.autograd._saved_mutation import (
    allow_mutation_on_saved_tensors as allow_mutation_on_saved_tensors,
)
from wengert.autograd._saved_values import SavedTensor as SavedTensor
