"""The errors of graphs, built from nodes that a test gives them; who and what they name."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wengert
from wengert import nn
from wengert.autograd import diagnosis, errors, naming
from wengert.autograd._release_errors import (
    AutoCall,
    Interrupted,
    _variable,
    graph_released,
    saved_value_released,
)
from wengert.autograd.gc_queries import (
    complete_nodes,
    cuts_of,
    live_tensors_and_nodes,
    parameter_name,
)
from wengert.core import cut_log
from wengert.core.cut_log import drops, escapes, note_drop, note_escape
from wengert.core.messages import message, message_lines, more
from wengert.core.storage import Write
from wengert.core.tensor import Call, Cut, Leaf, Node, Tensor, new, state_of


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """Nothing is known of what other tests cut off."""
    before = [*escapes], [*drops]
    escapes.clear()
    drops.clear()
    yield
    escapes.clear()
    drops.clear()
    escapes.extend(before[0])
    drops.extend(before[1])


def edge(tensor: Tensor) -> Node:
    assert tensor._edge is not None
    return tensor._edge


def call(what: str = "backward()") -> Call:
    """A call at the line that calls this."""
    frame = sys._getframe(1)
    return Call(what, frame.f_code, frame.f_lasti)


def leaf() -> Tensor:
    return wengert.tensor([1.0, 2.0], requires_grad=True)


def lines(error: BaseException | str) -> list[str]:
    return [line.strip() for line in str(error).splitlines()]


# -- the form ----------------------------------------------------------------------------------


def test_a_head_alone() -> None:
    assert message_lines("What happened.") == ["What happened."]
    assert message("some-id", "What happened.").splitlines()[1:] == [more("some-id")]


def test_facts_stand_in_columns() -> None:
    text = message_lines("Head.", [("this call", "a"), ("at", "b")])
    assert text == ["Head.", "  this call: a", "  at:        b"]


def test_one_remedy_or_several() -> None:
    assert message_lines("Head.", remedies=["do"])[1:] == ["  Remedy: do"]
    assert message_lines("Head.", remedies=["do", "or not"], cause="Why.")[1:] == [
        "  Why. Remedies:", "    1. do", "    2. or not"
    ]  # fmt: skip
    assert message_lines("Head.", cause="Why.")[1:] == ["  Why."]


# -- names -------------------------------------------------------------------------------------


def test_operations_have_their_public_names() -> None:
    x = leaf()
    assert naming.op_name(edge(x * 2)) == "mul"
    assert naming.op_name(edge(x[0])) == "select"
    image = wengert.ones(1, 1, 4, 4, requires_grad=True)
    assert naming.op_name(edge(nn.functional.avg_pool2d(image, 2))) == "avg_pool2d"
    assert naming.op_name(edge(nn.functional.avg_pool1d(image[0], 2))).startswith("avg_pool")

    class Own(wengert.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    assert naming.op_name(edge(Own.apply(x))) == "Own"


def test_nodes_have_their_line_and_module() -> None:
    x = leaf()
    y = x * 2
    assert naming.describe_node(edge(y)).startswith(f"mul ({__file__}:")
    assert naming.describe_node(edge(y)).endswith("  y = x * 2)")
    net = nn.Sequential(nn.Linear(2, 2))
    assert "in Sequential.0 (" in naming.describe_node(edge(net(x)))
    assert naming.origin(edge(y)) == naming.describe_node(edge(y))
    assert naming.origin(edge(x)).startswith(f"a leaf ({__file__}:")


def test_parameters_have_the_shortest_of_their_names() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Sequential(nn.Linear(2, 2))
            self.tied = self.inner[0].weight

    net = Net()
    assert parameter_name(net.inner[0].bias) == "Net.inner.0.bias"
    assert parameter_name(net.tied) == "Net.tied"
    assert parameter_name(leaf()) == ""
    assert parameter_name(None) == ""
    free = nn.Parameter(wengert.ones(1))
    assert parameter_name(free) == ""


def test_what_is_alive() -> None:
    x = leaf()
    y = (x * 2).exp()
    tensors, nodes = live_tensors_and_nodes([y._edge, x, 3, edge(y).edges[0], edge(x), y, "text"])
    assert [id(t) for t in tensors] == [id(x), id(y)]
    assert [naming.op_name(n) for n in nodes] == ["mul", "exp"]  # no leaf, oldest first


def test_nodes_that_are_being_made_are_in_no_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    node = edge(leaf().exp())
    half: Node = new(type(node))
    half.seq = 1
    monkeypatch.setattr("threading.active_count", lambda: 2)
    assert complete_nodes([node, half]) == [node]


def test_cuts_come_in_the_order_of_lines() -> None:
    x = leaf() * 2
    later, earlier = x.detach, x.detach
    first = earlier()
    second = later()
    cuts = cuts_of([second, x, first])
    assert [cut.what for cut in cuts] == ["detach()", "detach()"]
    assert cuts[0].lasti < cuts[1].lasti
    assert all(cut.node is not None and cut.node() is edge(x) for cut in cuts)
    assert len(cuts_of([], [first._cut])) == 1  # type: ignore[list-item]


# -- written values ----------------------------------------------------------------------------


def written(by: str) -> Write:
    frame = sys._getframe(1)
    return Write(1, frame.f_code, frame.f_lasti, by, 0, (2,), (4,), np.dtype(np.float32))


def test_a_write_to_a_result_names_its_operation() -> None:
    x = leaf()
    y = x.sin()
    z = y * 3 * x
    node = edge(z).edges[0]
    assert node is not None
    top = edge(y * y)
    error = errors.saved_tensor_overwritten(call(), top, "s_input", y._array, written("mul_"))
    text = lines(error)
    assert isinstance(error, wengert.autograd.SavedTensorOverwrittenError)
    assert text[0].endswith("inplace operation: 'input' of mul, float32 [2].")
    assert [line.split(":")[0] for line in text[1:5]] == [
        "this call", "saved by", "changed", "written by"
    ]  # fmt: skip
    assert "the result of sin (" in text[3]
    assert any("y = y.mul(...) for y.mul_(...)" in line for line in text)


def test_a_write_by_an_optimizer_names_the_parameter() -> None:
    net = nn.Linear(2, 2)
    out = net(leaf())
    node = edge(out)
    slot = next(
        s for s, owner in node.saved if owner is not None and type(node.edges[owner]) is Leaf
    )
    weight = net.weight
    owner = dict(node.saved)[slot]
    assert owner is not None
    error = errors.saved_tensor_overwritten(
        call(), node, slot, weight._array, written("Adam.step()")
    )
    assert "call backward before Adam.step(): of several losses, all of them" in str(error)
    assert "state.detach()" in str(error)


@pytest.mark.parametrize(
    ("by", "remedy"),
    [
        ("__iadd__", "write y = y + ... for y += ... in the writing line"),
        ("__ipow__", "write y = y ** ... for y **= ..."),
        ("relu_", "y = y.relu(...) for y.relu_(...)"),
        ("__setitem__", "compute a new tensor in the writing line (torch.where"),
        ("step", "compute a new tensor in the writing line"),
    ],
)
def test_how_to_do_without_a_write(by: str, remedy: str) -> None:
    y = leaf().exp()
    error = errors.saved_tensor_overwritten(call(), edge(y), "s_out", y._array, written(by))
    assert remedy in str(error)
    assert ".clone() the tensor first, in the writing line" in str(error)  # its own output


# -- released ----------------------------------------------------------------------------------


def released(node: Node, earlier: Call) -> Node:
    state_of(node).released = earlier
    return node


def test_the_same_loss_twice() -> None:
    loss = leaf().exp().sum()
    node = released(edge(loss), call())
    error = graph_released(call(), node, (node,))
    text = str(error)
    assert "Trying to backward through the graph a second time" in text
    assert text.count("backward()  at") == 2
    assert "retain_graph=True at " in text
    assert more("graph-released") in text


def test_a_loss_of_a_loop() -> None:
    loss = leaf().exp().sum()
    place = call()
    node = released(edge(loss), place)
    assert "in an earlier turn of the loop" in str(graph_released(place, node, (node,)))


def test_a_shared_value_is_named_with_who_uses_it() -> None:
    hidden = leaf().exp()
    first, second = hidden.sin(), hidden.cos()
    earlier = call()
    released(edge(first), earlier)
    released(edge(hidden), earlier)
    text = str(graph_released(call(), edge(hidden), (edge(second),)))
    assert "hidden" in text
    assert "(loss_a + loss_b).backward(), once" in text
    assert "joined by:" in text
    assert "hidden.detach() for hidden" in text


def test_an_interrupted_call() -> None:
    loss = leaf().exp().sum()
    node = released(edge(loss), Interrupted(*call()))
    text = str(graph_released(call(), node, (node,)))
    assert "was interrupted: no .grad has changed" in text
    assert more("walk-interrupted") in text


def test_a_call_with_auto() -> None:
    loss = leaf().exp().sum()
    node = released(edge(loss), AutoCall(*call()))
    assert 'released by: backward(retain_graph="auto")  at' in str(
        graph_released(call(), node, (node,))
    )


def test_a_saved_value_that_is_gone() -> None:
    node = released(edge(leaf().exp()), call("grad()"))
    text = str(saved_value_released(node, "the result"))
    assert "wanted:" in text
    assert "the result of exp (" in text
    assert "grad()  at" in text


def test_what_a_value_is_called() -> None:
    value = leaf().exp()
    node = edge(value)
    use = edge(value.sin())
    assert _variable(node, use.code, use.lasti) == "value"
    other = edge(leaf().cos())
    assert _variable(node, other.code, other.lasti) == ""


# -- cut off -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "sentence", "remedy"),
    [
        ("no_grad()", "it was computed where recording is off", "compute it outside of that"),
        ("set_grad_enabled(False)", "it was computed where recording is off", "outside"),
        ("backward() without create_graph", "during a backward that is not", "create_graph=True"),
        ("Own.forward()", "by the forward of a Function", "return it from forward()"),
        ("requires_grad_(False)", "what it was computed from was frozen", "requires_grad_()"),
        ("detach()", "its values were cut off from the graph", "use the tensor itself"),
        ("tensor()", "its values were cut off from the graph", "torch.stack(...) keeps the graph"),
        ("argmax", "argmax has no derivative", "softmax for argmax"),
    ],
)
def test_where_a_graph_was_lost(what: str, sentence: str, remedy: str) -> None:
    y = leaf().exp()
    cut = (*call(what), weakref.ref(edge(y)))
    text, facts, remedies = errors.cut_by(cut)
    assert sentence in text
    assert remedy in remedies[0]
    assert f"{what}  at {__file__}:" in facts[0][1]
    assert [label for label, _ in facts[1:]] in ([], ["of"])


def test_the_source_of_a_cut_is_named_unless_it_is_a_leaf() -> None:
    x = leaf()
    y = x.exp()
    for source, labels in ((y, ["cut off by", "of"]), (x, ["cut off by"])):
        _, facts, _ = errors.cut_by((*call("detach()"), weakref.ref(edge(source))))
        assert [label for label, _ in facts] == labels


def test_a_root_without_a_graph() -> None:
    plain = wengert.ones(2, 3)
    text = str(errors.no_graph(1, plain, call()))
    assert "element 1 of tensors does not require grad" in text
    assert "of shape [2, 3] and dtype float32." in text
    assert "some input must require grad" in text
    cut = (leaf() * 2).detach()
    assert "its values were cut off from the graph" in str(errors.no_graph(0, cut, call()))


def test_graphs_in_use() -> None:
    inner = str(errors.graph_in_use(call("grad()"), call(), inside=True))
    assert "backward inside of a backward" in inner
    assert "pass retain_graph=True to the inner call" in inner
    assert "two threads walk the same graph" in str(errors.graph_in_use(call(), call(), False))


def test_notes_on_errors() -> None:
    error = ValueError("the program's")
    errors.add_graph_note(call(), edge(leaf().exp()), error)
    assert error.__notes__[0].startswith("in the derivative of exp (")
    nan = errors.NanGradientError("says so itself")
    errors.add_graph_note(call(), edge(leaf().exp()), nan)
    assert not hasattr(nan, "__notes__")


# -- the log of cuts, and diagnoses ------------------------------------------------------------


def test_escapes_hold_no_tensor() -> None:
    y = leaf().exp()
    array = weakref.ref(y._array)
    note_escape("numpy()", y)
    (escape,) = escapes
    assert escape.size == 2
    assert len(escape.first) == 2
    del y
    gc.collect()
    assert array() is None
    assert escape.memory() is None


def test_what_never_had_a_graph_does_not_escape() -> None:
    note_escape("numpy()", wengert.ones(2))
    assert not escapes
    note_escape("numpy()", leaf().exp().detach())
    assert escapes[0].cut[0] == "detach()"  # where it left the graph


def test_the_log_is_bounded() -> None:
    y = leaf().exp()
    for _ in range(100):
        note_escape("item()", y)
        note_drop("zero_grad()", y)
    assert len(escapes) == len(drops) == 64
    assert drops[0].seq < drops[-1].seq
    assert drops[-1].owner() is y


def test_few_values_are_kept_of_large_tensors() -> None:
    note_escape("numpy()", wengert.ones(1000, requires_grad=True) * 2)
    assert escapes[0].first == (2.0,) * cut_log.FIRST


def test_values_are_recognised_where_they_come_back() -> None:
    y = leaf().exp()
    note_escape("numpy()", y)
    again = wengert.tensor(y.detach().numpy().copy())
    answer = diagnosis.escape_of(again)
    assert answer is not None
    assert "its values were taken out of a graph" in answer[0]
    assert answer[1][0][0] == "taken by"
    assert diagnosis.escape_of(wengert.tensor([5.0, 6.0])) is None


def test_numbers_that_many_have_tell_nothing() -> None:
    for value, told in ((0.0, False), (3.0, False), (0.123, True)):
        escapes.clear()
        note_escape("item()", (leaf() * 0).sum() + value)
        assert (diagnosis.escape_of(wengert.tensor(value)) is not None) is told
    escapes.clear()
    note_escape("numpy()", leaf() * 0)
    assert diagnosis.escape_of(wengert.zeros(2)) is None


def reason(x: Tensor, *roots: Tensor) -> str:
    facts, sentence = diagnosis.of_unused(edge(x), [edge(r) for r in roots])
    return " | ".join([sentence, *[label for label, _ in facts]])


def test_why_an_input_is_not_below_the_outputs() -> None:
    x = leaf()
    y = x.exp()
    z = y.sin()
    view = y * 1
    assert "computed from what it was made of" in reason(view, z)
    other = wengert.tensor([1.0, 2.0], requires_grad=True)
    assert "another leaf, which has the same values" in reason(other, z)
    apart = wengert.tensor([3.0, 7.0], requires_grad=True)
    assert reason(apart, z).startswith("Nothing that is alive was computed from it")
    used = apart.cos()
    assert reason(apart, z) == "It was used, but not for these outputs. | used by"
    cut = used.detach()
    assert "Its values were used without its graph there" in reason(apart, z)
    assert cut is not None


def test_cuts_on_purpose() -> None:
    here = call()
    gone = weakref.ref(edge(leaf().exp()))
    alive = leaf().exp()
    assert diagnosis.on_purpose(Cut("detach()", here.code, here.lasti, gone))
    assert diagnosis.on_purpose(Cut(".data", here.code, here.lasti, gone))
    assert not diagnosis.on_purpose(Cut("argmax", here.code, here.lasti, gone))
    kept = weakref.ref(edge(alive))
    assert not diagnosis.on_purpose(Cut("detach()", here.code, here.lasti, kept))
    assert not diagnosis.on_purpose(Cut("detach()", here.code, here.lasti, None))


def test_only_the_latest_lines_are_told() -> None:
    here = call()
    cuts = [Cut(f"call{k}()", here.code, here.lasti) for k in (1, 2, 2, 3, 4)]
    told = [text.split("  at")[0] for _, text in diagnosis.describe_cuts(cuts)]
    assert told == ["call2()", "call3()", "call4()"]
