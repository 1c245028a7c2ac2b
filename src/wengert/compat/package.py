"""The alias as an installed package: ``wengert alias``.

`install` writes a package ``torch`` that puts the alias in its own place when it is imported, stubs
for type checkers, and the metadata of a distribution, so that pip takes PyTorch for installed. All
that is written is listed in the distribution's RECORD, by which `remove`, and pip, delete it.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.util
import io
import os
import sys
import tempfile
from pathlib import Path

from wengert.compat import _metadata
from wengert.compat._stubs import stubs

_INIT = '''\
"""{name} from wengert: written by `wengert alias install`, deleted by `wengert alias remove`."""

import sys

from wengert import compat

# The import system hands out what is found under this name when the module has run.
del sys.modules[__name__]
compat.install()
import {name}
'''
_PREFIX = f"{_metadata.NAME}-"
_METADATA_FOLDER = f"{_PREFIX}{_metadata.VERSION}.dist-info"


class AliasError(RuntimeError):
    """The alias cannot be written or deleted.

    >>> import pathlib, tempfile
    >>> from wengert.compat import package
    >>> try:
    ...     package.remove(pathlib.Path(tempfile.mkdtemp()))
    ... except package.AliasError as error:
    ...     print(str(error)[:20])
    there is no alias in
    """


def install(folder: Path) -> None:
    """Write the alias into a folder of packages, in place of one that is there.

    All of it, or nothing: the files are complete before the first is moved to its place. Raises
    AliasError where a PyTorch is installed, or something else of its name.

    >>> import pathlib, sysconfig
    >>> from wengert.compat import package
    >>> package.install(pathlib.Path(sysconfig.get_path("purelib")))  # doctest: +SKIP
    """
    other = installed_pytorch(folder)
    if other is not None:
        raise AliasError(
            f"PyTorch is installed, in {other}. The alias would hide it: `wengert run SCRIPT` runs"
            " a script on wengert without changing the environment, and `pip uninstall torch`"
            " makes room for the alias"
        )
    earlier = _written(folder)
    for name in _metadata.TOP_LEVEL:
        if earlier is None and (folder / name).exists():
            raise AliasError(f"{folder / name} exists, and wengert did not write it")
    if earlier is not None:
        _check_untouched(folder, earlier)
    with tempfile.TemporaryDirectory(prefix=".wengert-", dir=folder) as staging:
        _write(Path(staging, "new"))
        _exchange(folder, earlier, Path(staging))


def remove(folder: Path) -> None:
    """Delete the alias from a folder of packages.

    Raises AliasError if there is none, or if files of it were changed or added since.

    >>> import pathlib, sysconfig
    >>> from wengert.compat import package
    >>> package.remove(pathlib.Path(sysconfig.get_path("purelib")))  # doctest: +SKIP
    """
    earlier = _written(folder)
    if earlier is None:
        raise AliasError(f"there is no alias in {folder}")
    _check_untouched(folder, earlier)
    with tempfile.TemporaryDirectory(prefix=".wengert-", dir=folder) as staging:
        _exchange(folder, earlier, Path(staging))


def version_in(folder: Path) -> str | None:
    """The version of PyTorch that the alias in a folder stands for; None without an alias.

    >>> import pathlib, tempfile
    >>> from wengert.compat import package
    >>> package.version_in(pathlib.Path(tempfile.mkdtemp()))
    """
    earlier = _written(folder)
    return None if earlier is None else earlier.name[len(_PREFIX) :].removesuffix(".dist-info")


def installed_pytorch(folder: Path) -> str | None:
    """The folder of a torch that Python would import, or that lies here, and is no alias.

    >>> import pathlib, sysconfig
    >>> from wengert.compat import package
    >>> package.installed_pytorch(pathlib.Path(sysconfig.get_path("purelib")))  # doctest: +SKIP
    """
    places = {folder, *map(Path, filter(None, sys.path))}
    spec = importlib.util.find_spec(_metadata.NAME)
    if spec is not None and spec.origin is not None:
        places.add(Path(spec.origin).parent.parent)
    for place in sorted(places):
        package = place / _metadata.NAME
        if (package / "__init__.py").exists() and _written(place) is None:
            return str(package)
    return None


def _contents() -> dict[str, str]:
    """The text of each file, by its path."""
    files = {f"{name}/__init__.py": _INIT.format(name=name) for name in _metadata.TOP_LEVEL}
    files |= {f"{name}/py.typed": "" for name in _metadata.TOP_LEVEL}
    files |= stubs()
    files |= {f"{_METADATA_FOLDER}/{name}": text for name, text in _metadata.FILES.items()}
    record = f"{_METADATA_FOLDER}/RECORD"
    rows = [(path, _digest(text.encode()), len(text.encode())) for path, text in files.items()]
    return {**files, record: _table([*rows, (record, "", "")])}


def _digest(content: bytes) -> str:
    digest = hashlib.sha256(content).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _table(rows: list[tuple[str, str, object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _write(folder: Path) -> None:
    for path, text in _contents().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())


def _exchange(folder: Path, earlier: Path | None, staging: Path) -> None:
    """Move what was there to `staging`/old, and what is new from `staging`/new to its place."""
    new, old = staging / "new", staging / "old"
    old.mkdir()
    out = [] if earlier is None else [*_metadata.TOP_LEVEL, earlier.name]
    moves = [(folder / name, old / name) for name in out if (folder / name).exists()]
    if new.exists():
        names = (*_metadata.TOP_LEVEL, _METADATA_FOLDER)  # metadata last: it vouches for the rest
        moves += [(new / name, folder / name) for name in names]
    moved: list[tuple[Path, Path]] = []
    try:
        for source, target in moves:
            os.rename(source, target)
            moved.append((source, target))
    except BaseException:
        for source, target in reversed(moved):
            os.rename(target, source)
        raise


def _written(folder: Path) -> Path | None:
    """The metadata folder of an alias; None without one."""
    for metadata in sorted(folder.glob(f"{_PREFIX}*.dist-info")):
        installer = metadata / "INSTALLER"
        if installer.exists() and installer.read_text() == _metadata.FILES["INSTALLER"]:
            return metadata
    return None


def _check_untouched(folder: Path, metadata: Path) -> None:
    """Raise AliasError if there is something that `install` did not write."""
    with open(metadata / "RECORD", newline="", encoding="utf-8") as file:
        digests = {path: digest for path, digest, _ in csv.reader(file)}
    foreign = []
    for top in (*_metadata.TOP_LEVEL, metadata.name):
        for path in sorted((folder / top).rglob("*")):
            name = path.relative_to(folder).as_posix()
            if path.is_dir() or path.parent.name == "__pycache__":
                continue
            digest = digests.get(name)
            if digest is None or (digest and digest != _digest(path.read_bytes())):
                foreign.append(name)
    if foreign:
        raise AliasError(
            f"{', '.join(foreign[:5])}{', …' if foreign[5:] else ''} in {folder}: not as wengert"
            " wrote it; move or delete what was changed or added, then try again"
        )
