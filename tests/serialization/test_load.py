"""Where tensors land, what is mapped, which programs' classes are allowed, .safetensors."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert
from tests.cli.process import good, script
from tests.cli.process import wengert as run
from tests.serialization.samples import saved, tensors
from wengert import nn, serialization
from wengert.serialization.archives import Writer

# Saved by PyTorch 2.13 on a machine with a GPU would say cuda:0 where this says cpu.
ON_CPU = saved(wengert, wengert.ones(2), _use_new_zipfile_serialization=False).getvalue()
ON_CUDA = ON_CPU.replace(b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0")


def on_cuda() -> io.BytesIO:
    return io.BytesIO(ON_CUDA)


@pytest.mark.parametrize("where", [
    "cpu", b"cpu", wengert.device("cpu"), {"cuda:0": "cpu"}, lambda storage, location: storage,
])  # fmt: skip
def test_map_location(where: Any) -> None:
    assert wengert.load(on_cuda(), where).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("where", [None, "cuda:0", {"cpu": "cuda"}, lambda storage, location: None])
def test_tensors_of_other_devices_need_a_place(where: Any) -> None:
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        wengert.load(on_cuda(), map_location=where)


def test_places_that_are_none() -> None:
    with pytest.raises(RuntimeError, match=r"don't know how to restore .*tagged with xyz"):
        wengert.load(on_cuda(), map_location="xyz")
    with pytest.raises(TypeError, match="'map_location' must be"):
        wengert.load(on_cuda(), map_location=3)
    with pytest.raises(TypeError, match="returned int"):
        wengert.load(on_cuda(), map_location=lambda storage, location: 3)


def test_map_location_learns_what_was_saved() -> None:
    seen = []

    def note(storage: Any, location: str) -> Any:
        seen.append((storage.nbytes(), location))
        return storage

    wengert.load(on_cuda(), note)
    assert seen == [(8, "cuda:0")]


def test_mapped_file_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    wengert.save(tensors(wengert), path)
    before = path.read_bytes()
    mapped, read = wengert.load(path, mmap=True), wengert.load(path)
    for name, tensor in mapped.items():
        assert (tensor == read[name]).all(), name
        assert tensor.stride() == read[name].stride()
    mapped["float32"].mul_(2)
    assert mapped["float32"].untyped_storage().nbytes() == 20
    assert not mapped["float32"].is_shared()
    assert path.read_bytes() == before


def test_only_zip_files_at_a_path_are_mapped(tmp_path: Path) -> None:
    wengert.save([1], tmp_path / "a.pt", _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        wengert.load(tmp_path / "a.pt", mmap=True)
    with pytest.raises(ValueError, match="f must be a file path"):
        wengert.load(io.BytesIO(), mmap=True)


def test_files_that_follow_each_other() -> None:
    file = io.BytesIO()
    for value in ([wengert.ones(2)], [2]):
        wengert.save(value, file, _use_new_zipfile_serialization=False)
    file.seek(0)
    assert wengert.load(file)[0].tolist() == [1.0, 1.0]
    assert wengert.load(file) == [2]


def test_arguments() -> None:
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        wengert.load(on_cuda(), pickle_module=pickle)
    with pytest.raises(NotImplementedError, match="runs no code"):
        wengert.load(on_cuda(), pickle_module=io, weights_only=False)
    with pytest.raises(TypeError, match="'fix_imports'"):
        wengert.load(on_cuda(), fix_imports=True)
    with pytest.raises(FileNotFoundError):
        wengert.load("no-such-file.pt")
    with pytest.raises(AttributeError, match=r"You can only torch\.load from a file that is"):
        wengert.load(5)  # type: ignore[arg-type]


def test_strings_of_python_2() -> None:
    file = b"".join([
        pickle.dumps(0x1950A86A20F9469CFC6C, 2), pickle.dumps(1001, 2), pickle.dumps({}, 2),
        b"\x80\x02U\x02\xc3\xa4.", pickle.dumps([], 2),
    ])  # fmt: skip
    assert wengert.load(io.BytesIO(file)) == "ä"
    assert wengert.load(io.BytesIO(file), encoding="latin1") == "Ã¤"
    assert wengert.load(io.BytesIO(file), encoding="bytes") == b"\xc3\xa4"


def test_big_endian_files() -> None:
    file = saved(wengert, {"f": wengert.tensor([1.0, 2.0]), "c": wengert.tensor([1 + 2j])})
    value = wengert.load(io.BytesIO(file.getvalue()))
    swapped = {name: t._array.byteswap() for name, t in value.items()}
    data = saved(wengert, {n: wengert.from_numpy(a) for n, a in swapped.items()}).getvalue()
    archive, stream = zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
    writer = Writer(stream, "archive")
    for entry in archive.namelist()[:-1]:  # without the identity, which the writer adds
        name = entry.removeprefix("archive/")
        writer.add(name, b"big" if name == "byteorder" else archive.read(entry))
    writer.close()
    stream.seek(0)
    back = wengert.load(stream)
    assert back["f"].tolist() == [1.0, 2.0]
    assert back["c"].tolist() == [1 + 2j]


class Config:
    """A class of this program."""

    def __init__(self, width: int) -> None:
        self.width = width


class Net(nn.Module):
    """A module of this program."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 1)
        self.act = nn.functional.relu

    def forward(self, x: Any) -> Any:
        return self.act(self.layer(x))


def test_classes_that_the_program_allows() -> None:
    file = saved(wengert, [Config(3), Fraction(1, 3)])
    with pytest.raises(pickle.UnpicklingError, match=r"Weights only load failed(?s:.*)Config"):
        wengert.load(file)
    file.seek(0)
    assert serialization.get_unsafe_globals_in_checkpoint(file) == [
        "fractions.Fraction", f"{__name__}.Config",
    ]  # fmt: skip
    file.seek(0)
    with serialization.safe_globals([Config, (Fraction, "fractions.Fraction")]):
        config, third = wengert.load(file)
    assert (config.width, third) == (3, Fraction(1, 3))
    assert serialization.get_safe_globals() == []


def test_modules_of_the_program() -> None:
    net = Net()
    file = saved(wengert, {"net": net, "hooks": defaultdict(dict)})
    with pytest.raises(pickle.UnpicklingError, match="weights_only=False"):
        wengert.load(file)
    file.seek(0)
    back = wengert.load(file, weights_only=False)["net"]
    x = wengert.ones(3, 2)
    assert back(x).tolist() == net(x).tolist()
    assert back.layer.weight.requires_grad
    file.seek(0)
    with (
        serialization.safe_globals([Net, nn.Linear]),
        pytest.raises(pickle.UnpicklingError, match="relu"),
    ):
        wengert.load(file)


def test_other_objects_are_refused_with_weights_only_false_too() -> None:
    with pytest.raises(pickle.UnpicklingError, match=r"Config .*add_safe_globals"):
        wengert.load(saved(wengert, Config(3)), weights_only=False)


def test_optimizers() -> None:
    net = Net()
    optimizer = wengert.optim.SGD(net.parameters(), lr=0.5, momentum=0.9)
    back = wengert.load(saved(wengert, optimizer), weights_only=False)
    assert repr(back) == repr(optimizer)


def test_safetensors(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    values = {n: t for n, t in tensors(wengert).items() if n != "complex128"}
    wengert.save(values, path)
    back = wengert.load(path)
    assert back.keys() == values.keys()
    for name, tensor in values.items():
        assert back[name].dtype is tensor.dtype
        assert back[name].tolist() == tensor.tolist(), name
        back[name].zero_()
    for wrong in ({"a": 1}, [wengert.ones(2)], {"a": wengert.ones(2).to(wengert.complex128)}):
        with pytest.raises(ValueError, match=r"complex128|torch\.Tensor"):
            wengert.save(wrong, path)
    assert wengert.load(path).keys() == values.keys()
    path.write_bytes(b"abc")
    with pytest.raises(RuntimeError, match="no file of tensors"):
        wengert.load(path)


@pytest.mark.torch
def test_safetensors_of_the_other_library(tmp_path: Path, torch: Any) -> None:
    from safetensors.torch import load_file, save_file

    path = tmp_path / "a.safetensors"
    wengert.save({"a": wengert.ones(2, 3).bfloat16()}, path)
    assert load_file(path)["a"].dtype is torch.bfloat16
    save_file({"b": torch.arange(3)}, path)
    assert wengert.load(path)["b"].tolist() == [0, 1, 2]


def test_under_the_alias(tmp_path: Path) -> None:
    path = script(tmp_path, f"""
        import torch
        net = torch.nn.Linear(2, 1)
        torch.save({{"net": net.state_dict()}}, {str(tmp_path / "a.pt")!r})
        checkpoint = torch.load({str(tmp_path / "a.pt")!r}, map_location="cpu", weights_only=True)
        print(net.load_state_dict(checkpoint["net"]))
        torch.save(net, "net.pt")
        torch.serialization.add_safe_globals([torch.nn.Linear])
        print(torch.load("net.pt"))
    """)  # fmt: skip
    printed = good(run("run", "--quiet", str(path), cwd=tmp_path))
    assert printed.splitlines() == [
        "<All keys matched successfully>", "Linear(in_features=2, out_features=1, bias=True)",
    ]  # fmt: skip


def test_a_module_that_an_older_pytorch_saved() -> None:
    """State that a class lacks is as in a new module."""
    net = nn.Linear(2, 1)
    del net.__dict__["_backward_pre_hooks"]
    back = wengert.load(saved(wengert, net), weights_only=False)
    np.testing.assert_array_equal(back.weight.tolist(), net.weight.tolist())
    back.register_full_backward_pre_hook(lambda *args: None)
