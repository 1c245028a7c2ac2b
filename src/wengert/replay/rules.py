"""Which operations a record may hold, and what they need beside their operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.tensor import RawCut, Tensor
from wengert.kernels.precision import HALF
from wengert.ops.op import Op
from wengert.ops.variadic import ListOp, SeveralOp

# The state of the thread at a step of a run: where operations are recorded, or None; where that was
# turned off (of a backward, its line); the number of its nodes. One is made at every call.
Step = tuple[Any, Any, int]


# Elementwise operations whose forward may refuse elements, or is random.
_REFUSE = frozenset({
    "bitwise_left_shift", "bitwise_right_shift", "gcd", "lcm", "standard_gamma_grad",
    "dirichlet_grad", "_complex", "_polygamma", "from_start",
})  # fmt: skip
# Those that refuse zeros among integers.
_DIVISIONS = frozenset({"_div_floor", "_div_trunc", "remainder", "fmod"})
# Others that are functions of their operands' elements for all elements.
_OTHERS = frozenset({
    "linear", "addmm", "baddbmm", "matmul", "mm", "bmm", "dot", "outer", "sum_over", "mean_over",
    "sum_to_shape", "_softmax", "_log_softmax", "logsumexp", "_cross_entropy", "_weighed_pick",
    "reshape", "view", "flatten", "squeeze", "unsqueeze", "transpose", "t", "permute", "expand",
    "clone", "_layer_norm", "_rms_norm", "_group_norm", "_convolution", "_transposed_convolution",
    "_var", "_std", "amax", "amin", "vector_norm", "_where", "_masked_fill", "tril", "triu",
    "window_mean", "_constant_pad", "_attention", "select", "basic", "maxima", "_cumsum",
    "contract", "_max_of_all", "_min_of_all", "_rearranged",
    "argmax", "argmin", "rearrange", "spread", "times", "times_transposed", "transposed_times",
    "_masked", "_embedding", "_batch_norm", "_instance_norm", "_batch_norm_by_running",
    "_cast", "_blocks", "_summed_blocks", "_cumprod", "logcumsumexp", "_prod", "_nansum", "_cross",
    "_distances", "_pair_distances", "repeat", "resample", "flip", "roll", "_diagonal_copy",
    "diagonal", "diag_embed", "unfold", "_place_of_max", "_place_of_min", "_sorted_places",
    "_top_places", "_kth_place", "_mode_place", "_median_place", "_nanmedian_place", "argsort",
    "_running_place_of_max", "_running_place_of_min", "take_along", "max_positions", "_pick",
    "_masked_softmax", "rnn_layer", "lstm_layer", "gru_layer", "lstm_step", "gru_step",
    "region_max_positions", "take_positions", "all", "any", "count_nonzero", "_glu",
    "_kron", "_multi_margin", "_grid_sample", "_one_hot", "keep", "drop", "no_slope",
    "indexed", "indexed_adjoint", "indexed_erased", "indexed_written", "basic_written",
    "mask_written",
    "basic_erased", "basic_adjoint", "expand_back", "_outer",
    "_softmax_pullback", "_log_softmax_pullback", "_convolution_weight", "_put_back", "add_along",
    "_add_positions", "_weighed_put", "expand_to", "diagonal_adjoint", "_unrepeat", "_trace",
    "resample_back", "overlap_add", "add_rows", "_weighed_rows", "_shrunk",
    "_mul_halves", "_div_halves", "_quotient_of_halves",
    "_window_spread", "share_of_ties", "_gather_adjoint", "_index_select_adjoint",
})  # fmt: skip
# What gives floats of integers and a float.
_ARITHMETIC = frozenset({"_add", "_sub", "mul"})
# Operations with indices into a dimension of the input.
INDEXED = (
    "gather", "index_select", "index_add", "index_copy", "scatter_add", "_scatter",
    "_scatter_number", "_scatter_combined", "_fill_rows",
)  # fmt: skip

# Operations whose nodes have not saved what their rules read as operations of a run.
READ_AGAIN = frozenset({"maxima", "indexed", "indexed_written", "_batch_norm_by_running"})

FLOATS = frozenset({np.dtype(np.float32), np.dtype(np.float64), *HALF})
_BOOL = np.dtype(np.bool_)


class _Form:
    """What an operation that is not declared by `Op` has in common with those that are."""

    aux: tuple[str, ...] = ()
    shared: Any = None
    halves: Any = None
    updates: dict[str, Any] = {}  # noqa: RUF012 (as of a declared one)


class ListForm(_Form):
    """An operation on a list of so many tensors, with the attributes of a declared one."""

    kind, view, mixed, floats = "list", False, True, False

    def __init__(self, op: ListOp, count: int, params: int) -> None:
        self.op, self.public_name = op, op.name.strip("_")
        self.name = f"{op.name} of {count}"
        self.inputs = self.differentiable = [f"t{k}" for k in range(count)]
        self.rules: dict[str, Any] = dict.fromkeys(self.inputs, op.kind.rule)
        self.params = {f"p{k}": None for k in range(params)}
        self.names = (*self.inputs, *self.params)


class SeveralForm(_Form):
    """An operation with several outputs, with the attributes of a declared one."""

    kind, view, mixed, floats = "several", True, False, False

    def __init__(self, op: SeveralOp, params: int) -> None:
        self.op, self.public_name, self.name = op, op.name.strip("_"), op.name
        self.inputs = self.differentiable = ["input"]
        self.rules: dict[str, Any] = {"input": op.whole.rule}
        self.params = {f"p{k}": None for k in range(params)}
        self.names = ("input", *self.params)


class DetachForm(_Form):
    """`detach()`, with the attributes of a declared operation: the same memory without a graph."""

    kind, view, mixed, floats, name, public_name = "detach", True, False, False, "detach", "detach"
    inputs: tuple[str, ...] = ("input",)
    differentiable: tuple[str, ...] = ()
    rules: dict[str, Any] = {"input": None}  # noqa: RUF012
    params: dict[str, Any] = {}  # noqa: RUF012


def kept_of(form: ListForm | SeveralForm, like: Sequence[Any], params: tuple[Any, ...]) -> Any:
    """What the rule of a form reads, which depends on the shapes and dtypes of its operands."""
    blank = [np.broadcast_to(np.zeros((), dtype), shape) for shape, dtype in like]
    return form.op.forward(blank if isinstance(form, ListForm) else blank[0], *params)[1]


def defers(op: Op) -> bool:
    """Whether calls of an operation are compared with the record."""
    return op.name in _OTHERS or (op.kind == "elementwise" and op.name not in _REFUSE)


def eligible(op: Any, arguments: dict[str, Any], continues: bool) -> bool:
    """Whether a call computes the same from arrays as from tensors.

    Masks and integers apart, its operands have one dtype. `continues` is whether one of them is a
    value of the run.
    """
    dtypes, kinds = set[Any](), set[Any]()
    for name, x in arguments.items():
        if name not in op.rules:
            if name not in op.params:
                return False
        elif isinstance(x, Tensor | np.ndarray):
            dtypes.add(x._outline.dtype if isinstance(x, Tensor) else x.dtype)
        elif x is not None:
            kinds.add(np.generic if isinstance(x, np.generic) else type(x))
    if not dtypes or not kinds <= {int, float, np.generic}:
        return False
    # Masks and integers that are there, such as indices, are looked at next.
    if not continues and not dtypes & FLOATS:
        return False
    if op.name == "_cast":
        return True
    if op.name in _DIVISIONS:
        divisor = arguments["other"]
        return type(divisor) is int and divisor != 0 and _agree(op, dtypes, kinds)
    return (op.view and continues) or _agree(op, dtypes, kinds)


def is_mixed(op: Any, dtypes: set[Any], numbers: bool) -> bool:
    """Whether a call may be computed by others, of operands of one dtype.

    They convert operands, or take a number that no half is equal to. Each call is looked at.
    """
    if op.halves is not None and numbers and dtypes & HALF:
        return True
    return op.mixed and op.kind != "list" and len(dtypes & FLOATS) > 1


def _agree(op: Any, dtypes: set[Any], kinds: set[Any]) -> bool:
    """Whether operands of some dtypes, and numbers of some types, are computed with as they are.

    Masks and integers beside floats are not, but become floats in the program.
    """
    alike = op.mixed or op.floats
    if alike and np.generic in kinds:
        return False
    if dtypes == {_BOOL}:
        return not kinds and not op.floats
    floats, others = dtypes & FLOATS, dtypes - FLOATS
    if not floats and all(d.kind in "biu" for d in others):
        return _integers_agree(op, others, kinds)
    if not alike or not others:
        return len(floats) == 1 if alike else bool(floats)
    return op.kind == "elementwise" and len(floats) == 1 and all(d.kind in "bi" for d in others)


def _integers_agree(op: Any, dtypes: set[Any], kinds: set[Any]) -> bool:
    """The same of integers, and of masks beside them."""
    if op.floats and op.kind != "elementwise":
        return False
    if float in kinds:  # they become floats, too
        return bool(op.floats) or op.name in _ARITHMETIC
    if not op.mixed:
        return True
    masks = _BOOL in dtypes
    return len(dtypes) == 1 + masks and (not masks or op.kind == "elementwise")


Cut = RawCut | None
