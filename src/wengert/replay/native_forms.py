"""How instructions are computed by kernels, by what they compute.

Each function adds the calls for an instruction to an `Emitter`, and says whether there are any.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

from wengert.kernels import copies
from wengert.replay.attention_forms import attend, attend_back
from wengert.replay.cell_forms import CELLS
from wengert.replay.channel_forms import (
    batch_norm,
    batch_norm_back,
    by_running,
    by_running_input,
    by_running_sums,
    running_mean,
    running_var,
)
from wengert.replay.class_forms import (
    cross_entropy,
    cross_entropy_back,
    weighed_pick,
    weighed_put,
)
from wengert.replay.contraction_forms import CONTRACTIONS
from wengert.replay.emitting import Emitter
from wengert.replay.ends import FusedEnds
from wengert.replay.extreme_forms import EXTREMES
from wengert.replay.forwards import pointwise_of
from wengert.replay.fusion import FusedLoop
from wengert.replay.index_forms import (
    added,
    added_back,
    embedding,
    embedding_back,
    indexed,
    indexed_back,
    taken,
    taken_back,
    written,
    written_back,
    written_number,
)
from wengert.replay.integer_forms import COMPARISONS, converted, counted, one_hot
from wengert.replay.ir import Instruction
from wengert.replay.layout_forms import (
    RESHAPES,
    copied,
    diagonal,
    diagonal_back,
    is_view,
    joined,
    part_back,
    reshaped,
    same,
    several_back,
    stacked,
    triangle,
    view,
)
from wengert.replay.logsum_forms import logsumexp, logsumexp_back
from wengert.replay.loop_forms import elementwise
from wengert.replay.moving_forms import MOVES
from wengert.replay.norm_forms import bias_back, normalised, normalised_back, weight_back
from wengert.replay.order_forms import ORDERS
from wengert.replay.product_forms import (
    addmm,
    addmm_input,
    addmm_left,
    addmm_right,
    baddbmm,
    linear,
    linear_input,
    linear_weight,
    matmul,
    matmul_left,
    matmul_right,
    outer,
    scaled,
    swapped,
)
from wengert.replay.resample_forms import resampled, resampled_back
from wengert.replay.row_forms import (
    gated,
    gated_back,
    log_softmax_back,
    log_softmax_form,
    masked_softmax_form,
    softmax_back,
    softmax_form,
    taken_form,
)
from wengert.replay.rule_forms import RULE_FORMS
from wengert.replay.scan_forms import SCANS
from wengert.replay.sum_forms import (
    mean,
    mean_back,
    norm,
    norm_back,
    total,
    total_back,
    unbroadcast,
)
from wengert.replay.summed_forms import summed
from wengert.replay.variance_forms import (
    deviation,
    deviation_back,
    variance,
    variance_back,
)
from wengert.replay.window_forms import (
    channel_sums,
    convolution,
    convolution_input,
    convolution_weight,
    maxima,
    maxima_back,
    means,
    means_back,
    transposed,
    transposed_input,
    transposed_weight,
)
from wengert.replay.write_forms import WRITES

Form = Callable[[Emitter, Instruction], bool]


def lower(emitter: Emitter, instruction: Instruction) -> bool:
    """Add the calls for an instruction; False, and nothing, if kernels cannot compute it."""
    form = _form_of(instruction)
    if form is None:
        return False
    before = len(emitter.calls)
    if form(emitter, instruction):
        return True
    del emitter.calls[before:]
    return False


def _form_of(instruction: Instruction) -> Form | None:
    if isinstance(instruction.compute, FusedEnds):
        return summed
    if isinstance(instruction.compute, FusedLoop) or instruction.pointwise is not None:
        return elementwise
    name = instruction.name
    if name in _BY_NAME:
        return _BY_NAME[name]
    key = instruction.key
    if key and (type(key[0]) is str or type(key[0]) is tuple) and key[0] in _BY_KEY:
        return _BY_KEY[key[0]]
    if is_view(instruction):
        return view
    return elementwise if pointwise_of(instruction) is not None else None


# Rows side by side


def _join(emitter: Emitter, instruction: Instruction) -> bool:
    """Rows of several values, one after another."""
    views = emitter.seen(instruction.inputs)
    out = emitter.view(instruction.outputs[0])
    if views is None or out is None or not all(v.is_dense for v in views):
        return False
    offset = 0
    for v in views:
        part = out._replace(offset=out.offset + offset)
        emitter.call(
            copies.copy_rows.f32, v, part, v.size, v.size, v.size, total=1, chunk=1
        )  # fmt: skip
        offset += v.size
    return True


def _or_loop(form: Form) -> Form:
    """A form of integers, of an operation that is a loop where it has floats."""

    def either(emitter: Emitter, instruction: Instruction) -> bool:
        loop = pointwise_of(instruction) is not None
        return form(emitter, instruction) or (loop and elementwise(emitter, instruction))

    return either


def _summed(emitter: Emitter, instruction: Instruction) -> bool:
    """Floats, or how many elements of a mask are true."""
    return total(emitter, instruction) or counted(emitter, instruction)


# What shows elements of an array once each.
_PARTS = "select", "basic", "transpose", "permute", "t", "diagonal"
_NORMALISED = "input", "weight", "bias"
_ROW_NORMS = "_layer_norm", "_rms_norm", "_group_norm", "_instance_norm"
_BY_NAME: dict[str, Form] = {
    "again": same,
    "join": _join,
    "joint_linear": linear,
    "joint_weight": linear_weight,
    "joint_rows": unbroadcast,
    "sum_to": unbroadcast,
    "split_backward": several_back,
    "unbind_backward": several_back,
    "cat": joined,
    "stack": stacked,
    "to": _or_loop(converted),
}
_BY_KEY: dict[Any, Form] = {
    "linear": linear,
    ("linear", "input"): linear_input,
    ("linear", "weight"): linear_weight,
    ("linear", "bias"): unbroadcast,
    **dict.fromkeys(("matmul", "mm", "bmm", "dot"), matmul),
    **dict.fromkeys(((op, "input") for op in ("matmul", "mm", "bmm")), matmul_left),
    **dict.fromkeys((("matmul", "other"), ("mm", "mat2"), ("bmm", "mat2")), matmul_right),
    "addmm": addmm,
    ("addmm", "input"): addmm_input,
    ("addmm", "mat1"): addmm_left,
    ("addmm", "mat2"): addmm_right,
    "outer": outer,
    ("outer", "input"): matmul,
    ("outer", "vec2"): swapped(matmul),
    "baddbmm": baddbmm,
    ("baddbmm", "input"): addmm_input,
    ("baddbmm", "batch1"): addmm_left,
    ("baddbmm", "batch2"): addmm_right,
    "clone": copied,
    "_embedding": embedding,
    ("_embedding", "weight"): embedding_back,
    "indexed": indexed,
    ("indexed", "input"): indexed_back,
    **dict.fromkeys(("index_select", "gather"), taken),
    **dict.fromkeys((("index_select", "input"), ("gather", "input")), taken_back),
    **dict.fromkeys(("index_add", "scatter_add"), added),
    ("index_add", "source"): added_back,
    ("scatter_add", "src"): added_back,
    "_scatter": written,
    "_scatter_number": written_number,
    **dict.fromkeys((("_scatter", "input"), ("_scatter_number", "input")), written_back),
    ("_scatter", "src"): added_back,
    **dict.fromkeys(("tril", ("tril", "input")), partial(triangle, False)),
    **dict.fromkeys(("triu", ("triu", "input")), partial(triangle, True)),
    "diag_embed": diagonal,
    ("diag_embed", "input"): diagonal_back,
    **dict.fromkeys((("dot", "input"), ("dot", "tensor")), scaled),
    "_attention": attend,
    ("_attention", "shared"): attend_back,
    **dict.fromkeys((("_attention", name) for name in ("query", "key", "value")), taken_form),
    **dict.fromkeys(((op, "input") for op in _PARTS), part_back),
    "sum_over": _summed,
    ("expand", "input"): unbroadcast,
    ("sum_over", "input"): total_back,
    "mean_over": mean,
    "vector_norm": norm,
    ("mean_over", "input"): mean_back,
    ("vector_norm", "input"): norm_back,
    "_var": variance,
    "_std": deviation,
    ("_var", "input"): variance_back,
    ("_std", "input"): deviation_back,
    "_cross_entropy": cross_entropy,
    "_weighed_pick": weighed_pick,
    ("_weighed_pick", "input"): weighed_put,
    ("_cross_entropy", "input"): cross_entropy_back,
    "logsumexp": logsumexp,
    ("logsumexp", "input"): logsumexp_back,
    "_softmax": softmax_form,
    "_masked_softmax": masked_softmax_form,
    ("_masked_softmax", "input"): softmax_back,
    ("_softmax", "input"): softmax_back,
    "_log_softmax": log_softmax_form,
    ("_log_softmax", "input"): log_softmax_back,
    **dict.fromkeys(_ROW_NORMS, normalised),
    **dict.fromkeys(((op, "shared") for op in _ROW_NORMS), normalised_back),
    "_batch_norm": batch_norm,
    ("_batch_norm", "shared"): batch_norm_back,
    "_batch_norm_by_running": by_running,
    ("_batch_norm_by_running", "input"): by_running_input,
    ("_batch_norm_by_running", "shared"): by_running_sums,
    ("_batch_norm_by_running", "weight"): taken_form,
    ("_batch_norm_by_running", "bias"): taken_form,
    ("_batch_norm", "running_mean"): running_mean,
    ("_batch_norm", "running_var"): running_var,
    "maxima": maxima,
    ("maxima", "input"): maxima_back,
    "window_mean": means,
    ("window_mean", "input"): means_back,
    "_convolution": convolution,
    ("_convolution", "input"): convolution_input,
    ("_convolution", "weight"): convolution_weight,
    ("_convolution", "bias"): channel_sums,
    "_transposed_convolution": transposed,
    ("_transposed_convolution", "input"): transposed_input,
    ("_transposed_convolution", "weight"): transposed_weight,
    ("_transposed_convolution", "bias"): channel_sums,
    **dict.fromkeys(product((*_ROW_NORMS, "_batch_norm"), _NORMALISED), taken_form),
    **dict.fromkeys(((op, "weight") for op in _ROW_NORMS), weight_back),
    ("_layer_norm", "bias"): bias_back,
    **dict.fromkeys(RESHAPES, reshaped),
    "resample": resampled,
    ("resample", "input"): resampled_back,
    **MOVES,
    **EXTREMES,
    **{name: _or_loop(form) for name, form in COMPARISONS.items()},
    "_one_hot": one_hot,
    "count_nonzero": counted,
    **WRITES,
    **CONTRACTIONS,
    **SCANS,
    **ORDERS,
    "_glu": gated,
    ("_glu", "input"): gated_back,
    **CELLS,
    **dict.fromkeys(product(("lstm_step", "gru_step"), ("x", "product", "before")), taken_form),
    **RULE_FORMS,
}
