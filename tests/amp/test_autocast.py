"""Autocast regions: what they say. `test_casts.py` has what they do."""

from __future__ import annotations

import warnings

import pytest

import wengert
from wengert import amp


def state():
    """What both libraries can be asked about regions."""
    return wengert.is_autocast_enabled("cpu"), str(wengert.get_autocast_dtype("cpu"))


def test_regions_nest_and_end():
    with wengert.autocast("cpu"):
        inside = state()
        with amp.autocast("cpu", dtype=wengert.float16, enabled=False):
            nested = state()
        again = state()
    assert inside == again == (True, "torch.bfloat16")
    assert nested == (False, "torch.float16")
    assert state() == (False, "torch.bfloat16")


def test_a_region_ends_with_an_error():
    with pytest.raises(ZeroDivisionError), amp.autocast("cpu"):
        1 / 0  # noqa: B018
    assert not wengert.is_autocast_enabled("cpu")


def test_a_decorated_function_may_call_itself():
    @amp.autocast("cpu")
    def depth(n):
        assert wengert.is_autocast_enabled("cpu")
        return 0 if n == 0 else 1 + depth(n - 1)

    assert depth(3) == 3
    assert not wengert.is_autocast_enabled("cpu")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("cuda",), "CUDA is not available. Disabling autocast"),
        (("cpu", wengert.float32), "the target dtype is not supported. Disabling autocast"),
    ],
)
def test_what_cannot_be_is_disabled(arguments, text):
    with pytest.warns(UserWarning, match=text):
        region = amp.autocast(*arguments)
    with region:
        assert not wengert.is_autocast_enabled(arguments[0])


def test_a_disabled_region_says_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with amp.autocast("cuda", enabled=False):
            pass


ERRORS = [
    (lambda lib: lib.autocast("zork"), "device type at start of device string: zork"),
    (lambda lib: lib.autocast(lib.device("cpu")), "Expected `device_type` of type `str`"),
    (lambda lib: lib.is_autocast_enabled(3), "must be str, not int"),
]


@pytest.mark.torch
@pytest.mark.parametrize(("call", "text"), ERRORS)
def test_errors_are_pytorchs(torch, call, text):
    with pytest.raises(Exception) as theirs:  # noqa: PT011
        call(torch)
    with pytest.raises(theirs.type, match=text):
        call(wengert)


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["cpu", "cuda", "mps", "meta", "hpu"])
def test_kinds_are_pytorchs(torch, kind):
    assert amp.is_autocast_available(kind) == torch.amp.is_autocast_available(kind)
    if amp.is_autocast_available(kind):
        ours, theirs = (str(lib.get_autocast_dtype(kind)) for lib in (wengert, torch))
        assert ours == theirs


@pytest.mark.parametrize("inside", [False, True])
def test_custom_functions_cast_where_asked(inside):
    seen = []

    class Double(wengert.autograd.Function):
        @staticmethod
        @amp.custom_fwd(device_type="cpu", cast_inputs=wengert.float16)
        def forward(ctx, x):
            seen.append((x.dtype, wengert.is_autocast_enabled("cpu")))
            return x * 2

        @staticmethod
        @amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            seen.append(wengert.is_autocast_enabled("cpu"))
            return g * 2

    x = wengert.ones(2, requires_grad=True)
    with amp.autocast("cpu", enabled=inside):
        y = Double.apply(x)
    y.sum().backward()
    assert seen == [(wengert.float16 if inside else wengert.float32, False), False]
    assert x.grad.tolist() == [2.0, 2.0]


def test_old_names_warn_and_are_disabled():
    with pytest.warns(FutureWarning, match=r"use `torch\.amp\.GradScaler\('cuda'"):
        assert not wengert.cuda.amp.GradScaler(enabled=False).is_enabled()
    with pytest.warns(FutureWarning, match=r"use `torch\.amp\.autocast\('cuda'"):
        wengert.cuda.amp.autocast(enabled=False)
