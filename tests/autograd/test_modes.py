"""no_grad, enable_grad, set_grad_enabled, inference_mode: context, decorator, generator, thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import wengert


def x() -> Any:
    return wengert.ones(2, requires_grad=True)


@pytest.mark.parametrize("mode", [wengert.no_grad, wengert.inference_mode])
def test_nothing_is_recorded(mode: Any) -> None:
    with mode():
        assert not wengert.is_grad_enabled()
        assert not (x() * 2).requires_grad
        with wengert.enable_grad():
            assert wengert.is_grad_enabled()
            assert (x() * 2).requires_grad is (mode is wengert.no_grad)
        assert not wengert.is_grad_enabled()
    assert wengert.is_grad_enabled()
    assert (x() * 2).requires_grad


@pytest.mark.torch
def test_inference_mode_is_known_as_in_pytorch(torch: Any) -> None:
    def answers(library: Any) -> list[bool]:
        ask = library.is_inference_mode_enabled
        found = [ask()]
        with library.inference_mode():
            found.append(ask())
            with library.enable_grad():
                found.append(ask())
            with library.inference_mode(False):
                found.append(ask())
            with pytest.raises(KeyError), library.inference_mode(False):
                raise KeyError
            found.append(ask())
        found += [ask(), library.inference_mode(ask)(), library.no_grad()(ask)()]
        return found

    assert answers(wengert) == answers(torch)


@pytest.mark.parametrize("mode", [wengert.no_grad, wengert.no_grad(), wengert.inference_mode()])
def test_as_a_decorator(mode: Any) -> None:
    @mode
    def double(t: Any) -> Any:
        """Twice."""
        return t * 2

    assert not double(x()).requires_grad
    assert double.__name__ == "double"
    assert wengert.is_grad_enabled()


def test_around_a_generator() -> None:
    @wengert.no_grad()
    def numbers() -> Iterator[bool]:
        sent = yield wengert.is_grad_enabled()
        assert not wengert.is_grad_enabled()
        try:
            yield sent
        except KeyError:
            yield wengert.is_grad_enabled()

    generator = numbers()
    assert next(generator) is False
    assert wengert.is_grad_enabled()
    assert generator.send(5) == 5
    assert wengert.is_grad_enabled()
    assert generator.throw(KeyError) is False
    assert wengert.is_grad_enabled()
    generator.close()


def test_set_grad_enabled() -> None:
    wengert.set_grad_enabled(False)
    assert not wengert.is_grad_enabled()
    wengert.set_grad_enabled(True)
    with wengert.set_grad_enabled(False):
        assert not wengert.is_grad_enabled()
    assert wengert.is_grad_enabled()

    @wengert.set_grad_enabled(False)
    def inside() -> bool:
        return wengert.is_grad_enabled()

    assert wengert.is_grad_enabled()
    assert inside() is False
    assert wengert.is_grad_enabled()


def test_an_exception_restores_the_mode() -> None:
    with pytest.raises(KeyError), wengert.no_grad():
        raise KeyError
    assert wengert.is_grad_enabled()


def test_modes_belong_to_their_thread() -> None:
    seen = []
    with wengert.no_grad():
        thread = threading.Thread(target=lambda: seen.append(wengert.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_backward_inside_no_grad_works() -> None:
    t = x()
    loss = (t * 3).sum()
    with wengert.no_grad():
        loss.backward()
    assert t.grad.tolist() == [3.0, 3.0]
