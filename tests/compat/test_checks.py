"""The conditions that packages check by torch._check and its kin."""

from __future__ import annotations

from typing import Any

import pytest

import wengert
from wengert import compiler, jit, nn
from wengert.compat._private import top
from wengert.export import export
from wengert.fx.experimental.proxy_tensor import make_fx


@pytest.mark.torch
@pytest.mark.parametrize(
    "name", ["_check", "_check_index", "_check_value", "_check_type", "_check_not_implemented"]
)
def test_conditions_are_checked_as_in_pytorch(torch: Any, name: str) -> None:
    def outcomes(t: Any, check: Any) -> list[Any]:
        found = []
        for arguments in (
            (True,),
            (False,),
            (False, lambda: "told"),
            (False, "told"),
            (1,),
            (t.tensor(True),),
        ):
            try:
                found.append(check(*arguments))
            except Exception as error:
                found.append((type(error), str(error).split(" (Could")[0]))
        return found

    assert outcomes(wengert, getattr(top, name)) == outcomes(torch, getattr(torch, name))


@pytest.mark.torch
def test_conditions_of_all_elements_are_checked_as_in_pytorch(torch: Any) -> None:
    def outcomes(t: Any, check: Any, check_with: Any) -> list[Any]:
        found = []
        for cond in (t.tensor([True, True]), t.tensor([True, False]), t.tensor([1]), True):
            for call in (
                lambda cond=cond: check(cond),
                lambda cond=cond: check_with(KeyError, cond, lambda: "told"),
            ):
                try:
                    found.append(call())
                except Exception as error:
                    text = str(error).split(" (Could")[0]
                    found.append((type(error), text.replace("wengert.", "torch.")))
        return found

    ours = outcomes(wengert, top._check_tensor_all, top._check_tensor_all_with)
    assert ours == outcomes(torch, torch._check_tensor_all, torch._check_tensor_all_with)


class Roots(nn.Module):
    def forward(self, x: Any) -> Any:
        top._assert_async((x > 0).all(), "positive, please")
        return x.sqrt()


@pytest.mark.parametrize(
    "program",
    [
        make_fx(Roots())(wengert.ones(3)),
        jit.trace(Roots(), wengert.ones(3)),
        export(Roots(), (wengert.ones(3),)).module(),
        compiler.compile(Roots(), fullgraph=True),
    ],
)
def test_an_assertion_is_part_of_programs(program: Any) -> None:
    x = wengert.tensor([1.0, 4.0, 9.0])
    for _ in range(5):
        assert program(x).tolist() == [1.0, 2.0, 3.0]
        with pytest.raises(RuntimeError, match=r"^positive, please"):
            program(-x)
