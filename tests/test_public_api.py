"""Public names: listed, documented with an example, and with PyTorch's parameters."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from dataclasses import is_dataclass
from enum import Enum
from inspect import Parameter, Signature
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import wengert
from tests import torch_signatures
from tests.public import (
    is_exception,
    is_ours,
    is_user_namespace,
    namespaces,
    public,
    tensor_methods,
)
from tests.source import ROOT

LISTED = {n: m for n, m in namespaces().items() if hasattr(m, "__all__")}


def order(name: str) -> tuple[Any, ...]:
    """CONSTANTS, then Classes, then functions; numbers by value, as ruff sorts `__all__`."""
    kind = 0 if name.isupper() else 1 if name[0].isupper() else 2
    return kind, [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", name)]


def test_what_is_loaded_when_it_is_named_is_listed() -> None:
    assert {"save", "vmap", "nn", "exp_", "Tensor"} <= set(dir(wengert))


def test_attributes_that_are_modules_have_their_name() -> None:
    """No module of an inner package stands where one for users should."""
    assert {
        name: value.__name__
        for name, value in vars(wengert).items()
        if isinstance(value, ModuleType)
        and value.__name__.startswith("wengert.")
        and value.__name__ != f"wengert.{name}"
    } == {}


@pytest.mark.parametrize("name", LISTED)
def test_all_is_sorted_and_true(name: str) -> None:
    module = LISTED[name]
    listed = list(module.__all__)
    assert [n for n in listed if not hasattr(module, n)] == []
    assert len(set(listed)) == len(listed)
    if not hasattr(module, "__path__"):  # packages list what their modules list, one by one
        assert listed == sorted(listed, key=order)


@pytest.mark.parametrize("name", [n for n in LISTED if is_user_namespace(n)])
def test_all_is_complete(name: str) -> None:
    """What packages have for each other need not be listed."""
    module = LISTED[name]
    own = {
        n for n, v in vars(module).items()
        if not n.startswith("_") and is_ours(v) and v.__module__ == module.__name__
    }  # fmt: skip
    assert sorted(own - set(module.__all__)) == []


def family(module: ModuleType) -> dict[str, tuple[str, ...]]:
    """What a module of ops publishes, by list."""
    lists = ("__all__", "FUNCTIONAL", "METHODS", "INPLACE")
    return {n: tuple(getattr(module, n)) for n in lists}


def test_every_family_is_collected() -> None:
    """`wengert.ops` has a line for each module that publishes something."""
    files = Path(wengert.ops.__file__).parent.glob("*.py")
    families = {module.__name__.rpartition(".")[2] for module in wengert.ops.FAMILIES}
    assert families == {file.stem for file in files if "\nFUNCTIONAL" in file.read_text()}


@pytest.mark.parametrize("module", wengert.ops.FAMILIES, ids=lambda m: m.__name__)
def test_families_publish_what_they_define(module: ModuleType) -> None:
    for names in family(module).values():
        assert [n for n in names if not callable(getattr(module, n, None))] == []
        assert len(set(names)) == len(names)


def test_no_name_is_published_by_two_families() -> None:
    for kind in ("__all__", "FUNCTIONAL", "METHODS"):
        names = [n for module in wengert.ops.FAMILIES for n in family(module)[kind]]
        assert sorted({n for n in names if names.count(n) > 1}) == [], kind


# Public names as they stand below `torch` and below `wengert` alike.
PUBLIC = {
    **{n.removeprefix("wengert."): v for n, v in public().items()},
    **{f"Tensor.{n}": v for n, v in tensor_methods().items()},
}
NAMESPACES = sorted({n.rpartition(".")[0] for n in PUBLIC})
by_namespace = pytest.mark.parametrize("namespace", NAMESPACES, ids=lambda n: n or "wengert")


def public_in(namespace: str) -> dict[str, Any]:
    """The public names of one namespace."""
    return {n: v for n, v in PUBLIC.items() if n.rpartition(".")[0] == namespace}


# What scripts ask of a machine: answers are constants.
PLATFORM = ("accelerator", "backends", "compiler", "cpu", "cuda", "jit", "mps", "xpu")  # fmt: skip
# Classes whose values are there to be named, not made.
NAMED = {"dtype", "layout", "memory_format"}


def is_told_not_shown(name: str, value: Any, text: str) -> bool:
    """Whether a docstring needs no example: there is nothing to try that others do not show."""
    return (
        is_exception(value)
        or is_dataclass(value)
        or (isinstance(value, type) and issubclass(value, Enum))
        or name in NAMED
        or name.split(".")[0] in PLATFORM
        # Theano's many small functions: `docs/symbolic.md` shows how they go together.
        or name.startswith("symbolic.")
        or text.startswith(("In-place form of", "The old name of", "A copy of what `"))
    )


@by_namespace
def test_public_names_have_docstrings_with_examples(namespace: str) -> None:
    texts = {n: inspect.getdoc(v) or "" for n, v in public_in(namespace).items()}
    assert [n for n, text in texts.items() if not text] == [], "no docstring"
    silent = [n for n, text in texts.items()
              if ">>>" not in text and not is_told_not_shown(n, PUBLIC[n], text)]  # fmt: skip
    assert silent == [], "no example"


# Arguments of PyTorch that have no meaning here: results are not written into tensors given
# from outside, memory has one layout and is never pinned, dimensions have no names. The
# others were deprecated before PyTorch 1.0 or choose among kernels that do not exist here.
WITHOUT_MEANING = {
    "out", "layout", "pin_memory", "names", "memory_format",
    "size_average", "reduce", "foreach", "fused", "capturable",
}  # fmt: skip


def names_at(signature: Signature, kinds: tuple[Any, ...]) -> list[str]:
    return [p.name for p in signature.parameters.values() if p.kind in kinds]


def positional(signature: Signature) -> list[str]:
    """The names that a call by position fills, in order; some stubs call an input `self`."""
    names = names_at(signature, (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD))
    return ["input" if i == 0 and n == "self" else n for i, n in enumerate(names)]


def without_self(signature: Signature) -> Signature:
    """The signature of a method as its callers see it."""
    return signature.replace(parameters=list(signature.parameters.values())[1:])


def differences(ours: Signature, theirs: Signature, method: bool) -> list[str]:
    """What a call that is right for `theirs` may stumble over in `ours`."""
    if method:
        ours, theirs = without_self(ours), without_self(theirs)
    found = []
    starred = Parameter.VAR_POSITIONAL in {p.kind for p in ours.parameters.values()}
    a = [n for n in positional(ours) if n not in WITHOUT_MEANING]
    b = [n for n in positional(theirs) if n not in WITHOUT_MEANING]
    if not starred and a[: len(b)] != b[: len(a)]:
        found.append(f"by position {a}, in PyTorch {b}")
    anywhere = {p.name for p in ours.parameters.values()} | {"self"}
    if Parameter.VAR_KEYWORD not in {p.kind for p in ours.parameters.values()} and not starred:
        missing = set(theirs.parameters) - anywhere - WITHOUT_MEANING
        found += [f"no argument {n!r}" for n in sorted(missing)]
    for name, p in theirs.parameters.items():
        q = ours.parameters.get(name)
        if q is not None and _differ(q.default, p.default):
            found.append(f"{name}={q.default!r}, in PyTorch {name}={p.default!r}")
    return found


def _differ(ours: Any, theirs: Any) -> bool:
    plain = (bool, int, float, str)
    return isinstance(ours, plain) and isinstance(theirs, plain) and ours != theirs


# Where the comparison does not hold.
DIFFERENT = {
    "Size",  # takes its argument by position only
    "Tensor.requires_grad_",  # the stub says `mode`, the method takes `requires_grad`
    "jit.TopLevelTracedModule",  # made by `trace` alone
    "jit.TracedModule",
    "jit.script",  # private arguments
    "random.fork_rng",
    "rrelu",  # one function for torch.rrelu and nn.functional.rrelu
    "nn.functional.rrelu_",
    "nn.functional.fractional_max_pool2d",  # what is found is of the function that it calls
    "nn.functional.fractional_max_pool3d",
    # What `export` makes.
    "export.ExportedProgram",
    "backends.cudnn.flags",  # choices among kernels
    "nn.attention.flex_attention.BlockMask",  # the orders of blocks of GPU kernels
    "nn.attention.flex_attention.create_block_mask",
    "nn.attention.flex_attention.FlexKernelOptions",  # a dictionary's type
    # Documented with `indices_or_sections`; each has an overload with either name alone.
    *(f"{of}{f}split" for of in ("", "Tensor.") for f in ("tensor_", "h", "v", "d")),
}


def compare(name: str, torch: Any) -> list[str]:
    """What keeps calls that are right for PyTorch from being right here."""
    ours, method = inspect.signature(PUBLIC[name]), name.startswith("Tensor.")
    candidates = torch_signatures.signatures(torch, name)
    return min((differences(ours, c, method) for c in candidates), key=len, default=[])


@pytest.mark.torch
@by_namespace
def test_parameters_are_pytorchs(namespace: str, torch: Any) -> None:
    shared = {n for n, v in public_in(namespace).items()
              if not is_exception(v) and torch_signatures.has(torch, n)}  # fmt: skip
    found = {name: compare(name, torch) for name in shared - DIFFERENT}
    assert {name: d for name, d in found.items() if d} == {}


def test_every_known_difference_is_of_a_public_name() -> None:
    assert PUBLIC.keys() >= DIFFERENT


def test_type_stub_of_tensor_is_up_to_date() -> None:
    """In a fresh interpreter: other tests may have bound things."""
    command = [sys.executable, "tools/stubs.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
