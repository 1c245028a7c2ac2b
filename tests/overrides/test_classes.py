"""Classes that answer for their instances, derived from Tensor or not: PyTorch's own examples."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import wengert
import wengert.overrides
from wengert.nn import functional as F

LIBRARIES = pytest.mark.parametrize(
    "name", ["wengert", pytest.param("torch", marks=pytest.mark.torch)]
)


@pytest.fixture
def library(name: str, request: pytest.FixtureRequest) -> Any:
    return wengert if name == "wengert" else request.getfixturevalue("torch")


def diagonal_class(library: Any) -> type:  # noqa: C901 (a handler for each of several functions)
    """A matrix with one value along its diagonal, which is no Tensor, and a table of functions."""
    handled: dict[Any, Any] = {}

    class Diagonal:
        def __init__(self, size: int, value: float) -> None:
            self.size, self.value = size, value

        def dense(self) -> Any:
            return self.value * library.eye(self.size)

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func not in handled or not all(issubclass(t, library.Tensor | cls) for t in types):
                return NotImplemented
            return handled[func](*args, **(kwargs or {}))

    def implements(function: Any) -> Any:
        def register(handler: Any) -> Any:
            handled[function] = handler
            return handler

        return register

    @implements(library.mean)
    def mean(input: Diagonal) -> float:
        return input.value / input.size

    @implements(library.add)
    def add(input: Any, other: Any) -> Any:
        if isinstance(input, Diagonal) and isinstance(other, Diagonal):
            return Diagonal(input.size, input.value + other.value)
        return library.add(*(x.dense() if isinstance(x, Diagonal) else x for x in (input, other)))

    @implements(library.Tensor.matmul)
    @implements(library.matmul)
    def matmul(input: Any, other: Any) -> Any:
        return input * other.value if isinstance(other, Diagonal) else input.value * other

    @implements(library.nn.functional.cross_entropy)
    def cross_entropy(input: Diagonal, target: Any, **options: Any) -> Any:
        return library.nn.functional.cross_entropy(input.dense(), target, **options)

    @implements(library.linalg.cholesky)
    def cholesky(input: Diagonal, *, upper: bool = False) -> Diagonal:
        return Diagonal(input.size, input.value**0.5)

    return Diagonal


@LIBRARIES
def test_a_class_that_is_no_tensor(library: Any) -> None:
    kind = diagonal_class(library)
    d, ones = kind(2, 4.0), library.ones(2, 2)
    assert library.mean(d) == 2.0
    assert library.add(d, d).value == 8.0
    assert library.add(d, ones).tolist() == [[5, 1], [1, 5]]
    assert library.add(ones, d).tolist() == [[5, 1], [1, 5]]
    assert library.matmul(d, ones).tolist() == [[4, 4], [4, 4]]
    assert library.matmul(ones, d).tolist() == [[4, 4], [4, 4]]
    assert (ones @ d).tolist() == [[4, 4], [4, 4]]
    assert library.linalg.cholesky(d).value == 2.0
    target = library.tensor([0, 1])
    expected = library.nn.functional.cross_entropy(d.dense(), target)
    assert library.nn.functional.cross_entropy(d, target).item() == expected.item()


@LIBRARIES
@pytest.mark.parametrize(
    "call",
    [
        lambda t, d: t.mul(d, t.ones(2)),
        lambda t, d: t.tanh(d),
        lambda t, d: t.sum(d),
        lambda t, d: t.cat([t.ones(2), d]),
        lambda t, d: t.nn.functional.relu(d),
        lambda t, d: t.linalg.det(d),
        lambda t, d: t.ones(2).mul_(d),
    ],
)
def test_functions_that_nobody_has_are_refused(library: Any, call: Any) -> None:
    with pytest.raises(TypeError, match="__torch_function__"):
        call(library, diagonal_class(library)(2, 1.0))


def test_the_refusal_names_function_and_classes() -> None:
    with pytest.raises(TypeError) as raised:
        wengert.tanh(diagonal_class(wengert)(2, 1.0))
    assert str(raised.value).startswith(
        "Multiple dispatch failed for 'torch.tanh'; all __torch_function__ handlers returned"
        " NotImplemented: [<cl"
    )


@LIBRARIES
def test_an_operator_leaves_it_to_the_other_operand(library: Any) -> None:
    class Other:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

        def __radd__(self, left: Any) -> str:
            return "answered"

        __rsub__ = __radd__

    x = library.ones(2)
    assert (x + Other(), x - Other()) == ("answered", "answered")
    with pytest.raises(TypeError, match="unsupported operand"):
        x / Other()


@LIBRARIES
def test_a_subclass_with_data_of_its_own(library: Any) -> None:
    class Named(library.Tensor):
        @staticmethod
        def __new__(cls, values, label, *args, **kwargs):
            return super().__new__(cls, values)

        def __init__(self, values, label):
            self.label = label

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            result = super().__torch_function__(func, types, args, kwargs)
            if isinstance(result, cls) and not hasattr(result, "label"):
                result.label = next(a.label for a in args if isinstance(a, cls))
            return result

    x = Named([1.0, 2.0], "metres")
    y = (x * 2).tanh().reshape(2, 1)
    assert (type(y), y.label, tuple(y.shape)) == (Named, "metres", (2, 1))


@LIBRARIES
def test_subclasses_are_asked_before_their_bases_and_left_before_right(library: Any) -> None:
    asked: list[str] = []

    def handler(cls, func, types, args=(), kwargs=None):
        asked.append(cls.__name__)
        return NotImplemented

    body = {"__torch_function__": classmethod(handler)}
    first = type("First", (), dict(body))
    second = type("Second", (), dict(body))
    derived = type("Derived", (first,), dict(body))
    with pytest.raises(TypeError):
        library.cat([second(), first(), derived(), second(), library.ones(1)])
    assert asked == ["Second", "Derived", "First"]


@LIBRARIES
def test_gradients_go_through_a_subclass(library: Any) -> None:
    class Kind(library.Tensor):
        pass

    x = library.tensor([1.0, 2.0, 3.0]).as_subclass(Kind).requires_grad_()
    y = (x * x)[1:].sum()
    assert type(y) is Kind
    y.backward()
    assert x.grad.tolist() == [0.0, 4.0, 6.0]
    (g,) = library.autograd.grad((x**3).sum(), x, create_graph=True)
    (h,) = library.autograd.grad(g.sum(), x)
    assert h.tolist() == [6.0, 12.0, 18.0]


@LIBRARIES
def test_writes_to_views_of_a_subclass(library: Any) -> None:
    class Kind(library.Tensor):
        pass

    leaf = library.ones(3, requires_grad=True)
    x = (leaf * 1).as_subclass(Kind)
    x[0].mul_(5)
    x.view(3)[1:].add_(1)
    assert x.tolist() == [5.0, 2.0, 2.0]
    (x * x).sum().backward()
    assert leaf.grad.tolist() == [50.0, 4.0, 4.0]
    assert type(x[0]) is Kind


@LIBRARIES
def test_parameters_answer_nothing(library: Any) -> None:
    class Kind(library.nn.Parameter):
        pass

    for cls in (library.nn.Parameter, Kind):
        p = cls(library.ones(2))
        assert type(p * 2) is library.Tensor
        assert not library.overrides.has_torch_function((p,))


@LIBRARIES
def test_a_subclass_may_answer_nothing(library: Any) -> None:
    class Plain(library.Tensor):
        __torch_function__ = (
            library._C._disabled_torch_function_impl
            if (library is not wengert)
            else wengert.overrides._disabled_torch_function_impl
        )

    assert type(library.ones(2).as_subclass(Plain) * 2) is library.Tensor


@LIBRARIES
def test_a_handler_that_is_assigned_after_the_class_statement(library: Any) -> None:
    class Late(library.Tensor):
        pass

    x = library.ones(2).as_subclass(Late)
    Late.__torch_function__ = classmethod(lambda cls, func, types, args=(), kwargs=None: "late")
    assert (x * 2, library.sum(x), x.shape) == ("late", "late", "late")


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
@LIBRARIES
def test_transforms_of_functions_of_a_subclass(library: Any) -> None:
    class Kind(library.Tensor):
        pass

    x = library.tensor([1.0, 2.0]).as_subclass(Kind)
    assert library.vmap(lambda v: v * 2)(x).tolist() == [2.0, 4.0]
    _, tangent = library.func.jvp(lambda v: v * v, (x,), (library.ones(2),))
    assert tangent.tolist() == [2.0, 4.0]
    with library.inference_mode():
        y = x * 2
    assert (type(y), y.is_inference()) == (Kind, True)


@LIBRARIES
def test_disabling(library: Any) -> None:
    class Kind(library.Tensor):
        pass

    x = library.ones(2).as_subclass(Kind)
    for context in (library.DisableTorchFunction, library.DisableTorchFunctionSubclass):
        with context():
            assert type(x * 2) is library.Tensor
            assert type(library.sum(x)) is library.Tensor
        assert type(x * 2) is Kind


def test_each_function_stays_itself() -> None:
    before = wengert.add, F.linear, wengert.Tensor.sum
    with wengert.overrides.BaseTorchFunctionMode():
        assert (wengert.add, F.linear, wengert.Tensor.sum) == before
    assert wengert.Tensor.shape.__get__ == wengert.Tensor.shape.__get__


def test_a_thread_without_a_mode_computes_as_ever() -> None:
    log: list[str] = []

    class Mode(wengert.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            log.append(func.__name__)
            return func(*args, **(kwargs or {}))

    results: list[Any] = []
    with Mode():
        thread = threading.Thread(target=lambda: results.append((wengert.ones(2) * 3).tolist()))
        thread.start()
        thread.join()
    assert (results, log) == ([[3.0, 3.0]], [])


@LIBRARIES
def test_operands_of_einsum_come_one_by_one(library: Any) -> None:
    class Recorder:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return args

    operand, ones = Recorder(), library.ones(2, 2)
    for args in ((operand, ones), ([operand, ones],), ((operand, ones),)):
        assert library.einsum("ij,jk->ik", *args) == ("ij,jk->ik", operand, ones)
