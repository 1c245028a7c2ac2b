"""Functions and operators that stand for some of PyTorch's own: same results, or same errors."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import wengert
from tests.parity.test_forms import differs
from wengert.compat._private import (
    embedding_bags,
    functorch_compile,
    higher_order,
    underscored,
)
from wengert.compat._private.dispatch_keys import DispatchKey

CALLS = """
torch._is_all_true(mask) torch._is_all_true(mask[:0]) torch._is_all_true(x)
torch._is_any_true(mask) torch._is_any_true(mask[:0])
torch._softmax(x,1,False) torch._log_softmax(x,0,False) torch._softmax(x,2,False)
torch._safe_softmax(x.log()*-lib.inf,1) torch._safe_softmax(x,1) torch._safe_softmax(x,0,lib.double)
torch._chunk_cat([x,y[:1]],0,2) torch._chunk_cat([x,y],1,2) torch._chunk_cat([x],0,0)
torch._convolution(i,k,None,[1,1],[0,0],[1,1],False,[0,0],1,False,False,False,False)
torch._convolution(i,k,b,[2,1],[1,0],[1,2],False,[0,0],1,False,False,False)
torch._convolution(i,k.transpose(0,1),None,[1,2],[0,1],[1,1],True,[0,1],1,False,False,False,False)
bag(t,idx,off) bag(t,idx,off,False,1) bag(t,idx,off,False,2) bag(t.double(),idx,off)
bag(t,idx,ends,False,0,False,w,True) bag(t,idx,ends,False,1,False,None,True)
bag(t,idx,ends,False,2,False,None,True) bag(t,idx,off,False,1,False,None,False,2)
bag(t,idx,off,False,2,False,None,False,2) bag(t,idx,off,False,0,False,None,False,2)
bag(t,idx.int(),off.int(),False,1) bag(t,idx,off*0,False,1) bag(t,idx,off*0,False,2)
bag(t,idx,off,False,3) bag(t,idx,off+1) bag(t,idx+9,off) bag(t,idx,off,False,1,False,w)
hop.cond(True,up,down,(x,)) hop.cond(x.sum()<0,up,down,(x,)) hop.cond(mask,up,down,(x,))
hop.cond(True,up,down,x) hop.while_loop(less,more,(n,),()) hop.while_loop(less,up,(n,),())
hop.while_loop(less,more,[n],()) hop.while_loop(up,more,(x,),()) hop.map_impl(up,(x,),())
hop.map_impl(more,[x],[]) hop.scan(both,[v],[x],()) hop.associative_scan(add,[x],())
hop.nothing hop.cond.name() hop.cond.namespace
"""


def names(lib: Any, torch: Any) -> dict[str, Any]:
    x = lib.arange(6.0).reshape(2, 3)
    found: dict[str, Any] = {
        "lib": lib, "x": x, "y": x * 2 + 1, "v": lib.ones(3), "mask": x > 2, "n": lib.tensor(0),
        "idx": lib.tensor([0, 2, 1]), "off": lib.tensor([0, 2]),
        "ends": lib.tensor([0, 2, 3]), "w": lib.ones(3),
        "t": lib.arange(12.0).reshape(4, 3) % 5, "i": lib.arange(50.0).reshape(1, 2, 5, 5),
        "k": lib.arange(54.0).reshape(3, 2, 3, 3), "b": lib.arange(3.0),
        "up": lambda x: x + 1, "down": lambda x: x - 1, "less": lambda n: n < 3,
        "more": lambda n: (n + 1,), "both": lambda c, x: [c + x, c * x],
        "add": lambda a, b: [a + b], "step": lambda c, x: (c + x, {"y": c * x}["y"].sin()),
        "plus": lambda x, y: x + y,
        "pair": lambda x, y: (x[0] + y, x[1].sum()),
    }  # fmt: skip
    if lib is wengert:
        return found | {
            "torch": underscored, "bag": embedding_bags.embedding_bag,
            "hop": higher_order.higher_order,
        }  # fmt: skip
    return found | {"torch": torch, "bag": torch.embedding_bag, "hop": torch.ops.higher_order}


def outcome(lib: Any, torch: Any, call: str) -> Any:
    try:
        return eval(call, names(lib, torch))
    except Exception as error:
        return error


@pytest.mark.torch
def test_functions_are_as_in_pytorch(torch: Any) -> None:
    found = {
        call: differs(outcome(wengert, None, call), outcome(torch, torch, call))
        for call in CALLS.split()
    }
    assert {call: text for call, text in found.items() if text} == {}


def operator(base: Any, name: str) -> Any:
    class Own(base):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(name)

        def __call__(self, x: Any) -> Any:
            return super().__call__(x)

    return Own()


@pytest.mark.torch
def test_operators_of_programs(torch: Any) -> None:
    def results(lib: Any, base: Any, key: Any, space: Any) -> list[Any]:
        told: list[Any] = [inspect.isabstract(base)]
        op = operator(base, "tested_op")
        told += [space.tested_op is op, op.name(), str(op)]
        with pytest.raises(NotImplementedError, match="could not find kernel"):
            op(lib.ones(2))
        op.py_impl(key.CompositeExplicitAutograd)(lambda x: x * 2)
        op.py_autograd_impl(lambda x: x * 3)
        with pytest.raises(RuntimeError, match="override"):
            op.py_impl(key.CompositeExplicitAutograd)(lambda x: x)
        told += [op(lib.ones(2)).tolist(), op(lib.ones(2, requires_grad=True)).tolist()]
        with lib.no_grad():
            told.append(op(lib.ones(2, requires_grad=True)).tolist())
        return told

    ours = results(
        wengert, higher_order.HigherOrderOperator, DispatchKey, higher_order.higher_order
    )
    del higher_order._operators["tested_op"]
    base, key = torch._ops.HigherOrderOperator, torch._C.DispatchKey
    assert ours == results(torch, base, key, torch.ops.higher_order)


def test_functions_that_functorch_compiles() -> None:
    x = wengert.ones(3, requires_grad=True)
    functorch_compile.aot_function(lambda x: (x * 2).sum(), functorch_compile.nop)(x).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0] * 3
    layer = functorch_compile.aot_module(wengert.nn.Linear(2, 1), own)
    layer(wengert.ones(3, 2)).sum().backward()
    assert layer.weight.grad.tolist() == [[3.0, 3.0]]
    boxed = functorch_compile.make_boxed_compiler(lambda graph, inputs: graph)(max, [])
    assert boxed._boxed_call
    assert boxed([1, 2]) == 2


def own(graph: Any, inputs: Any) -> Any:
    return graph
