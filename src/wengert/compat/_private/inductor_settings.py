"""``torch._inductor.config``: settings are kept, and change nothing."""

from __future__ import annotations

from typing import Any

from wengert.compat._private.settings_names import Settings, patching

_DEFAULTS: dict[str, Any] = dict(
    aggressive_fusion=False, allow_buffer_reuse=True, benchmark_kernel=False,
    compile_threads=1, conv_1x1_as_mm=False, coordinate_descent_check_all_directions=False,
    coordinate_descent_tuning=False, cpp=Settings(threads=-1, simdlen=None), debug=False,
    epilogue_fusion=True, fallback_random=False, force_fuse_int_mm_with_mul=False, freezing=False,
    fx_graph_cache=True, fx_graph_remote_cache=None, implicit_fallbacks=True, max_autotune=False,
    max_autotune_gemm=False, shape_padding=True, size_asserts=True, split_reductions=True,
    trace=Settings(enabled=False, graph_diagram=False),
    triton=Settings(
        cudagraph_trees=True, cudagraphs=False, store_cubin=False, unique_kernel_names=True
    ),
    use_mixed_mm=True, verbose_progress=False,
)  # fmt: skip
globals().update(_DEFAULTS)
patch = patching(globals())

__all__ = [*_DEFAULTS, "patch"]
