"""What operations compute in inside of autocast regions: dtypes and values are PyTorch's."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading

import numpy as np
import pytest

import wengert
import wengert.nn.functional as F
from tests.ops import calls
from tests.ops.each import each
from tests.ops.rows import Row, all_rows
from wengert import amp
from wengert.amp import casts
from wengert.amp.casts import POLICIES

COMPOSED = {
    "affine_grid", "cat", "chain_matmul", "concat", "corrcoef", "cov", "einsum", "exp", "gru",
    "gru_cell", "hstack", "inner", "layer_norm", "lstm_cell", "matrix_power", "max_pool2d",
    "multi_head_attention_forward", "softmax", "stack", "sum",
}  # fmt: skip
NAMES = {name.rpartition(".")[2] for name in POLICIES} | COMPOSED
# The cell of an LSTM with a projection is float32 in PyTorch, and the scalings of a norm that
# counts have no gradient.
APART = {"lstm-projected", "nn.functional.affine_grid-centres"}
SINGLE = {name.rpartition(".")[2] for name in POLICIES if POLICIES[name] is casts.in_float32}


def rows(single: bool) -> list[Row]:
    """At most two rows of each function that has a policy or is made of such."""
    by_name: dict[str, list[Row]] = {}
    for row in all_rows():
        last = row.name.rpartition(".")[2]
        wanted = last in NAMES and (last in SINGLE) == single and row.twin is None
        # PyTorch's pseudoinverse fails in backward.
        if wanted and str(row) not in APART and row.name != "linalg.pinv":
            by_name.setdefault(row.name, []).append(row)
    return [row for several in by_name.values() for row in several[:2]]


def dtypes_of(library, row, dtype):
    """The dtypes of results and gradients, and the values; the error if there is one."""
    leaves = []

    def leaf(array):
        x = library.from_numpy(array.copy())
        if array.dtype.kind == "f":
            x = x.to(getattr(library, dtype)).detach()
        if row.grad and array.dtype.kind in "fc":
            leaves.append(x.requires_grad_())
        return x

    args = calls.convert(row.make(calls.rng_of(row)), leaf)
    kwargs = {k: calls.convert(v, leaf) for k, v in row.kwargs.items()}
    function = calls.function_of(library, row)
    try:
        with library.autocast("cpu", dtype=library.bfloat16):
            if row.name.endswith("_") and not row.name.endswith("__"):
                args = (args[0].clone(), *args[1:])
            outs = [x for x in calls.outputs(function(*args, **kwargs)) if hasattr(x, "dtype")]
        used = [x for x in outs if x.requires_grad]
        if used:
            sum(abs(x).float().sum() for x in used).backward()
    except (RuntimeError, NotImplementedError, TypeError):
        return None
    values = [calls.to_numpy(x) for x in outs if x.is_floating_point()]
    kinds = [str(x.dtype) for x in outs]
    return kinds, [x.grad is None or str(x.grad.dtype) for x in leaves], values


def compare(row: Row, dtype: str, torch) -> None:
    theirs = dtypes_of(torch, row, dtype)
    if theirs is None:  # not for bfloat16
        return
    ours = dtypes_of(wengert, row, dtype)
    assert ours is not None
    assert ours[:2] == theirs[:2]
    for a, b in zip(ours[2], theirs[2], strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-2, atol=2e-2)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
@each(rows(single=False))
def test_products_of_float32_are_pytorchs(row: Row, torch) -> None:
    compare(row, "float32", torch)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
@each(rows(single=True))
def test_losses_of_bfloat16_are_pytorchs(row: Row, torch) -> None:
    compare(row, "bfloat16", torch)


def model_step(library, dtype):
    """What a training step of a small net leaves: dtypes of activations, loss and gradients."""
    net = library.nn.Sequential(
        library.nn.Conv2d(1, 4, 3), library.nn.BatchNorm2d(4), library.nn.ReLU(),
        library.nn.Flatten(), library.nn.Linear(16, 8), library.nn.LayerNorm(8),
        library.nn.GELU(), library.nn.Linear(8, 3),
    )  # fmt: skip
    kinds = []
    for module in net:
        module.register_forward_hook(lambda m, args, out: kinds.append(str(out.dtype)))
    x = library.from_numpy(np.random.default_rng(0).standard_normal((5, 1, 4, 4), np.float32))
    with library.autocast("cpu", dtype=dtype):
        out = net(x)
        out.register_hook(lambda g: kinds.append(str(g.dtype)))
        loss = library.nn.functional.cross_entropy(out, library.arange(5) % 3)
        kinds.append(str(loss.dtype))
    loss.backward()
    return kinds, [(str(p.dtype), str(p.grad.dtype)) for p in net.parameters()]


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_training_step_has_pytorchs_dtypes(torch, dtype):
    ours, theirs = (model_step(lib, getattr(lib, dtype)) for lib in (wengert, torch))
    assert ours == theirs


def test_each_product_is_rounded_once():
    rng = np.random.default_rng(0)
    x, w, b = (
        wengert.from_numpy(rng.standard_normal(s, np.float32)) for s in ((9, 70), (5, 70), 5)
    )
    with amp.autocast("cpu"):
        out = F.linear(x, w, b)
    x, w, b = (v.bfloat16().double() for v in (x, w, b))
    exact = x @ w.T + b
    assert ((out.double() - exact).abs() <= exact.abs() * 2**-8).all()


def test_float64_stays_and_regions_turn_it_off():
    a = wengert.ones(2, 2)
    with amp.autocast("cpu"):
        assert (a.double() @ a.double()).dtype is wengert.float64
        with amp.autocast("cpu", enabled=False):
            assert (a @ a).dtype is wengert.float32
        assert (a @ a).dtype is wengert.bfloat16
        out = wengert.empty(2, 2)
        assert wengert.mm(a, a, out=out) is out
        assert a.clone().addmm_(a, a).dtype is wengert.float32
    assert (a @ a).dtype is wengert.float32
    assert not casts._threads


def test_regions_are_of_one_thread():
    a, kinds = wengert.ones(2, 2), []
    with amp.autocast("cpu"):
        thread = threading.Thread(target=lambda: kinds.append((a @ a).dtype))
        thread.start()
        thread.join()
    assert kinds == [wengert.float32]


def test_settings_count_as_a_region():
    a = wengert.ones(2, 2)
    wengert.set_autocast_enabled("cpu", True)
    try:
        assert (a @ a).dtype is wengert.bfloat16
    finally:
        wengert.set_autocast_enabled("cpu", False)
    assert (a @ a).dtype is wengert.float32
    assert not casts._threads


def test_several_backwards_inside_of_a_region():
    w = wengert.ones(3, 3, requires_grad=True)
    with amp.autocast("cpu"):
        for _ in range(2):
            (w @ w).sum().backward()
        first, second = (w @ w).sum(), (w @ w.T).sum()
        first.backward()
        second.backward()
    assert w.grad.dtype is wengert.float32
    assert w.grad.tolist() == [[24.0] * 3] * 3


def test_modes_see_casts_in_any_order():
    from wengert.overrides import TorchFunctionMode
    from wengert.utils._python_dispatch import TorchDispatchMode

    class Seen(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            names.append(func.name().partition(".")[0])
            return func(*args, **(kwargs or {}))

    class Called(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            names.append(func.__name__)
            return func(*args, **(kwargs or {}))

    a = wengert.ones(2, 2)
    for outer, inner in ((Seen, amp.autocast), (amp.autocast, Seen)):
        names: list[str] = []
        with (
            outer("cpu") if outer is amp.autocast else outer(),
            inner("cpu") if inner is amp.autocast else inner(),
        ):
            assert (a @ a).dtype is wengert.bfloat16
        assert names == ["aten::_to_copy", "aten::_to_copy", "aten::mm"]
    names = []
    with Called(), amp.autocast("cpu"):
        product = wengert.mm(a, a)
    assert names == ["mm"]
    assert product.dtype is wengert.bfloat16
    assert (a @ a).dtype is wengert.float32


IN_ANY_ORDER = """
import wengert
from wengert.overrides import TorchFunctionMode

class Called(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {{}}))

linear, x = wengert.nn.Linear(300, 300), wengert.randn(300, 300)
def function(x):
    return linear(x) @ x
compiled = wengert.compiler.compile(function)
for step in "{order}":
    for _ in range(3):
        if step == "r":
            with wengert.autocast("cpu"):
                assert function(x).dtype is wengert.bfloat16
        if step == "b":
            with wengert.autocast("cpu"):
                assert compiled(x).dtype is wengert.bfloat16
        if step == "c":
            assert compiled(x).dtype is wengert.float32
        if step == "m":
            with Called():
                assert function(x).dtype is wengert.float32
        assert function(x).dtype is wengert.float32
"""


@pytest.mark.parametrize("order", ["bcb", "cbc", "rcb", "crb", "mbmc", "bmcr"])
def test_regions_modes_and_compiled_functions_come_in_any_order(order):
    program = [sys.executable, "-c", IN_ANY_ORDER.format(order=order)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_failing_calls_leave_nothing():
    a = wengert.ones(2, 3)
    gc.collect()
    gc.disable()
    try:
        with amp.autocast("cpu"):
            with pytest.raises(RuntimeError):
                a @ a
            assert (a @ a.T).dtype is wengert.bfloat16
        assert gc.collect() == 0
    finally:
        gc.enable()


@pytest.mark.parametrize("function", ["tanh", "sigmoid", "gelu", "exp", "sqrt", "var"])
def test_cotangents_of_bfloat16_stay_bfloat16(function):
    x = wengert.rand(4, requires_grad=True)
    half = x.bfloat16()
    half.register_hook(lambda g: kinds.append(g.dtype))
    kinds = []
    call = getattr(wengert, function, None) or getattr(F, function)
    call(half).sum().backward()
    assert kinds == [wengert.bfloat16]
    assert x.grad.dtype is wengert.float32
