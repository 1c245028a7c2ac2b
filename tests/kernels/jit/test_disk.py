"""Compiled kernels on disk: found again, checked, shared by processes, limited in size."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from wengert.kernels._jit import available, disk

SCRIPT = """
import numpy as np, sys
from wengert.kernels._jit import compiler, disk
made = []
kept = disk.write
disk.write = lambda key, content: (made.append(key), kept(key, content))
import wengert.kernels._jit.compiler as c
text = '''define void @twice(ptr %x, i64 %start, i64 %stop) {
  %v = load float, ptr %x
  %w = fadd float %v, %v
  store float %w, ptr %x
  ret void
}
'''
twice = c.load("twice", "p", lambda: text, text)
x = np.full(1, 3.0, np.float32)
twice(x, 1, 1)
print(x[0], len(made))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own."""
    monkeypatch.setenv("WENGERT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "kernels"


def run() -> str:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_entries_come_back(folder: Path) -> None:
    assert disk.read("key") is None
    disk.write("key", b"content")
    assert disk.read("key") == b"content"
    assert [entry.name for entry in folder.iterdir()] == ["key"]


@pytest.mark.parametrize("damage", [b"", b"x", b"x" * 100])
def test_what_is_damaged_is_ignored_and_written_again(folder: Path, damage: bytes) -> None:
    disk.write("key", b"content")
    (folder / "key").write_bytes(damage)
    assert disk.read("key") is None
    disk.write("key", b"content")
    assert disk.read("key") == b"content"


def test_a_cut_entry_is_ignored(folder: Path) -> None:
    disk.write("key", b"content" * 100)
    path = folder / "key"
    path.write_bytes(path.read_bytes()[:-1])
    assert disk.read("key") is None


def test_the_oldest_go_when_there_is_no_room(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "_CAP", 1000)
    for n in range(5):
        disk.write(f"key{n}", bytes(200))
        os.utime(folder / f"key{n}", (n, n))
    disk.read("key1")  # used now
    disk.write("new", bytes(200))
    left = {entry.name for entry in folder.iterdir()}
    assert {"new", "key1"} <= left
    assert "key2" not in left
    assert sum(entry.stat().st_size for entry in folder.iterdir()) <= 1000


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders have no owner here")
def test_a_folder_that_others_may_write_is_not_used(folder: Path) -> None:
    disk.write("key", b"content")
    folder.chmod(0o777)
    assert disk.folder() is None
    assert disk.read("key") is None
    disk.write("other", b"content")
    assert not (folder / "other").exists()


def test_nothing_is_kept_without_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_CACHE", "")
    assert disk.folder() is None
    disk.write("key", b"content")
    assert disk.read("key") is None


def test_a_folder_that_cannot_be_made_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WENGERT_CACHE", str(tmp_path / "file"))
    assert disk.folder() is None
    disk.write("key", b"content")


@pytest.mark.skipif(not available(), reason="no llvmlite")
def test_a_second_process_compiles_nothing_and_a_damaged_entry_is_made_again(folder: Path) -> None:
    assert run() == "6.0 2"  # the pool and the kernel
    assert run() == "6.0 0"
    for entry in folder.iterdir():
        entry.write_bytes(entry.read_bytes()[:50])
    assert run() == "6.0 2"


@pytest.mark.skipif(not available(), reason="no llvmlite")
def test_processes_that_start_together_share_a_cache(folder: Path) -> None:
    children = [
        subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    assert [child.communicate()[0].split()[0] for child in children] == ["6.0"] * 4
    assert all(disk.read(entry.name) is not None for entry in folder.iterdir())


def test_arrays_are_read_where_they_lie() -> None:
    if not available():
        pytest.skip("no llvmlite")
    from wengert.kernels._jit import compiler

    assert compiler.reads_arrays()
    assert object.__basicsize__ == compiler.DATA
    assert np.zeros(1).ctypes.data
