"""What errors and warnings say where programs match their texts: the words are PyTorch's."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest

import wengert

# What is called, and the words of its error; in parentheses where a warning says them.
ROWS: list[tuple[str, str]] = [
    ("x.backward(inputs=[])", r"`inputs` argument to `backward\(\)` cannot be empty"),
    ("torch.autograd.grad(x, [])", r"`inputs` argument to `grad\(\)` cannot be empty"),
    (
        "torch.autograd.grad(v * 2, v, torch.eye(2), is_grads_batched=True)",
        "If `is_grads_batched=True`, we interpret the first dimension",
    ),
    ("setattr(x, 'requires_grad', 3)", "requires_grad must be a bool"),
    ("i.requires_grad_()", "only Tensors of floating point dtype can require gradients"),
    ("setattr(i, 'requires_grad', True)", "of floating point and complex dtype can require grad"),
    ("hooked(v, lambda g: g.double())", r"was torch\.FloatTensor got torch\.DoubleTensor"),
    ("torch.set_grad_enabled(3)", "must be bool, not int"),
    ("torch.no_grad()(type('C', (), {}))", "(Decorating classes is deprecated)"),
    ("torch.sort(c)", " Sort does not support complex dtypes on CPU"),
    ("torch.ones(0, 3).kthvalue(1, 0)", r"kthvalue\(\): Expected reduction dim 0 to have non-zero"),
    ("torch.ones(0, 3).std(0)", r"(std\(\): degrees of freedom is <= 0)"),
    ("v.quantile(torch.tensor([2.0]))", r"q values must be in the range \[0, 1\]"),
    ("v.quantile(2.0)", r"q must be in the range \[0, 1\] but got 2"),
    ("i.mean()", "Input dtype must be either a floating point or complex dtype. Got: Long"),
    ("i.norm()", "Expected a floating point or complex tensor as input. Got Long"),
    ("i.unflatten(0, (-1, -1))", "only one dimension can be inferred"),
    ("v.repeat_interleave(-i)", "repeats can not be negative"),
    ("v.repeat_interleave(i, output_size=9)", "allocated size does not match required size"),
    ("v.as_strided((-2,), (1,))", r"Storage size calculation overflowed with sizes=\[-2\]"),
    ("torch.broadcast_shapes((-1,), (3,))", "broadcast a dimension with negative length"),
    (
        "torch.select_scatter(torch.ones(2, 2), v, 0, 0)",
        r"src to have a size equal to the slice of self. src size = \[3\], slice size = \[2\]",
    ),
    ("torch.channel_shuffle(torch.ones(1, 4, 2), 3)", "Number of channels must be divisible"),
    ("torch.arange(3, dtype=torch.complex64)", '"arange_cpu" not implemented'),
    ("v.uniform_(-3e38, 3e38)", r"uniform_ expects to-from <= std::numeric_limits<Float>::max"),
    ("torch.searchsorted(i, i, sorter=v)", "sorter must be a tensor of long dtype"),
    ("torch.all(v, out=torch.tensor(1.0))", "all only supports bool tensor for result, got: Float"),
    ("v.float_power_(2)", "base given to float_power_ has dtype Float but the operation's result"),
    (
        "torch.float_power(v, 2, out=torch.ones(3))",
        "output given to float_power has dtype Float but the operation's result",
    ),
    ("~v", "only implemented on integer and Boolean-type tensors"),
    ("torch.ones(0)[i]", "index is out of bounds for dimension with size 0"),
    ("v[torch.tensor([1, 0, 1], dtype=torch.uint8)]", "(please use a dtype torch.bool instead)"),
    ("torch.vmap(lambda x: x.item())(v)", r"calling .item\(\) on a Tensor"),
    ("torch.vmap(lambda x: x if x > 0 else -x)(v)", "data-dependent control flow"),
    ("torch.vmap(lambda x: x, in_dims=[0])(v)", "expected `in_dims` to be int or a"),
    ("torch.vmap(lambda x: x, out_dims='a')(v)", "`out_dims` must be an int, None or a"),
    ("torch.func.vjp(lambda x: 3, v)", "to return only tensors, got unsupported type <class 'int"),
    ("torch.func.grad(lambda x: (x.sum(), 3), has_aux=True)(v)", "Expected tensors, got unsuppo"),
    ("torch.func.vjp(torch.sin, v)[1](v[:2])", r"Mismatch in shape: grad_output\[0\] has a shape"),
    ("torch.func.jacrev(torch.sin, chunk_size=0)(v)", "`chunk_size` should be greater than 0"),
    (
        "torch.func.functional_call(torch.nn.ReLU(), {'a': v}, v, strict=True)",
        r"Error\(s\) in reparametrizing for ReLU",
    ),
    (
        "torch.func.functional_call(torch.nn.ReLU(), ({'a': v}, {'a': v}), v)",
        r"\['a'\] appeared in multiple dictionaries",
    ),
    ("v.sum_to_size(2)", r"size \{\[2\]\} is not expandable to size \{\[3\]\}"),
    ("torch.triu_indices(3, 3, dtype=torch.float32)", '"triu_indices" not implemented for'),
    ("torch.tril_indices(3, 3, dtype=torch.bool)", '"tril_indices" not implemented for'),
    ("torch.Tensor._make_subclass(torch.Tensor, 3)", "argument 'data' .* must be Tensor, not int"),
    ("delattr(v, 'data')", "Deleting tensor data is not allowed"),
    ("torch.exp(Silent())", r"Multiple dispatch failed for 'torch\.exp'"),
]


class Silent:
    @classmethod
    def __torch_function__(cls, *_: Any) -> Any:
        return NotImplemented


def _said(code: str, library: Any) -> tuple[type, str]:
    def hooked(tensor: Any, hook: Any) -> None:
        leaf = tensor.clone().requires_grad_()
        leaf.register_hook(hook)
        leaf.sum().backward()

    names = {
        "torch": library, "np": np, "Silent": Silent, "hooked": hooked,
        "x": library.tensor(2.0, requires_grad=True), "i": library.tensor([1, 2, 3]),
        "v": library.ones(3), "c": library.ones(2, dtype=library.complex64),
    }  # fmt: skip
    if "v * 2" in code:
        names["v"].requires_grad_()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            eval(code, names)
        except Exception as error:
            kind = next(k for k in type(error).__mro__ if k.__module__ == "builtins")
            return kind, str(error)
    return caught[0].category, f"({caught[0].message})"


@pytest.mark.parametrize(("code", "words"), ROWS, ids=[code for code, _ in ROWS])
def test_an_error_says_it(code: str, words: str) -> None:
    pattern = words if not words.startswith("(") else rf"\(.*{words[1:-1]}"
    assert re.search(pattern, _said(code, wengert)[1])


@pytest.mark.torch
def test_so_does_pytorchs_of_the_same_class(torch: Any) -> None:
    for code, words in ROWS:
        kind, text = _said(code, torch)
        assert re.search(words if not words.startswith("(") else rf"\(.*{words[1:-1]}", text), code
        assert _said(code, wengert)[0] is kind, code
