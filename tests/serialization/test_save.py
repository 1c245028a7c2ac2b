"""What is saved comes back, here and in PyTorch; files appear whole or not at all."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert
from tests.serialization.samples import others, plain, saved, tensors
from wengert import nn, optim
from wengert.serialization import archives
from wengert.serialization._names import path_of

TENSORS, OTHERS = tensors(wengert), others(wengert)
WITHOUT_STORAGE_CLASS = ("uint16", "uint32", "uint64")
PROTOCOLS = pytest.mark.parametrize("options", [
    {}, {"pickle_protocol": 4}, {"_use_new_zipfile_serialization": False},
], ids=["zip", "protocol 4", "legacy"])  # fmt: skip


@PROTOCOLS
@pytest.mark.parametrize("name", TENSORS)
def test_tensors_come_back(name: str, options: dict[str, Any]) -> None:
    assert plain(wengert.load(saved(wengert, TENSORS[name], **options))) == plain(TENSORS[name])


@PROTOCOLS
@pytest.mark.parametrize("name", OTHERS)
def test_other_values_come_back(name: str, options: dict[str, Any]) -> None:
    back = wengert.load(saved(wengert, OTHERS[name], **options))
    assert back == OTHERS[name]
    assert type(back) is type(OTHERS[name])
    assert vars(back) == vars(OTHERS[name]) if name == "ordered" else True


@pytest.mark.torch
@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("name", TENSORS)
def test_tensors_go_both_ways(name: str, legacy: bool, torch: Any) -> None:
    options = {"_use_new_zipfile_serialization": not legacy}
    theirs = tensors(torch)[name]
    if not (legacy and name in WITHOUT_STORAGE_CLASS):  # PyTorch cannot read its own either
        assert plain(torch.load(saved(wengert, TENSORS[name], **options))) == plain(theirs)
    assert plain(wengert.load(saved(torch, theirs, **options))) == plain(theirs)


@PROTOCOLS
def test_a_file_is_flushed_once_it_is_whole(options: dict[str, Any]) -> None:
    flushed = []

    class Upload(io.BytesIO):
        def flush(self) -> None:
            flushed.append(self.getvalue())

    target = Upload()
    wengert.save({"a": wengert.ones(2)}, target, **options)
    assert flushed == [target.getvalue()]
    assert wengert.load(io.BytesIO(flushed[0]))["a"].tolist() == [1, 1]


@pytest.mark.torch
@pytest.mark.parametrize("name", OTHERS)
def test_other_values_go_both_ways(name: str, torch: Any) -> None:
    theirs = others(torch)[name]
    assert torch.load(saved(wengert, OTHERS[name])) == theirs
    assert wengert.load(saved(torch, theirs)) == OTHERS[name]


@pytest.mark.torch
def test_file_is_pytorchs_but_for_its_identity(torch: Any) -> None:
    def bytes_of(m: Any) -> bytes:
        value = {"a": m.ones(3), "e": m.empty(0), "n": [1, 2.5], "b": m.ones(2).bfloat16()}
        return saved(m, value).getvalue()

    def without_identity(data: bytes) -> bytes:
        archive = zipfile.ZipFile(io.BytesIO(data))
        entry = archive.getinfo("archive/.data/serialization_id")
        value = archive.read(entry)
        assert len(value) == 40
        return data.replace(value, b"").replace(entry.CRC.to_bytes(4, "little"), b"")

    assert without_identity(bytes_of(wengert)) == without_identity(bytes_of(torch))


def test_views_share_memory_again() -> None:
    x = wengert.arange(6.0)
    a, b = wengert.load(saved(wengert, [x, x.view(2, 3).t()[1:]]))
    a.mul_(10)
    assert b.tolist() == [[10.0, 40.0], [20.0, 50.0]]
    assert b.stride() == (1, 3)
    assert b.storage_offset() == 1


def test_same_tensor_comes_back_once() -> None:
    x = wengert.ones(2)
    a, b = wengert.load(saved(wengert, [x, x]))
    assert a is b


def test_arrays_that_numpy_alone_describes_are_copied() -> None:
    x = np.arange(6.0)
    backwards = wengert.from_numpy(np.lib.stride_tricks.as_strided(x, (3,), (16,)))
    assert wengert.load(saved(wengert, backwards)).tolist() == [0.0, 2.0, 4.0]


def test_attributes_of_tensors_and_parameters_are_kept() -> None:
    t, p = wengert.ones(2), nn.Parameter(wengert.ones(2))
    t.note, p.note = "a", "b"  # type: ignore[attr-defined]
    t, p = wengert.load(saved(wengert, [t, p]))
    assert (t.note, p.note, type(p)) == ("a", "b", nn.Parameter)


def test_one_memory_as_two_dtypes_is_refused() -> None:
    x = wengert.ones(2, dtype=wengert.complex64)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        saved(wengert, [x, wengert.view_as_real(x)])


def test_numpy_values_come_back() -> None:
    values = {
        "a": np.float32(1.5),
        "b": np.arange(6.0).reshape(2, 3),
        "c": np.arange(3, dtype=">i4"),
    }
    back = wengert.load(saved(wengert, values))
    assert back["a"] == 1.5
    assert isinstance(back["a"], np.float32)
    np.testing.assert_array_equal(back["b"], values["b"])
    np.testing.assert_array_equal(back["c"], values["c"])


def network(m: Any) -> Any:
    """Layers with parameters and buffers.

    No bias before the batch norm: its gradient is rounding, which Adam makes large.
    """
    return m.nn.Sequential(
        m.nn.Linear(3, 4, False), m.nn.BatchNorm1d(4), m.nn.ReLU(), m.nn.Linear(4, 1)
    )


def trained(m: Any) -> tuple[Any, Any]:
    """A network, and its optimizer after a step."""
    m.manual_seed(0)
    net = network(m).double()
    optimizer = m.optim.Adam(net.parameters(), lr=0.1)
    net(samples(m)).square().sum().backward()
    optimizer.step()
    return net, optimizer


def samples(m: Any) -> Any:
    return (m.arange(24.0).double() * 1.7).sin().reshape(8, 3)


@pytest.mark.torch
def test_training_goes_on_in_the_other_library(torch: Any) -> None:
    for here, there in ((wengert, torch), (torch, wengert)):
        net, optimizer = trained(here)
        file = saved(here, {"net": net.state_dict(), "optimizer": optimizer.state_dict()})
        checkpoint = there.load(file)
        other = network(there).double()
        other.load_state_dict(checkpoint["net"])
        again = there.optim.Adam(other.parameters())
        again.load_state_dict(checkpoint["optimizer"])
        for m, n, o in ((here, net, optimizer), (there, other, again)):
            o.zero_grad()
            n(samples(m) + 0.5).square().sum().backward()
            o.step()
        for a, b in zip(net.parameters(), other.parameters(), strict=True):
            np.testing.assert_allclose(a.tolist(), b.tolist(), rtol=1e-9, atol=1e-12)
        assert checkpoint["net"]._metadata == net.state_dict()._metadata


@pytest.mark.torch
def test_modules_go_both_ways(torch: Any) -> None:
    for here, there in ((wengert, torch), (torch, wengert), (wengert, wengert)):
        net = network(here)
        other = there.load(saved(here, net), weights_only=False)
        assert str(other) == str(net)
        other.register_forward_hook(lambda m, args, kwargs, out: out * 2, with_kwargs=True)
        x = there.ones(2, 3)
        np.testing.assert_allclose(
            other.eval()(x).tolist(), (2 * net.eval()(here.ones(2, 3))).tolist(), rtol=1e-5
        )


@pytest.mark.torch
def test_classes_have_the_names_that_pytorch_gives_them(torch: Any) -> None:
    found = {}
    pairs = [
        (nn, torch.nn),
        (optim, torch.optim),
        (optim.lr_scheduler, torch.optim.lr_scheduler),
        (wengert.utils.data, torch.utils.data),
    ]
    for here, there in pairs:
        for name in dir(here):
            ours, theirs = getattr(here, name), getattr(there, name, None)
            if not (isinstance(ours, type) and isinstance(theirs, type)):
                continue
            path = (theirs.__module__, theirs.__qualname__)
            if path_of(ours) != path:
                found[name] = (path_of(ours), path)
    assert found == {}
    policy = wengert.utils.checkpoint.CheckpointPolicy
    assert path_of(policy) == ("torch.utils.checkpoint", "CheckpointPolicy")


class Unsavable:
    """An object that cannot be pickled."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise KeyboardInterrupt


def test_interrupt_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    wengert.save([1], path)
    with pytest.raises(KeyboardInterrupt):
        wengert.save(Unsavable(), path)
    assert wengert.load(path) == [1]
    assert os.listdir(tmp_path) == ["a.pt"]


def test_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "a.pt"
    wengert.save([1], path)

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        wengert.save([2], path)
    assert wengert.load(path) == [1]
    assert os.listdir(tmp_path) == ["a.pt"]


def test_links_and_modes_of_replaced_files_stay(tmp_path: Path) -> None:
    target, link = tmp_path / "a.pt", tmp_path / "b.pt"
    wengert.save([1], target)
    target.chmod(0o640)
    link.symlink_to(target)
    wengert.save([2], link)
    assert link.is_symlink()
    assert wengert.load(target) == [2]
    assert target.stat().st_mode & 0o777 == 0o640


def test_wrong_targets_are_named(tmp_path: Path) -> None:
    with pytest.raises(AttributeError, match="'write' attribute, got int"):
        wengert.save([1], 5)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match=r"Parent directory .* does not exist"):
        wengert.save([1], tmp_path / "no" / "a.pt")
    with pytest.raises(NotImplementedError, match="pickle_module"):
        wengert.save([1], tmp_path / "a.pt", pickle_module=zipfile)
    with pytest.raises(RuntimeError, match="of a transform"):
        wengert.vmap(lambda x: saved(wengert, x))(wengert.ones(2))


def test_functions_of_a_program_are_not_pickled_by_value() -> None:
    with pytest.raises((pickle.PicklingError, AttributeError)):
        saved(wengert, lambda: None)


@pytest.mark.torch
def test_fields_of_eight_bytes(monkeypatch: Any, torch: Any) -> None:
    """As in files of more than 4 GB, with a bound that a test can reach."""
    monkeypatch.setattr(archives, "LIMIT", 100)
    values = [wengert.arange(100.0), wengert.ones(2)]
    file = saved(wengert, values)
    assert zipfile.ZipFile(file).testzip() is None
    for m in (wengert, torch):
        file.seek(0)
        assert [t.tolist() for t in m.load(file)] == [t.tolist() for t in values]
