"""The context of a Function: what it keeps, in which state it is found, and what it refuses."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
from wengert.autograd import Function, GraphError, GraphReleasedError, grad

Methods = Callable[..., Any]


def function(library: Any, forward: Methods, backward: Methods, **methods: Any) -> Any:
    """A Function with these methods."""
    methods |= {"forward": forward, "backward": backward}
    body = {k: staticmethod(v) if callable(v) else v for k, v in methods.items()}
    return type("Custom", (library.autograd.Function,), body)


def first(ctx: Any, *grads: Any) -> Any:
    return grads[0]


def leaf(*values: float, library: Any = wengert) -> Any:
    return library.tensor(values or (2.0, 3.0), dtype=library.float64, requires_grad=True)


class Keeps(Function):
    """exp(x), whose derivative `rule` computes from one of the tensors on the context."""

    rule: Any = None

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x.exp()
        ctx.x, ctx.y, ctx.square, ctx.size = x, y, x * x, x.shape
        ctx.nested = [x, {"y": y, "square": ctx.square}, 3]
        ctx.view = y[:1]
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        assert ctx.size == g.shape
        assert ctx.nested[2] == 3
        return Keeps.rule(ctx, g)


@pytest.mark.parametrize(
    "rule",
    [
        lambda ctx, g: g * ctx.y,
        lambda ctx, g: g * ctx.nested[1]["y"],
        lambda ctx, g: g * ctx.x.exp(),
        lambda ctx, g: g * ctx.nested[0].exp(),
    ],
)
def test_inputs_and_outputs_on_the_context_are_connected(rule: Any) -> None:
    Keeps.rule = staticmethod(rule)
    x = leaf(0.5)
    y = Keeps.apply(x)
    for _ in range(3):
        (y,) = grad(y.sum(), x, create_graph=True)
        assert y.item() == pytest.approx(np.exp(0.5))


@pytest.mark.parametrize(
    "rule",
    [
        lambda ctx, g: g * ctx.square,
        lambda ctx, g: g * ctx.nested[1]["square"],
        lambda ctx, g: g * ctx.view,
    ],
)
@pytest.mark.parametrize("targets", [True, False])
def test_an_intermediate_on_the_context_is_refused(rule: Any, targets: bool) -> None:
    Keeps.rule = staticmethod(rule)
    x, w = leaf(2.0), leaf(3.0)
    (g,) = grad((Keeps.apply(x) * w).sum(), x, create_graph=True)
    assert g.item() == pytest.approx(3 * (np.exp(2.0) if "view" in rule.__code__.co_names else 4.0))
    with pytest.raises(GraphError, match=r"Keeps.*computed and saved"):
        grad(g.sum(), x, retain_graph=True) if targets else g.sum().backward()
    (mixed,) = grad(g.sum(), w)  # the way to w does not lead through it
    assert mixed.item() == pytest.approx(g.item() / 3)


def test_a_constant_on_the_context_says_so_by_detach() -> None:
    Keeps.rule = staticmethod(lambda ctx, g: g * ctx.square.detach() * ctx.x)
    x = leaf(2.0)
    (g,) = grad(Keeps.apply(x).sum(), x, create_graph=True)
    (h,) = grad(g.sum(), x)
    assert h.item() == 4.0


def test_intermediates_are_the_very_tensors_where_nothing_is_recorded() -> None:
    buffer = wengert.zeros(1, dtype=wengert.float64)

    def forward(ctx: Any, x: Any) -> Any:
        ctx.buffer = buffer
        return x * 2

    def backward(ctx: Any, g: Any) -> Any:
        assert ctx.buffer is buffer
        ctx.buffer.add_(g)
        return g * 2

    double = function(wengert, forward, backward)
    for _ in range(2):
        y = double.apply(leaf(1.0))
        buffer.add_(1)
        y.sum().backward()
    assert buffer.item() == 4.0


@pytest.mark.parametrize("saved", [True, False])
def test_intermediates_are_constants_in_a_graph_that_the_backward_makes_for_itself(
    saved: bool,
) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x.detach())
        ctx.point = x.detach()
        return x**3

    def backward(ctx: Any, g: Any) -> Any:
        with wengert.enable_grad():
            point = ctx.saved_tensors[0] if saved else ctx.point
            assert not point.requires_grad
            point = point.clone().requires_grad_()
            (slope,) = grad((point**3).sum(), point)
        return g * slope

    x = leaf(2.0)
    function(wengert, forward, backward).apply(x).sum().backward()
    assert x.grad.item() == 12.0


def test_what_is_on_the_context_can_be_deleted_from_it() -> None:
    def deleting(ctx: Any, g: Any) -> Any:
        y = ctx.y
        del ctx.y, ctx.size
        assert not hasattr(ctx, "y")
        with pytest.raises(AttributeError, match="y"):
            del ctx.y
        return g * y

    Keeps.rule = staticmethod(lambda ctx, g: deleting(ctx, g))
    x = leaf(0.5)
    (g,) = grad(Keeps.apply(x).sum(), x)
    assert g.item() == pytest.approx(np.exp(0.5))


def test_an_output_on_the_context_must_not_be_overwritten() -> None:
    Keeps.rule = staticmethod(lambda ctx, g: g * ctx.y)
    x = leaf(0.5)
    y = Keeps.apply(x)
    y.mul_(2)
    with pytest.raises(wengert.autograd.SavedTensorOverwrittenError):
        y.sum().backward()
    assert x.grad is None


def test_nothing_that_a_context_keeps_closes_a_cycle() -> None:
    Keeps.rule = staticmethod(lambda ctx, g: g * ctx.y * ctx.square)
    gc.collect()
    gc.disable()
    try:
        x = leaf(0.5)
        y = Keeps.apply(x)
        nodes = [weakref.ref(y.grad_fn)]
        (g,) = grad(y.sum(), x, create_graph=True)
        nodes.append(weakref.ref(g.grad_fn))
        del y, g
        y = Keeps.apply(x)
        nodes.append(weakref.ref(y.grad_fn))
        y.sum().backward()
        del y
        assert [ref for ref in nodes if ref() is not None] == []
    finally:
        gc.enable()


def test_the_node_has_what_the_context_has() -> None:
    y = Keeps.apply(leaf(0.5))
    node = y.grad_fn
    assert (node.size, node.nested[2], node.needs_input_grad) == ((1,), 3, (True,))
    assert node.y.tolist() == y.tolist()
    assert node._forward_cls is Keeps
    assert type(node) is Keeps._backward_cls
    assert isinstance(node, wengert.autograd.function.BackwardCFunction)
    with pytest.raises(AttributeError, match="nothing"):
        _ = node.nothing


def test_a_context_is_a_node_to_backward() -> None:
    def backward(ctx: Any, g: Any) -> Any:
        ctx.metadata["seen"] = ctx.metadata.get("seen", 0) + 1
        names.append((ctx.name(), ctx.next_functions[0][0].name(), ctx.saved_tensors[0] is x))
        return g

    def forward(ctx: Any, x: Any) -> Any:
        assert ctx.name() == "CustomBackward"
        assert ctx.saved_tensors == ()
        ctx.save_for_backward(x, None)
        assert ctx.saved_tensors == ()
        return x * 2

    names: list[Any] = []
    x = leaf()
    y = function(wengert, forward, backward).apply(x)
    for _ in range(2):
        y.sum().backward(retain_graph=True)
    assert names == [("CustomBackward", "torch::autograd::AccumulateGrad", True)] * 2
    assert y.grad_fn.metadata == {"seen": 2}
    with pytest.warns(DeprecationWarning, match="saved_tensors"):
        assert y.grad_fn.ctx.saved_variables[0] is x


def test_saved_tensors_after_the_release() -> None:
    kept = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        kept.append(ctx)
        return x * 2

    y = function(wengert, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(leaf())
    node = y.grad_fn
    y.sum().backward()
    for holder in (node, kept[0]):
        with pytest.raises(GraphReleasedError, match=r"freed[\s\S]*released by: backward"):
            _ = holder.saved_tensors


def test_backward_inside_of_backward_leaves_the_context_as_it_was() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**2

    def backward(ctx: Any, g: Any) -> Any:
        depth.append(1)
        if len(depth) == 1:
            grad(y, x, g, retain_graph=True)
        return g * 2 * ctx.saved_tensors[0]

    depth: list[int] = []
    x = leaf()
    y = function(wengert, forward, backward).apply(x)
    y.sum().backward(retain_graph=True)
    assert len(depth) == 2
    assert x.grad.tolist() == [4.0, 6.0]


def test_an_exception_says_where_the_function_was_called() -> None:
    def backward(ctx: Any, g: Any) -> Any:
        raise ValueError("as it comes")

    y = function(wengert, lambda ctx, x: x * 2, backward).apply(leaf())
    with pytest.raises(ValueError, match="as it comes") as caught:
        y.sum().backward()
    assert "derivative of Custom " in caught.value.__notes__[0]
    assert f"{__file__}:" in caught.value.__notes__[0]


MISUSES: dict[str, Callable[[Any], Any]] = {
    "saving a number": lambda t: custom(t, lambda ctx, x: ctx.save_for_backward(3)),
    "saving a list": lambda t: custom(t, lambda ctx, x: ctx.save_for_backward([x])),
    "saving a number for jvp": lambda t: custom(t, lambda ctx, x: ctx.save_for_forward(3)),
    "marking a number": lambda t: custom(t, lambda ctx, x: ctx.mark_dirty(3)),
    "marking a number constant": lambda t: custom(t, lambda ctx, x: ctx.mark_non_differentiable(3)),
    "materializing": lambda t: custom(t, lambda ctx, x: ctx.set_materialize_grads("no")),
    "a dirty leaf": lambda t: custom(t, lambda ctx, x: (ctx.mark_dirty(x), x)[1]),
    "dirty, not returned": lambda t: custom(t, lambda ctx, x: (ctx.mark_dirty(x), x * 1)[1]),
    "a dirty view of a leaf": lambda t: custom(
        t, lambda ctx, x: (ctx.mark_dirty(x), x)[1], lambda x: x[1:]
    ),
    "a dirty view among several outputs": lambda t: custom(
        t, lambda ctx, x: (ctx.mark_dirty(x), (x, x * 2))[1], lambda x: (x * 1)[1:]
    ),
    "a keyword that there is none of": lambda t: function(t, lambda ctx, x: x, first).apply(
        leaf(library=t), y=3
    ),
    "keyword only": lambda t: function(t, lambda ctx, x, *, k=1: x, first).apply(
        leaf(library=t), k=3
    ),
    "a keyword with setup_context": lambda t: function(
        t, lambda x: x, first, setup_context=lambda ctx, inputs, output: None
    ).apply(leaf(library=t), y=3),
    "an argument is missing": lambda t: function(
        t, lambda x, y: x, first, setup_context=lambda ctx, inputs, output: None
    ).apply(leaf(library=t)),
    "forward is no static method": lambda t: type(
        "Legacy", (t.autograd.Function,), {"forward": lambda self, ctx, x: x}
    ).apply(leaf(library=t)),
    "no forward": lambda t: t.autograd.Function.apply(leaf(library=t)),
    "no backward": lambda t: pulled(t, backward=t.autograd.Function.backward),
    "backward and vjp": lambda t: pulled(t, backward=first, vjp=first),
    "a list of gradients": lambda t: pulled(t, backward=lambda ctx, g: [g]),
    "a number": lambda t: pulled(t, backward=lambda ctx, g: 5),
    "an array": lambda t: pulled(t, backward=lambda ctx, g: g.numpy()),
    "too many": lambda t: pulled(t, backward=lambda ctx, g: (g, g)),
    "too few": lambda t: pulled(t, backward=lambda ctx, g: ()),
    "shape": lambda t: pulled(t, backward=lambda ctx, g: t.ones(7)),
    "too small": lambda t: pulled(t, backward=lambda ctx, g: t.ones(1)),
}


def custom(t: Any, mark: Any, argument: Any = lambda x: x) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        result = mark(ctx, x)
        return x * 2 if result is None else result

    return function(t, forward, first).apply(argument(leaf(library=t)))


def pulled(t: Any, **methods: Any) -> Any:
    return function(t, lambda ctx, x: x * 2, **methods).apply(leaf(library=t)).sum().backward()


@pytest.mark.torch
@pytest.mark.parametrize("name", MISUSES)
def test_misuse_raises_as_torch(name: str, torch: Any) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011 (which, PyTorch says)
        MISUSES[name](torch)
    with pytest.raises(theirs.type) as ours:
        MISUSES[name](wengert)
    assert str(theirs.value)[:16] in str(ours.value)


def test_instances_are_a_thing_of_the_past() -> None:
    kind = function(wengert, lambda ctx, x: x, first)
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        made = kind()
    with pytest.raises(RuntimeError, match="Legacy autograd function"):
        made(leaf())
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        assert wengert.autograd.function.InplaceFunction(True).inplace
    with pytest.warns(FutureWarning, match="mark_shared_storage"):
        wengert.autograd.function.FunctionCtx().mark_shared_storage()


def outputs(t: Any) -> list[Any]:
    """What comes of each kind of argument and output."""
    x = leaf(library=t)
    seen: list[Any] = []

    def forward(ctx: Any, x: Any, numbers: Any, n: int = 2) -> Any:
        seen.append(ctx.needs_input_grad)
        return x * n, 3, "a", [x], None, x.argmax(), x > 1

    def backward(ctx: Any, *grads: Any) -> Any:
        seen.append([g if g is None else (str(g.dtype)[-5:], g.tolist()) for g in grads])
        return grads[0] * 2, None, None

    kind = function(t, forward, backward)
    results = kind.apply(x, [x, 1])
    found: list[Any] = [type(results), [getattr(r, "requires_grad", r) for r in results]]
    kind.apply(n=5, x=x, numbers=())
    with t.no_grad():
        found.append(kind.apply(x, ())[0].requires_grad)
    with t.inference_mode():
        found.append(kind.apply(x, ())[0].requires_grad)
    return found + seen


@pytest.mark.torch
def test_arguments_and_outputs_of_any_kind(torch: Any) -> None:
    for ours, theirs in zip(outputs(wengert), outputs(torch), strict=True):
        if isinstance(ours, list):
            assert [x for x in ours if not isinstance(x, list)] == [
                x for x in theirs if not isinstance(x, list)
            ]
        else:
            assert ours == theirs


def marked(t: Any) -> list[Any]:
    """Outputs that are marked, come back as they went, or are views."""
    x = leaf(library=t)
    same = function(t, lambda ctx, x: x, lambda ctx, g: -g)
    results = [same.apply(x), same.apply(x.detach()), t.no_grad()(same.apply)(x)]
    found: list[Any] = [(r is x, r.requires_grad) for r in results]
    constant = function(t, lambda ctx, x: (ctx.mark_non_differentiable(x), x)[1], first)
    found.append(constant.apply(x * 1).requires_grad)
    twice = function(t, lambda ctx, x: (lambda y: (y, y))(x * 2), lambda ctx, g, h: g * 5 + h)
    a, b = twice.apply(x)
    found += [a is b, *grad_of(t, a.sum() * 3 + b.sum(), x)]
    row = function(t, lambda ctx, x: x[0], lambda ctx, g: t.stack([g * 5, g * 0]))
    found += grad_of(t, (row.apply(x) ** 2).sum(), x)
    entered = function(t, lambda ctx, x: t.enable_grad()(lambda: x * 2)(), lambda ctx, g: g * 7)
    found += grad_of(t, entered.apply(x).sum(), x)
    wide = function(t, lambda ctx, x: x * 2, lambda ctx, g: t.stack([g, g * 2]))
    found += grad_of(t, wide.apply(x).sum(), x)
    narrow = function(t, lambda ctx, x: x * 2, lambda ctx, g: g.float())
    found += grad_of(t, narrow.apply(x).sum(), x)
    return found


def grad_of(t: Any, y: Any, x: Any) -> Any:
    (g,) = t.autograd.grad(y, x)
    return [str(g.dtype)[-7:], g.tolist()]


@pytest.mark.torch
def test_outputs_that_are_inputs_views_or_constant(torch: Any) -> None:
    assert marked(wengert) == marked(torch)


def written(t: Any) -> list[Any]:
    """A Function that writes to its input: a tensor, a view, a view of what had no history."""
    x = leaf(2.0, 3.0, 4.0, library=t)
    double = function(t, lambda ctx, x: (x.mul_(2), ctx.mark_dirty(x))[0], lambda ctx, g: g * 7)
    y = x * 1
    found: list[Any] = [double.apply(y) is y, *grad_of(t, (y * y).sum(), x)]
    base = x * 1
    view, other = base[1:], base[:2]
    found.append(double.apply(view) is view)
    for tensor in (base, view, other):
        (g,) = t.autograd.grad((tensor**3).sum(), x, retain_graph=True)
        found.append(g.tolist())

    def into(ctx: Any, a: Any, b: Any) -> Any:
        ctx.mark_dirty(a)
        ctx.save_for_backward(b)
        return a.mul_(b)

    base = t.ones(4, dtype=t.float64)
    view = base[1:]
    function(t, into, lambda ctx, g: (g * ctx.saved_tensors[0], g * 5)).apply(view, x)
    found += [base.tolist(), base.requires_grad, view.requires_grad]
    found += grad_of(t, (base**2).sum(), x)
    with t.no_grad():
        z = double.apply(x)
    return [*found, z is x, z.requires_grad, x.tolist()]


@pytest.mark.torch
def test_written_inputs_as_torch(torch: Any) -> None:
    assert written(wengert) == written(torch)


def first_row(t: Any) -> Any:
    return function(t, lambda ctx, x: x[:1], lambda ctx, g: t.cat([g * 5, g * 0]))


def test_writing_to_the_view_that_a_function_returned() -> None:
    """PyTorch refuses; the history of the memory says all that there is to say."""
    x = leaf(1.0, 2.0)
    base = x * 1
    view = function(
        wengert, lambda ctx, x: x[:1], lambda ctx, g: wengert.cat([g * 5, g * 0])
    ).apply(base)
    view.mul_(3)
    assert grad((base**2).sum(), x, retain_graph=True)[0].tolist() == [90.0, 4.0]
    assert grad(view.sum(), x)[0].tolist() == [15.0, 0.0]


def test_writing_to_what_a_function_returned_a_view_of() -> None:
    double = function(
        wengert, lambda ctx, x: (x.mul_(2), ctx.mark_dirty(x))[0], lambda ctx, g: g * 2
    )
    base = leaf() * 1
    view = function(
        wengert, lambda ctx, x: x[:1], lambda ctx, g: wengert.cat([g * 5, g * 0])
    ).apply(base)
    double.apply(base)
    with pytest.raises(GraphError, match="its base or another view of its base has been modified"):
        view.sum().backward()


def test_a_dirty_tensor_that_is_no_input_is_ignored() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        ctx.mark_dirty(y)
        return y

    x = leaf()
    with pytest.warns(UserWarning, match="not an input"):
        y = function(wengert, forward, lambda ctx, g: g * 2).apply(x)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_view_without_history_of_memory_with_one_is_not_written() -> None:
    base = leaf() * 1
    with wengert.no_grad():
        view = base[:1]
    double = function(wengert, lambda ctx, x: (x.mul_(2), ctx.mark_dirty(x))[0], first)
    with pytest.raises(RuntimeError, match="created in no_grad mode"):
        double.apply(view)


def test_saved_tensors_hooks_see_what_is_saved_and_not_what_is_kept() -> None:
    log: list[str] = []

    def pack(tensor: Any) -> Any:
        log.append("pack")
        return tensor

    def unpack(tensor: Any) -> Any:
        log.append("unpack")
        return tensor

    def forward(ctx: Any, x: Any) -> Any:
        y = x.exp()
        ctx.save_for_backward(x, None)
        ctx.y = y
        return y

    x = leaf()
    with wengert.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = function(wengert, forward, lambda ctx, g: g * ctx.y + 0 * ctx.saved_tensors[0]).apply(x)
    (g,) = grad(y.sum(), x, create_graph=True)
    (h,) = grad(g.sum(), x)
    np.testing.assert_allclose(h.numpy(), np.exp([2.0, 3.0]))
    assert log == ["pack", "unpack", "unpack"]
