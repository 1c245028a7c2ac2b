"""Pools, padding, blocks and resizing over random hyper-parameters, special values among them.

Values, indices, gradients and the class of errors are PyTorch's, for inputs small enough for
NumPy and large enough for kernels.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import wengert

SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 1e38)


def per_dimension(least: int, most: int) -> Any:
    """A number, or one for each of three dimensions, of which the first ones are used."""
    number = st.integers(least, most)
    return st.one_of(number, st.tuples(number, number, number))


inputs = st.fixed_dictionaries(
    {
        "n": st.integers(1, 3),
        "lead": st.sampled_from([(1, 1), (2, 3), (2,), (0, 2), (4, 16)]),
        "size": st.tuples(*[st.integers(1, 7)] * 3),
        "dtype": st.sampled_from(["f4", "f8"]),
        "special": st.lists(st.sampled_from(SPECIAL), max_size=3),
        "seed": st.integers(0, 100),
    }
)
windows = st.fixed_dictionaries(
    {
        "kernel_size": per_dimension(1, 4),
        "stride": st.one_of(st.none(), per_dimension(1, 3)),
        "padding": per_dimension(0, 2),
    }
)


def array(of: dict[str, Any]) -> np.ndarray:
    rng = np.random.default_rng(of["seed"])
    x = np.round(rng.normal(size=(*of["lead"], *of["size"][: of["n"]])) * 4).astype(of["dtype"]) / 4
    for k, value in enumerate(of["special"]):
        if x.size:
            x.reshape(-1)[rng.integers(x.size) if k else 0] = value
    return x


def options_of(n: int, options: dict[str, Any]) -> dict[str, Any]:
    return {k: v[:n] if isinstance(v, tuple) else v for k, v in options.items()}


def outcome(m: Any, name: str, x: np.ndarray, options: dict[str, Any], derive: bool) -> Any:
    """Values, indices and the gradient; or what was raised."""
    t = m.tensor(x, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            out = getattr(m.nn.functional, name)(t, **options)
        except Exception as error:
            return error
    outs = out if isinstance(out, tuple) else (out,)
    if derive and outs[0].numel():
        g = np.linspace(-1, 2, outs[0].numel()).reshape(tuple(outs[0].shape)).astype(x.dtype)
        outs = (*outs, *m.autograd.grad(outs[0], t, m.tensor(g)))
    return [o.detach().numpy() for o in outs]


def check(torch: Any, name: str, x: np.ndarray, options: dict[str, Any], **how: bool) -> None:
    ours, theirs = (outcome(m, name, x, options, how.get("derive", True)) for m in (wengert, torch))
    if isinstance(ours, Exception) or isinstance(theirs, Exception):
        assert isinstance(ours, type(theirs)), (ours, theirs)
        return
    scale = max(1.0, float(np.abs(x[np.isfinite(x)]).max(initial=0)))
    tolerance = (1e-5 if x.dtype == np.float32 else 1e-11) * scale
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=tolerance)


def reaches_the_input(x: np.ndarray, options: dict[str, Any], torch: Any) -> bool:
    """Whether PyTorch's indices are such that its backward does not write beyond the memory."""
    theirs = outcome(torch, "max_pool" + options["name"], x, options["of"], derive=False)
    return isinstance(theirs, Exception) or not np.isneginf(theirs[0]).any()


@pytest.mark.torch
@settings(max_examples=60, deadline=None)
@given(inputs, windows, per_dimension(1, 3), st.booleans())
@example(
    {"n": 2, "lead": (1, 1), "size": (4, 1, 1), "dtype": "f4", "special": [], "seed": 0},
    {"kernel_size": (3, 2, 1), "stride": (3, 1, 1), "padding": (0, 1, 0)},
    (1, 2, 1), False,
)  # fmt: skip
def test_max_pool(torch: Any, of: Any, window: Any, dilation: Any, ceil_mode: bool) -> None:
    options = options_of(of["n"], {**window, "dilation": dilation, "ceil_mode": ceil_mode})
    x, name = array(of), f"max_pool{of['n']}d"
    of_torch = {"name": name[8:], "of": {**options, "return_indices": True}}
    derive = reaches_the_input(x, of_torch, torch)
    check(torch, name, x, options, derive=derive)
    check(torch, name, x, {**options, "return_indices": True}, derive=derive)


@pytest.mark.torch
@settings(max_examples=40, deadline=None)
@given(inputs, windows, st.booleans(), st.booleans())
def test_avg_pool(torch: Any, of: Any, window: Any, ceil_mode: bool, counted: bool) -> None:
    options = {**window, "ceil_mode": ceil_mode, "count_include_pad": counted}
    check(torch, f"avg_pool{of['n']}d", array(of), options_of(of["n"], options))


@pytest.mark.torch
@settings(max_examples=60, deadline=None)
@given(inputs, per_dimension(1, 9), st.booleans())
def test_adaptive_pools(torch: Any, of: Any, size: Any, indices: bool) -> None:
    options = options_of(of["n"], {"output_size": size})
    check(torch, f"adaptive_avg_pool{of['n']}d", array(of), options)
    options["return_indices"] = indices
    check(torch, f"adaptive_max_pool{of['n']}d", array(of), options)


@pytest.mark.torch
@settings(max_examples=40, deadline=None)
@given(inputs, per_dimension(1, 9))
def test_area(torch: Any, of: Any, size: Any) -> None:
    assume(len(of["lead"]) == 2)
    x, options = array(of), options_of(of["n"], {"size": size})
    check(torch, "interpolate", x, {**options, "mode": "area"}, derive=x.size > 0)


@pytest.mark.torch
@settings(max_examples=40, deadline=None)
@given(inputs, windows, per_dimension(1, 2))
def test_unfold(torch: Any, of: Any, window: Any, dilation: Any) -> None:
    options = options_of(2, {**window, "dilation": dilation})
    check(torch, "unfold", array({**of, "n": 2}), {**options, "stride": options["stride"] or 1})


@pytest.mark.torch
@settings(max_examples=60, deadline=None)
@given(inputs, st.lists(st.integers(-2, 3), min_size=6, max_size=6), st.data())
def test_pad(torch: Any, of: Any, pads: list[int], data: Any) -> None:
    n = of["n"]
    mode = data.draw(st.sampled_from(["constant", "reflect", "replicate", "circular"]))
    pads = pads[: 2 * n]
    # PyTorch's circular padding reads what it has not written, where more is added than is left.
    sides = zip(of["size"][n - 1 :: -1], pads[::2], pads[1::2], strict=False)
    assume(mode != "circular" or all(max(a, b) <= m + min(a, b, 0) for m, a, b in sides))
    x = array(of)
    assume(x.size)
    check(torch, "pad", x, {"pad": tuple(pads), "mode": mode})


@pytest.mark.parametrize("lead", [(1, 1), (2, 64)], ids=["numpy", "kernel"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_window_in_the_padding_is_a_constant(n: int, lead: tuple[int, ...]) -> None:
    x = wengert.ones(*lead, *[1] * n, requires_grad=True)
    pool = getattr(wengert.nn.functional, f"max_pool{n}d")
    for indices in (False, True):
        out = pool(x, 2, 1, 1, 2, return_indices=indices)
        values = out[0] if indices else out
        assert (values == -np.inf).all()
        (g,) = wengert.autograd.grad(values.sum(), x, retain_graph=True)
        assert not g.any()
        (g,) = wengert.autograd.grad(values.sum(), x, create_graph=True)
        assert not g.any()


def test_arguments_are_looked_at_whatever_the_cache_has() -> None:
    functional = wengert.nn.functional
    x, w = wengert.ones(1, 1, 4, 4), wengert.ones(1, 1, 2, 2)
    for good, bad in ((2, 2.0), (1, True), ((1, 1), (1.0, 1.0))):
        functional.max_pool2d(x, good)
        functional.conv2d(x, w, stride=good)
        with pytest.raises(TypeError, match="must be tuple of ints"):
            functional.max_pool2d(x, bad)
        with pytest.raises(TypeError, match="must be tuple of ints"):
            functional.conv2d(x, w, stride=bad)
    with pytest.raises(TypeError, match="groups"):
        functional.conv2d(x, w, groups=True)
