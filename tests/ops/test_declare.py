"""Declarations: what is refused, what an Op works out, and the text that each kind becomes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import wengert
from wengert.core.tensor import Node
from wengert.ops.broadcasting import expand
from wengert.ops.declare import elementwise, multilinear, primitive
from wengert.ops.op import REGISTRY, NodeLayout, Op, node_class
from wengert.ops.publish import TAKEN, apply_source, pullback_source, recorded, source_of

F64 = wengert.float64


@pytest.fixture(autouse=True)
def _registry() -> Iterator[None]:
    """What is declared here is forgotten again."""
    before = dict(REGISTRY)
    yield
    REGISTRY.clear()
    REGISTRY.update(before)


def op_of(function: Any) -> Op:
    op: Op = function.op
    return op


def product() -> Op:
    @elementwise(np.multiply, a=lambda g, b: g * b, b=lambda g, a: g * a)
    def my_product(a: Any, b: Any) -> Any:
        """The product."""

    return op_of(my_product)


def root() -> Op:
    @elementwise(np.sqrt, floats=True, x=lambda g, out: g / (2 * out))
    def my_root(x: Any) -> Any:
        """The root."""

    return op_of(my_root)


def summed() -> Op:
    @multilinear(x=lambda g, x_shape: expand(g, x_shape))
    def my_sum(x: Any, dim: int = 0) -> Any:
        """The sum."""
        return x.sum(dim)

    return op_of(my_sum)


def scaled() -> Op:
    @primitive(aux=("peak",), reference=lambda x, by=2.0: x * by, x=lambda g, by, peak: g * by)
    def my_scaled(x: Any, *, by: float = 2.0) -> Any:
        """The product with a number."""
        return x * by, x.max()

    return op_of(my_scaled)


def rounded() -> Op:
    @elementwise(np.rint, x=None)
    def my_rounded(x: Any) -> Any:
        """The nearest integers."""

    return op_of(my_rounded)


def shared() -> Op:
    @primitive(
        shared=lambda g, a, b: g * a * b,
        reference=lambda a, b: a * b,
        a=lambda g, shared: shared + 1,
        b=lambda g, shared, a=None: shared + 2,
        c=lambda g: g,
    )
    def my_shared(a: Any, b: Any, c: Any) -> Any:
        """Anything."""
        return a + b + c

    return op_of(my_shared)


# -- refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["node", "out", "site", "type", "Tensor", "operand"])
def test_names_that_the_written_function_uses(name: str) -> None:
    assert name in TAKEN
    forward = eval(f"lambda {name}: {name}")
    with pytest.raises(TypeError, match=f"an argument is called '{name}', which the op's"):
        elementwise(**{"x": None})(forward)


def test_names_of_keywords_and_of_aux() -> None:
    with pytest.raises(TypeError, match="an argument is called 'frame'"):

        @primitive(x=None)
        def my_first(x: Any, *, frame: int = 0) -> Any: ...

    with pytest.raises(TypeError, match="an argument is called 'result'"):

        @primitive(aux=("result",), x=None)
        def my_second(x: Any) -> Any: ...

    assert not REGISTRY.keys() & {"my_first", "my_second"}


def test_a_local_variable_may_have_any_name() -> None:
    @primitive(x=None)
    def my_local(x: Any) -> Any:
        out = node = x
        return out if node is x else None

    assert wengert.ones(2).equal(my_local(wengert.ones(2)))


def test_a_rule_for_no_argument() -> None:
    @elementwise(y=lambda g: g)
    def my_misspelt(x: Any) -> Any:
        return x

    with pytest.raises(TypeError, match=r"my_misspelt: rules for \['y'\], which are no arguments"):
        _ = op_of(my_misspelt).inputs


def test_a_rule_that_reads_what_there_is_not() -> None:
    @elementwise(x=lambda g, y: g * y)
    def my_reader(x: Any) -> Any:
        return x

    with pytest.raises(TypeError, match="my_reader: a rule reads 'y', which is nothing this op"):
        source_of(op_of(my_reader))


def test_a_name_that_another_module_has_taken() -> None:
    def mul(x: Any) -> Any:
        return x

    with pytest.raises(TypeError, match=r"mul: .*test_declare declares an op of a name that "):
        elementwise(x=None)(mul)
    assert REGISTRY["mul"].declared.__module__ == "wengert.ops.arithmetic"


def test_the_same_module_may_declare_again() -> None:
    assert product() is not product()


# -- worked out --------------------------------------------------------------------------------


def test_inputs_and_parameters() -> None:
    assert (product().inputs, product().params) == (["a", "b"], {})
    assert (summed().inputs, summed().params) == (["x"], {"dim": 0})
    assert (scaled().inputs, scaled().params, scaled().keyword_only) == (["x"], {"by": 2.0}, ["by"])


def test_names_of_nodes() -> None:
    assert product().label == "MyProductBackward0"
    assert product().node.__name__ == "MyProductBackward0"

    @elementwise(label="Other", name="told", x=None)
    def _hidden_(x: Any) -> Any:
        return x

    assert op_of(_hidden_).label == "Other"
    assert op_of(_hidden_).public_name == "told"

    @elementwise(x=None)
    def _plain_(x: Any) -> Any:
        return x

    assert op_of(_plain_).public_name == "plain"
    assert op_of(_plain_).label == "PlainBackward0"


def test_what_rules_read() -> None:
    assert product().wants == {"a": ["b"], "b": ["a"]}
    assert root().wants == {"x": ["out"]}
    assert rounded().wants == {"x": []}
    assert rounded().differentiable == []
    assert shared().sharers == ["a", "b"]
    assert shared().wants == {"a": ["a", "b"], "b": ["a", "b"], "c": []}
    assert shared().takes["b"] == ["shared", "a"]


def test_a_rule_with_a_default_for_shared_does_not_need_it() -> None:
    @primitive(
        shared=lambda g, a: g * a,
        reference=lambda a, b: a * b,
        a=lambda g, shared: shared,
        b=lambda g, shared=None: g if shared is None else shared,
    )
    def my_optional(a: Any, b: Any) -> Any:
        return a

    op = op_of(my_optional)
    assert op.sharers == ["a"]
    assert op.wants == {"a": ["a"], "b": []}


def test_what_nodes_keep() -> None:
    assert product().keeps == ["b", "a"]
    assert root().keeps == ["out"]
    assert summed().keeps == []  # an input's own shape is its edge's
    assert scaled().keeps == ["by", "peak"]
    layout = NodeLayout(scaled())
    assert layout.arrays == ["peak"]
    assert layout.owner("peak") is None
    assert NodeLayout(root()).owner("out") == -1
    assert [NodeLayout(product()).owner(name) for name in "ab"] == [0, 1]


def test_the_owner_of_what_has_no_derivative() -> None:
    @primitive(x=lambda g, index: g[index], index=None)
    def my_picked(x: Any, index: Any) -> Any:
        return x

    layout = NodeLayout(op_of(my_picked))
    assert layout.owner("index") is None
    assert layout.differentiable == ["x"]


def test_the_shape_of_another_input_is_kept() -> None:
    @primitive(a=lambda g, a_shape, b_shape: g, b=lambda g: g)
    def my_shapes(a: Any, b: Any) -> Any:
        return a

    op = op_of(my_shapes)
    assert op.keeps == ["b_shape"]
    assert NodeLayout(op).value("b_shape") == "v_b.shape"
    assert NodeLayout(op).arrays == []


def test_slots_of_nodes() -> None:
    kind = node_class(product())
    assert issubclass(kind, Node)
    assert kind.__dict__["__slots__"] == ["e_a", "e_b", "s_b", "s_a"]
    assert kind.saved == (("s_b", 1), ("s_a", 0))
    assert not hasattr(kind, "__dict__") or "__dict__" not in kind.__slots__


def test_where_rules_find_what_they_read() -> None:
    op = scaled()
    assert op.sources == {
        "out": ("out", None), "by": ("param", "by"), "x_shape": ("shape", 0), "x": ("input", 0)
    }  # fmt: skip
    x, out = wengert.ones(2, 3), wengert.zeros(4)
    assert op.read("x", [x], {"by": 3}, out) is x
    assert op.read("out", [x], {"by": 3}, out) is out
    assert op.read("by", [x], {"by": 3}, out) == 3
    assert op.read("x_shape", [x], {"by": 3}, out) == (2, 3)
    number = op.read("x", [2.0], {"by": 3}, out)
    assert number.shape == ()
    assert number.dtype == np.float32


def test_calls_by_position_or_name() -> None:
    @primitive(x=None, y=None)
    def my_ordered(x: Any, y: Any, k: int = 1) -> Any:
        return x + y * k

    @primitive(x=None, y=None)
    def my_parted(x: Any, k: int, y: Any) -> Any:
        return x + y * k

    a, b = wengert.ones(1), wengert.full((1,), 2.0)
    assert op_of(my_ordered).in_order
    assert not op_of(my_parted).in_order
    for function in (my_ordered, my_parted):
        assert op_of(function)([a, b], {"k": 3}).tolist() == [7.0]


# -- text --------------------------------------------------------------------------------------


def lines_of(op: Op) -> list[str]:
    return [line.strip() for line in apply_source(op, NodeLayout(op)).splitlines()]


def pulled(op: Op) -> str:
    return pullback_source(op, NodeLayout(op))


def test_one_input_is_unwrapped_once() -> None:
    text = apply_source(root(), NodeLayout(root()))
    assert text.startswith("def my_root(x):\n")
    assert text.count("._array\n") == 1
    assert "if e_x is None:" in text
    assert "cut = x._cut" in text


def test_an_input_is_kept_only_if_its_reader_wants_it() -> None:
    lines = lines_of(product())
    assert "node.s_b = v_b if e_a is not None else None" in lines
    assert "node.s_a = v_a if e_b is not None else None" in lines
    assert "node.s_out = out" in lines_of(root())  # the only input wants it
    assert "node.s_by = by" in lines_of(scaled())
    assert "node.s_peak = peak" in lines_of(scaled())


def test_only_integers_are_converted() -> None:
    assert "if e_x is None and v_x.dtype not in inexact:" in lines_of(root())
    assert "return my_root(*to_float(x))" in lines_of(root())
    assert not any("to_float" in line for line in lines_of(product()))


def test_auxiliary_results() -> None:
    assert "out, peak = forward(v_x, by=by)" in lines_of(scaled())
    assert any(line.endswith("forward(v_x, by=by)[0]") for line in lines_of(scaled()))


def test_signatures() -> None:
    assert lines_of(scaled())[0] == "def my_scaled(x, excess=..., by=defaults['by']):"
    assert lines_of(summed())[0] == "def my_sum(x, dim=defaults['dim']):"


def test_without_a_derivative_nothing_is_recorded() -> None:
    text = source_of(rounded())
    assert "node" not in text
    assert "_send" not in text
    assert "cut = (x._cut if x._edge is None else cut_at('my_rounded', x))" in text


def test_views_are_marked() -> None:
    @multilinear(x=lambda g: g, view=True)
    def my_view(x: Any) -> Any:
        return x[:1]

    assert "mark_view(result, x)" in lines_of(op_of(my_view))
    assert "mark_view(result, x)" not in lines_of(summed())


@pytest.mark.parametrize(
    ("layout", "line"),
    [
        ("contiguous", "elif not out.flags.c_contiguous:"),
        ("columns", "out = by_columns(out)"),
        (("x",), "elif out.ndim > 1 and not (v_x.flags.c_contiguous and out.flags.c_contiguous):"),
        (None, ""),
    ],
)
def test_orders_in_memory(layout: Any, line: str) -> None:
    @primitive(x=lambda g: g, layout=layout)
    def my_ordered(x: Any) -> Any:
        return x

    lines = lines_of(op_of(my_ordered))
    if line:
        assert line in lines
    else:
        assert not any("arranged(" in x or "by_columns" in x for x in lines)


def test_mixed_dtypes() -> None:
    @primitive(x=lambda g: g, index=None, mixed=False)
    def my_index(x: Any, index: Any) -> Any:
        return x

    lines = lines_of(op_of(my_index))
    assert any(
        "v_x is x is not None or v_index is index is not None" in x and "((x, index,))" in x
        for x in lines
    )
    assert not any(".dtype is not" in x for x in lines)
    assert "elif v_a.dtype is not v_b.dtype:" in lines_of(product())
    assert "if mixed((v_a, v_b, v_c,)):" in lines_of(shared())
    assert not any("mixed" in line or ".dtype is not" in line for line in lines_of(summed()))


def test_inputs_that_may_be_no_numbers() -> None:
    @elementwise(np.add, tensors=("b",), a=lambda g: g, b=lambda g: g)
    def my_strict(a: Any, b: Any) -> Any:
        """The sum."""

    lines = lines_of(op_of(my_strict))
    at = lines.index("if v_b is b:")
    assert lines[at + 1] == "return call_foreign(op, (a, b), {})"
    assert "v_a = constants[a, v_b.dtype]" in lines


def test_rules_get_what_they_name() -> None:
    assert "g_a = vjp_a(g, node.s_b) if e_a is not None else None" in pulled(product())
    assert "g_x = vjp_x(g, node.s_out) if e_x is not None else None" in pulled(root())
    assert "g_x = vjp_x(g, e_x.shape) if e_x is not None else None" in pulled(summed())
    assert "g_x = vjp_x(g, node.s_by, node.s_peak)" in pulled(scaled())


def test_saved_values_are_lifted_to_where_they_belong() -> None:
    assert "l_b = lift(node.s_b, e_b)" in pulled(product())
    assert "l_out = lift(node.s_out, node)" in pulled(root())
    assert "l_peak = lift(node.s_peak, None)" in pulled(scaled())
    assert "l_by" not in pulled(scaled())  # a number, no value of the graph
    assert "g_a = vjp_a(g, l_b) if e_a in needed else None" in pulled(product())


def test_broadcasting_is_undone_for_elementwise_pairs_alone() -> None:
    assert pulled(product()).count("sum_to(g_a, e_a.shape)") == 2
    for op in (root(), summed(), shared()):
        assert "sum_to" not in pulled(op)


def test_shared_is_computed_for_those_who_need_it() -> None:
    text = pulled(shared())
    needed = "e_a is not None or e_b is not None"
    assert f"shared = vjp_shared(g, node.s_a, node.s_b) if {needed} else None" in text
    assert "g_b = vjp_b(g, shared, node.s_a)" in text


def test_clear_and_release() -> None:
    def assigned(op: Op, name: str) -> set[str]:
        line = re.search(rf"def {op.name}_{name}\(node\):\n    (.*)\n", pulled(op))
        assert line is not None
        return {*line[1].split(" = ")}

    assert assigned(product(), "clear") == {"node.s_a", "node.s_b", "None"}
    assert assigned(product(), "release") == {
        "node.s_a", "node.s_b", "node.e_a", "node.e_b", "None"
    }  # fmt: skip
    assert assigned(summed(), "clear") == {"None"}
    assert assigned(scaled(), "clear") == {"node.s_peak", "None"}  # parameters cost nothing


def test_every_op_is_written_with_what_it_needs() -> None:
    """Of every operation: names in the text are in its scope, and slots are its node's."""
    for op in REGISTRY.values():
        layout = NodeLayout(op)
        for slot in re.findall(r"node\.([es]_\w+)", source_of(op)):
            assert slot[2:] in (layout.differentiable if slot[0] == "e" else layout.readers), op


# -- written -----------------------------------------------------------------------------------


def test_a_function_is_written_at_its_first_call() -> None:
    op = product()
    function: Any = op.function
    assert isinstance(function, FunctionType)
    stub = function.__code__
    assert stub.co_name == "_stub"
    a, b = wengert.full((2,), 3.0), wengert.full((2,), 4.0)
    assert function(a, b).tolist() == [12, 12]
    assert function.__code__ is not stub
    assert function.__code__.co_filename == "<op my_product>"
    assert function.__doc__ == "The product."
    assert function.__module__ == __name__


def test_what_is_declared_differentiates() -> None:
    cases: list[tuple[Callable[[], Op], int, dict[str, Any]]] = [
        (product, 2, {}), (root, 1, {}), (summed, 1, {"dim": 0}), (scaled, 1, {"by": 3.0})
    ]  # fmt: skip
    for make, count, params in cases:
        op = make()
        inputs = [wengert.rand(3, dtype=F64).add_(1).requires_grad_() for _ in range(count)]
        assert wengert.autograd.gradcheck(lambda *x, op=op, p=params: op(x, p), inputs)


def test_a_node_recorded_in_place_of_the_function() -> None:
    op = product()
    a, b = wengert.ones(2, requires_grad=True), wengert.ones(2, requires_grad=True)
    site = wengert.core.tensor.ROOT
    node = recorded(op, site, (a._edge, b._edge), (b._array, a._array), (2,))
    assert type(node) is op.node
    assert node.shape == (2,)
    assert (node.e_a, node.e_b) == (a._edge, b._edge)
    assert (node.s_b, node.s_a) == (b._array, a._array)
    assert node.code.co_name == "test_a_node_recorded_in_place_of_the_function"


def test_gradients_only_for_edges_that_are_there() -> None:
    calls: list[str] = []

    def rule(name: str) -> Callable[..., Any]:
        def vjp(g: Any) -> Any:
            calls.append(name)
            return g

        return vjp

    @primitive(a=rule("a"), b=rule("b"), c=rule("c"))
    def my_three(a: Any, b: Any, c: Any) -> Any:
        return a + b + c

    for wanted in itertools.product([False, True], repeat=3):
        calls.clear()
        out = my_three(*[wengert.ones(2, requires_grad=w) for w in wanted])
        if any(wanted):
            out.sum().backward()
        assert calls == [name for name, w in zip("abc", wanted, strict=True) if w]
