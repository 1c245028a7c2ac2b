"""Kernels made of declarations agree with NumPy: forwards, rules, layouts, special values."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import wengert
import wengert.special  # its operations belong to the registry
from wengert import Tensor
from wengert.kernels import jit
from wengert.kernels.jit import LARGE
from wengert.kernels.jit.operands import layout_of, plan_of
from wengert.ops import _fuse
from wengert.ops.op import REGISTRY, NodeLayout, Op
from wengert.ops.operands import apply

pytestmark = pytest.mark.skipif(not jit.available(), reason="needs llvmlite")

INF, NAN = np.inf, np.nan
SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 3.0, 6.0, -6.0, 1e-40, -1e-40, 1e-20, 1e19, -1e19,
     88.0, -88.0, 104.0, -104.0, 3e38, -3e38, INF, -INF, NAN, -700.0, 19.0, 21.0, 7.5, -2.5],
    np.float32,
)  # fmt: skip
# Arguments that have no default.
PARAMS: dict[str, list[dict[str, Any]]] = {
    "_clamp_numbers": [
        {"min": -0.5, "max": 0.5}, {"min": None, "max": 1.0}, {"min": 0.0, "max": None}
    ],
    "_elu": [{"alpha": 1.3}, {"alpha": 0.7, "scale": 1.1, "rate": 1.4}],
    "_hardtanh": [{"min_val": -0.5, "max_val": 0.7}],
    "_huber": [{"delta": 0.6}],
    "_leaky_relu": [{"negative_slope": 0.1}, {"negative_slope": -0.2}, {"negative_slope": 2.0}],
    "_limited": [{"limit": 0.8}],
    "_pow_number": [{"exponent": e} for e in (0, 2, 3, 0.5, -1, 2.5, -2, 4)],
    "_threshold": [{"threshold": 0.3, "value": -7.0}],
    "_masked": [{"scale": 1.25}],
    "_polygamma": [{"n": 1}, {"n": 2}],
    "bessel": [{"kind": kind, "order": k} for kind in ("i", "ie") for k in (0, 1)],
    "gelu": [{"approximate": "none"}, {"approximate": "tanh"}],
    "logit": [{}, {"eps": 0.1}],
    "round": [{}, {"decimals": 2}],
    "softplus": [{}, {"beta": 2.0, "threshold": 1.0}],
}  # fmt: skip
MASKED = dict.fromkeys(("keep", "drop", "_masked_fill", "_masked", "mask_written"), "mask")
MASKED["_where"] = "condition"
# Between 0 and 1 all of them have values.
POSITIVE = {
    "_pow_tensor", "_pow_number", "_binary_cross_entropy", "_bernoulli_variance", "xlogy", "log",
    "log2", "log10", "sqrt", "rsqrt", "asin", "acos", "atanh", "logit", "_log_at_least",
}  # fmt: skip


def operations() -> list[str]:
    """The names of ops that may have a kernel."""
    return sorted(n for n, op in REGISTRY.items() if _fuse.is_small(op, "") is not None)


def parameters(op: Op) -> list[dict[str, Any]]:
    """Values for the parameters of an op, several times."""
    defaults = {n: v for n, v in op.params.items() if v is not inspect.Parameter.empty}
    return [defaults | given for given in PARAMS.get(op.name, [{}])]


def inputs_of(op: Op, size: int, rng: np.random.Generator, special: bool) -> list[np.ndarray]:
    """Large float32 arrays, a mask where the op takes one."""
    found = []
    for k, name in enumerate(op.inputs):
        if name == MASKED.get(op.name):
            found.append(rng.random(size) < 0.6)
        elif special:
            found.append(np.resize(SPECIAL if k == 0 else np.repeat(SPECIAL, len(SPECIAL)), size))
        elif op.name in POSITIVE:
            found.append(rng.uniform(0.01, 0.99, size).astype(np.float32))
        elif op.name == "acosh":
            found.append(rng.uniform(1.01, 9, size).astype(np.float32))
        else:
            found.append((rng.standard_normal(size) * 2).astype(np.float32))
    return found


def kernel_result(op: Op, arrays: list[Any], params: dict[str, Any]) -> Any:
    """What the kernel of an op gives; None where it has none."""
    plan, layout = plan_and_layout(op, arrays, params)
    return None if plan is None else plan.laid_out(arrays, layout)


def plan_and_layout(op: Op, arrays: list[Any], params: dict[str, Any]) -> Any:
    layout = layout_of(arrays)
    assert layout is not None
    values = tuple(params.values())
    scalar = [lambda *given: apply(op.scalar, op, given, values)]
    return plan_of(scalar, layout.kinds, bool(params)), layout


def reference(op: Op, arrays: list[Any], params: dict[str, Any]) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(apply(op.forward, op, arrays, tuple(params.values())))


def assert_near(
    found: np.ndarray, expected: np.ndarray, what: str, rtol: float, atol: float
) -> None:
    assert found.dtype == expected.dtype, what
    assert found.shape == expected.shape, what
    if found.dtype == bool:
        np.testing.assert_array_equal(found, expected, what)
    else:
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(found, expected, rtol, atol, err_msg=what)


# What is not for float32, is not elementary, or has no function in the kernel language.
WITHOUT = {
    "_airy", "_angle", "_close", "_complex", "_complex_sgn", "_conj", "_discrete",
    "_exponent", "_mantissa", "_polynomial", "_ratio_power", "bitwise_and", "bitwise_left_shift",
    "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
    "dirichlet_grad", "entr", "erfcx", "from_start", "gcd", "igamma", "igammac", "isreal", "lcm",
    "log_ndtr", "ndtr", "ndtri", "nextafter", "no_slope", "standard_gamma_grad", "zeta",
}  # fmt: skip
# Angles and quotients are too large among the special values: NumPy reduces those.
ANGLES = {"sin", "cos", "tan", "sinc", "fmod", "remainder", "_div_floor"}
# Sums that cancel, of values that differ by an ulp or two.
CANCELS = {
    "gelu", "_logits_loss", "_mish", "softplus", "logsigmoid", "_silu", "xlogy", "_elu",
    "logaddexp", "logaddexp2",
}  # fmt: skip


def test_operations_without_a_kernel() -> None:
    rng = np.random.default_rng(0)
    found = set()
    for name in operations():
        op = REGISTRY[name]
        arrays = inputs_of(op, LARGE, rng, False)
        if all(kernel_result(op, arrays, p) is None for p in parameters(op)):
            found.add(name)
    assert found == WITHOUT


@pytest.mark.parametrize("name", [n for n in operations() if n not in WITHOUT])
@pytest.mark.parametrize("special", [False, True])
def test_forwards(name: str, special: bool) -> None:
    op, rng = REGISTRY[name], np.random.default_rng(0)
    for params in parameters(op):
        arrays = inputs_of(op, LARGE + 905, rng, special)
        found = kernel_result(op, arrays, params)
        if special and name in ANGLES:
            assert found is None
            continue
        atol = 1e-6 if name in CANCELS else 0
        assert_near(found[0], reference(op, arrays, params), f"{name} {params}", 4e-7, atol)


def gradient(op: Op, name: str, arrays: dict[str, Any], params: dict[str, Any]) -> np.ndarray:
    """What a rule computes with NumPy: of pieces that are too small for a kernel."""
    rule = op.rules[name]
    assert rule is not None
    pieces = []
    for k in range(0, arrays["g"].size, 1000):
        known = {n: a[k : k + 1000] for n, a in arrays.items()} | params
        with np.errstate(all="ignore"):
            piece = rule(known["g"], *(known[n] for n in op.takes[name]))
        pieces.append(np.broadcast_to(np.asarray(piece, np.float32), known["g"].shape))
    return np.concatenate(pieces)


# Rules that give the cotangent or zeros, or call what has no kernel.
PLAIN = {
    "_airy", "_angle", "_complex", "_complex_sgn", "_conj", "_mantissa", "_polygamma",
    "_polynomial", "_ratio_power", "bessel", "dirichlet_grad", "igamma", "igammac", "log_ndtr",
    "remainder", "standard_gamma_grad", "zeta",
}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [n for n in operations() if _fuse.fuses_rules(REGISTRY[n]) and n not in PLAIN],
)
@pytest.mark.parametrize("special", [False, True])
def test_rules(name: str, special: bool) -> None:
    op, rng = REGISTRY[name], np.random.default_rng(0)
    names = NodeLayout(op).arrays
    for params in parameters(op):
        inputs = inputs_of(op, LARGE + 905, rng, special)
        arrays = dict(zip(op.inputs, inputs, strict=True))
        arrays["out"] = reference(op, inputs, params)
        arrays["g"] = rng.standard_normal(LARGE + 905).astype(np.float32)
        values = tuple(arrays[n] for n in names)
        pull = _fuse.pullback_of(op, names)
        read = tuple(params[n] for n in op.keeps if n not in names)
        found = pull(arrays["g"], (op,) * len(op.differentiable), values, read)
        if params.get("exponent") == 0 or (special and name in ANGLES - {"tan", "fmod"}):
            assert found is None
            continue
        atol = 5e-6 if name == "gelu" else 1e-6
        for i, a in zip(op.differentiable, found, strict=True):
            assert_near(a, gradient(op, i, arrays, params), f"{name} {i} {params}", 1e-6, atol)


N = 70001
Shapes = tuple[tuple[int, ...], ...]
BROADCASTS: list[Shapes] = [
    ((300, 257), (257,)), ((300, 257), (300, 1)), ((5, 7, 19, 23), (7, 1, 1)),
    ((5, 7, 19, 23), (1, 7, 1, 1)), ((300, 257), (1, 1)), ((300, 257), ()), ((4, 1, 300), (7, 300)),
    ((300, 1), (1, 257)), ((2, 3, 4, 5, 100), (3, 1, 5, 1)), ((40, 2000), (2000,)),
    ((2, 3, 4, 500), (3, 1, 500)), ((2, 3, 4, 500), (3, 1, 1)),
]  # fmt: skip


@pytest.mark.parametrize("shapes", BROADCASTS)
def test_broadcasts(shapes: Shapes) -> None:
    rng = np.random.default_rng(1)
    x, y = (rng.standard_normal(s).astype(np.float32) for s in shapes)
    op = REGISTRY["_lerp"]
    arrays = [x, y, np.float32(0.3) * np.ones((), np.float32)]
    layout = layout_of(arrays)
    expected = reference(op, arrays, {})
    if layout is None:
        assert len(shapes[0]) == 5  # four dimensions that cannot become one
        return
    found = kernel_result(op, arrays, {})[0]
    np.testing.assert_array_equal(found, expected)
    assert found.strides == expected.strides


def permuted(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Channels last."""
    n, c, h, w = shape
    return rng.standard_normal((n, h, w, c)).astype(np.float32).transpose(0, 3, 1, 2)


def test_permuted_arrays_stay_so() -> None:
    rng = np.random.default_rng(2)
    x, y = permuted((3, 8, 17, 19), rng), permuted((3, 8, 17, 19), rng)
    scale = rng.standard_normal((8, 1, 1)).astype(np.float32)
    for other in (y, scale, x):
        found = kernel_result(REGISTRY["_squared_error"], [x, other], {})[0]
        np.testing.assert_array_equal(found, np.square(x - other))
        assert found.strides == x.strides


@pytest.mark.parametrize("name", ["mul", "_add", "_sub", "_div"])
def test_cheap_operations_of_parts_of_heads(name: str) -> None:
    """NumPy goes over these in short rows: a kernel computes them, in the operands' order."""
    rng = np.random.default_rng(4)
    heads = rng.standard_normal((8, 16, 4, 64)).astype(np.float32).transpose(0, 2, 1, 3)
    angles = rng.standard_normal((16, 32)).astype(np.float32)
    op = REGISTRY[name]
    for x, y in ((heads[..., :32], angles), (heads[..., :32], heads[..., 32:])):
        assert not _fuse.in_few_loops(x, y)
        found = kernel_result(op, [x, y], {})[0]
        np.testing.assert_array_equal(found, op.forward(x, y))
        assert found.transpose(0, 2, 1, 3).flags.c_contiguous
    assert _fuse.in_few_loops(angles, angles)
    assert _fuse.in_few_loops(angles, np.float32(2))


def test_arrays_in_another_order_or_with_gaps() -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((211, 120)).astype(np.float32)
    wide = rng.standard_normal((211, 240)).astype(np.float32)
    op = REGISTRY["_squared_error"]
    for other in (wide[:, :120], wide[:, 120:], wide[::-1, 7:127], np.broadcast_to(x[3], x.shape)):
        found = kernel_result(op, [x, other], {})[0]
        np.testing.assert_array_equal(found, np.square(x - other))
    for other in (wide[:, ::2], np.asfortranarray(x), wide[:, :120].astype(np.float64)):
        assert layout_of([x, other]) is None
    for dtype in (np.int32, np.complex64):
        assert layout_of([x.astype(dtype)]) is None


def test_masks_that_are_no_arrays_are_left_to_numpy() -> None:
    x = np.ones((30, 300), np.float32)
    assert layout_of([x, np.bool_(True)]) is None
    found = REGISTRY["keep"].function(x, np.bool_(False))
    np.testing.assert_array_equal(found, np.zeros_like(x))


def large(rng: np.random.Generator, *shape: int) -> Any:
    return wengert.from_numpy(rng.standard_normal(shape or (N,)).astype(np.float32))


def test_operations_on_one_tensor_twice_and_in_place() -> None:
    x = large(np.random.default_rng(4)).requires_grad_()
    value = x.detach().numpy().copy()
    (x * x).backward(wengert.ones(N))
    np.testing.assert_allclose(x.grad.numpy(), 2 * value, rtol=1e-7)
    y = x.detach().clone()
    y.mul_(y).add_(y)
    np.testing.assert_array_equal(y.numpy(), 2 * value * value)
    y += y
    np.testing.assert_array_equal(y.numpy(), 4 * value * value)


def to_be_fused(*arguments: Any) -> None:
    raise AssertionError("NumPy computes what a kernel should")


BINARY: dict[str, Any] = {
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "_huber": lambda x, y: wengert.nn.functional.huber_loss(x, y, reduction="none"),
}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("listening", [False, True])
def test_grad_uses_the_kernels_of_backward(
    name: str, listening: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of some inputs only, and where a hook listens."""
    rng = np.random.default_rng(5)
    x, y = large(rng, 70, 80).requires_grad_(), large(rng, 70, 80).requires_grad_()
    g = large(rng, 70, 80)
    BINARY[name](x, y).backward(g)
    wanted = {x: x.grad, y: y.grad}
    out, heard = BINARY[name](x, y), []
    scope = type(out.grad_fn).pullback_to.__globals__
    for rule in ("vjp_input", "vjp_other", "vjp_target"):
        if rule in scope:
            monkeypatch.setitem(scope, rule, to_be_fused)
    if listening:
        out.register_hook(heard.append)
    for inputs in ((x, y), (y,), (x,)):
        found = wengert.autograd.grad(out, inputs, g, retain_graph=True)
        for gradient, leaf in zip(found, inputs, strict=True):
            np.testing.assert_array_equal(gradient.numpy(), wanted[leaf].numpy())
    assert len(heard) == 3 * listening


def test_large_arrays_of_one_number() -> None:
    x = wengert.ones(N, requires_grad=True)
    (x * 2).sum().backward()
    (given,) = wengert.autograd.grad((x * wengert.tensor(3.0)).sum(), x)
    assert (x.grad == 2).all()
    assert (given == 3).all()
    wide = wengert.tensor([1.5]).expand(N)
    assert (wide * 2 == 3).all()
    assert (wide * wide == 2.25).all()
    assert (wide.exp() == wengert.tensor(1.5).exp()).all()


def test_gradients_of_broadcast_operands() -> None:
    rng = np.random.default_rng(5)
    x, scale, shift = large(rng, 300, 257), large(rng, 257), large(rng, 300, 1)
    for t in (x, scale, shift):
        t.requires_grad_()
    (x * scale + shift).tanh().sum().backward()
    a, s, b = (t.detach().numpy().astype(np.float64) for t in (x, scale, shift))
    slope = 1 - np.tanh(a * s + b) ** 2
    np.testing.assert_allclose(x.grad.numpy(), slope * s, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(scale.grad.numpy(), (slope * a).sum(0), rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(shift.grad.numpy(), slope.sum(1)[:, None], rtol=1e-4, atol=1e-3)


def test_numbers_on_either_side() -> None:
    x = large(np.random.default_rng(6)).requires_grad_()
    (2.0 / (1.5 - x)).backward(wengert.ones(N))
    value = x.detach().numpy().astype(np.float64)
    np.testing.assert_allclose(x.grad.numpy(), 2 / (1.5 - value) ** 2, rtol=2e-5)


def test_second_derivatives() -> None:
    x = large(np.random.default_rng(7)).requires_grad_()
    (first,) = wengert.autograd.grad(x.sigmoid(), x, wengert.ones(N), create_graph=True)
    (second,) = wengert.autograd.grad(first, x, wengert.ones(N))
    s = 1 / (1 + np.exp(-x.detach().numpy().astype(np.float64)))
    np.testing.assert_allclose(second.numpy(), s * (1 - s) * (1 - 2 * s), atol=1e-6)


def test_huge_angles_are_left_to_numpy() -> None:
    x = np.linspace(0, 9, N).astype(np.float32)
    x[-1] = 3e8
    assert wengert.sin(wengert.from_numpy(x))[-1].item() == pytest.approx(np.sin(np.float64(x[-1])))


def test_errors_are_those_of_small_tensors() -> None:
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        wengert.ones(N) * wengert.ones(N + 1)
    with pytest.raises(RuntimeError, match="approximate argument must be either none or tanh"):
        wengert.nn.functional.gelu(wengert.ones(N), approximate="some")


def test_new_numbers_need_no_new_kernel() -> None:
    x = large(np.random.default_rng(8))
    slopes = [0.03 + 0.01 * k for k in range(3)]
    wengert.nn.functional.leaky_relu(x, slopes[0])
    known = jit.compiled.cache_info().misses
    for slope in slopes[1:]:
        out = wengert.nn.functional.leaky_relu(x, slope).numpy()
        np.testing.assert_array_equal(out, np.maximum(x.numpy(), x.numpy() * np.float32(slope)))
    for number in (1.7, 2.9):
        x * number
    assert jit.compiled.cache_info().misses <= known + 1


def test_error_functions_of_float64() -> None:
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.uniform(-7, 7, 4000), rng.uniform(-1, 1, 1000) * 1e-9,
                        [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan]])  # fmt: skip
    t = wengert.from_numpy(x).requires_grad_()
    found = kernel_result(REGISTRY["erf"], [x], {})[0]
    np.testing.assert_array_max_ulp(found[:-1], scipy.special.erf(x[:-1]), 3)
    assert np.isnan(found[-1])
    assert np.signbit(found[5001])
    y = wengert.nn.functional.gelu(t)
    cdf = scipy.special.ndtr(x[:5000])
    np.testing.assert_allclose(y.detach().numpy()[:5000], x[:5000] * cdf, atol=1e-15)
    y.sum().backward()
    assert t.grad is not None
    slope = cdf + x[:5000] * np.exp(-0.5 * x[:5000] ** 2) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(t.grad.numpy()[:5000], slope, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", ["float64", "float32", "float16", "bfloat16"])
def test_large_arrays_are_computed_as_small_ones(name: str) -> None:
    dtype = getattr(wengert, name)
    wengert.manual_seed(0)
    x, y = ((wengert.rand(9000) * 2 - 0.7).to(dtype) for _ in range(2))
    x[:6] = wengert.tensor([math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0])
    functions: list[Callable[..., Tensor]] = [
        lambda x, y: wengert.isfinite(x),
        lambda x, y: wengert.isinf(x),
        lambda x, y: wengert.isposinf(x),
        lambda x, y: wengert.isclose(x, y, rtol=0.3, equal_nan=True),
        lambda x, y: wengert.div(x, y, rounding_mode="trunc"),
        lambda x, y: wengert.div(x, y, rounding_mode="floor"),
        lambda x, y: wengert.nan_to_num(x),
        lambda x, y: x.clamp(-math.inf, 0.3),
        lambda x, y: x.masked_fill(y > 0.3, -math.inf),
    ]
    for function in functions:
        parts = [function(x[i : i + 3000], y[i : i + 3000]) for i in (0, 3000, 6000)]
        wengert.testing.assert_close(
            function(x, y), wengert.cat(parts), rtol=0, atol=0, equal_nan=True
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [40, 120])
def test_what_lies_otherwise_is_copied_for_a_kernel(size: int, dtype: Any) -> None:
    """Strides within rows, and other orders than the result's: results and their order stay."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((size, size)).astype(dtype)
    wide = rng.standard_normal((size, 2 * size)).astype(dtype)
    for name in ("_lerp", "_squared_error", "_add", "exp"):
        op = REGISTRY[name]
        for a, b in ((x, wide[:, ::2]), (x.T, x), (x, x.T), (wide[:, ::2], wide[:, ::2])):
            arrays = {1: [a], 2: [a, b], 3: [a, b, np.full((), 0.3, dtype)]}[len(op.inputs)]
            computed = op.function(*arrays)
            np.testing.assert_allclose(computed, op.forward(*arrays), rtol=4e-7, atol=1e-6)
            again = op.function(*arrays)
            np.testing.assert_array_equal(again, computed)
    outlines = jit.operands.outlines_of([x, wide[:, ::2], x.T, None])
    assert jit.operands.misfits(outlines) == [(1, (0, 1)), (2, (0, 1))]
    assert jit.operands.misfits(jit.operands.outlines_of([x, wide[:, :size]])) == []
    assert jit.operands.misfits(jit.operands.outlines_of([x.astype(np.int32).T, x.T])) == []
