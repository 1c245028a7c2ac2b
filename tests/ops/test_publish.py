"""The written functions: their text, their laziness, their place in tracebacks."""

from __future__ import annotations

import dis
import inspect
import subprocess
import sys
import traceback
from typing import Any

import numpy as np
import pytest

import wengert
from wengert.ops import numpy_names
from wengert.ops.op import REGISTRY, NodeLayout
from wengert.ops.publish import TAKEN, apply_source, source_of

MUL = """\
def mul(input, other, excess=..., out=None):
    if excess is not ... or out is not None:
        return call_unusual(op, out, (input, other,), (excess,), {})
    if type(input) is Tensor or type(input) in tensors:
        v_input = input._array
        e_input = input._edge
    else:
        v_input = input
        e_input = None
    if type(other) is Tensor or type(other) in tensors:
        v_other = other._array
        e_other = other._edge
    else:
        v_other = other
        e_other = None
    if v_input is input and v_other is other:
        if not (isinstance(input, array_like) and isinstance(other, array_like)):
            return call_foreign(op, (input, other,), {})
        return forward(v_input, v_other) if (v_input.size < 4096 or v_input.size < 65536 and v_input.itemsize != 2 and in_few_loops(v_input, v_other)) else fused((v_input, v_other,), ())
    if e_input is None and e_other is None:
        site = None
        if v_input is input:
            cut = other._cut
        elif v_other is other:
            cut = input._cut
        else:
            cut = input._cut or other._cut
    else:
        site = mode.site
        if site is None:
            cut = mode.off
    operand = v_input
    settled_ndim = 1
    if v_other is other:
        if type(other) is complex:
            return call_foreign(op, (input, other), {})
        try:
            v_other = constants[other, v_input.dtype]
        except (KeyError, TypeError):
            if type(other) is not int or v_input.dtype.kind not in "iu":
                return call_foreign(op, (input, other), {})
            v_other = number_as_array(other, v_input.dtype)
        settled_ndim = 2
"""  # noqa: E501


def test_the_text_of_mul() -> None:
    assert source_of(REGISTRY["mul"]).startswith(MUL)
    assert "node.s_other = v_other if e_input is not None else None" in source_of(REGISTRY["mul"])


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_every_text_compiles(name: str) -> None:
    compile(source_of(REGISTRY[name]), name, "exec")


def test_signatures_are_the_declared_ones() -> None:
    assert list(inspect.signature(wengert.mul).parameters) == ["input", "other"]


def test_tracebacks_show_the_text() -> None:
    with pytest.raises(RuntimeError) as caught:
        wengert.mul(wengert.zeros(2), wengert.zeros(3))
    text = "".join(traceback.format_exception(caught.value))
    assert 'File "<op mul>"' in text
    assert "raise call_error(op, error" in text


def test_arrays_compute_without_tensors() -> None:
    out = wengert.mul(np.ones(3), np.full(3, 2.0))
    assert type(out) is np.ndarray
    assert out.tolist() == [2.0, 2.0, 2.0]


def test_other_types_are_refused() -> None:
    with pytest.raises(TypeError, match=r"tanh\(\): argument 'input' .position 1. must be Tensor"):
        wengert.tanh("x")


def test_numbers_keep_the_sign_of_zero() -> None:
    x = wengert.ones(2)
    assert np.signbit((x * -0.0).numpy()).all()
    assert not np.signbit((x * 0.0).numpy()).any()


def test_a_complex_number_is_not_its_real_equal() -> None:
    x = wengert.ones(2, dtype=wengert.float64)
    assert (x * 1.0).dtype == wengert.float64
    assert (x * (1 + 0j)).dtype == wengert.complex128


def test_numbers_beside_integers() -> None:
    x = wengert.tensor([1, 2])
    assert (x * 2).dtype == wengert.int64
    assert (x * 2.0).dtype == wengert.float32
    assert (x * 2).dtype == wengert.int64


def test_the_line_of_a_node_is_the_users() -> None:
    x = wengert.ones(2, requires_grad=True)
    frame = inspect.currentframe()
    assert frame is not None
    line = frame.f_lineno + 1
    y = x.tanh()
    node = y.grad_fn
    assert node.code.co_filename == __file__
    from wengert.core.storage import line_of

    assert line_of(node.code, node.lasti) == line


def test_wrong_keywords_name_the_operation() -> None:
    with pytest.raises(TypeError, match=r"^tanh\(\) got an unexpected keyword argument 'axis'"):
        wengert.tanh(wengert.ones(2), axis=1)


def test_all_names_that_written_functions_use_are_taken() -> None:
    for op in REGISTRY.values():
        scope: dict[str, Any] = {}
        exec(
            apply_source(op, NodeLayout(op)),
            {"defaults": op.params | {i: None for i in op.inputs}},
            scope,
        )
        code = scope[op.name].__code__
        own = {*op.signature.parameters, *op.aux, *numpy_names.ALIASES.values(), op.name}
        own |= {f"{kind}_{i}" for kind in "ve" for i in op.inputs}
        assert {*code.co_varnames, *_globals(code)} - own <= TAKEN, op.name


def _globals(code: Any) -> set[str]:
    return {i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"}


def test_shared_is_computed_only_for_rules_that_need_it() -> None:
    text = source_of(REGISTRY["_layer_norm"])
    assert " if e_input is not None else None\n" in text
    assert " if e_input in needed else None\n" in text
    assert "shared = vjp_shared(" in source_of(REGISTRY["lstm_layer"])
    assert REGISTRY["_layer_norm"].sharers == ["input"]
    assert REGISTRY["_layer_norm"].wants["bias"] == ["bias_shape", "plan"]


def test_an_operation_is_written_while_another_is() -> None:
    """A finalizer may compute something at any time."""
    code = """
import wengert
from wengert.ops import publish
x, real, seen = wengert.ones(2), publish.source_of, []
def source_of(op):
    if op.name == "tanh":
        seen.append(x.sin())
    return real(op)
publish.source_of = source_of
x.tanh()
assert len(seen) == 1
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
