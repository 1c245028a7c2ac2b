"""Compiled kernels on disk: found again, checked, shared by processes, limited in size."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wengert.kernels.jit import available, disk

SCRIPT = """
import numpy as np, sys
from wengert.kernels.jit import compiler, disk
made = []
kept = disk.write
disk.write = lambda key, content: (made.append(key), kept(key, content))
import wengert.kernels.jit.compiler as c
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


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "_warned", set())


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


def test_an_entry_under_another_name_is_ignored(folder: Path) -> None:
    """A valid one: its code has other functions."""
    disk.write("key", b"content")
    (folder / "key").rename(folder / "other")
    assert disk.read("other") is None
    disk.write("other", b"its own")
    assert disk.read("other") == b"its own"


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders have no owner here")
def test_a_folder_that_others_may_write_is_not_used(folder: Path) -> None:
    disk.write("key", b"content")
    folder.chmod(0o770)
    with pytest.warns(UserWarning, match="compiled kernels are not kept") as caught:
        assert disk.folder() is None
    assert disk.read("key") is None  # and says it once: another warning were an error
    disk.write("other", b"content")
    assert not (folder / "other").exists()
    (warning,) = caught
    text = str(warning.message)
    assert text.startswith("compiled kernels are not kept, so that each process compiles them")
    assert f"others may write to the folder {folder} (its mode is 770)" in text
    assert "chmod go-w" in text
    assert "WENGERT_CACHE" in text


def test_a_folder_of_another_user_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 12345, raising=False)
    with pytest.warns(UserWarning, match="belongs to another user"):
        assert disk.folder() is None


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="another folder")
def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("WENGERT_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", home)
    with pytest.warns(UserWarning, match="there is no folder for them"):
        assert disk.folder() is None


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_a_disk_that_takes_no_more(
    folder: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    disk.write("key", b"content")

    def refuse(*arguments: Any, **options: Any) -> Any:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fdopen", refuse)
    with pytest.warns(UserWarning, match="cannot be written to"):
        disk.write("other", b"content")
    disk.write("third", b"content")  # says nothing more
    assert [entry.name for entry in folder.iterdir()] == ["key"]
    assert disk.read("key") == b"content"


def test_an_entry_is_read_where_nothing_can_be_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk.write("key", b"content")

    def refuse(*arguments: Any) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "utime", refuse)
    assert disk.read("key") == b"content"


def test_what_is_no_file_is_ignored(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "_CAP", 1000)
    disk.write("key", b"content")
    (folder / "folder").mkdir()
    (folder / "link").symlink_to(folder / "nowhere")
    (folder / "large").write_bytes(bytes(2000))
    assert [disk.read(name) for name in ("folder", "link", "large")] == [None] * 3
    disk.write("other", b"content")  # which has to make room
    assert disk.read("other") == b"content"
    assert (folder / "folder").exists()


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
    with pytest.warns(UserWarning, match="cannot be made"):
        assert disk.folder() is None
    disk.write("key", b"content")


@pytest.mark.skipif(not available(), reason="no llvmlite")
def test_a_second_process_compiles_nothing_and_a_damaged_entry_is_made_again(folder: Path) -> None:
    assert run() == "6.0 2"  # the pool and the kernel
    assert run() == "6.0 0"
    for entry in folder.iterdir():
        entry.write_bytes(entry.read_bytes()[:50])
    assert run() == "6.0 2"
    first, second = folder.iterdir()  # each in the other's place
    first.rename(folder / "between")
    second.rename(first)
    (folder / "between").rename(second)
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
    from wengert.kernels.jit import compiler, targets

    assert compiler.reads_arrays()
    assert object.__basicsize__ == targets.DATA
    assert np.zeros(1).ctypes.data
