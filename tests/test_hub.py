"""Files of weights by URL, models of a folder, and what refuses to be built."""

from __future__ import annotations

import hashlib

import pytest

import wengert
from wengert import hub
from wengert.utils import model_zoo


def test_weights_are_fetched_once(tmp_path, capsys):
    source = tmp_path / "w.pth"
    wengert.save({"w": wengert.ones(2)}, source)
    kept = tmp_path / "kept"
    for _ in range(2):
        loaded = model_zoo.load_url(source.as_uri(), str(kept), progress=False)
        assert loaded["w"].tolist() == [1.0, 1.0]
    assert capsys.readouterr().out.count("Downloading") == 1


def test_checksums_are_compared(tmp_path):
    content = b"weights"
    good = hashlib.sha256(content).hexdigest()
    (tmp_path / "a").write_bytes(content)
    url = (tmp_path / "a").as_uri()
    hub.download_url_to_file(url, str(tmp_path / "b"), good[:8])
    assert (tmp_path / "b").read_bytes() == content
    with pytest.raises(RuntimeError, match='expected "00000000"'):
        hub.download_url_to_file(url, str(tmp_path / "c"), "00000000")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]


def test_models_of_a_folder(tmp_path):
    (tmp_path / "hubconf.py").write_text("def model(n): return [n]\n")
    assert hub.load(str(tmp_path), "model", 3, source="local") == [3]
    with pytest.raises(RuntimeError, match="Cannot find callable other"):
        hub.load(str(tmp_path), "other", source="local")


def test_the_folder_is_set(monkeypatch):
    monkeypatch.setattr(hub._Folder, "path", None)
    monkeypatch.setenv("TORCH_HOME", "/somewhere")
    assert hub.get_dir() == "/somewhere/hub"
    hub.set_dir("/elsewhere")
    assert hub.get_dir() == "/elsewhere"
