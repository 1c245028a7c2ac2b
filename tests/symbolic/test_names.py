"""Names of Theano that stand for expressions, and rarer operations on elements."""

from __future__ import annotations

import functools
import hashlib
import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert.symbolic as theano
from wengert.symbolic import printing, scalar
from wengert.symbolic import tensor as T


def test_conversions_have_names() -> None:
    x = T.dvector("x")
    for dtype in ("int8", "uint16", "float32", "complex128"):
        out = getattr(scalar, f"convert_to_{dtype}")(x)
        assert out.dtype == getattr(T.basic, f"_convert_to_{dtype}")(x).dtype == dtype
        assert out.eval({x: [1.5]}).dtype == dtype


def test_operations_by_class() -> None:
    x, i = T.dmatrix("x"), T.lvector("i")
    found = theano.function([x, i], [
        T.Tile(2)(x, (1, 2)), T.Choose("clip")(i, x), T.PermuteRowElements()(x, i, 0),
        T.AllocEmpty("float32")(2, i[0]), T.inplace.transpose_inplace(x),
    ])([[1.0, 2.0], [3.0, 4.0]], [1, 0])  # fmt: skip
    assert [v.tolist() for v in found] == [
        [[1, 2, 1, 2], [3, 4, 3, 4]], [3, 2], [[2, 1], [4, 3]], [[0], [0]], [[1, 3], [2, 4]],
    ]  # fmt: skip
    assert T.is_flat(i)
    assert not T.is_flat(x)
    assert T.is_flat(x, ndim=2)


def test_shapes_by_the_names_of_compile() -> None:
    x = T.dmatrix("x")
    ops = theano.compile.ops
    found = theano.function([x], [
        ops.Shape()(x), ops.shape(x), ops.Shape_i(1)(x), theano.compile.Shape_i(0)(x),
        theano.compile.specify_shape(x, (2, 3)).sum(), theano.compile.SpecifyShape()(x, [2, 3])[0],
        ops.Rebroadcast((0, False))(x)[:, 0],
    ])(np.ones((2, 3)))  # fmt: skip
    assert [v.tolist() for v in found] == [[2, 3], [2, 3], 3, 2, 6, [1, 1, 1], [1, 1]]


def test_reductions_get_their_dimensions_back() -> None:
    x = T.dmatrix("x")
    for axis in (0, -1, (0, 1), None):
        kept = T.makeKeepDims(x, x.sum(axis=axis), axis)
        assert kept.broadcastable == x.sum(axis=axis, keepdims=True).broadcastable


def test_ranges_of_elements() -> None:
    x = T.dvector("x")
    closed, open_ = T.Elemwise(scalar.inclosedrange), T.Elemwise(scalar.inopenrange)
    found = theano.function([x], [closed(x, 1.0, 2.0), open_(x, 1.0, 2.0)])([1.0, 1.5, 2.0, 3.0])
    assert [v.tolist() for v in found] == [[True, True, True, False], [False, True, False, False]]
    assert T.grad((closed(x, 1.0, 2.0) * x).sum(), x).eval({x: [1.5, 3.0]}).tolist() == [1, 0]
    assert pickle.loads(pickle.dumps(scalar.inopenrange)) == scalar.inopenrange
    assert scalar.inopenrange != scalar.inclosedrange


def test_types_of_results() -> None:
    assert scalar.upcast_out_min8(scalar.bool, scalar.bool) == (scalar.int8,)
    assert scalar.real_out(scalar.complex64) == (scalar.float32,)
    for rule in (scalar.upcast_out_no_complex, scalar.float_out_nocomplex,
                 scalar.int_out_nocomplex):  # fmt: skip
        with pytest.raises(TypeError, match="complex argument not supported"):
            rule(scalar.complex64)
    with pytest.raises(TypeError, match="bool input not supported"):
        scalar.same_out_nobool(scalar.bool)
    np.testing.assert_array_equal(
        scalar.round_half_away_from_zero_vec(np.array([0.5, -1.5])), [1, -2]
    )


def test_arrays_are_read_when_a_function_runs(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.array([1, 2], np.int32))
    name = theano.generic("name")
    f = theano.function([name], T.load(name, "int32", (False,), mmap_mode="c") * 2)
    assert f(path).tolist() == [2, 4]
    mapped = theano.function([name], T.load(name, "int32", (False,), mmap_mode="c"))(path)
    assert isinstance(mapped, np.memmap)
    with pytest.raises(TypeError, match="Expected dtype float32, got int32"):
        T.load(path, "float32", (False,)).eval()
    with pytest.raises(ValueError, match="mmap_mode is None or"):
        T.load(path, "int32", (False,), mmap_mode="r+")


def test_names_of_nnet() -> None:
    x = T.dmatrix("x")
    out = T.nnet.prepend_1_to_each_row(x)
    assert out.eval({x: [[2.0], [3.0]]}).tolist() == [[1, 2], [1, 3]]
    assert isinstance(T.nnet.scalar_sigmoid(x).owner.op.scalar_op, T.nnet.sigm.ScalarSigmoid)
    assert theano.configdefaults.local_bitwidth() in (32, 64)
    assert theano.configdefaults.python_int_bitwidth() in (32, 64)


def test_splits_and_repetitions_that_do_not_fit() -> None:
    x, sizes = T.dvector("x"), T.lvector("sizes")
    with pytest.raises(ValueError, match="negative number of elements"):
        theano.function([x, sizes], T.split(x, sizes, 2))([1.0, 2.0], [3, -1])
    with pytest.raises(AssertionError, match="equal or less than ndim"):
        T.tile(x, sizes, ndim=2).eval({x: [1.0], sizes: [1, 2, 3]})
    assert T.get_scalar_constant_value(T.scalar_from_tensor(T.drow().shape[0])) == 1


def test_small_containers() -> None:
    frozen, ordered = (theano.misc.frozendict.frozendict, theano.misc.ordered_set.OrderedSet)
    pairs = frozen({"a": 1}).copy(b=2)
    assert (pairs, hash(pairs)) == ({"a": 1, "b": 2}, hash(frozen(b=2, a=1)))
    with pytest.raises(TypeError, match="assignment"):
        pairs["a"] = 3
    elements = ordered([3, 1])
    elements.update([2, 1])
    elements.discard(3)
    assert (list(elements), elements == {1, 2}, elements == ordered([2, 1])) == (
        [1, 2],
        True,
        False,
    )


def test_files_of_arrays_and_pickles() -> None:
    from wengert.symbolic.misc import pkl_utils

    array, file = np.arange(3), io.BytesIO()
    w, again, unnamed = (
        theano.shared(np.full(2, v), n) for v, n in ((1.0, "w"), (2.0, "w"), (3.0, None))
    )
    pkl_utils.dump({"all": [w, again, unnamed, array], "first": array}, file)
    file.seek(0)
    found = np.load(file)
    assert sorted(found) == ["array_0", "array_1", "pkl", "w", "w_2"]
    assert (found["w_2"].tolist(), found["array_0"].tolist()) == ([2, 2], [3, 3])
    loaded = pkl_utils.load(file)
    assert [v.get_value().tolist() for v in loaded["all"][:3]] == [[1, 1], [2, 2], [3, 3]]
    assert loaded["first"] is loaded["all"][3]
    for pair, options in (
        ([w, again], {"allow_duplicates": False}),
        ([unnamed], {"allow_unnamed": False}),
    ):
        named = functools.partial(pkl_utils.PersistentSharedVariableID, **options)
        with pytest.raises(ValueError, match=r"shared variables (are called 'w'|need names)"):
            pkl_utils.dump(pair, io.BytesIO(), persistent_id=named)
    x, stripped = T.dvector("x"), io.BytesIO()
    x.tag.note, x.tag.kept = "long", 1
    pkl_utils.StripPickler(stripped, -1, extra_tag_to_remove=["note"]).dump(x)
    assert vars(pickle.loads(stripped.getvalue()).tag) == {"kept": 1}
    old = b"\x80\x02U\x01\xe9q\x00."  # a string of Python 2
    assert pkl_utils.CompatUnpickler(io.BytesIO(old)).load() == "é"


class Program:
    """Something of a program's own."""

    def __reduce__(self) -> Any:
        return (print, ("run by a file",))


def test_files_of_pickles_run_no_code(capsys: pytest.CaptureFixture[str]) -> None:
    from wengert.serialization import safe_globals
    from wengert.symbolic.misc import pkl_utils

    x, w = T.dmatrix("x"), theano.shared(np.ones((2, 2)), "w")
    noise = T.shared_randomstreams.RandomStreams(1).normal((2,))
    total, _ = theano.scan(lambda a, b: a + b, sequences=x, outputs_info=T.zeros(2))
    f = theano.function([x], [T.nnet.softmax(x.dot(w)) + noise, total], updates=[(w, w * 2)])
    file = io.BytesIO()
    pkl_utils.dump(f, file)
    assert len(pkl_utils.load(file)(np.ones((3, 2)))) == 2
    for protocol in (0, 2, 5):
        bad = io.BytesIO()
        pkl_utils.dump(Program(), bad, protocol)
        with pytest.raises(pickle.UnpicklingError, match=r"names \w+\.print, which"):
            pkl_utils.load(bad)
    assert not capsys.readouterr().out
    with safe_globals([print]):
        pkl_utils.load(bad)
    assert capsys.readouterr().out == "run by a file\n"


def test_values_are_described_by_their_digests() -> None:
    a = np.arange(6.0).reshape(2, 3)
    digest = hashlib.sha256(a.tobytes()).hexdigest()
    assert printing.hex_digest(a) == f"{digest}|strides=[24,8]|shape=[2,3]"
    assert printing.var_descriptor(a) == f"A=<ndarray:strides=[24,8],digest={digest}>"
    assert printing.hex_digest(a.T) != printing.hex_digest(a.T.copy())
    x = T.dvector("x")
    first, *_, last = printing.debugprint(T.exp(x) + x, file="str", ids="int").splitlines()
    assert ("[id 0]" in first, "[id 2]" in last) == (True, True)


def test_hashes_of_classes_are_found_where_operations_look() -> None:
    assert T.hashtype(T.dvector) == theano.gof.hashtype(T.fvector)
    assert isinstance(T.dvector().max().owner.op, T.CAReduce | T.MaxAndArgmax)


def test_digests_and_shapes_of_graphs() -> None:
    a = np.arange(6.0).reshape(2, 3)
    digest = T.utils.hash_from_ndarray
    assert digest(a[:, ::2]) == digest(a[:, ::2].copy())
    assert len({digest(v) for v in (a, a.T, a[1:], a.reshape(6), np.zeros((1, 0)))}) == 5
    x, k = T.dmatrix("x"), T.iscalar("k")
    y = T.dot(x, x.T)
    graph = theano.FunctionGraph([x, k], [y + k], clone=False)
    shapes = T.utils.shape_of_variables(graph, {x: (2, 3), k: ()})
    assert (shapes[x], shapes[y], shapes[k]) == ((2, 3), (2, 2), ())
    with pytest.raises(ValueError, match="no inputs of the graph"):
        T.utils.shape_of_variables(graph, {T.dmatrix("z"): (1, 1), x: (2, 3), k: ()})


def test_orders_names_and_equality_of_graphs(tmp_path: Path) -> None:
    needs = {"a": ["b", "c"], "b": ["c"], "c": [], "d": ["d"]}
    assert theano.gof.graph.general_toposort(["a"], needs.get) == ["c", "b", "a"]
    with pytest.raises(ValueError, match="cycles"):
        theano.gof.graph.general_toposort(["d"], needs.get)
    names = theano.gof.utils.give_variables_names([T.dscalar(), T.dscalar("x"), T.dscalar("x")])
    assert [v.name for v in names] == ["_0", "x_1", "x_2"]
    with pytest.raises(ValueError, match="unique names"):
        theano.gof.utils.give_variables_names([T.dscalar("_0"), T.dscalar()])
    x, y, z = T.dvectors("x", "y", "z")
    product, same = x * y, theano.gof.graph.is_same_graph
    assert same(product * 2, z * 2, givens={product: z})
    assert same(x * 2, y * 2, givens=[(y, x)])
    assert not same(x * 2, y * 3, givens={y: x})
    (tmp_path / "text").write_text("words")
    digests = theano.gof.utils
    assert digests.hash_from_file(str(tmp_path / "text")) == digests.hash_from_code("words")


def test_operations_that_draw_by_uniform_numbers() -> None:
    from wengert.symbolic.sandbox import rng_mrg

    p, u = T.dmatrix("p"), T.dvector("u")
    counts = rng_mrg.MultinomialFromUniform(odtype="auto")(p, u)
    chosen = rng_mrg.ChoiceFromUniform(odtype="auto")(p, u, 1)
    found = theano.function([p, u], [counts, chosen])([[0.2, 0.8], [0.6, 0.4]], [0.5, 0.5])
    assert [v.tolist() for v in found] == [[[0, 1], [1, 0]], [[1], [0]]]
