"""Operations of programs: schemas, kernels, gradients, batches, checks and errors."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import wengert
from tests.dispatch.programs import logged, ours, theirs
from wengert import Tensor
from wengert.dispatch import ops
from wengert.dispatch.overloads import unloaded
from wengert.dispatch.schema import parse_schema
from wengert.library import (
    Library,
    custom_op,
    infer_schema,
    opcheck,
    register_autograd,
    register_fake,
    register_vmap,
)


def _sine(name: str) -> Any:
    """A custom operation with all its rules."""

    @custom_op(name, mutates_args=())
    def sine(x: Tensor, scale: float = 1.0) -> Tensor:
        return wengert.from_numpy(np.sin(x.numpy() * scale))

    def keep(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.scale = inputs[1]

    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * (x * ctx.scale).cos() * ctx.scale, None

    sine.register_autograd(backward, setup_context=keep)
    sine.register_fake(lambda x, scale=1.0: x.new_empty(x.shape))
    sine.register_vmap(lambda info, in_dims, x, scale: (sine(x, scale), in_dims[0]))
    return sine


def test_a_custom_op_is_called_and_looked_up() -> None:
    sine = _sine("test::sine")
    x = wengert.tensor([0.5, 1.0])
    np.testing.assert_allclose(sine(x).numpy(), np.sin([0.5, 1.0]), rtol=1e-6)
    np.testing.assert_allclose(ops.test.sine(x, scale=2.0).numpy(), np.sin([1.0, 2.0]), rtol=1e-6)
    assert ops.test.sine.overloads() == ["default"]
    assert str(ops.test.sine.default._schema) == "test::sine(Tensor x, float scale=1.) -> Tensor"
    assert repr(sine) == "<CustomOpDef(test::sine)>"


def test_its_gradient_is_recorded_as_every_other() -> None:
    sine = _sine("test::recorded")
    x = wengert.tensor([0.5, 1.0], dtype=wengert.float64, requires_grad=True)
    y = sine(x, 2.0)
    assert type(y.grad_fn).__name__ == "GeneratedBackwardFor_test_recorded_defaultBackward"
    assert y.grad_fn.code.co_name == "test_its_gradient_is_recorded_as_every_other"
    first = next(iter(wengert.graph.saved(y.grad_fn)))
    assert (first.name, first.of, first.nbytes) == ("tensors[0]", "input 0", 16)
    wengert.autograd.gradcheck(sine, (x,))
    wengert.autograd.gradgradcheck(sine, (x,))
    (g,) = wengert.autograd.grad(y.sum(), x, create_graph=True)
    (gg,) = wengert.autograd.grad(g.sum(), x)
    np.testing.assert_allclose(gg.numpy(), -4 * np.sin([1.0, 2.0]), rtol=1e-12)


def test_without_a_gradient_backward_says_so() -> None:
    @custom_op("test::constant", mutates_args=())
    def constant(x: Tensor) -> Tensor:
        return x.clone()

    y = constant(wengert.ones(2, requires_grad=True))
    assert y.requires_grad
    with pytest.raises(RuntimeError, match=r"backward through test\.constant\.default but no auto"):
        y.sum().backward()


def test_several_results_and_lists() -> None:
    @custom_op("test::halves", mutates_args=())
    def halves(xs: list[Tensor], n: int) -> tuple[Tensor, Tensor]:
        total = sum(x.numpy() for x in xs)
        return wengert.from_numpy(total[:n].copy()), wengert.from_numpy(total[n:].copy())

    halves.register_autograd(
        lambda ctx, a, b: ([wengert.cat([a, b])] * ctx.count, None),
        setup_context=lambda ctx, inputs, output: setattr(ctx, "count", len(inputs[0])),
    )
    x = wengert.arange(4.0)
    first, second = halves([x, x], 1)
    assert (first.tolist(), second.tolist()) == ([0.0], [2.0, 4.0, 6.0])


def test_vmap() -> None:
    sine = _sine("test::batched")
    x = wengert.tensor([[0.5, 1.0], [2.0, 3.0]])
    np.testing.assert_allclose(wengert.vmap(sine)(x).numpy(), np.sin(x.numpy()), rtol=1e-6)
    total = wengert.func.grad(lambda v: sine(v).sum())
    np.testing.assert_allclose(wengert.vmap(total)(x).numpy(), np.cos(x.numpy()), rtol=1e-6)

    @custom_op("test::unbatched", mutates_args=())
    def unbatched(x: Tensor) -> Tensor:
        return x.clone()

    with pytest.raises(NotImplementedError, match=r"test::unbatched has no rule for vmap"):
        wengert.vmap(unbatched)(x)


def test_modes_see_it_and_not_what_it_calls() -> None:
    sine = _sine("test::seen")
    x = wengert.ones(2, requires_grad=True)
    log = logged(ours(), lambda: sine(x).sum().backward())
    names = [name for name, _ in log]
    assert names[:2] == ["test.seen.default", "aten.sum.default"]
    assert "aten.cos.default" in names
    np.testing.assert_allclose(x.grad.numpy(), np.cos([1.0, 1.0]), rtol=1e-6)


def test_arguments_that_are_written() -> None:
    @custom_op("test::fill_with", mutates_args={"out"})
    def fill_with(x: Tensor, out: Tensor) -> None:
        out.numpy()[:] = x.numpy()

    assert str(ops.test.fill_with.default._schema) == (
        "test::fill_with(Tensor x, Tensor(a1!) out) -> ()"
    )
    out = wengert.zeros(2)
    before = out._version
    fill_with(wengert.ones(2), out)
    assert out.tolist() == [1.0, 1.0]
    assert out._version > before
    with pytest.raises(RuntimeError, match=r"test::fill_with writes to its arguments, and one"):
        fill_with(wengert.ones(2, requires_grad=True), out)
    with pytest.raises(RuntimeError, match="Cannot register autograd formula for non-functional"):
        fill_with.register_autograd(lambda ctx, g: g)
    leaf = wengert.ones(2, requires_grad=True)
    product = leaf * out
    fill_with(wengert.zeros(2), out)
    with pytest.raises(RuntimeError, match="test::fill_with"):  # what multiplication saved
        product.sum().backward()


def test_a_result_that_is_an_argument() -> None:
    @custom_op("test::same", mutates_args=())
    def same(x: Tensor) -> Tensor:
        return x

    with pytest.raises(RuntimeError, match=r"same \(with implementation in .*may not alias"):
        same(wengert.ones(2))


class TestOpcheck:
    """What `opcheck` finds."""

    def test_success(self) -> None:
        x = wengert.tensor([0.5, 1.0], dtype=wengert.float64, requires_grad=True)
        assert set(opcheck(_sine("test::checked"), (x,)).values()) == {"SUCCESS"}

    def test_a_write_that_is_not_declared(self) -> None:
        @custom_op("test::sly", mutates_args=())
        def sly(x: Tensor) -> Tensor:
            x.add_(1)
            return x.clone()

        with pytest.raises(Exception, match="x is not defined as mutable but was mutated"):
            opcheck(sly, (wengert.ones(2),), test_utils="test_schema")

    def test_no_gradient_no_fake_and_wrong_ones(self) -> None:
        @custom_op("test::lacking", mutates_args=())
        def lacking(x: Tensor) -> Tensor:
            return x * 2

        x = wengert.ones(2, dtype=wengert.float64, requires_grad=True)
        results = opcheck(lacking, (x,), raise_exception=False)
        assert "no gradient" in str(results["test_autograd_registration"])
        assert "no fake impl" in str(results["test_faketensor"]).lower()
        lacking.register_fake(lambda x: x.new_empty(3))
        lacking.register_autograd(lambda ctx, g: g * 3)
        results = opcheck(lacking, (x,), raise_exception=False)
        assert "the fake says" in str(results["test_faketensor"])
        assert results["test_aot_dispatch_dynamic"] != "SUCCESS"


def test_a_library() -> None:
    library = Library("test_lib", "DEF")
    library.define("plus(Tensor x, int n=1) -> Tensor")
    library.define("plus.of(Tensor x, Tensor n) -> Tensor")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("plus", lambda x, n=1: x + n, "CPU")
    library.impl("plus.of", lambda x, n: x + n, "CPU")
    library.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")
    x = wengert.ones(2, requires_grad=True)
    packet = ops.test_lib.plus
    assert packet.overloads() == ["default", "of"]
    assert packet(wengert.ones(1), n=3).tolist() == [4.0]
    assert packet(wengert.ones(1), wengert.ones(1)).tolist() == [2.0]
    twice = ops.test_lib.twice(x)
    assert type(twice.grad_fn).__name__ == "MulBackward0"
    assert [n for n, _ in logged(ours(), lambda: ops.test_lib.twice(x))] == ["aten.mul.Tensor"]
    register_autograd("test_lib::plus", lambda ctx, g: (g, None))
    (g,) = wengert.autograd.grad(packet(x).sum(), x)
    assert g.tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="Only a single TORCH_LIBRARY"):
        Library("test_lib", "DEF")
    with pytest.raises(RuntimeError, match="same name and overload name multiple times"):
        Library("test_lib", "FRAGMENT").define("twice(Tensor x) -> Tensor")
    del library
    gc.collect()
    with pytest.raises(AttributeError, match="'test_lib' object has no attribute 'plus'"):
        _ = ops.test_lib.plus


def test_an_autograd_function_may_implement_it() -> None:
    class Square(wengert.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return ops.test_fn.square(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * g * ctx.saved_tensors[0]

    library = Library("test_fn", "FRAGMENT")
    library.define("square(Tensor x) -> Tensor")
    library.impl("square", lambda x: x * x, "CPU")
    library.impl("square", Square.apply, "Autograd")
    x = wengert.tensor(3.0, requires_grad=True)
    ops.test_fn.square(x).backward()
    assert x.grad.item() == 6.0
    library._destroy()


def test_no_kernel_for_this_machine() -> None:
    @custom_op("test::on_gpus", mutates_args=(), device_types="cuda")
    def on_gpus(x: Tensor) -> Tensor:
        return x

    with pytest.raises(NotImplementedError, match=r"Could not run 'test::on_gpus' with arguments"):
        on_gpus(wengert.ones(1))


def test_nothing_is_kept_alive() -> None:
    sine = _sine("test::freed")
    gc.collect()
    gc.disable()
    try:
        x = wengert.ones(3, requires_grad=True)
        y = sine(x)
        reference = weakref.ref(y.grad_fn)
        y.sum().backward()
        del y
        assert reference() is None
        with pytest.raises(RuntimeError):
            sine("no tensor")
        z = sine(x)
        reference = weakref.ref(z)
        del z
        assert reference() is None
    finally:
        gc.enable()


def _scaled(x: Tensor, n: int = 3, by: float = 2.0, name: str = "a", o: Tensor | None = None, *,
            flag: bool = False) -> tuple[Tensor, int]:  # fmt: skip
    raise NotImplementedError


def _of_lists(xs: Sequence[Tensor], ns: list[int], fs: Sequence[float] | None = None) -> Tensor:
    raise NotImplementedError


def _nothing(x: Tensor, y: Tensor) -> None:
    raise NotImplementedError


@pytest.mark.parametrize(
    ("function", "written", "schema"),
    [
        (
            _scaled, (),
            '(Tensor x, SymInt n=3, float by=2.0, str name="a", Tensor? o=None, *,'
            " bool flag=False) -> (Tensor, SymInt)",
        ),
        (_of_lists, (), "(Tensor[] xs, SymInt[] ns, float[]? fs=None) -> Tensor"),
        (_nothing, ("y",), "(Tensor x, Tensor(a1!) y) -> ()"),
        (_nothing, "unknown", "(Tensor(a0!) x, Tensor(a1!) y) -> ()"),
    ],
)  # fmt: skip
def test_schemas_of_functions(function: Any, written: Any, schema: str) -> None:
    assert infer_schema(function, mutates_args=written) == schema


@pytest.mark.torch
def test_schemas_are_pytorchs(torch: Any) -> None:
    def scaled(x, n=3, by=2.0, name="a", o=None, *, flag=False):  # type: ignore[no-untyped-def]
        raise NotImplementedError

    schemas = []
    for tensor, names in ((Tensor, ours()), (torch.Tensor, theirs(torch))):
        scaled.__annotations__ = {
            "x": tensor, "n": int, "by": float, "name": str, "o": tensor | None, "flag": bool,
            "return": tuple[tensor, int],
        }  # fmt: skip
        schemas.append(names.library.infer_schema(scaled, mutates_args=()))
    assert schemas[0] == schemas[1]


@pytest.mark.torch
@pytest.mark.parametrize(
    "call",
    [
        lambda n: n.library.infer_schema(lambda x: x, mutates_args=()),
        lambda n: n.library.infer_schema(_typed(n, y=dict), mutates_args=()),
        lambda n: n.library.infer_schema(_typed(n, result=False), mutates_args=()),
        lambda n: n.library.infer_schema(_typed(n), mutates_args={"q"}),
        lambda n: n.library.infer_schema(_typed(n), mutates_args="x"),
        lambda n: n.library.define("noname", "(Tensor x) -> Tensor"),
        lambda n: n.library.define("a::b", "bad"),
        lambda n: n.library.register_fake("nowhere::f")(lambda x: x),
        lambda n: n.library.register_autograd("nowhere::f", lambda ctx, g: g),
        lambda n: n.library.Library("mine", "DEFS"),
        lambda n: n.library.Library("mine", "FRAGMENT").define("foo Tensor x"),
        lambda n: n.ops.load_library("/nowhere/lib.so"),
        lambda n: n.library.custom_op("noname", _typed(n), mutates_args=()),
    ],
)
def test_errors_are_of_pytorchs_classes(torch: Any, call: Any) -> None:
    errors = []
    for names in (ours(), theirs(torch)):
        with pytest.raises(Exception) as raised:  # noqa: PT011 (its class is compared)
            call(names)
        errors.append(type(raised.value).__name__)
    assert errors[0] == errors[1]


def _typed(names: Any, y: Any = int, result: bool = True) -> Any:
    def function(x, y):  # type: ignore[no-untyped-def]
        raise NotImplementedError

    tensor = names.lib.Tensor
    function.__annotations__ = {"x": tensor, "y": y} | ({"return": tensor} if result else {})
    return function


def test_rules_of_what_could_not_be_loaded() -> None:
    """A package registers them when it is imported, whether or not its library was there."""
    with pytest.raises(RuntimeError, match="operator vision::nms does not exist"):
        register_fake("vision::nms", lambda boxes: boxes)
    with pytest.raises(OSError, match="this is compiled code for PyTorch's C"):
        ops.load_library("/site-packages/vision/_C.so")

    def nms(boxes: Any) -> Any:
        return boxes

    assert register_fake("vision::nms")(nms) is nms
    register_vmap("vision::nms", nms)
    with pytest.raises(
        AttributeError, match=r"attribute 'nms': /site-packages/vision/_C.so, which"
    ):
        _ = ops.vision.nms
    unloaded.pop("vision")


def test_on_the_meta_device_the_fake_is_asked() -> None:
    sine = _sine("test::outlined")
    out = sine(wengert.empty(3, 4, device="meta"))
    assert (out.shape, out.device.type) == ((3, 4), "meta")

    @custom_op("test::unfaked", mutates_args=())
    def unfaked(x: Tensor) -> Tensor:
        return x.clone()

    with pytest.raises(RuntimeError, match="There was no fake impl registered for test::unfaked"):
        unfaked(wengert.empty(2, device="meta"))


def test_tensors_written_to_without_an_alias() -> None:
    """As bitsandbytes declares the tensors that its kernels fill."""
    library = Library("writers", "DEF")
    library.define("fill(Tensor A, Tensor! out) -> ()")

    def fill(A: Any, out: Any) -> None:  # noqa: N803
        out.copy_(A)

    library.impl("fill", fill, "CPU")
    out = wengert.zeros(2)
    ops.writers.fill(wengert.ones(2), out)
    assert out.tolist() == [1, 1]
    (schema,) = [ops.writers.fill.default._schema]
    assert [a.alias_info is not None and a.alias_info.is_write for a in schema.arguments] == [
        False,
        True,
    ]
    library._destroy()


@pytest.mark.torch
@pytest.mark.parametrize(
    "text",
    [
        "a::b(Tensor x, Tensor(a!) y, Tensor(a)[] z) -> (Tensor(a!), Tensor[])",
        "a::b(float x=1e-5, float y=0.1, float z=3, float w=100000000000, float v=1.5) -> ()",
        "a::b.c(SymInt[] s=[1,2], SymInt? q=None, int i=3, str t='hi', bool c=True) -> Tensor",
        "a::b(float[2] d=[1.0, 2.5], *, int[1] k=0, SymInt[2] st=1, int[1]? dim=None) -> int",
        "a::b(Scalar alpha=1, ScalarType? dtype=None) -> (Tensor values, Tensor indices)",
    ],
)
def test_schemas_are_written_as_pytorchs(torch: Any, text: str) -> None:
    assert str(parse_schema(text)) == str(torch._C.parse_schema(text))
