"""The alias has the names that PyTorch has: no others, and each is what it is there."""

from __future__ import annotations

import json
import textwrap

import pytest

from tests.cli.process import good, python
from tools import torch_names as tool
from wengert.compat import torch_names

# Modules are imported in an order of their own, then everything is looked up: names that do not
# stand for a module, and what stands for one.
LOOK = """
    import importlib, inspect, json, random, sys, warnings
    warnings.simplefilter("ignore")
    from wengert import compat
    compat.install()
    from wengert.compat import torch_names
    paths = sorted({*torch_names._listed(), *torch_names.ELSEWHERE} - {"torch.utils.tensorboard"})
    order = sys.argv[1]
    random.Random(order).shuffle(paths)
    modules = {path: importlib.import_module(path) for path in paths}
    found = {
        path: {n: inspect.ismodule(getattr(module, n)) for n in dir(module) if n[0] != "_"}
        for path, module in modules.items()
    }
    print(json.dumps(found))
"""


def look(order: str) -> dict[str, dict[str, bool]]:
    """Which names each module of the alias has, and whether they stand for modules."""
    found: dict[str, dict[str, bool]] = json.loads(good(python("-c", textwrap.dedent(LOOK), order)))
    return found


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, bool]]:
    return look("first")


def test_names_do_not_depend_on_the_order_of_imports(found: dict[str, dict[str, bool]]) -> None:
    assert len(found) > 180
    assert look("second") == found


def test_functions_hide_the_modules_of_their_name(found: dict[str, dict[str, bool]]) -> None:
    names = ("autograd gradcheck", "autograd variable", "nn.utils weight_norm",
             "nn.utils spectral_norm")  # fmt: skip
    for package, name in map(str.split, names):
        assert found[f"torch.{package}"][name] is False
        assert f"torch.{package}.{name}" in found


def test_all_names_are_pytorchs(found: dict[str, dict[str, bool]]) -> None:
    """Those of its list, modules where PyTorch has modules."""
    wrong = []
    for path, words in torch_names._listed().items():
        listed = {word.removesuffix("/"): word.endswith("/") for word in words.split()}
        wrong += [f"{path}.{n}" for n, is_module in found[path].items()
                  if listed.get(n) is not is_module]  # fmt: skip
    # A class and functions of others that packages import from there; objects; what is deprecated.
    others = {"functorch.linearize", "torch._library.infer_schema", "torch.backends.cudnn.rnn",
              "torch.hub.urlparse", "torch.jit.Final", "torch.onnx.parse_args",
              "torch.set_vital", "torch.utils.model_zoo.tqdm"}  # fmt: skip
    assert {*wrong} <= others
    assert len(wrong) > 3


@pytest.mark.torch
def test_the_list_of_names_is_up_to_date() -> None:
    # In a process of its own: packages of PyTorch have the modules that were imported.
    good(python(tool.__file__, "--check"))


def test_natively_modules_do_not_replace_functions_either() -> None:
    """As in PyTorch: where a package has a function, importing the module leaves it there."""
    done = python(
        "-c",
        textwrap.dedent("""
        import importlib, pkgutil, wengert
        for info in pkgutil.walk_packages(wengert.__path__, "wengert."):
            if not any(part.startswith("_") for part in info.name.split(".")):
                importlib.import_module(info.name)
        import wengert.autograd.gradcheck, wengert.autograd.variable
        import wengert.nn.utils.spectral_norm, wengert.nn.utils.weight_norm
        print(all(map(callable, (
            wengert.autograd.gradcheck, wengert.autograd.variable,
            wengert.nn.utils.spectral_norm, wengert.nn.utils.weight_norm,
        ))))
    """),
    )
    assert good(done) == "True\n"
