"""What tests of modules and compilers are written with."""

from __future__ import annotations

from typing import Any

import pytest

import wengert
from wengert.compat._private import compiler_comparisons, dynamo_settings
from wengert.compat._private.harness import surroundings
from wengert.compat._private.harness.accelerators import clone_preserve_strides_offset
from wengert.compat._private.harness.layers.references import loss_reference_fns as references
from wengert.compat._private.harness.operations.lists import op_db
from wengert.compat._private.ordered_sets import OrderedSet

F = wengert.nn.functional
_CLASSES = wengert.tensor([1, 0, 4, 2])
_SIGNS = wengert.tensor([1.0, -1.0, 1.0, -1.0]).double()
_LABELS = wengert.tensor([[3, 0, -1, 1, 2], [1, 2, 0, -1, 4], [0, 1, 2, 3, 4], [-1, 0, 1, 2, 3]])


def _losses(x: Any, y: Any, w: Any) -> dict[str, tuple[tuple[Any, ...], dict[str, Any]]]:
    smooth = {"weight": w, "label_smoothing": 0.2}
    return {
        "KLDivLoss kl_div": ((x, y.softmax(1)), {}),
        "NLLLoss nll_loss": ((x, _CLASSES), {"weight": w, "ignore_index": 4}),
        "SmoothL1Loss smooth_l1_loss": ((x, y), {"beta": 0.5}),
        "HuberLoss huber_loss": ((x, y), {"delta": 0.5}),
        "MultiLabelMarginLoss multilabel_margin_loss": ((x, _LABELS), {}),
        "HingeEmbeddingLoss hinge_embedding_loss": ((x[:, 0], _SIGNS), {"margin": 0.3}),
        "SoftMarginLoss soft_margin_loss": ((x[:, 0], _SIGNS), {}),
        "MultiMarginLoss multi_margin_loss": ((x, _CLASSES), {"p": 2, "weight": w}),
        "CosineEmbeddingLoss cosine_embedding_loss": ((x, y, _SIGNS), {"margin": 0.1}),
        "TripletMarginLoss triplet_margin_loss": ((x, y, x + y), {"swap": True}),
        "MarginRankingLoss margin_ranking_loss": ((x[:, 0], y[:, 0], _SIGNS), {"margin": 0.1}),
        "CrossEntropyLoss cross_entropy": ((x, _CLASSES), {**smooth, "ignore_index": 4}),
        "CrossEntropyLoss cross_entropy ": ((x, y.softmax(1)), smooth),
        "CTCLoss ctc_loss": (
            (wengert.stack([x, y]).transpose(0, 1).log_softmax(2),
             wengert.tensor([[1, 2], [3, 3]]), [4, 3], [2, 2]), {},
        ),
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")  # of kl_div
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_losses_are_what_their_references_say(reduction: str) -> None:
    x, y = wengert.randn(2, 4, 5, dtype=wengert.float64)
    weight = wengert.rand(5, dtype=wengert.float64)
    for names, (args, options) in _losses(x, y, weight).items():
        reference, function = names.split()
        expected = references[reference](*args, **options, reduction=reduction)
        result = getattr(F, function)(*args, **options, reduction=reduction)
        wengert.testing.assert_close(result, expected, msg=lambda text, n=names: f"{n}: {text}")


def test_derivatives_of_listed_operations() -> None:
    case: Any = surroundings.TestGradients()
    sine = next(op for op in op_db if op.name == "sin")
    for variant in (sine.get_op(), sine.get_inplace()):
        case._grad_test_helper("cpu", wengert.float64, sine, variant, check_forward_ad=True)
        case._check_helper("cpu", wengert.float64, sine, variant, "bwgrad_bwgrad")
    with pytest.raises(Exception, match="no derivative of this dtype"):
        case._skip_helper(sine, "cpu", wengert.int64)
    with pytest.raises(RuntimeError, match="differ"):
        case._grad_test_helper("cpu", wengert.float64, sine, lambda x: x * x.detach())


def test_results_and_gradients_side_by_side() -> None:
    class Told:
        assertEqual = staticmethod(wengert.testing.assert_close)  # noqa: N815

    x = wengert.ones(3, requires_grad=True)
    surroundings.compare_equal_outs_and_grads(Told, wengert.exp, lambda x: x.exp(), [x])
    with pytest.raises(AssertionError):
        surroundings.compare_equal_outs_and_grads(Told, wengert.exp, wengert.sin, [x])
    assert x.grad is None
    assert surroundings.get_tensors_from((x, 1), {"y": x}) == {x}


def test_mocks_and_texts() -> None:
    class Counted:
        @surroundings.mock_wrapper
        def double(self, n: int) -> int:
            return 2 * n

    assert Counted().double(3) == 6
    Counted.double.mock.assert_called_once_with(3)
    text = f'at {__file__}:12, line 34\n  File "/elsewhere.py", line 5, in f\n    g()\n'
    assert surroundings.munge_exc(text) == "at test_listed_modules.py:N, line N\n"


def test_a_copy_of_a_class_under_settings() -> None:
    seen = []

    class Tests:
        name = "kept"

        def test_one(self) -> None:
            seen.append(dynamo_settings.assume_static_by_default)

    patched: Any = compiler_comparisons.make_test_cls_with_patches(
        Tests, "Dynamic", "_dynamic", (dynamo_settings, "assume_static_by_default", False)
    )
    patched().test_one_dynamic()
    Tests().test_one()
    assert seen == [False, True]
    assert (patched.__name__, patched.name) == ("DynamicTests", "kept")
    assert not hasattr(patched, "test_one")


def test_ordered_sets() -> None:
    both = OrderedSet([3, 1, 3, 2])
    assert [*both] == [3, 1, 2] == [*reversed(OrderedSet([2, 1, 3]))]
    assert [*both.union([0], [3])] == [3, 1, 2, 0]
    assert [*both.intersection([2, 3])] == [3, 2]
    assert [*both.difference([2], [3])] == [1]
    assert both.issuperset([1])
    assert not both.issubset([1])
    assert both == {1, 2, 3}
    assert [*(both | {5})] == [3, 1, 2, 5]
    assert (both.pop(), repr(both)) == (2, "OrderedSet([3, 1])")
    with pytest.raises(KeyError):
        OrderedSet[int]().pop()


def test_copies_keep_strides_and_offset() -> None:
    x = wengert.arange(12.0).as_strided((2, 3), (1, 3), 2)
    copy = clone_preserve_strides_offset(x)
    assert copy.equal(x)
    assert (copy.stride(), copy.storage_offset()) == ((1, 3), 2)
