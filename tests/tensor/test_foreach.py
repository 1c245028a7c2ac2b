"""`torch._foreach_*` against PyTorch: every one of them, every kind of argument."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from wengert.tensor import foreach

RNG = np.random.default_rng(3)
LISTS = [[RNG.uniform(0.2, 0.9, shape) for shape in ((3,), (2, 2), ())] for _ in range(3)]
# What comes beside the first list; a number stands for itself, a k for the k-th list.
BINARY = ([("list", 1)], [("n", 2.0)], [("ns", [1.0, 2.0, 0.5])], [("scalar", 3.0)])
BESIDE: dict[str, Any] = {
    **dict.fromkeys(("add", "div", "mul"), BINARY),
    **dict.fromkeys(("sub", "clamp_max", "clamp_min", "maximum", "minimum", "pow"), BINARY[:3]),
    "addcdiv": ([("list", 1), ("list", 2), ("n", 2.0)], [("list", 1), ("list", 2)],
                [("list", 1), ("list", 2), ("ns", [1.0, 2.0, 0.5])],
                [("list", 1), ("list", 2), ("elements", [1.0, 2.0, 0.5])]),
    "lerp": ([("list", 1), ("list", 2)], [("list", 1), ("n", 0.3)],
             [("list", 1), ("ns", [0.1, 0.2, 0.5])]),
    "norm": ([], [("n", 1)]), "powsum": ([("n", 3)],),
    "copy": ([("list", 1)],),
}  # fmt: skip
BESIDE["addcmul"] = BESIDE["addcdiv"]


def tensors(library: Any, which: int, grad: bool = False) -> list[Any]:
    return [library.tensor(a, requires_grad=grad) for a in LISTS[which]]


def argument(library: Any, kind: str, value: Any) -> Any:
    if kind == "list":
        return tensors(library, value)
    if kind == "scalar":
        return library.tensor(value, dtype=library.float64)
    return library.tensor(value) if kind == "elements" else value


def call(library: Any, name: str, beside: Any, grad: bool = False) -> Any:
    firsts = tensors(library, 0, grad)
    rest = [argument(library, *b) for b in beside]
    if name == "_foreach_mm":
        firsts, rest = [firsts[1]], [[firsts[1]]]
    result = getattr(library, name)(firsts, *rest)
    assert (result is firsts) == name.endswith("_")
    if grad:
        total = result[0].sum()
        for r in result[1:]:
            total = total + r.sum()
        total.backward()
        result = [x.grad for x in firsts if x.grad is not None]
    return [np.asarray(r.detach().numpy()) for r in result]


@pytest.mark.torch
def test_each_does_what_pytorchs_does(torch: Any) -> None:
    names = [n for n in dir(torch) if n.startswith("_foreach_")]
    assert len(names) > 90
    for name in names:
        base = name.removeprefix("_foreach_").removesuffix("_")
        for beside in BESIDE.get(base, ([],)):
            # PyTorch has no derivative of one, and of the form whose numbers are a tensor.
            by_elements = any(kind == "elements" for kind, _ in beside)
            underivable = base == "powsum" or name.endswith("_") or by_elements
            for grad in (False, True)[: 1 if underivable else 2]:
                ours, theirs = (call(lib, name, beside, grad) for lib in (wengert, torch))
                assert len(ours) == len(theirs)
                for a, b in zip(ours, theirs, strict=True):
                    np.testing.assert_allclose(a, b, 1e-12, 1e-14, err_msg=f"{name} {beside}")


@pytest.mark.torch
@pytest.mark.parametrize(("name", "args"), [
    ("add", ([], 1)), ("zero_", ([],)), ("add", (..., [1.0])), ("add", (..., ...)),
    ("add", (..., "x")), ("sqrt", ("tensor",)), ("sqrt", ([1.0],)),
])  # fmt: skip
def test_errors(torch: Any, name: str, args: Any) -> None:
    kinds = []
    for library in (torch, wengert):
        given = [tensors(library, 0) if a is ... else a for a in args]
        if len(args) > 1 and args[1] is ...:
            given[1] = given[1][:1]
        if args[0] == "tensor":
            given[0] = library.ones(2)
        with pytest.raises((TypeError, RuntimeError)) as caught:
            getattr(library, f"_foreach_{name}")(*given)
        kinds.append(caught.type)
    assert kinds[0] is kinds[1]


@pytest.mark.torch
def test_a_tensor_beside_a_list_has_no_dimension(torch: Any) -> None:
    for library in (torch, wengert):
        with pytest.raises(RuntimeError, match="scalar tensor expected to be 0 dim"):
            library._foreach_add(tensors(library, 0), library.ones(1))


@pytest.mark.torch
def test_options_and_numbers_in_front(torch: Any) -> None:
    for library in (torch, wengert):
        x = [library.ones(2), library.ones(3)]
        assert library._foreach_add(x, x, alpha=3)[1].tolist() == [4, 4, 4]
        assert library._foreach_add(x, scalar=1)[0].tolist() == [2, 2]
        assert library._foreach_add(x, scalars=[1, 2])[1].tolist() == [3, 3, 3]
        assert library._foreach_pow(2, x)[0].tolist() == [2, 2]
        assert library._foreach_norm(x, 1, dtype=library.float64)[1].dtype == library.float64


@pytest.mark.torch
def test_numbers_of_numpy(torch: Any) -> None:
    def results(library: Any) -> list[Any]:
        x = [library.ones(2), library.ones(1, dtype=library.int64)]
        mul, div, pow = library._foreach_mul, library._foreach_div, library._foreach_pow
        values = [mul(x, n) for n in (np.float32(2), np.int64(2))]
        values += [div(x, np.float64(2.5)), mul(x, [np.float32(2), np.int64(3)])]
        values += [pow(np.float32(2), x)]
        return [(str(t.dtype).rpartition(".")[2], t.tolist()) for row in values for t in row]

    assert results(wengert) == results(torch)
    with pytest.raises(TypeError, match="got ndarray"):
        wengert._foreach_mul([wengert.ones(2)], np.ones(2))


def test_scaling_in_one_pass_is_stamped() -> None:
    w = [wengert.ones(2), wengert.ones(50, 50)]
    x = wengert.ones(2, requires_grad=True)
    y = (x * w[0]).sum()
    wengert._foreach_mul_(w, 0.5)
    assert w[0].tolist() == [0.5, 0.5]
    assert w[1].sum().item() == 1250
    with pytest.raises(RuntimeError, match="_foreach_mul_"):
        y.backward()
    with pytest.raises(RuntimeError, match="leaf"):
        wengert._foreach_mul_([x], 2.0)


def test_there_are_no_others() -> None:
    for name in ("_foreach_relu", "_foreach_max_", "_foreach_copy"):
        with pytest.raises(AttributeError, match=name):
            foreach.function_of(name)
        assert not hasattr(wengert, name)
