"""Functions of nn.functional where a row will not do: constant tensors beside inputs, buffers,
warnings, and derivatives that PyTorch defines otherwise than the limit of differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import numpy as np
import pytest

import wengert
from tests.ops.calls import lookup, numeric, to_numpy
from tests.ops.rows import all_rows

F = "nn.functional."
Rng = np.random.Generator


@dataclass(frozen=True)
class Case:
    """A call with inputs that want gradients and constants (arrays by keyword) that want none."""

    name: str
    shapes: tuple[tuple[int, ...], ...]
    constants: dict[str, Any] = field(default_factory=dict)
    low: float | None = None
    second: bool = True

    def inputs(self) -> list[np.ndarray]:
        rng = np.random.default_rng(len(self.name))
        if self.low is None:
            return [rng.standard_normal(s) for s in self.shapes]
        return [rng.uniform(self.low, 1 - self.low, s) for s in self.shapes]

    def __str__(self) -> str:
        return "-".join([self.name, *map(str, self.constants)])


def run(library: Any, case: Case) -> list[np.ndarray]:
    """The result, its gradients, and the gradients of a norm of those."""
    leaves = [library.from_numpy(a.copy()).requires_grad_() for a in case.inputs()]
    constants = {
        k: library.from_numpy(v.copy()) if isinstance(v, np.ndarray) else v
        for k, v in case.constants.items()
    }
    # Integer arrays by the name of a position come after the inputs.
    positional = [constants.pop(k) for k in list(constants) if k.startswith("position")]
    out = lookup(library, F + case.name)(*leaves, *positional, **constants)
    weights = library.from_numpy(np.cos(np.arange(out.numel())).reshape(tuple(out.shape)))
    first = library.autograd.grad((out * weights).sum(), leaves, create_graph=True)
    found = [to_numpy(x) for x in (out, *first)]
    norm = sum((g * g).sum() for g in first)
    if not case.second or not norm.requires_grad:
        return found
    second = library.autograd.grad(norm, leaves, allow_unused=True)
    return found + [np.zeros(1) if g is None or not g.any() else to_numpy(g) for g in second]


CLASSES, WEIGHT = np.array([1, 0, 3]), np.array([0.5, 1.0, 2.0, 0.1])
MAPS = np.array([[[0, 1], [2, -100]], [[3, 3], [1, 0]]])
GRID = np.arange(12.0).reshape(3, 4)
RUNNING = {"running_mean": np.array([0.1, 0.2, 0.3]), "running_var": np.array([1.0, 0.5, 2.0])}
INDEX = np.array([[1, 0, 3], [1, 1, 4]])


def weighted(name: str, **options: Any) -> list[Case]:
    return [
        case
        for r in ("none", "sum", "mean")
        for case in (
            Case(name, ((3, 4),), {"position": CLASSES, "weight": WEIGHT, "reduction": r,
                                   "ignore_index": 0, **options}),
            Case(name, ((2, 4, 2, 2),), {"position": MAPS, "weight": WEIGHT, "reduction": r,
                                         **options}),
        )
    ]  # fmt: skip


CASES = [
    *weighted("nll_loss"),
    *weighted("cross_entropy"),
    *weighted("cross_entropy", label_smoothing=0.3),
    Case("cross_entropy", ((3, 4), (3, 4)), {"weight": WEIGHT, "label_smoothing": 0.1}),
    Case("cross_entropy", ((3, 4), (3, 4)), {"weight": WEIGHT, "reduction": "none"}),
    Case(
        "multi_margin_loss",
        ((3, 4),),
        {"position": CLASSES, "p": 2, "weight": WEIGHT},
        second=False,
    ),  # PyTorch has none
    Case("mse_loss", ((3, 4), (3, 4)), {"weight": GRID}),
    Case("mse_loss", ((3, 4), (3, 4)), {"weight": GRID, "reduction": "sum"}),
    Case("l1_loss", ((3, 4), (3, 4)), {"weight": GRID, "reduction": "none"}, second=False),
    Case("huber_loss", ((3, 4), (3, 4)), {"weight": GRID}),
    Case("binary_cross_entropy", ((3, 4), (3, 4)), {"weight": WEIGHT}, low=0.05),
    Case("binary_cross_entropy_with_logits", ((3, 4), (3, 4)), {"weight": WEIGHT}),
    Case("binary_cross_entropy_with_logits", ((3, 4), (3, 4)), {"pos_weight": WEIGHT}),
    Case("multilabel_soft_margin_loss", ((3, 4), (3, 4)), {"weight": WEIGHT}),
    Case("batch_norm", ((4, 3, 2, 5),), RUNNING),
    Case("batch_norm", ((4, 3),), RUNNING),
    Case("batch_norm", ((4, 3, 5),), {**RUNNING, "weight": np.arange(3.0), "bias": np.ones(3)}),
    Case("batch_norm", ((4, 3, 5),), {**RUNNING, "training": True, "momentum": 0.3}),
    Case("instance_norm", ((4, 3, 5),), RUNNING),
    Case("instance_norm", ((4, 3, 5),), {**RUNNING, "use_input_stats": False}),
    Case("local_response_norm", ((2, 5, 3),), {"size": 3}),
]


@pytest.mark.torch
@pytest.mark.parametrize("case", CASES, ids=str)
def test_equals_torch_to_second_order(case: Case, torch: Any) -> None:
    for a, b in zip_longest(run(wengert, case), run(torch, case), fillvalue=np.zeros(1)):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


@pytest.mark.torch
@pytest.mark.parametrize("options", [
    {"padding_idx": -4}, {"scale_grad_by_freq": True},
    {"scale_grad_by_freq": True, "padding_idx": 0},
], ids=str)  # fmt: skip
def test_rows_of_an_embedding_count_as_in_torch(options: dict[str, Any], torch: Any) -> None:
    """A row of padding gets no gradient, and frequent rows may be divided by how often."""
    found = []
    for library in (wengert, torch):
        table = library.from_numpy(np.arange(15.0).reshape(5, 3)).requires_grad_()
        out = lookup(library, F + "embedding")(library.from_numpy(INDEX), table, **options)
        (out * library.arange(18.0).reshape(2, 3, 3)).sum().backward()
        found.append((to_numpy(out), to_numpy(table.grad)))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs)


def test_embedding_rules_are_each_others_adjoints() -> None:
    rng = np.random.default_rng(0)
    index = wengert.from_numpy(INDEX)
    table = wengert.from_numpy(rng.standard_normal((5, 3))).requires_grad_()
    seed = wengert.from_numpy(rng.standard_normal((2, 3, 3))).requires_grad_()
    out = wengert.nn.functional.embedding(index, table, padding_idx=1, scale_grad_by_freq=True)
    (pulled,) = wengert.autograd.grad(out, table, seed, create_graph=True)
    direction = wengert.from_numpy(rng.standard_normal((5, 3)))
    (back,) = wengert.autograd.grad((pulled * direction).sum(), seed)
    np.testing.assert_allclose((back * seed).sum().item(), (pulled * direction).sum().item())


@pytest.mark.torch
def test_embedding_shortens_long_rows_in_place(torch: Any) -> None:
    tables = []
    for library in (wengert, torch):
        table = library.from_numpy(np.arange(15.0).reshape(5, 3))
        lookup(library, F + "embedding")(library.from_numpy(INDEX), table, max_norm=4.0)
        tables.append(to_numpy(table))
    np.testing.assert_allclose(*tables, rtol=1e-7)


@pytest.mark.torch
@pytest.mark.parametrize("name", ["batch_norm", "instance_norm"])
def test_running_statistics_follow_torchs(name: str, torch: Any) -> None:
    values = np.random.default_rng(0).standard_normal((4, 3, 5))
    found = []
    for library in (wengert, torch):
        mean, var = (library.from_numpy(v.copy()) for v in RUNNING.values())
        options = {"training": True} if name == "batch_norm" else {}
        lookup(library, F + name)(library.from_numpy(values), mean, var, momentum=0.3, **options)
        found.append((to_numpy(mean), to_numpy(var)))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs)


def test_statistics_stay_when_the_call_fails() -> None:
    mean, var = wengert.zeros(3), wengert.ones(3)
    with pytest.raises(RuntimeError):
        wengert.nn.functional.batch_norm(
            wengert.ones(4, 3), mean, var, weight=wengert.ones(2), training=True
        )
    assert (mean == 0).all()
    assert (var == 1).all()


HALVES = ["conv2d", "linear", "layer_norm", "batch_norm", "avg_pool2d", "max_pool2d"]


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", HALVES)
def test_half_precision_rounds_once(name: str, dtype: str, torch: Any) -> None:
    rng = np.random.default_rng(0)
    args = {
        "conv2d": [(2, 3, 5, 5), (4, 3, 3, 3)], "linear": [(2, 5), (3, 5)],
        "layer_norm": [(2, 6)], "batch_norm": [(4, 3, 5)], "avg_pool2d": [(2, 3, 5, 5)],
        "max_pool2d": [(2, 3, 5, 5)],
    }[name]  # fmt: skip
    more = {
        "layer_norm": ((6,),), "batch_norm": (None, None, None, None, True), "avg_pool2d": (3,),
        "max_pool2d": (3,),
    }.get(name, ())  # fmt: skip
    arrays = [rng.standard_normal(s).astype(np.float32) for s in args]
    found = []
    for library in (wengert, torch):
        kind = getattr(library, dtype)
        leaves = [library.from_numpy(a.copy()).to(kind).requires_grad_() for a in arrays]
        out = lookup(library, F + name)(*leaves, *more)
        assert str(out.dtype) == f"torch.{dtype}"
        (out.float() ** 2).sum().backward()
        found.append([to_numpy(x.detach().float()) for x in (out, *(v.grad for v in leaves))])
    tolerance = 4e-3 if dtype == "float16" else 3e-2  # a few units in the last place
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * 4)


@pytest.mark.torch
@pytest.mark.parametrize("values", [[1.0, np.nan, 2.0, 3.0], [np.nan] * 4, [-np.inf] * 4])
def test_max_pooling_of_nan_and_infinity(values: list[float], torch: Any) -> None:
    array = np.array(values).reshape(1, 1, 2, 2)
    for options in ({}, {"padding": 1}):
        ours, theirs = (
            lookup(library, F + "max_pool2d")(
                library.from_numpy(array), 2, return_indices=True, **options
            )
            for library in (wengert, torch)
        )
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(to_numpy(a), to_numpy(b))


@pytest.mark.torch
@pytest.mark.parametrize("dilation", [1, 2])
def test_same_padding_of_an_even_kernel(dilation: int, torch: Any) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((2, 3, 7)), rng.standard_normal((4, 3, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns that it copies
        ours, theirs = (
            lookup(library, F + "conv1d")(
                library.from_numpy(x), library.from_numpy(w), padding="same", dilation=dilation
            )
            for library in (wengert, torch)
        )
    np.testing.assert_allclose(to_numpy(ours), to_numpy(theirs))


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
def test_losses_warn_of_broadcasting(name: str) -> None:
    loss: Callable[..., Any] = getattr(wengert.nn.functional, name)
    with pytest.warns(UserWarning, match=r"Using a target size \(torch.Size\(\[3\]\)\)") as found:
        loss(wengert.ones(2, 3), wengert.ones(3))
    assert found[0].filename == __file__


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
def test_one_number_counts_for_the_dtype_of_a_loss(name: str, torch: Any) -> None:
    for reduction in ("none", "sum"):
        ours, theirs = (
            lookup(library, F + name)(
                library.tensor(2.0, dtype=library.float64), library.ones(3), reduction=reduction
            )
            for library in (wengert, torch)
        )
        assert str(theirs.dtype) == f"torch.{ours.dtype.name}" == "torch.float64"
        np.testing.assert_allclose(to_numpy(ours), to_numpy(theirs))


@pytest.mark.parametrize("number", [np.float64(0.5), np.float32(0.5), np.int64(2)])
def test_numbers_of_numpy_leave_the_dtype(number: Any) -> None:
    functional, x = wengert.nn.functional, wengert.tensor([-1.0, 2.0])
    for name in ("elu", "celu"):
        function = getattr(functional, name)
        ours = function(x, number)
        assert ours.dtype is wengert.float32
        np.testing.assert_array_equal(ours.numpy(), function(x, number.item()).numpy())
    beta = wengert.tensor(0.5, dtype=wengert.float64)
    assert functional.smooth_l1_loss(x, x + 1, beta=beta).dtype is wengert.float32


def test_kl_div_warns_of_its_mean() -> None:
    with pytest.warns(UserWarning, match="batchmean"):
        wengert.nn.functional.kl_div(wengert.zeros(2, 3), wengert.ones(2, 3))


@pytest.mark.torch
def test_means_of_nothing(torch: Any) -> None:
    for library in (wengert, torch):
        cross_entropy = lookup(library, F + "cross_entropy")
        scores, none = library.zeros(2, 3), library.zeros(0, dtype=library.int64)
        ignored = library.full((2,), -100)
        assert cross_entropy(scores, ignored).isnan().item()
        assert cross_entropy(scores[:0], none).isnan().item()
        assert cross_entropy(scores[:0], none, reduction="sum").item() == 0


@pytest.mark.torch
@pytest.mark.parametrize("name", ["cross_entropy", "nll_loss"])
def test_an_infinite_loss_that_is_ignored_counts_for_nothing(name: str, torch: Any) -> None:
    scores, target = np.array([[-np.inf, 1.0, 2.0], [0.0, 1.0, 2.0]]), np.array([-100, 1])
    values = []
    for library in (wengert, torch):
        x, t = library.from_numpy(scores.copy()), library.from_numpy(target)
        loss = lookup(library, F + name)
        values.append([*loss(x, t, reduction="none"), library.vmap(loss)(x[None], t[None])[0]])
    np.testing.assert_allclose(*[[float(v) for v in row] for row in values])


@pytest.mark.torch
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_ctc_loss_of_scores(reduction: str, torch: Any) -> None:
    """Gradients through a log_softmax and without one; an impossible target has none."""
    scores = np.random.default_rng(0).standard_normal((6, 3, 4))
    labels = np.array([[1, 2, 2], [3, 1, 0], [1, 1, 1]])
    for normalise in (True, False):
        found = []
        for library in (wengert, torch):
            x = library.from_numpy(scores).log_softmax(2).detach().requires_grad_()
            logs = x.log_softmax(2) if normalise else x
            loss = lookup(library, F + "ctc_loss")(
                logs, library.from_numpy(labels), (6, 5, 4), (3, 2, 3), reduction=reduction,
                zero_infinity=True,
            )  # fmt: skip
            (loss * loss).sum().backward()
            found.append((to_numpy(loss), to_numpy(x.grad)))
        for ours, theirs in zip(*found, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_ctc_loss_to_second_order() -> None:
    rng = np.random.default_rng(0)
    scores, direction = rng.standard_normal((2, 5, 1, 3))
    labels, lengths = wengert.tensor([[1, 1]]), (wengert.tensor([5]), wengert.tensor([2]))

    def slope(arrays: list[np.ndarray]) -> tuple[Any, Any]:
        x = wengert.from_numpy(arrays[0]).requires_grad_()
        loss = wengert.nn.functional.ctc_loss(x.log_softmax(2), labels, *lengths)
        (g,) = wengert.autograd.grad(loss, x, create_graph=True)
        return (g * wengert.from_numpy(direction)).sum(), x

    along, x = slope([scores])
    (second,) = wengert.autograd.grad(along, x)
    expected = numeric(lambda arrays: slope(arrays)[0].item(), [scores], [direction])
    np.testing.assert_allclose((second.numpy() * direction).sum(), expected, rtol=1e-6)


def test_upsample_is_interpolate() -> None:
    x = wengert.arange(6.0).reshape(1, 2, 3)
    ours = wengert.nn.functional.upsample(x, scale_factor=2, mode="linear")
    assert (ours == wengert.nn.functional.interpolate(x, scale_factor=2, mode="linear")).all()


def test_the_namespace_is_complete() -> None:
    published = [n for family in wengert.ops.FAMILIES for n in family.FUNCTIONAL]
    assert sorted(published) == sorted(wengert.nn.functional.__all__)


POOLS = {f"max_pool{n}d_with_indices": n for n in (1, 2, 3)}
UPSAMPLERS = {"upsample_nearest": {}, "upsample_bilinear": {"align_corners": True}}


@pytest.mark.parametrize("name", POOLS)
def test_pooling_with_indices_returns_indices(name: str) -> None:
    x = wengert.randn(2, *(6,) * POOLS[name])
    ours = getattr(wengert.nn.functional, name)(x, 2)
    plain = getattr(wengert.nn.functional, f"max_pool{POOLS[name]}d")(x, 2, return_indices=True)
    for a, b in zip(ours, plain, strict=True):
        assert wengert.equal(a, b)


@pytest.mark.parametrize("name", UPSAMPLERS)
@pytest.mark.filterwarnings("ignore")
def test_old_upsamplers_interpolate(name: str) -> None:
    x, mode = wengert.randn(1, 2, 3, 4), name.removeprefix("upsample_")
    ours = getattr(wengert.nn.functional, name)(x, scale_factor=2)
    theirs = wengert.nn.functional.interpolate(x, scale_factor=2, mode=mode, **UPSAMPLERS[name])
    assert wengert.equal(ours, theirs)


def test_every_function_has_a_row_or_a_test() -> None:
    # By chance; above; other names of functions that have rows.
    elsewhere = {"gumbel_softmax", "upsample", *POOLS, *UPSAMPLERS}
    rows = {row.name.split(".")[-1].rstrip("_") for row in all_rows()}
    published = {n.rstrip("_") for family in wengert.ops.FAMILIES for n in family.FUNCTIONAL}
    assert sorted(published - rows - elsewhere) == []


@pytest.mark.torch
@pytest.mark.parametrize(
    ("name", "target", "options"),
    [
        ("binary_cross_entropy_with_logits", [0.0, 1.0, 0.0, 1.0, 0.5, 1.0], {}),
        ("hinge_embedding_loss", [1.0, -1.0, -1.0, 1.0, -1.0, 1.0], {}),
        ("gaussian_nll_loss", [0.0, 1.0, 0.0, 1.0, 0.5, 1.0], {"var": 1e-9}),
        ("gaussian_nll_loss", [0.0, 1.0, 0.0, 1.0, 0.5, 1.0], {"var": np.inf}),
    ],
)
def test_losses_of_infinities(
    name: str, target: list[float], options: dict[str, Any], torch: Any
) -> None:
    results = []
    for library in (wengert, torch):
        x = library.tensor([np.inf, np.inf, -np.inf, -np.inf, 1.0, 1e20], requires_grad=True)
        more = {}
        if "var" in options:
            more["var"] = library.full((6,), options["var"]).requires_grad_()
        function = getattr(library.nn.functional, name)
        loss = function(x, library.tensor(target), reduction="none", **more)
        grads = library.autograd.grad(loss.sum(), [x, *more.values()])
        results.append([loss.detach().numpy(), *(g.numpy() for g in grads)])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.torch
@pytest.mark.parametrize("name", ["multi_margin_loss", "multilabel_margin_loss"])
@pytest.mark.parametrize("shape", [(), (1,), (3,), (1, 1), (1, 3), (2, 3), (0,), (2, 0)], ids=str)
def test_margin_losses_of_any_shape(name: str, shape: tuple[int, ...], torch: Any) -> None:
    x = np.linspace(-1, 1, int(np.prod(shape))).reshape(shape)
    for target in ((), (1,), (2,), (1, 1), (2, 1), (3,), (1, 3), (2, 3), (0,), (2, 0)):
        for reduction in ("none", "sum", "mean"):
            results: list[list[Any]] = []
            for library in (wengert, torch):
                scores = library.tensor(x, requires_grad=True)
                classes = library.zeros(target, dtype=library.int64)
                function = getattr(library.nn.functional, name)
                try:
                    loss = function(scores, classes, reduction=reduction)
                except RuntimeError:
                    results.append([])
                    continue
                (g,) = library.autograd.grad(loss.sum(), scores)
                results.append([loss.detach().numpy(), g.numpy()])
            for ours, theirs in zip(*results, strict=True):
                assert ours.shape == theirs.shape, target
                np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.torch
@pytest.mark.parametrize(
    ("name", "shapes", "options"),
    [
        *((f"adaptive_max_pool{n}d", [(0, 3, *[4] * n)], {"output_size": 2}) for n in (1, 2, 3)),
        *((f"conv_transpose{n}d", [(1, 2, *[1] * n), (2, 3, *[2] * n)], {"padding": 1})
          for n in (1, 2, 3)),
        ("conv_transpose2d", [(0, 2, 3, 3), (2, 3, 2, 2)], {}),
        ("fractional_max_pool2d", [(2, 3, 5, 5)], {"kernel_size": 2, "output_size": 0}),
        ("fractional_max_pool2d", [(2, 3, 5, 5)], {"kernel_size": 2, "output_size": (2, 0)}),
        ("fractional_max_pool3d", [(2, 3, 5, 5, 5)], {"kernel_size": 2, "output_size": 0}),
        ("max_pool1d", [(1, 1, 3)], {"kernel_size": 5}),
        ("max_pool1d", [(1, 1, 1)], {"kernel_size": 2, "padding": 1, "dilation": 2}),
    ],
)  # fmt: skip
def test_nothing_in_or_out(
    name: str, shapes: list[tuple[int, ...]], options: dict[str, Any], torch: Any
) -> None:
    results: list[Any] = []
    for library in (wengert, torch):
        inputs = [library.ones(shape).requires_grad_() for shape in shapes]
        try:
            out = getattr(library.nn.functional, name)(*inputs, **options)
        except RuntimeError:
            results.append(None)
            continue
        out.sum().backward()
        results.append([tuple(out.shape), *[x.grad.tolist() for x in inputs]])
    assert results[0] == results[1]


def test_pixel_unshuffle_of_an_empty_batch() -> None:
    """PyTorch has the result, and fails in its backward."""
    for lead in ((0, 1), (0, 2, 3), (2, 0)):
        x = wengert.ones(*lead, 4, 4, requires_grad=True)
        out = wengert.nn.functional.pixel_unshuffle(x, 2)
        assert out.shape == (*lead[:-1], lead[-1] * 4, 2, 2)
        out.sum().backward()
        assert x.grad is not None
        assert x.grad.shape == x.shape


@pytest.mark.torch
@pytest.mark.parametrize(
    ("name", "shapes", "kwargs", "argument"),
    [
        ("nll_loss", ((3, 4),), {"weight": (4,)}, "weight"),
        ("cross_entropy", ((3, 4),), {"weight": (4,)}, "weight"),
        ("cross_entropy", ((3, 4),), {"weight": (4,), "label_smoothing": 0.1}, "weight"),
        ("multi_margin_loss", ((3, 4),), {"weight": (4,)}, "weight"),
        ("batch_norm", ((3, 4), (4,), (4,)), {}, "running_mean"),
        ("batch_norm", ((3, 4), (4,), (4,)), {"training": True}, "running_mean"),
        ("instance_norm", ((3, 4, 5), (4,), (4,)), {}, "running_mean"),
    ],
)
def test_a_gradient_that_an_operation_does_not_have_is_refused(
    torch: Any, name: str, shapes: Any, kwargs: dict[str, Any], argument: str
) -> None:
    for library in (wengert, torch):
        given = [library.rand(*shape) for shape in shapes]
        options = {k: library.rand(4) if k == "weight" else v for k, v in kwargs.items()}
        if len(given) == 1:
            given.append(library.tensor([0, 3, 1]))
            options["weight"].requires_grad_()
        else:
            given[1].requires_grad_()
        function = getattr(library.nn.functional, name)
        with pytest.raises(RuntimeError, match=f"not differentiable .* argument '{argument}'"):
            function(*given, **options)
        with library.no_grad():
            assert function(*given, **options).isfinite().all()


def test_margin_ranking_loss_of_whole_numbers_has_a_mean() -> None:
    first = wengert.tensor([1, 2], dtype=wengert.int8)
    loss = wengert.nn.functional.margin_ranking_loss(first, first + 1, first)
    assert loss.item() == 1.5
