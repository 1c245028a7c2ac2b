"""``torch._dynamo.config``: settings are kept. Few change something.

Functions with backends that are functions follow `disable`, `recompile_limit` (also by its older
name, `cache_size_limit`) and `suppress_errors`.
"""

from __future__ import annotations

from typing import Any

from wengert.compat._private.settings_names import patching
from wengert.fx.captured.settings import sources

_DEFAULTS: dict[str, Any] = dict(
    accumulated_cache_size_limit=256, allow_ignore_mark_dynamic=False, allow_rnn=False,
    allow_unspec_int_on_nn_module=False,
    assume_static_by_default=True, automatic_dynamic_shapes=True, cache_size_limit=8,
    capture_dynamic_output_shape_ops=False, capture_func_transforms=True,
    capture_scalar_outputs=False, compiled_autograd=False, dead_code_elimination=True,
    cprofile=False, disable=False, do_not_emit_runtime_asserts=False, dynamic_shapes=True,
    enable_compiler_collectives=False, error_on_recompile=False,
    fail_on_recompile_limit_hit=False, force_parameter_static_shapes=True, guard_nn_modules=True,
    inline_inbuilt_nn_modules=True, log_file_name=None, optimize_ddp=True, recompile_limit=8,
    replay_record_enabled=False, reorderable_logging_functions=set(),
    skip_fwd_side_effects_in_bwd_under_checkpoint=False,
    skip_nnmodule_hook_guards=True, specialize_float=False, specialize_int=False,
    suppress_errors=False, trace_numpy=True, traceable_tensor_subclasses=set(), verbose=False,
)  # fmt: skip
globals().update(_DEFAULTS)
patch = patching(globals())
sources[:] = [globals()]

__all__ = [*_DEFAULTS, "patch"]
