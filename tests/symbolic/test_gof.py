"""`symbolic.gof` and what tests of programs import, by Theano's names."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wengert.symbolic as theano
from wengert.symbolic import scalar
from wengert.symbolic import tensor as T
from wengert.symbolic.gof import graph
from wengert.symbolic.programs import registered
from wengert.symbolic.scan_module import scan_utils
from wengert.symbolic.tests import unittest_tools


@pytest.fixture
def rewrites() -> Iterator[None]:
    before = list(registered.REWRITES)
    yield
    registered.REWRITES[:] = before


def test_graphs_are_compared_operation_by_operation() -> None:
    x, y, w = T.dmatrix("x"), T.dmatrix("y"), theano.shared(np.eye(2), "w")
    assert graph.is_same_graph(T.dot(x, w).sum(0), T.dot(x, w).sum(0))
    assert not graph.is_same_graph(T.dot(x, w).sum(0), T.dot(x, w).sum(1))
    assert not graph.is_same_graph(x * 2, x * 3)
    assert not graph.is_same_graph(x + y, y + x)
    assert graph.is_same_graph(x * y + x, y * x + y, givens=[(x, y), (y, x)])
    assert not graph.is_same_graph(x * y, x * x, givens={x: x})
    assert scan_utils.equal_computations([x * 2, y], [y * 2, x], [x, y], [y, x])
    with pytest.raises(ValueError, match="has to be the same"):
        scan_utils.equal_computations([x], [x], [x], [])


def test_walks_and_copies() -> None:
    x, y, w = T.dscalar("x"), T.dscalar("y"), theano.shared(2.0, "w")
    middle = x * w
    out = middle + y
    assert graph.variables([x, y], [out]) == [out, middle, x, w, y]
    assert graph.variables_and_orphans([middle], [out, y]) == ([y, out, middle], [y])
    assert graph.orphans([x, y], [out]) == [w]
    assert graph.ancestors([x, out]) == [out, middle, x, w, y]
    assert graph.inputs([out], blockers=[middle]) == [y]
    assert graph.inputs([x, w, y]) == [y, w, x]
    assert [n.outputs[0] for n in graph.io_toposort([x, y], [out])] == [middle, out]
    assert graph.ops([middle, y], [out]) == {out.owner}
    assert out.owner.get_parents() == [middle, y]
    ins, (copied,) = graph.clone([x, y], [out])
    assert copied is not out
    assert theano.function(ins, copied)(3.0, 1.0) == 7.0
    table = graph.clone_get_equiv([x, y], [out], copy_inputs=False)
    assert table[w] is w
    assert table[middle] is not middle


def test_test_values() -> None:
    x = T.dscalar("x")
    with pytest.raises(AttributeError, match="x has no test value"):
        theano.gof.op.get_test_value(x)
    x.tag.test_value = 3.0
    assert theano.gof.op.get_test_value(x) == 3
    assert list(theano.gof.op.get_debug_values(x)) == []
    with theano.config.change_flags(compute_test_value="raise"):
        assert list(theano.gof.op.get_debug_values(x, 2)) == [[3, 2]]
        with pytest.raises(AttributeError, match="no value"):
            theano.gof.op.missing_test_message("no value")


def test_tools_of_tests() -> None:
    assert unittest_tools.fetch_seed() == 666
    assert unittest_tools.fetch_seed("random") is None
    assert unittest_tools.seed_rng(3) == 3
    drawn = np.random.rand()
    assert drawn == np.random.RandomState(3).rand()
    unittest_tools.verify_grad(T.tanh, [np.ones((2, 2))])
    with pytest.raises(unittest_tools.verify_grad.E_grad):
        unittest_tools.verify_grad(lambda x: theano.gradient.grad_scale(x, 2.0), [np.ones(2)])
    unittest_tools.assert_allclose(np.float32(1), np.float32(1 + 1e-6))
    with pytest.raises(AssertionError):
        unittest_tools.assert_allclose(1.0, 1.001)


def test_helpers() -> None:
    assert theano.gof.utils.uniq([2, 1, 2]) == [2, 1]
    assert theano.gof.utils.remove(str.isdigit, "a1b") == ["a", "b"]
    assert len(theano.gof.utils.hash_from_code("code")) == 64
    assert theano._asarray([1, 2], "floatX").dtype == theano.config.floatX


def test_several_variables_at_once() -> None:
    assert [v.name for v in T.vectors("xy")] == ["x", "y"]
    assert [v.name for v in T.dmatrices(["a", "b"])] == ["a", "b"]
    assert T.vectors("x").name == "x"
    assert len(T.dscalars(1)) == 1


@pytest.mark.parametrize(
    ("reps", "ndim", "message"),
    [
        (T.ivector(), None, "should specify the ndim"),
        (T.imatrix(), None, "should not exceed 1"),
        (T.dscalar(), None, "must be integer"),
        ([2.5], None, "scalars of integer dtype"),
        ([2, 2, 2], 2, "equal or less than ndim"),
        ([2], 1, "larger than x.ndim"),
    ],
)
def test_bad_repetitions(reps: object, ndim: int | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        T.tile(T.dmatrix(), reps, ndim)


def test_operations_on_elements_are_defined_by_programs() -> None:
    from scipy.special import i0e, i1e

    from wengert.symbolic import scalar

    class First(scalar.UnaryScalarOp):
        nfunc_spec = ("scipy.special.i1e", 1, 1)

    class Zeroth(scalar.UnaryScalarOp):
        def impl(self, x):  # type: ignore[no-untyped-def]
            return i0e(x)

        def grad(self, inputs, output_gradients):  # type: ignore[no-untyped-def]
            (x,), (g,) = inputs, output_gradients
            return [g * (first(x) - scalar.sgn(x) * zeroth(x))]

    first = First(scalar.upgrade_to_float, name="i1e")
    zeroth = Zeroth(scalar.upgrade_to_float, name="i0e")
    x = T.dmatrix("x")
    y = T.Elemwise(zeroth)(x)
    values = np.array([[0.5, 1.0, 2.0]])
    found = theano.function([x], [y, T.grad(y.sum(), x)])(values)
    np.testing.assert_allclose(found[0], i0e(values))
    np.testing.assert_allclose(found[1], i1e(values) - i0e(values))
    assert str(y) == "Elemwise{i0e,no_inplace}.0"
    assert T.Elemwise(zeroth)(T.bvector()).dtype == "float32"
    assert Zeroth(scalar.upgrade_to_float) == zeroth != first
    with pytest.raises(TypeError, match=r"Wrong number of inputs for i0e \(got 2, expected 1\)"):
        zeroth(x, x)
    assert theano.function([x], T.Elemwise(scalar.exp)(x))([[0.0]]) == 1


def test_function_graphs_have_nodes_and_clients() -> None:
    x, y = T.dscalars("x", "y")
    z = T.exp(x * y)
    graph_of_z = theano.gof.FunctionGraph([x, y], [z], clone=False)
    assert graph_of_z.clients(z.owner.inputs[0]) == [(z.owner, 0)]
    assert graph_of_z.clients(z) == [("output", 0)]
    graph_of_z.replace(z.owner.inputs[0], x + y)
    assert theano.function([x, y], graph_of_z.outputs[0])(1.0, -1.0) == 1.0
    assert graph_of_z.clone().inputs[0] is not x
    with pytest.raises(theano.gof.MissingInputError, match="y is not among"):
        theano.gof.FunctionGraph([x], [z])
    f = theano.function([x], T.exp(x))
    assert [len(f.maker.fgraph.clients(f.maker.fgraph.inputs[0]))] == [1]


def test_views_with_another_gradient_and_rewrites_of_programs(rewrites: None) -> None:
    class Clipped(theano.compile.ViewOp):
        def grad(self, inputs, output_gradients):  # type: ignore[no-untyped-def]
            return [T.clip(output_gradients[0], -1, 1)]

    clipped, x = Clipped(), T.dvector("x")
    T.opt.register_canonicalize(theano.gof.OpRemove(clipped), name="clipped")

    @T.opt.register_canonicalize("fast_compile")
    @theano.gof.local_optimizer([Clipped])
    def removed(node):  # type: ignore[no-untyped-def]
        return list(node.inputs)

    f = theano.function([x], [clipped(x), theano.grad((clipped(x) ** 2).sum(), x)])
    assert [v.tolist() for v in f([0.1, 5.0])] == [[0.1, 5.0], [0.2, 1.0]]


def ops_of(f: Any) -> list[str]:
    return [str(node.op) for node in f.maker.fgraph.toposort()]


def test_rewrites_that_programs_register_run(rewrites: None) -> None:
    x = T.dvector("x")

    @T.opt.register_specialize
    @theano.gof.local_optimizer([T.sin])
    def sine_as_cosine(node: Any) -> Any:
        return [T.cos(node.inputs[0] - np.pi / 2)]

    f = theano.function([x], T.sin(x))
    assert "cos" in ops_of(f)[-1]
    np.testing.assert_allclose(f([0.5, 1.0]), np.sin([0.5, 1.0]))
    mode = theano.Mode().excluding("sine_as_cosine")
    assert ops_of(theano.function([x], T.sin(x), mode=mode)) == ["Elemwise{sin,no_inplace}"]
    assert ops_of(theano.function([x], T.sin(x), mode="FAST_COMPILE")) == [
        "Elemwise{sin,no_inplace}"
    ]


def test_rewrites_are_included_by_name(rewrites: None) -> None:
    x = T.dvector("x")
    pattern = theano.gof.PatternSub((T.sqrt, (T.sqr, "a")), (T.abs_, "a"))
    theano.compile.optdb.register("root_of_square", theano.gof.opt.in2out(pattern), 1, "mine")
    y = T.sqrt(T.sqr(x))
    assert "abs_" not in str(ops_of(theano.function([x], y)))
    f = theano.function([x], y, mode=theano.Mode().including("mine"))
    assert ops_of(f) == ["Elemwise{abs_,no_inplace}"]
    assert f([-2.0, 3.0]).tolist() == [2.0, 3.0]


def test_rewrites_that_undo_each_other_end_and_those_that_fail_warn(rewrites: None) -> None:
    x = T.dvector("x")
    T.opt.register_canonicalize(theano.gof.OpSub(T.sinh.op, T.cosh.op), name="there")
    T.opt.register_canonicalize(theano.gof.OpSub(T.cosh.op, T.sinh.op), name="back")
    assert theano.function([x], T.sinh(x))([0.0]) in ([0.0], [1.0])

    @T.opt.register_canonicalize
    @theano.gof.local_optimizer([T.Dot])
    def failing(node: Any) -> Any:
        raise KeyError("nothing here")

    with pytest.warns(UserWarning, match="'failing' failed on dot"):
        f = theano.function([x], T.dot(x, x))
    assert f([1.0, 2.0]) == 5.0


def test_linkers_make_functions_of_graphs_and_show_their_nodes() -> None:
    x, y = T.dscalars("x", "y")
    fgraph = theano.gof.FunctionGraph([x, y], [x * y + 1, x - y])
    run, inputs, outputs = theano.gof.PerformLinker().accept(fgraph).make_thunk()
    for container, value in zip(inputs, (2.0, 3.0), strict=True):
        container.data = np.asarray(value)
    run()
    assert [float(c.data) for c in outputs] == [7.0, -1.0]
    seen: list[str] = []

    def wrapper(position: int, node: Any, thunk: Any) -> None:
        thunk()
        seen.append(f"{position} {node.op.name} {float(thunk.outputs[0][0])}")

    f = theano.gof.WrapLinker([], wrapper).accept(fgraph).make_function()
    assert [float(v) for v in f(2.0, 3.0)] == [7.0, -1.0]
    assert seen == ["0 mul 6.0", "1 add 7.0", "2 sub -1.0"]
    with pytest.raises(TypeError, match="exactly 2 arguments"):
        f(1.0)
    # Modes take linkers, too.
    seen.clear()
    g = theano.function([x, y], T.exp(x * y), mode=theano.Mode(theano.gof.WrapLinker([], wrapper)))
    cells = {}

    def noted(node: Any, thunk: Any, storage_map: Any, compute_map: Any) -> None:
        cells.update({v.type: storage_map[v][0] for v in node.inputs})
        assert all(compute_map[v][0] for v in node.outputs)

    h = theano.function([x, y], x - y, mode=theano.Mode(theano.gof.vm.VM_Linker(callback=noted)))
    assert (g(0.0, 3.0), h(5.0, 3.0), len(seen)) == (1.0, 2.0, len(g.maker.fgraph.toposort()))
    assert list(cells.values()) == [3.0]


def test_walks_give_what_they_reach_one_by_one() -> None:
    from wengert.symbolic.gof import graph, utils
    from wengert.symbolic.sandbox import rng_mrg

    x, y = T.dscalars("x", "y")
    product = x * y
    total = product + T.exp(x)

    def operands(v: Any) -> Any:
        return v.owner and v.owner.inputs

    (_, exp) = total.owner.inputs
    assert list(graph.walk([total], operands)) == [total, product, exp, x, y]
    assert list(graph.walk([total], operands, bfs=False)) == [total, exp, x, product, y]
    pairs = dict(graph.walk([product], operands, return_children=True))
    assert pairs == {product: [x, y], x: None, y: None}
    assert list(graph.walk([x, y], operands, hash_fn=type)) == [x]
    assert issubclass(utils.TestValueError, ValueError)  # names of Theano-PyMC
    assert rng_mrg.MRG_RandomStream is rng_mrg.MRG_RandomStreams


def test_schedules() -> None:
    from wengert.symbolic.gof import sched

    x = T.dvector("x")
    exp, total = T.exp(x), T.log(x) + T.exp(x)
    depends = sched.make_dependence_cmp()
    assert (depends(total.owner, exp.owner), depends(exp.owner, total.owner)) == (0, 0)
    y = exp + T.log(x)
    assert (depends(y.owner, exp.owner), depends(exp.owner, y.owner)) == (1, -1)
    by_name = sched.key_to_cmp(lambda node: str(node.op))
    graph = theano.FunctionGraph([x], [y], clone=False)
    found = sched.sort_schedule_fn(by_name)(graph)
    assert [str(n.op).split(",")[0] for n in found] == [
        "Elemwise{exp",
        "Elemwise{log",
        "Elemwise{add",
    ]
    # A later comparison gives way to an earlier one.
    assert sched.posort([1, 2, 11], lambda a, b: a % 10 - b % 10, lambda a, b: b - a) == [11, 1, 2]
    with pytest.raises(ValueError, match="cycles"):
        sched._toposort({1: [2], 2: [1]})


def test_operations_do_what_they_declare_in_debug_mode() -> None:
    class Writing(theano.Op):
        __props__ = ()
        view = False

        def make_node(self, x: Any) -> theano.Apply:
            return theano.Apply(self, [x], [x.type()])

        def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
            if not self.view:
                inputs[0][...] = 0
            output_storage[0][0] = inputs[0] if self.view else inputs[0] + 1

    class Viewing(Writing):
        view = True

    modes, x = theano.compile.debugmode, T.dvector("x")
    for op, error in ((Writing(), modes.BadDestroyMap), (Viewing(), modes.BadViewMap)):
        f = theano.function([x], op(x * 2), mode="DebugMode")
        with pytest.raises(error, match="input 0"):
            f([1.0, 2.0])
    Viewing.view_map = {0: [0]}
    assert theano.function([x], Viewing()(x), mode="DebugMode")([1.0]) == 1.0


def test_theanos_classes_of_operations_take_integers() -> None:
    x = T.lvector("x")
    for kind, known in ((scalar.GammaLn, T.gammaln), (scalar.Exp, T.exp), (scalar.Psi, T.psi)):
        op = T.Elemwise(kind(scalar.upgrade_to_float, name="own"))
        own, expected = theano.function([x], [op(x), known(x)])([1, 5, 11])
        np.testing.assert_array_equal(own, expected)
        assert own.dtype == np.float64


class Simplify(theano.gof.Optimizer):
    """``x * y / y`` is ``x``."""

    def add_requirements(self, fgraph: Any) -> None:
        fgraph.attach_feature(theano.gof.toolbox.ReplaceValidate())

    def apply(self, fgraph: Any) -> None:
        for node in fgraph.toposort():
            product = node.inputs[0].owner
            if node.op == T.true_div and product is not None and product.op == T.mul:
                a, b = product.inputs
                if node.inputs[1] in (a, b):
                    fgraph.replace_validate(node.outputs[0], b if node.inputs[1] is a else a)


def names(fgraph: Any) -> list[str]:
    return [node.op.name for node in fgraph.toposort()]


def test_rewrites_of_whole_graphs() -> None:
    x, y = T.dscalars("x", "y")
    fgraph = theano.gof.FunctionGraph([x, y], [T.exp(x * y / y) + x * y / y])
    simplify = Simplify()
    simplify.optimize(fgraph)
    assert names(fgraph) == ["exp", "add"]
    sums = theano.gof.FunctionGraph([x, y], [x * (x + y) / (x + y)])
    simplify.optimize(sums)
    assert names(sums) == ["add", "mul", "add", "true_div"]
    theano.gof.MergeOptimizer().optimize(sums)
    assert names(sums) == ["add", "mul", "true_div"]
    simplify.optimize(sums)
    assert str(sums) == "[x]"
    for walk in (T.opt.in2out, T.opt.out2in):
        fgraph = theano.gof.FunctionGraph([x], [T.exp(x) + T.sin(x)])
        walk(theano.gof.OpSub(T.exp, T.cos), theano.gof.OpSub(T.sin, T.tan)).optimize(fgraph)
        assert names(fgraph) == ["cos", "tan", "add"]
    query = theano.gof.Query(include=["fast_run"], exclude=["fusion"])
    fgraph = theano.gof.FunctionGraph([x], [T.exp(x) + T.exp(x)])
    theano.compile.optdb.query(query).optimize(fgraph)
    assert names(fgraph) == ["exp", "add"]


def test_rewrites_of_whole_graphs_run_where_functions_are_compiled(rewrites: None) -> None:
    x, y = T.dscalars("x", "y")
    theano.compile.optdb.register("undivided", Simplify(), 0.5, "fast_run")
    f = theano.function([x, y], x * y / y, mode=theano.Mode().excluding("fusion"))
    assert f.maker.fgraph.toposort() == []
    assert f(2.0, 0.0) == 2.0
    mode = theano.Mode().excluding("undivided")
    assert np.isnan(theano.function([x, y], x * y / y, mode=mode)(2.0, 0.0))
    with pytest.raises(TypeError, match="transform"):
        theano.compile.optdb.register("nothing", object(), 0.5, "fast_run")


def test_features_follow_changes() -> None:
    seen = []

    class Watching(theano.gof.Feature):
        def on_import(self, fgraph: Any, node: Any, reason: Any) -> None:
            seen.append(("import", node.op.name))

        def on_prune(self, fgraph: Any, node: Any, reason: Any) -> None:
            seen.append(("prune", node.op.name))

        def on_change_input(
            self, fgraph: Any, node: Any, i: int, r: Any, new_r: Any, reason: Any = None
        ) -> None:
            seen.append(("change", i, new_r.owner.op.name))

    x = T.dscalar("x")
    fgraph = theano.gof.FunctionGraph([x], [T.exp(T.log(x))], clone=False)
    fgraph.attach_feature(Watching())
    log = fgraph.toposort()[0]
    assert log.outputs[0].clients == [(fgraph.toposort()[1], 0)]
    fgraph.replace(log.outputs[0], T.sqrt(x))
    assert seen == [
        ("import", "log"), ("import", "exp"), ("change", 0, "sqrt"), ("prune", "log"),
        ("import", "sqrt"),
    ]  # fmt: skip
    finder = theano.gof.toolbox.NodeFinder()
    fgraph.attach_feature(finder)
    fgraph.attach_feature(theano.gof.toolbox.NodeFinder())
    assert [node.op.name for node in fgraph.get_nodes(T.exp)] == ["exp"]


def test_walks_over_graphs() -> None:
    x, y = T.dvectors("x", "y")
    z = T.exp(x) * T.zeros_like(y)
    assert graph.io_connection_pattern([x, y], [z, T.exp(x)]) == [[True, True], [False, False]]
    assert graph.is_in_ancestors(z.owner, z.owner.inputs[0].owner)
    assert not graph.is_in_ancestors(z.owner.inputs[0].owner, z.owner)
    found, leading = graph.stack_search(
        deque([z]), lambda v: v.owner and v.owner.inputs, "dfs", build_inv=True
    )
    assert found[0] is z
    assert set(found) >= {x, y}
    assert leading[x] == [z.owner.inputs[0]]
    with pytest.raises(ValueError, match="bfs or dfs"):
        graph.stack_search(deque([z]), lambda v: None, "best")
    assert theano.gof.hashtype(T.exp) == theano.gof.hashtype(T.log)


class Scaled(theano.Op):
    """Multiplies by a parameter that is no input."""

    __props__ = ("factor",)
    params_type = theano.gof.ParamsType(
        factor=theano.scalar.Scalar("float64"),
        offset=T.dvector,
        way=theano.gof.EnumList("UP", "DOWN"),
    )

    def __init__(self, factor: float) -> None:
        self.factor, self.offset, self.way = factor, np.array([1.0, 2.0]), "DOWN"

    def make_node(self, x: Any) -> theano.Apply:
        return theano.Apply(self, [x], [x.type()])

    def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any) -> None:
        assert params.way == self.params_type.get_enum("DOWN") == 1
        output_storage[0][0] = params.factor * inputs[0] + params.offset


class OfNode(Scaled):
    params_type = theano.gof.generic

    def get_params(self, node: Any) -> Any:
        return len(node.inputs)

    def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any) -> None:
        output_storage[0][0] = inputs[0] + params


class Thunked(Scaled):
    """Makes what runs by itself; the older half of programs do not know `impl`."""

    params_type = None

    def make_thunk(self, node: Any, storage_map: Any, compute_map: Any, no_recycling: Any) -> Any:
        source, target = storage_map[node.inputs[0]], storage_map[node.outputs[0]]

        def thunk() -> None:
            assert target[0] is None
            target[0] = source[0] * self.factor
            compute_map[node.outputs[0]][0] = True

        return thunk


class Noted(Scaled):
    """Runs what the class above makes."""

    def make_thunk(self, node: Any, *args: Any, **options: Any) -> Any:
        self.made = super().make_thunk(node, *args, **options)
        return self.made


@pytest.mark.parametrize(
    ("op", "expected"),
    [(Scaled(3.0), [4.0, 8.0]), (OfNode(3.0), [2.0, 3.0]), (Thunked(3.0), [3.0, 6.0]),
     (Noted(3.0), [4.0, 8.0])],
)  # fmt: skip
def test_operations_with_parameters_and_thunks(op: Any, expected: list[float]) -> None:
    x = T.dvector("x")
    f = theano.function([x], op(x) * 1.0)
    for _ in range(2):
        assert f([1.0, 2.0]).tolist() == expected
    if isinstance(op, Noted):
        assert not op.made.lazy


def test_parameters_are_checked() -> None:
    kind = theano.gof.ParamsType(a=theano.scalar.int32, b=T.dvector)
    params = kind.filter({"a": 2, "b": [1.0]})
    assert (params.a, params["b"].tolist(), kind.get_field(T.dvector)) == (2, [1.0], "b")
    assert kind == theano.gof.ParamsType(b=T.dvector, a=theano.scalar.int32)
    assert kind.extended(c=T.dscalar).fields == ("a", "b", "c")
    with pytest.raises(TypeError, match="no value for"):
        kind.filter({"a": 2})
    with pytest.raises(NotImplementedError, match="immutable"):
        params.a = 3
    same, other = (kind.filter({"a": 2, "b": [v]}) for v in (1.0, 3.0))
    assert (params == same, hash(params) == hash(same), params == other) == (True, True, False)
    assert kind.values_eq_approx(params, same)
    wide = theano.gof.Params(kind, a=np.int64(2), b=np.ones(1))
    with pytest.raises(TypeError):
        kind.filter(wide, strict=True)
    ways = theano.gof.EnumList("UP", ("DOWN", "down"))
    directed = theano.gof.ParamsType(way=ways, a=theano.scalar.int32)
    assert (directed.DOWN, directed.enum_from_alias("down"), directed.enum_from_alias("UP")) == (
        1,
        1,
        0,
    )
    with pytest.raises(AttributeError, match=r"several enum types have the constants \['DOWN'\]"):
        theano.gof.ParamsType(way=ways, other=theano.gof.EnumList("LEFT", "DOWN"))
    with pytest.raises(AttributeError, match="invalid enum name"):
        theano.gof.EnumList("Up")
    with pytest.raises(ValueError, match="unknown enum value 7"):
        theano.gof.EnumType(UP=1).filter(7)


def test_variables_inside_operations_of_graphs_are_mapped() -> None:
    a, b, outer = T.dscalars("a", "b", "outer")
    total = a + b
    total.tag.replacement = a - b + outer
    shared = theano.shared(2.0)
    op = theano.OpFromGraph([a, b], [total * shared])
    x, y = T.dscalars("x", "y")

    def replacer(v: Any) -> Any:
        return getattr(v.tag, "replacement", v)

    (new,) = theano.map_variables(replacer, [op(x, y) + 1])
    assert theano.function([x, y, outer], new)(5.0, 2.0, 0.5) == 8
    assert theano.function([x, y], op(x, y) + 1)(5.0, 2.0) == 15
    (same,) = theano.map_variables(replacer, [theano.OpFromGraph([a], [a * 2])(x)])
    assert same.eval({x: 3.0}) == 6

    def step(v: Any, total: Any, w: Any) -> Any:
        product = v * w
        product.tag.replacement = v * w * shared + outer
        return product + total, theano.scan_module.until(total > 100)

    v, w = T.dvector("v"), T.dscalar("outer")  # which no name confuses with the other
    loop, _ = theano.scan(step, [v], [T.zeros((), "float64")], [w])
    (new,) = theano.map_variables(replacer, [loop])
    f = theano.function([v, w, outer], [new, T.grad(new[-1], outer), T.grad(new[-1], shared), loop])
    assert [r.tolist() for r in f([1.0, 2.0], 3.0, 0.5)] == [[6.5, 19], 2, 9, [3, 9]]
