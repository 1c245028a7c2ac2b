"""autograd.functional: values, structures and errors are torch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
from wengert.autograd import functional

Library = Any
Case = Callable[[Library], Any]


def leaf(library: Library, *shape: int, requires_grad: bool = False, seed: int = 0) -> Any:
    """A float64 tensor, the same in both libraries."""
    rng = np.random.default_rng(seed)
    x = library.from_numpy(np.asarray(rng.uniform(0.2, 1.2, shape)))
    return x.requires_grad_(requires_grad)


def pair(library: Library) -> tuple[Any, Any]:
    return leaf(library, 2), leaf(library, 3, seed=1)


def outer(x: Any, y: Any) -> Any:
    """From shapes (2,) and (3,) to (2, 3)."""
    return x[:, None] ** 2 * y.sin()


def two(x: Any, y: Any) -> tuple[Any, Any]:
    return outer(x, y), y.exp().sum() * x


def total(x: Any, y: Any) -> Any:
    return (outer(x, y) ** 2).sum()


def compare(ours: Any, theirs: Any) -> None:
    """Structure, shape, dtype, values, and whether it can be differentiated again."""
    if isinstance(theirs, (tuple, list)):
        assert isinstance(ours, tuple)
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            compare(a, b)
        return
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype) == str(theirs.dtype)
    assert ours.requires_grad == theirs.requires_grad
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-10)


VALUES: dict[str, Case] = {
    "jacobian": lambda t: t.autograd.functional.jacobian(lambda x: x @ x.T, leaf(t, 2, 3)),
    "jacobian of two": lambda t: t.autograd.functional.jacobian(two, pair(t)),
    "jacobian of a scalar": lambda t: t.autograd.functional.jacobian(lambda x: x.sum(), leaf(t, 3)),
    "jacobian at a scalar": lambda t: t.autograd.functional.jacobian(
        lambda x: x * t.ones(2, dtype=t.float64), leaf(t)
    ),
    "jacobian, tuple of one": lambda t: t.autograd.functional.jacobian(
        lambda x: (x * 2,), (leaf(t, 2),)
    ),
    "jacobian, constant output": lambda t: t.autograd.functional.jacobian(
        lambda x: (x * 2, t.ones(2)), leaf(t, 2)
    ),
    "jacobian, integer output": lambda t: t.autograd.functional.jacobian(
        lambda x: (x * 2, (x * 9).long()), leaf(t, 2)
    ),
    "jacobian, unused input": lambda t: t.autograd.functional.jacobian(
        lambda x, y: x * 2, pair(t)
    ),
    "jacobian, captured input": lambda t: capture(t, t.autograd.functional.jacobian),
    "jacobian, other dtype": lambda t: t.autograd.functional.jacobian(
        lambda x: x.to(t.float32) * 2, leaf(t, 2)
    ),
    "jacobian, no elements": lambda t: t.autograd.functional.jacobian(
        lambda x: x.sum() + t.ones(2), leaf(t, 0)
    ),
    "jacobian, complex to real": lambda t: t.autograd.functional.jacobian(
        lambda x: t.complex(x, x).abs(), leaf(t, 2)
    ),
    "jacobian, recorded": lambda t: t.autograd.functional.jacobian(
        two, pair(t), create_graph=True
    ),
    "jacobian of a linear function, recorded": lambda t: t.autograd.functional.jacobian(
        lambda x: x * 2, leaf(t, 2), create_graph=True
    ),
    "jacobian, strict": lambda t: t.autograd.functional.jacobian(two, pair(t), strict=True),
    "jacobian, recorded strictly": lambda t: t.autograd.functional.jacobian(
        outer, pair(t), create_graph=True, strict=True
    ),
    "hessian": lambda t: t.autograd.functional.hessian(lambda x: (x**3).prod(), leaf(t, 2, 2)),
    "hessian of two": lambda t: t.autograd.functional.hessian(total, pair(t)),
    "hessian, one element": lambda t: t.autograd.functional.hessian(
        lambda x: (x**3).sum().reshape(1, 1), leaf(t, 2)
    ),
    "hessian of a linear function": lambda t: t.autograd.functional.hessian(
        lambda x: x.sum(), leaf(t, 2)
    ),
    "hessian of a constant": lambda t: t.autograd.functional.hessian(
        lambda x: t.ones(()), leaf(t, 2)
    ),
    "hessian, recorded": lambda t: t.autograd.functional.hessian(
        total, pair(t), create_graph=True
    ),
    "hessian, strict": lambda t: t.autograd.functional.hessian(total, pair(t), strict=True),
    "vjp": lambda t: t.autograd.functional.vjp(outer, pair(t), leaf(t, 2, 3, seed=2)),
    "vjp of two": lambda t: t.autograd.functional.vjp(
        two, pair(t), (leaf(t, 2, 3, seed=2), leaf(t, 2, seed=3))
    ),
    "vjp without v": lambda t: t.autograd.functional.vjp(total, pair(t)),
    "vjp, v of another dtype": lambda t: t.autograd.functional.vjp(
        lambda x: x * x, leaf(t, 2), t.ones(2)
    ),
    "vjp, recorded": lambda t: t.autograd.functional.vjp(
        outer, pair(t), leaf(t, 2, 3, seed=2), create_graph=True
    ),
    "vjp, unused input": lambda t: t.autograd.functional.vjp(
        lambda x, y: x * 2, pair(t), t.ones(2)
    ),
    "vjp, constant": lambda t: t.autograd.functional.vjp(
        lambda x: t.ones(2), leaf(t, 2), t.ones(2)
    ),
    "jvp": lambda t: t.autograd.functional.jvp(outer, pair(t), pair(t)),
    "jvp of two": lambda t: t.autograd.functional.jvp(two, pair(t), pair(t)),
    "jvp without v": lambda t: t.autograd.functional.jvp(lambda x: (x * x, x), leaf(t, 1)),
    "jvp of a linear function": lambda t: t.autograd.functional.jvp(
        lambda x: x * 2, leaf(t, 2), leaf(t, 2)
    ),
    "jvp, constant output": lambda t: t.autograd.functional.jvp(
        lambda x: (x * 2, t.ones(3)), leaf(t, 2), leaf(t, 2)
    ),
    "jvp, recorded": lambda t: t.autograd.functional.jvp(
        outer, pair(t), pair(t), create_graph=True
    ),
    "jvp, strict": lambda t: t.autograd.functional.jvp(outer, pair(t), pair(t), strict=True),
    "vhp": lambda t: t.autograd.functional.vhp(total, pair(t), pair(t)),
    "vhp without v": lambda t: t.autograd.functional.vhp(lambda x: x**3, leaf(t)),
    "vhp of a linear function": lambda t: t.autograd.functional.vhp(
        lambda x: x.sum(), leaf(t, 2), leaf(t, 2)
    ),
    "vhp, recorded": lambda t: t.autograd.functional.vhp(
        total, pair(t), pair(t), create_graph=True
    ),
    "hvp": lambda t: t.autograd.functional.hvp(total, pair(t), pair(t)),
    "hvp without v": lambda t: t.autograd.functional.hvp(lambda x: x**3, leaf(t)),
    "hvp of a linear function": lambda t: t.autograd.functional.hvp(
        lambda x: x.sum(), leaf(t, 2), leaf(t, 2)
    ),
    "hvp, unused input": lambda t: t.autograd.functional.hvp(
        lambda x, y: (x**3).sum(), pair(t), pair(t)
    ),
    "hvp, recorded": lambda t: t.autograd.functional.hvp(
        total, pair(t), pair(t), create_graph=True
    ),
    "hvp, strict": lambda t: t.autograd.functional.hvp(total, pair(t), pair(t), strict=True),
    "without grad mode": lambda t: silently(t, t.autograd.functional.jacobian),
    "recorded without grad mode": lambda t: silently(
        t, t.autograd.functional.jacobian, create_graph=True
    ),
    "jvp without grad mode": lambda t: silently(
        t, lambda f, x: t.autograd.functional.jvp(f, x, x)
    ),
}  # fmt: skip

FORWARD: dict[str, Case] = {
    "jacobian": lambda t: forward_jacobian(t, lambda x: x @ x.T, leaf(t, 2, 3)),
    "jacobian of two": lambda t: forward_jacobian(t, two, pair(t)),
    "jacobian, constant output": lambda t: forward_jacobian(
        t, lambda x: (x * 2, t.ones(2)), leaf(t, 2)
    ),
    "jacobian, mixed dtypes": lambda t: forward_jacobian(
        t, lambda x, y: (x * x, y * y), (leaf(t, 2), leaf(t, 2).to(t.float32))
    ),
    "jacobian of a scalar": lambda t: forward_jacobian(t, lambda x: x.exp().sum(), leaf(t, 3)),
}

BATCHED: dict[str, Case] = {
    name: (lambda t, case=VALUES[name]: case(Vectorized(t)))
    for name in VALUES
    if name.startswith(("jacobian", "hessian")) and "strict" not in name
}


def forward_jacobian(library: Library, func: Any, inputs: Any) -> Any:
    return library.autograd.functional.jacobian(
        func, inputs, vectorize=True, strategy="forward-mode"
    )


class Vectorized:
    """A library whose Jacobians and Hessians are computed by one batched pass."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.autograd = self.functional = self

    def __getattr__(self, name: str) -> Any:
        if name in ("jacobian", "hessian"):
            run = getattr(self.library.autograd.functional, name)
            return lambda *args, **options: run(*args, vectorize=True, **options)
        return getattr(self.library, name)


def capture(library: Library, jacobian: Any) -> Any:
    """The function reads its input from outside too: that is a constant."""
    x = leaf(library, 2, requires_grad=True)
    return jacobian(lambda y: y * x.detach() + x.detach(), x)


def silently(library: Library, run: Any, **options: Any) -> Any:
    with library.no_grad():
        return run(lambda x: x**3, leaf(library, 2), **options)


@pytest.mark.torch
@pytest.mark.parametrize("name", VALUES)
def test_values_equal_torch(name: str, torch: Any) -> None:
    compare(VALUES[name](wengert), VALUES[name](torch))


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", BATCHED)
def test_batched_values_equal_torch(name: str, torch: Any) -> None:
    compare(BATCHED[name](wengert), BATCHED[name](torch))


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
@pytest.mark.parametrize("name", FORWARD)
def test_forward_values_equal_torch(name: str, torch: Any) -> None:
    compare(FORWARD[name](wengert), FORWARD[name](torch))


def run(name: str, *args: Any, **options: Any) -> Case:
    """A case whose arguments are made from the library."""

    def case(library: Library) -> Any:
        values = [a(library) if getattr(a, "of_library", False) else a for a in args]
        return getattr(library.autograd.functional, name)(*values, **options)

    return case


def made(maker: Case) -> Case:
    maker.of_library = True  # type: ignore[attr-defined]
    return maker


@made
def x2(library: Library) -> Any:
    return leaf(library, 2)


@made
def both(library: Library) -> Any:
    return pair(library)


@made
def ones3(library: Library) -> Any:
    return library.ones(3)


@made
def two_ones(library: Library) -> Any:
    return library.ones(2), library.ones(3)


def first(x: Any, y: Any) -> Any:
    return (x**3).sum()


STRICT = "RuntimeError: The output of the user-provided function is independent of input 1."
LINEAR = (
    "RuntimeError: While computing the hessian, found that the jacobian of the user-provided"
    " function with respect to input 0 is independent of the input. This is not allowed in strict"
    " mode."
)
DISCONNECTED = (
    "RuntimeError: Output 0 of the user-provided function does not require gradients. The outputs"
    " must be computed in a differentiable manner from the input when running in strict mode."
)
TWICE = (
    "RuntimeError: The jacobian of the user-provided function is independent of input 0. This is"
    " not allowed in strict mode when create_graph=True."
)
THRICE = TWICE.replace("jacobian", "hessian")
V = "RuntimeError: The vector v can only be None if "
ONE_INPUT = V + "the input to the user-provided function is a single Tensor with a single element."

ERRORS: dict[str, tuple[Case, str]] = {
    "list": (
        run("jacobian", lambda x: x, made(lambda t: [leaf(t, 2)])),
        "TypeError: The inputs given to jacobian must be either a Tensor or a tuple of Tensors but"
        " the given inputs has type <class 'list'>.",
    ),
    "number in a tuple": (
        run("vjp", lambda x, y: x, made(lambda t: (leaf(t, 2), 3.0))),
        "TypeError: The inputs given to vjp must be either a Tensor or a tuple of Tensors but the"
        " value at index 1 has type <class 'float'>.",
    ),
    "None from the function": (
        run("vhp", lambda x: None, x2, x2),
        "TypeError: The outputs of the user-provided function given to vhp must be either a Tensor"
        " or a tuple of Tensors but the given outputs of the user-provided function has type",
    ),
    "list from the function": (
        run("hvp", lambda x: [x], x2, x2),
        "TypeError: The outputs of the user-provided function given to hvp must be",
    ),
    "v is a list": (
        run("jvp", lambda x: x, x2, made(lambda t: [leaf(t, 2)])),
        "TypeError: The v given to jvp must be either a Tensor or a tuple of Tensors but the given"
        " v has type <class 'list'>.",
    ),
    "integers": (
        run("jacobian", lambda x: x * 2.0, made(lambda t: t.tensor([1, 2]))),
        "RuntimeError: only Tensors of floating point dtype can require gradients",
    ),
    "complex output": (
        run("jacobian", lambda x: x * 1j, x2),
        "RuntimeError: grad can be implicitly created only for real scalar outputs but got"
        " torch.complex128",
    ),
    "v of another shape": (
        run("vjp", lambda x: x * x, x2, ones3),
        "RuntimeError: v has invalid size: should be torch.Size([2]) but got torch.Size([3]).",
    ),
    "entry of v of another shape": (
        run("jvp", outer, both, made(lambda t: (t.ones(2), t.ones(2)))),
        "RuntimeError: Entry 1 in v has invalid size: should be torch.Size([3]) but got"
        " torch.Size([2]).",
    ),
    "v is too long": (
        run("vhp", total, both, made(lambda t: (t.ones(2),) * 3)),
        "RuntimeError: v is a tuple of invalid length: should be 2 but got 3.",
    ),
    "v is a tuple": (
        run("vjp", lambda x: x * x, x2, two_ones),
        "RuntimeError: The given v should contain a single Tensor.",
    ),
    "no v for vjp": (
        run("vjp", lambda x: x * x, x2),
        V + "the user-provided function returns a single Tensor with a single element.",
    ),
    "no v for jvp": (run("jvp", lambda x: x * x, x2), ONE_INPUT),
    "no v for vhp": (run("vhp", lambda x: x.sum(), x2), ONE_INPUT),
    "no v for hvp": (run("hvp", lambda x: x.sum(), x2), ONE_INPUT),
    "hessian of a tuple": (
        run("hessian", lambda x: (x.sum(),), x2),
        "RuntimeError: The function given to hessian should return a single Tensor",
    ),
    "hessian of several elements": (
        run("hessian", lambda x: x * x, x2),
        "RuntimeError: The Tensor returned by the function given to hessian should contain a"
        " single element",
    ),
    "vhp of a tuple": (
        run("vhp", lambda x: (x.sum(),), x2, x2),
        "RuntimeError: The function given to vhp should return a single Tensor",
    ),
    "hvp of several elements": (
        run("hvp", lambda x: x * x, x2, x2),
        "RuntimeError: The Tensor returned by the function given to hvp should contain a single"
        " element",
    ),
    "strategy": (
        run("jacobian", lambda x: x, x2, strategy="fast"),
        'AssertionError: Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If'
        ' your function has more outputs than inputs, "forward-mode" tends to be more performant.',
    ),
    "outer strategy": (
        run("hessian", lambda x: x.sum(), x2, outer_jacobian_strategy="fast"),
        'AssertionError: Expected strategy to be either "forward-mode" or "reverse-mode".',
    ),
    "forward mode, not vectorized": (
        run("jacobian", lambda x: x, x2, strategy="forward-mode"),
        "NotImplementedError: Computing Jacobian using forward-AD or forward-over-reverse Hessian",
    ),
    "forward mode, recorded": (
        run("jacobian", lambda x: x, x2, create_graph=True, strategy="forward-mode"),
        "NotImplementedError: torch.autograd.functional.jacobian: `create_graph=True` and"
        ' `strategy="forward-mode"` are not supported together (yet).',
    ),
    "forward mode, strict": (
        run("jacobian", lambda x: x, x2, strict=True, strategy="forward-mode"),
        "RuntimeError: torch.autograd.functional.jacobian: `strict=True` and"
        ' `strategy="forward-mode"` are not supported together (yet).',
    ),
    "vectorized, strict": (
        run("jacobian", lambda x: x * 2, x2, strict=True, vectorize=True),
        "RuntimeError: torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are"
        " not supported together.",
    ),
    "strict jacobian, constant": (
        run("jacobian", lambda x: x.detach(), x2, strict=True), DISCONNECTED
    ),
    "strict jacobian, unused input": (
        run("jacobian", lambda x, y: x * 2, both, strict=True),
        "RuntimeError: Output 0 of the user-provided function is independent of input 1. This is"
        " not allowed in strict mode.",
    ),
    "strict jacobian, linear": (
        run("jacobian", lambda x: x * 2, x2, strict=True, create_graph=True), TWICE
    ),
    "strict hessian, linear": (run("hessian", lambda x: x.sum(), x2, strict=True), LINEAR),
    "strict hessian, constant": (
        run("hessian", lambda x: x.detach().sum(), x2, strict=True), DISCONNECTED
    ),
    "strict hessian, square": (
        run("hessian", lambda x: (x * x).sum(), x2, strict=True, create_graph=True), TWICE
    ),
    "strict vjp, unused input": (run("vjp", first, both, strict=True), STRICT),
    "strict vjp, linear": (
        run("vjp", lambda x: x.sum(), x2, strict=True, create_graph=True), TWICE
    ),
    "strict vjp, constant": (
        run("vjp", lambda x: x.detach().sum(), x2, strict=True), DISCONNECTED
    ),
    "strict jvp, unused input": (run("jvp", first, both, two_ones, strict=True), STRICT),
    "strict jvp, constant": (
        run("jvp", lambda x: x.detach(), x2, x2, strict=True), DISCONNECTED
    ),
    "strict jvp, linear": (
        run("jvp", lambda x: x * 2, x2, x2, strict=True, create_graph=True), TWICE
    ),
    "strict vhp, linear": (run("vhp", lambda x: x.sum(), x2, x2, strict=True), LINEAR),
    "strict vhp, unused input": (run("vhp", first, both, two_ones, strict=True), STRICT),
    "strict vhp, square": (
        run("vhp", lambda x: (x * x).sum(), x2, x2, strict=True, create_graph=True), THRICE
    ),
    "strict hvp, linear": (run("hvp", lambda x: x.sum(), x2, x2, strict=True), LINEAR),
    "strict hvp, unused input": (run("hvp", first, both, two_ones, strict=True), STRICT),
    "strict hvp, square": (
        run("hvp", lambda x: (x * x).sum(), x2, x2, strict=True, create_graph=True), THRICE
    ),
    "strict vhp, separate inputs": (
        run("vhp", lambda x, y: (x**3).sum() + y.sum(), both, both, strict=True),
        LINEAR.replace("input 0", "input 1"),
    ),
}  # fmt: skip


def outcome(case: Case, library: Library) -> str:
    try:
        return f"returned {case(library)}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    case, expected = ERRORS[name]
    assert outcome(case, wengert).startswith(expected)


@pytest.mark.torch
@pytest.mark.parametrize("name", ERRORS)
def test_errors_of_torch(name: str, torch: Any) -> None:
    case, expected = ERRORS[name]
    text = outcome(case, torch).replace("isonly", "is only")
    assert text.startswith(expected)


def test_results_are_detached_unless_recorded() -> None:
    x = leaf(wengert, 2, requires_grad=True)
    value, product = functional.vjp(lambda x: x**3, x, wengert.ones(2))
    assert not value.requires_grad
    assert not product.requires_grad
    assert x.grad is None


def test_recorded_results_lead_back_to_the_inputs() -> None:
    x = leaf(wengert, 2, requires_grad=True)
    v = leaf(wengert, 2, requires_grad=True, seed=1)
    _, product = functional.jvp(lambda x: x**3, x, v, create_graph=True)
    gx, gv = wengert.autograd.grad(product.sum(), (x, v))
    np.testing.assert_allclose(gx.numpy(), (6 * x * v).detach().numpy())
    np.testing.assert_allclose(gv.numpy(), (3 * x * x).detach().numpy())


@pytest.mark.parametrize(
    ("name", "expected"),
    [("vjp", 6), ("jvp", 6), ("vhp", 6), ("hvp", 6)],
)
def test_recorded_products_of_a_cube(name: str, expected: float) -> None:
    """d/dx of 3 x^2 v is 6 x v; d/dx of 6 x v is 6 v."""
    x = wengert.tensor(2.0, dtype=wengert.float64, requires_grad=True)
    v = wengert.tensor(1.0, dtype=wengert.float64)
    _, product = getattr(functional, name)(lambda x: x**3, x, v, create_graph=True)
    (g,) = wengert.autograd.grad(product, x)
    assert g.item() == pytest.approx(12.0 if name in ("vjp", "jvp") else expected)


def test_jacobian_of_a_jacobian_of_a_jacobian() -> None:
    x = leaf(wengert, 2)

    def derivative(func: Any) -> Any:
        return lambda x: functional.jacobian(func, x, create_graph=True)

    third = functional.jacobian(derivative(derivative(lambda x: (x**4).sum())), x)
    expected = np.zeros((2, 2, 2))
    expected[0, 0, 0], expected[1, 1, 1] = (24 * x).tolist()
    np.testing.assert_allclose(third.numpy(), expected, rtol=1e-12)


def test_hessian_is_the_jacobian_of_the_gradient() -> None:
    x = leaf(wengert, 4)

    def func(x: Any) -> Any:
        return (x.sin() * x.prod()).sum()

    def gradient(x: Any) -> Any:
        return functional.jacobian(func, x, create_graph=True)

    found = functional.hessian(func, x)
    np.testing.assert_allclose(found.numpy(), functional.jacobian(gradient, x).numpy())
    np.testing.assert_allclose(found.numpy(), found.T.numpy(), rtol=1e-12)


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_hessian_forward_over_reverse() -> None:
    inputs = pair(wengert)
    found = functional.hessian(
        total, inputs, vectorize=True, outer_jacobian_strategy="forward-mode"
    )
    expected = functional.hessian(total, inputs)
    for row, other in zip(found, expected, strict=True):
        for block, like in zip(row, other, strict=True):
            assert not block.requires_grad
            np.testing.assert_allclose(block.numpy(), like.numpy(), rtol=1e-12)


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_vectorized_calls_the_function_once(strategy: str) -> None:
    calls = []

    def func(x: Any) -> Any:
        calls.append(1)
        return x.exp()

    functional.jacobian(func, leaf(wengert, 5), vectorize=True, strategy=strategy)
    assert len(calls) == 1


@pytest.mark.parametrize("vectorize", [False, True])
def test_jacobian_of_no_elements(vectorize: bool) -> None:
    """In torch an error about an empty list."""
    found = functional.jacobian(lambda x: x[:0] * 2, leaf(wengert, 3), vectorize=vectorize)
    assert found.shape == (0, 3)
    assert found.dtype == wengert.float64


def test_captured_tensor_counts_as_constant() -> None:
    x = leaf(wengert, 2, requires_grad=True)
    found = functional.jacobian(lambda y: x * y, x)
    np.testing.assert_allclose(found.numpy(), np.diag(x.detach().numpy()))


def test_requires_grad_of_the_inputs_is_left_alone() -> None:
    x, y = leaf(wengert, 2), leaf(wengert, 2, requires_grad=True)
    functional.hessian(lambda x, y: (x * y).sum(), (x, y))
    functional.hvp(lambda x, y: (x * y * y).sum(), (x, y), (x, y))
    assert not x.requires_grad
    assert y.requires_grad
    assert y.grad is None


def test_module_parameters_get_no_gradient() -> None:
    layer = wengert.nn.Linear(2, 2)
    functional.jacobian(lambda x: layer(x), wengert.ones(2))
    assert all(p.grad is None for p in layer.parameters())
