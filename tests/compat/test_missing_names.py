"""What is said of names that are not there, and of code that needs PyTorch's library."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from pathlib import Path
from typing import Any

import pytest

import wengert
from tests.cli.process import good, python, script
from tests.cli.process import wengert as command
from tests.source import ROOT
from wengert.compat import _extensions, differences, missing_names, resolution


def test_a_name_that_pytorch_has() -> None:
    assert missing_names.missing("torch.dequantize") == (
        "torch.dequantize: wengert has no torch.dequantize yet (this process runs wengert in place"
        " of PyTorch); instead: float32, float16 and bfloat16"
    )
    assert missing_names.describe("torch.package.importer").endswith("of a state_dict")


def test_a_typo() -> None:
    said = missing_names.missing("torch.nn.Liner")
    assert said == (
        "torch.nn.Liner: no such name in PyTorch 2.13 either; did you mean torch.nn.Linear?"
    )


def test_the_package_that_asks_is_named(tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "asking"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("import torch\n\ntorch.dequantize\n")
    code = f"""if True:
        import sys
        sys.path.insert(0, {str(package.parent)!r})
        import wengert.compat
        wengert.compat.install()
        for name in ("asking", "torch"):
            try:
                __import__(name).dequantize
            except AttributeError as error:
                print(error)
    """
    first, second = good(python("-c", code)).splitlines()
    assert first.endswith(f"(asked for by asking, {package / '__init__.py'}:3)")
    assert "asked for" not in second


def test_the_table_of_differences_is_up_to_date() -> None:
    result = subprocess.run(
        [sys.executable, "tools/differences.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr


def test_what_is_listed_as_missing_is_missing() -> None:
    assert [name for name in missing_names.listed() if resolution.resolve(name).exists] == []


def test_differing_names_are_there() -> None:
    names = differences.differing_names()
    assert len(names) > 80
    assert [name for name in names if not resolution.resolve(name).exists] == []


@pytest.mark.torch
def test_missing_methods_of_tensors_are_listed(torch: Any) -> None:
    listed = {name.removeprefix("torch.Tensor.") for name in missing_names.listed()}
    missing = {name for name in dir(torch.Tensor) if name[0] != "_"} - set(dir(wengert.Tensor))
    # Nobody calls these, they only tell what a tensor is not, or nested ones alone have them.
    inner = {"const_data_ptr", "grad_dtype", "index", "is_distributed", "is_ipu",
             "is_maia", "is_mtia", "is_vulkan", "is_xla", "slice_inverse",
             "storage_type", "to_padded_tensor"}  # fmt: skip
    assert missing - inner <= listed


def test_an_extension_of_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    error = "libtorch_cpu.so: cannot open shared object file: No such file or directory"

    def fail(self: Any, spec: ModuleSpec) -> None:
        raise ImportError(error)

    monkeypatch.setattr(_extensions, "_original", fail)
    monkeypatch.setattr(ExtensionFileLoader, "create_module", ExtensionFileLoader.create_module)
    _extensions.explain_errors()
    loader = ExtensionFileLoader("package._C", "/package/_C.so")
    spec = ModuleSpec("package._C", loader, origin="/package/_C.so")
    with pytest.raises(ImportError, match=r"package\._C is compiled code for PyTorch's C\+\+"):
        loader.create_module(spec)
    error = "libjpeg.so: cannot open shared object file"
    with pytest.raises(ImportError, match=r"^libjpeg"):
        loader.create_module(spec)


def test_install_and_uninstall_leave_the_loader_as_it_was() -> None:
    code = """if True:
        from importlib.machinery import ExtensionFileLoader as E
        import wengert.compat
        before = E.create_module
        wengert.compat.install()
        print(E.create_module is before)
        wengert.compat.uninstall()
        print(E.create_module is before)
    """
    assert good(python("-c", code)).split() == ["False", "True"]


def test_libraries_of_operations(tmp_path: Path) -> None:
    file = script(tmp_path, 'import torch\ntorch.ops.load_library("x.so")')
    result = command("run", "--quiet", str(file))
    assert "OSError: torch.ops.load_library('x.so'): this is compiled code" in result.stderr


def test_modules_that_pytorch_loads_only_when_asked_are_its_own() -> None:
    said = missing_names.describe("torch.utils.mobile_optimizer")
    assert said.startswith("wengert has no torch.utils.mobile_optimizer yet")
