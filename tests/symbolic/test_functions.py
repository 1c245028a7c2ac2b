"""What functions take and give, what is done to their graphs, and Theano's habits."""

from __future__ import annotations

import copy
import io
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import wengert.symbolic as theano
from wengert.symbolic import tensor as T
from wengert.symbolic.ifelse import ifelse


class Doubled(theano.Op):
    """An operation as programs define their own, with a count of its runs."""

    __props__ = ()
    runs = 0

    def make_node(self, x: Any) -> theano.Apply:
        x = T.as_tensor_variable(x)
        return theano.Apply(self, [x], [x.type()])

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
        type(self).runs += 1
        output_storage[0][0] = inputs[0] * 2

    def grad(self, inputs: Any, output_grads: Any) -> Any:
        return [output_grads[0] * 2]


class Zeroed(Doubled):
    """An operation that writes to its input."""

    destroy_map = {0: [0]}  # noqa: RUF012

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
        inputs[0][...] = 0
        output_storage[0][0] = inputs[0]


def names(f: Any) -> list[str]:
    return [str(node.op) for node in f.maker.fgraph.toposort()]


def test_variables_are_true_hash_and_compare_by_identity() -> None:
    x, y = T.dmatrix("x"), T.dmatrix("x")
    assert x
    assert x == x
    assert x != y
    assert len({x: 1, y: 2}) == 2
    with pytest.raises(TypeError, match="do not support boolean"):
        bool(x > 0)
    with pytest.raises(TypeError, match="do not support boolean"):
        assert 0 < x < 1  # type: ignore[operator]
    with pytest.raises(TypeError, match="no len"):
        len(x)
    with pytest.raises(TypeError, match="iteration"):
        iter(x)
    assert [float(theano.function([x], n)([[1.0, 2.0]])) for n in x.shape] == [1, 2]


def test_arguments_by_position_name_and_default() -> None:
    x, y = T.dscalars("x", "y")
    f = theano.function([x, theano.In(y, value=3.0)], x - y)
    assert (f(1), f(1, 2), f(1, y=2), f(y=2, x=1)) == (-2, -1, -1, -1)
    for older in (theano.Param(y, 3.0), theano.compile.Param(y, default=3.0, name="y")):
        f = theano.function([x, older], x - y)
        assert (f(1), f(1, y=2)) == (-2, -1)
    for args, options, text in (
        ((), {}, "Missing required input: x"), ((1, 2, 3), {}, "Too many"),
        ((1,), {"z": 1}, "Unknown input"), ((1,), {"x": 1}, "twice"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=text):
            f(*args, **options)
    state = T.dscalar("state")
    count = theano.function([theano.In(state, value=0.0, update=state + 1)], state)
    assert [float(count()) for _ in range(3)] == [0, 1, 2]


def test_values_that_do_not_fit_say_what_and_where() -> None:
    x, i = T.dmatrix("x"), T.ivector("i")
    f = theano.function([x], x.sum())
    with pytest.raises(TypeError, match=r"index 0 .*x, made at .*expected 2, got 1 with shape"):
        f([1.0, 2.0])
    g = theano.function([i], i)
    np.testing.assert_array_equal(g([1, 2]), [1, 2])
    with pytest.raises(TypeError, match="store accurately"):
        g([1.5])
    with pytest.raises(TypeError, match="loss of precision"):
        theano.function([single := T.fvector()], single)(np.zeros(2))
    low = theano.function([i], i, allow_input_downcast=True)
    np.testing.assert_array_equal(low([1.5]), [1])
    row = theano.function([r := T.drow()], r)
    with pytest.raises(TypeError, match="broadcastable dimension"):
        row(np.zeros((2, 3)))


def test_errors_when_the_expression_is_built() -> None:
    x, v = T.dmatrix("x"), T.dvector("v")
    shared = theano.shared(np.zeros(3))
    for build, error, text in (
        (lambda: T.grad(x, x), TypeError, "cost must be a scalar"),
        (lambda: T.grad(x.sum(), v), theano.gradient.DisconnectedInputError, "not part of"),
        (lambda: x[0, 0, 0], IndexError, "too many indices"),
        (lambda: x[1.5], TypeError, "integers"),
        (lambda: x.dimshuffle(1), ValueError, "non-broadcastable"),
        (lambda: T.concatenate([x, v]), TypeError, "same number of dimensions"),
        (lambda: T.nnet.softmax(T.dtensor3()), ValueError, "1-d or 2-d"),
        (lambda: T.nnet.conv2d(x, x), TypeError, "4D tensors"),
        (lambda: T.matrix("a", dtype="foo"), TypeError, "Unsupported dtype"),
        (lambda: x.sum(axis=2), ValueError, "dimensions"),
        (lambda: theano.function([x], v.sum(), on_unused_input="ignore"), Exception, "Undeclared"),
        (lambda: theano.function([x], v), theano.compile.UnusedInputError, "not part of"),
        (lambda: theano.function([x, x], x), theano.compile.UnusedInputError, "used twice"),
        (lambda: theano.function(x, x), Exception, "contained in a list"),
        (lambda: theano.function([x], updates={shared: x}), TypeError, "same type"),
        (lambda: theano.function([shared], shared), TypeError, "shared variable"),
        (lambda: theano.function([x], [1]), TypeError, "Outputs must be"),
        (lambda: ifelse(v, x, x), TypeError, "scalar"),
        (lambda: theano.scan(lambda: x), ValueError, "number of steps"),
        (lambda: theano.function([x], x, mode="FAST"), ValueError, "No predefined mode"),
        (lambda: setattr(theano.config, "floatX", "float8"), ValueError, "Invalid value"),
    ):  # fmt: skip
        with pytest.raises(error, match=text):
            build()
    for how in ("ignore", "warn"):
        if how == "warn":
            with pytest.warns(UserWarning, match="not part of"):
                g = T.grad(x.sum(), v, disconnected_inputs=how)
        else:
            g = T.grad(x.sum(), v, disconnected_inputs=how)
        np.testing.assert_array_equal(theano.function([v], g)([1.0, 2.0]), [0, 0])


def test_errors_at_run_name_the_operation_and_its_line() -> None:
    x, v = T.dmatrix("x"), T.dvector("v")
    f = theano.function([x, v], T.exp(T.dot(x, v) + 1))
    with pytest.raises(ValueError, match="not aligned") as caught:
        f(np.zeros((2, 3)), np.zeros(2))
    assert "Apply node that caused the error: dot(x, v)" in str(caught.value)
    assert "f = theano.function([x, v], T.exp(T.dot(x, v) + 1))" in str(caught.value)
    w = theano.shared(np.zeros(3))
    g = theano.function([v], updates=[(w, w + 1), (theano.shared(np.zeros(3)), w + v)])
    with pytest.raises(ValueError, match="mis-match"):
        g([1.0])
    np.testing.assert_array_equal(w.get_value(), 0)


def test_updates_are_made_together_and_belong_to_the_variable() -> None:
    a, b = theano.shared(1.0, "a"), theano.shared(2.0, "b")
    swap = theano.function([], updates=[(a, b), (b, a)])
    assert swap() == []
    assert (a.get_value(), b.get_value()) == (2, 1)
    w = theano.shared(np.zeros(3), "w")
    f = theano.function([], [w, w + 1], updates={w: w + 1})
    before, after = f()
    after += 10
    before -= 5
    np.testing.assert_array_equal(w.get_value(), 1)
    value = w.get_value()
    value[:] = 7
    np.testing.assert_array_equal(w.get_value(), 1)
    w.get_value(borrow=True)[:] = 7
    np.testing.assert_array_equal(w.get_value(), 7)
    with pytest.raises(TypeError, match="Wrong number of dimensions"):
        w.set_value(np.zeros((2, 2)))


def test_outputs_as_they_were_listed() -> None:
    x = T.dscalar("x")
    assert theano.function([x], {"b": x + 1, "a": x})(1) == {"a": 1, "b": 2}
    assert theano.function([x], [x])(1) == [1]
    assert theano.function([], theano.Out(T.constant(2.0), borrow=True))() == 2
    y = T.dscalar("y")
    assert theano.function([x], y + 1, givens={y: x * 10})(1) == 11
    assert (x + y).eval({x: 1, "y": 2}) == 3


def test_copies_and_pickles() -> None:
    x, w, other = T.dscalar("x"), theano.shared(1.0, "w"), theano.shared(10.0, "other")
    f = theano.function([x], x * w, updates=[(w, w + 1)], name="f")
    g = f.copy(swap={w: other}, delete_updates=True)
    assert (f(1), g(1), g(1), f(1)) == (1, [10], [10], 2)
    assert (g.name, f.copy(name="own").name) == ("f copy", "own")
    same = pickle.loads(pickle.dumps(f))
    assert (same(1), f(1), copy.deepcopy(f)(1), f(1)) == (3, 3, 4, 4)
    expression = pickle.loads(pickle.dumps(T.tanh(x).sum() + w))
    assert theano.printing.debugprint(expression, file="str").count("|") > 2


def test_gradients_one_by_one_cost_what_they_cost_together() -> None:
    rng = np.random.RandomState(0)
    x, h, params = T.dmatrix("x"), None, []
    h = x
    for sizes in ((6, 5), (5, 4), (4, 3)):
        params += [theano.shared(rng.randn(*sizes)), theano.shared(rng.randn(sizes[1]))]
        h = T.nnet.sigmoid(T.dot(h, params[-2]) + params[-1])
    cost = (h**2).sum()
    joint = theano.function([x], T.grad(cost, params))
    apart = theano.function([x], [T.grad(cost, p) for p in params])
    assert sorted(names(joint)) == sorted(names(apart))
    data = rng.randn(2, 6)
    for a, b in zip(joint(data), apart(data), strict=True):
        np.testing.assert_array_equal(a, b)


def test_graph_is_simplified_and_fused() -> None:
    x = T.fmatrix("x")
    f = theano.function([x], T.tanh(x * 1 + 0) * 2 + T.tanh(x) ** 2 + T.exp(x.T.T))
    assert names(f) == ["Elemwise{Composite{tanh, mul, sqr, add, exp, add}}"]
    large = np.random.RandomState(0).randn(100, 200).astype("float32")
    expected = np.tanh(large) * 2 + np.tanh(large) ** 2 + np.exp(large)
    np.testing.assert_allclose(f(large), expected, 1e-5, 1e-6)
    plain = theano.function([x], T.tanh(x * 1 + 0) * 2, mode="FAST_COMPILE")
    np.testing.assert_allclose(plain(large), np.tanh(large) * 2, 1e-5)
    shape = theano.function([x], T.exp(x + 1).shape[0])
    assert names(shape) == ["Shape_i{0}"]
    constant = theano.function([], T.exp(T.constant([1.0, 2.0])).sum() * 2)
    assert names(constant) == []


def test_operations_of_programs_and_lazy_branches() -> None:
    a, b, op = T.dscalar("a"), T.dscalar("b"), Doubled()
    f = theano.function([a, b], ifelse(T.lt(a, b), op(a) + 1, b))
    Doubled.runs = 0
    assert (f(1, 2), f(2, 1)) == (3, 1)
    assert Doubled.runs == 1
    both = theano.function([a, b], [ifelse(a > b, a, b), T.grad(ifelse(a > b, op(a), b**2), b)])
    assert both(1, 3) == [3, 6]
    x = T.dvector("x")
    theano.gradient.verify_grad(op, [np.array([1.0, 2.0])], rng=np.random)
    w = theano.shared(np.ones(2))
    zeroed = theano.function([], [Zeroed()(w), w + 1])
    np.testing.assert_array_equal(zeroed(), [[0, 0], [2, 2]])
    np.testing.assert_array_equal(w.get_value(), 1)
    inner = theano.OpFromGraph([x], [op(x) ** 2])
    np.testing.assert_array_equal(theano.function([x], T.grad(inner(x).sum(), x))([3.0]), [24])


def test_modes_watch_values() -> None:
    x = T.dvector("x")
    for mode in ("FAST_RUN", "FAST_COMPILE", "DebugMode", "DEBUG_MODE", theano.Mode()):
        np.testing.assert_array_equal(theano.function([x], x * 2, mode=mode)([1.0]), [2])
    guarded = theano.function([x], T.log(x), mode="NanGuardMode")
    with pytest.raises(AssertionError, match="NaN detected"):
        guarded([-1.0])
    seen = []
    monitor = theano.compile.MonitorMode(post_func=lambda i, node, fn: seen.append(str(node.op)))
    theano.function([x], T.exp(x), mode=monitor)([1.0])
    assert seen == ["Elemwise{exp,no_inplace}"]
    guarded = theano.compile.NanGuardMode(nan_is_error=False).excluding("fusion")
    assert (guarded.nan, guarded.inf, guarded.excluded) == (False, True, {"fusion"})
    timed = theano.function([x], x, profile=True)
    timed([1.0])
    assert timed.calls == timed.profile.fct_callcount == 1
    assert timed.seconds == timed.profile.fct_call_time > 0
    text = io.StringIO()
    timed.profile.summary(text)
    assert "1 calls to Function.__call__" in text.getvalue()


def test_test_values_fail_where_the_expression_is_built() -> None:
    x, y = T.dmatrix("x"), T.dmatrix("y")
    x.tag.test_value, y.tag.test_value = np.ones((2, 3)), np.ones((2, 3))
    with theano.config.change_flags(compute_test_value="raise"):
        assert (x + y).tag.test_value.shape == (2, 3)
        with pytest.raises(ValueError, match="not aligned"):
            T.dot(x, y)
        with pytest.raises(AttributeError, match="no test value"):
            x + T.dmatrix("z")


def test_printing(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    x, y = T.dscalar("x"), T.dvector("y")
    cost = (T.nnet.sigmoid(y) * x).sum()
    theano.printing.debugprint(cost)
    assert capsys.readouterr().out.splitlines()[:2] == [
        "Sum{acc_dtype=float64} [id A] ''   ", " |Elemwise{mul,no_inplace} [id B] ''   ",
    ]  # fmt: skip
    assert theano.pp(x**2 - y) == "((x ** TensorConstant{2}) - y)"
    assert theano.pp(T.switch(x > y, abs(x), x % y)) == "switch(gt(x, y), |x|, mod(x, y))"
    assert theano.pp(T.cast(y.dimshuffle("x", 0), "int8")) == "int8(y)"
    theano.printing.pydotprint(theano.function([x, y], cost), str(tmp_path / "graph.png"))
    assert "digraph" in (tmp_path / "graph.dot").read_text()
    theano.function([x], theano.printing.Print("value")(x) + 1)(2.0)
    assert "value __str__ = 2.0" in capsys.readouterr().out


@pytest.mark.parametrize("mode", ["max", "sum", "average_inc_pad", "average_exc_pad"])
def test_gradients_of_padded_pooling_are_those_of_finite_differences(mode: str) -> None:
    def pooled(x: Any) -> Any:
        return T.signal.pool.pool_2d(
            x, (3, 3), ignore_border=True, stride=(2, 1), pad=(1, 1), mode=mode
        )

    images = np.random.RandomState(0).permutation(60).reshape(1, 2, 5, 6) * 1.0
    theano.gradient.verify_grad(pooled, [images], rng=np.random)
    x = T.dtensor4()
    squared = T.grad((T.grad((pooled(x) ** 3).sum(), x) ** 2).sum(), x)
    assert np.isfinite(theano.function([x], squared)(images)).all()


def test_second_gradients_of_loops_are_those_of_finite_differences() -> None:
    w = theano.shared(np.random.RandomState(0).randn(3, 3) * 0.3)

    def slope(x: Any) -> Any:
        def step(x_t: Any, earlier: Any, last: Any) -> Any:
            h = T.tanh(T.dot(last, w) + x_t + 0.1 * earlier)
            return h, (h**2).sum()

        zeros = T.zeros((2, 3))
        (h, y), _ = theano.scan(
            step, sequences=x, outputs_info=[dict(initial=zeros, taps=[-2, -1]), None]
        )
        cost = (y**2).sum() + h[-1].sum()
        return T.concatenate([g.flatten() for g in T.grad(cost, [w, x])])

    theano.gradient.verify_grad(slope, [np.random.RandomState(1).randn(4, 3)], rng=np.random)


def test_integers_are_rounded_to_floats_and_booleans_have_no_negatives() -> None:
    i, b = T.bvector("i"), T.vector("b", dtype="bool")
    assert [T.ceil(i).dtype, T.floor(T.lvector()).dtype] == ["float32", "float64"]
    assert T.floor(i).eval({i: [3]}).tolist() == [3.0]
    for wrong in (lambda: -b, lambda: b - b):
        with pytest.raises(TypeError, match="of booleans"):
            wrong()
    assert (1 - b).eval({b: [True, False]}).tolist() == [0, 1]


def test_places_of_largest_elements_have_gradients_of_zero() -> None:
    x = T.dvector("x")
    assert theano.function([x], theano.grad(T.argmax(x) * 2.0, x))([1, 3]).tolist() == [0, 0]


def test_missing_test_values_are_value_errors() -> None:
    x = T.dvector("x")
    with (
        theano.config.change_flags(compute_test_value="raise"),
        pytest.raises(ValueError, match="test value"),
    ):
        x + 1


@pytest.mark.parametrize("points", [1, 2, 5, 8])
def test_bartlett_windows_are_numpys(points: int) -> None:
    n = T.iscalar("n")
    window = theano.function([n], T.extra_ops.cpu_contiguous(T.bartlett(n)))(points)
    np.testing.assert_allclose(window, np.bartlett(points), atol=1e-15)
    assert window.dtype == np.float64


def test_shared_variables_of_a_programs_own_kind() -> None:
    class Own(theano.SharedVariable):
        pass

    def made(value: Any, name: Any = None, strict: Any = False, allow_downcast: Any = None) -> Any:
        if not isinstance(value, Fraction):
            raise TypeError("no fraction")
        return Own(name, theano.Generic(), value)

    theano.compile.shared_constructor(made)
    try:
        assert type(theano.shared(Fraction(1, 2))) is Own
        assert type(theano.shared("text")) is theano.SharedVariable
    finally:
        theano.compile.shared_constructor(made, remove=True)
    assert type(theano.shared(Fraction(1, 2))) is theano.SharedVariable


def test_raise_raises_when_it_is_computed() -> None:
    x = T.dscalar()
    chosen = theano.ifelse.ifelse(x > 0, theano.raise_op.Raise("positive", KeyError)(x), x)
    f = theano.function([x], chosen)
    assert f(-1.0) == -1
    with pytest.raises(KeyError, match="positive"):
        f(1.0)


def test_some_outputs_of_a_function() -> None:
    x = T.dscalar("x")
    assert theano.function([x], [x, x**2, x**3])(3.0, output_subset=[2, 0]) == [27, 3]
    assert theano.function([x], {"a": x, "b": x * 2})(x=2.0, output_subset=["b"]) == {"b": 4}


def test_a_monitor_sees_inputs_before_and_outputs_after() -> None:
    x, seen = T.dscalar("x"), []
    mode = theano.compile.MonitorMode(
        pre_func=lambda i, node, fn: seen.append([cell[0] for cell in (*fn.inputs, *fn.outputs)]),
        post_func=lambda i, node, fn: seen.append([cell[0] for cell in fn.outputs]),
    ).excluding("local_elemwise_fusion", "inplace")
    assert theano.function([x], 5 * x, mode=mode)(3) == 15
    assert seen == [[5, 3, None], [15]]


def test_formulas_of_indices_and_powers() -> None:
    x, m, k = T.dscalar("x"), T.dmatrix("m"), T.iscalar("k")
    assert theano.pp(m[1:, ::2]) == "m[int64:, ::int64]"
    assert theano.pp(m.T[0]) == "m.T[Constant{0}]"
    assert theano.pp(m[k]) == "m[ScalarFromTensor(k)]"
    assert theano.pp(T.grad(x**2, x)) == (
        "((fill((x ** TensorConstant{2}), TensorConstant{1.0}) * TensorConstant{2})"
        " * (x ** (TensorConstant{2} - TensorConstant{1})))"
    )


@pytest.mark.parametrize("exponent", [2, -128, 0.5, 0, 1, -1])
def test_gradients_of_powers(exponent: float) -> None:
    x = T.dvector("x")
    f = theano.function([x], T.grad((x**exponent).sum(), x))
    np.testing.assert_allclose(f([1.5, 2.0]), exponent * np.array([1.5, 2.0]) ** (exponent - 1.0))
    powers = theano.function([x], T.grad((int(exponent) ** x).sum(), x))
    if exponent > 0:
        base = float(int(exponent)) or 1.0
        expected = np.log(base) * base ** np.array([1.5, 2.0])
        np.testing.assert_allclose(powers([1.5, 2.0]), expected if int(exponent) else [0, 0])


def test_choices_beyond_the_last_are_errors() -> None:
    a, c = T.ivector("a"), T.dmatrix("c")
    out = T.choose(a, c)
    f = theano.function([a, c], [out, T.grad((out**2).sum(), c)])
    value, gradient = f(np.array([0, 1], "int32"), [[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(value, [1, 4])
    np.testing.assert_array_equal(gradient, [[2, 0], [0, 8]])
    with pytest.raises(ValueError, match="invalid entry in choice array"):
        f(np.array([0, 2], "int32"), [[1.0, 2.0], [3.0, 4.0]])
    listed = theano.function([a, c], T.choose(a, [c[0], c[1].sum(), T.constant(7)]))
    np.testing.assert_array_equal(
        listed(np.array([1, 2], "int32"), [[1.0, 2.0], [3.0, 4.0]]), [7, 7]
    )


def test_counts_have_the_dtype_of_what_is_counted() -> None:
    for variable in (T.bvector(), T.ivector(), T.lvector()):
        assert T.bincount(variable).dtype == variable.dtype


def test_shapes_of_results_are_known_without_the_results() -> None:
    x, v, k = T.dmatrix("x"), T.dvector("v"), T.iscalar("k")
    made = [
        T.dot(x, v), x.sum(axis=0), T.concatenate([x, x], axis=1), T.alloc(v, k, v.shape[0]),
        x.reshape((x.shape[1], x.shape[0])), T.set_subtensor(x[0], 1), x.argsort(), T.sort(x),
        T.repeat(x, 3, axis=0), T.nnet.softmax(x), T.signal.pool.pool_2d(x, (2, 2), True),
    ]  # fmt: skip
    values = [np.ones((3, 4)), np.ones(4), 5]
    for y in made:
        shape = theano.function([x, v, k], y.shape, on_unused_input="ignore")
        result = theano.function([x, v, k], y, on_unused_input="ignore")(*values)
        assert tuple(shape(*values)) == result.shape, y
        ran = {type(node.op) for node in shape.maker.fgraph.toposort()}
        assert type(y.owner.op) not in ran, y


def test_a_program_says_what_shapes_its_operation_gives() -> None:
    class Widened(Doubled):
        """An operation with a shape of its own."""

        def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
            raise AssertionError("only the shape is needed")

        def infer_shape(self, node: Any, shapes: Any) -> Any:
            return [(shapes[0][0] * 2,)]

    x = T.dvector("x")
    assert theano.function([x], Widened()(x).shape)([1.0, 2.0]).tolist() == [4]

    @theano.as_op([T.dvector], [T.dvector], infer_shape=lambda node, shapes: [(shapes[0][0] + 1,)])
    def longer(x: Any) -> Any:
        raise AssertionError("only the shape is needed")

    assert theano.function([x], longer(x).shape)([1.0, 2.0]).tolist() == [3]


def test_variables_have_the_methods_of_arrays_though_they_know_their_lines() -> None:
    x = T.dmatrix("x")
    assert theano.function([x], x.trace())(np.eye(3)) == 3
    assert theano.function([x], T.dscalar().size + x.size)(np.eye(3)) == 10


def test_what_is_not_ordered_is_refused() -> None:
    z, a = T.zvector("z"), T.dscalar()
    for build in (lambda: z > 1, lambda: T.clip(z, a, a), lambda: T.ceil(z)):
        with pytest.raises(TypeError, match="not ordered"):
            build()
    with pytest.raises(theano.scalar.ComplexError):
        z % 5


def test_numbers_in_expressions_are_found() -> None:
    c, x = T.constant(np.arange(6.0).reshape(2, 3)), T.dvector("x")
    for expression, number in (
        (c[1, 2], 5), (T.stack([1, 2, 3])[1], 2), (T.constant(c.data).shape[1], 3),
        (T.opt.Assert()(T.constant(2), T.constant(1) > 0), 2), (T.fill(x, 7), 7),
    ):  # fmt: skip
        assert T.get_scalar_constant_value(expression) == number
    with pytest.raises(T.NotScalarConstantError):
        T.get_scalar_constant_value(x[0])
    with pytest.raises(T.EmptyConstantError):
        T.get_scalar_constant_value(np.array([]))
    rows, columns = T.dtensor3().shape[1:]
    assert rows.ndim == columns.ndim == 0


def test_finite_differences_know_dimensions_that_are_repeated() -> None:
    theano.gradient.verify_grad(T.add, [np.ones((3, 1)), np.ones((3, 4))], rng=np.random)


def test_inputs_cannot_be_replaced_and_updates_left_out_are_listed() -> None:
    x, s = T.dscalar("x"), theano.shared(1.0)
    with pytest.raises(RuntimeError, match="is an input"):
        theano.function([x], x * 2, givens={x: x + 1})
    for wrong in (s, (s,), "s"):
        with pytest.raises(TypeError, match="no_default_updates"):
            theano.function([x], x * s, no_default_updates=wrong)


def test_what_only_a_condition_depends_on_has_zeros_for_a_gradient() -> None:
    w, x = theano.shared(np.ones(3), "w"), T.dvector("x")
    gradient = theano.grad(ifelse(T.gt(T.dot(w, x), 0), x.sum(), -x.sum()), w)
    assert theano.function([x], gradient)([1.0, 2.0, 3.0]).tolist() == [0.0] * 3
    a, b = T.dscalars("a", "b")
    zero = theano.grad(a * 2, b, disconnected_inputs="ignore")
    assert theano.function([b], zero)(1.0) == 0


def test_values_with_another_gradient_cost_nothing_in_a_function() -> None:
    x, gradient = T.dvector("x"), theano.gradient
    kept = [
        gradient.grad_clip(x, -1, 1), gradient.grad_scale(x, 2.0), gradient.zero_grad(x),
        gradient.disconnected_grad(x), gradient.consider_constant(x), gradient.undefined_grad(x),
    ]  # fmt: skip
    f = theano.function([x], [T.exp(v) for v in kept])
    assert len(f.maker.fgraph.toposort()) == 1
    clipped = theano.function([x], theano.grad((gradient.grad_clip(x, -1, 1) ** 2).sum(), x))
    assert clipped([0.25, 3.0]).tolist() == [0.5, 1.0]


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_writing_in_place_changes_no_input_and_no_constant(mode: str) -> None:
    z = theano.shared(np.array([1 + 1j, 1 + 1j]))
    x = T.TensorType("float64", (True,))("x")
    slope = T.grad(T.log(1.0 - T.nnet.sigmoid(x))[0], x)
    filled = T.inc_subtensor(T.fill(T.exp(x), np.zeros(1))[0], 2.0)
    part = T.inc_subtensor(T.real(z)[0], 5.0)
    f = theano.function([x], [slope, filled, part], mode=mode)
    for _ in range(2):
        found = f([0.0])
        assert [v.tolist() for v in found] == [[-0.5], [2.0], [6.0, 1.0]]
    assert z.get_value().tolist() == [1 + 1j, 1 + 1j]


def test_special_functions_count_their_arguments() -> None:
    x = T.dvector("x")
    for function, wrong in ((T.gamma, (x, x)), (T.j0, (x, x)), (T.jv, (x, x, x)),
                            (T.gammainc, (x,)), (T.erfcx, (x, x))):  # fmt: skip
        with pytest.raises(TypeError, match="Wrong number of inputs"):
            function(*wrong)


def test_functions_of_eval_are_kept() -> None:
    x = T.dscalar("x")
    y = x * 2
    assert y.eval({x: 1.0}) == 2
    (kept,) = y._fn_cache.values()
    assert y.eval({x: 3.0}) == 6
    assert list(y._fn_cache.values()) == [kept]
    assert "_fn_cache" not in vars(pickle.loads(pickle.dumps(y)))


def test_numbers_that_fit_no_index() -> None:
    with pytest.raises(TypeError, match="fit into int64, got 9223372036854775808"):
        T.dvector()[: 2**63]
    state = T.raw_random.random_state_type()
    assert T.raw_random.permutation(state, n=10, ndim=1)[1].ndim == 1
    with pytest.raises(TypeError, match="got ndim = 2"):
        T.raw_random.permutation(state, n=10, ndim=2)
