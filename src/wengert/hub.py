"""``torch.hub``: files of weights by URL, kept in a folder, and models of a local folder."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
import tempfile
from collections.abc import Callable
from typing import Any
from urllib.parse import urlparse

from wengert.serialization import load as load_file

_HASH = re.compile(r"-([a-f0-9]{8,})\.")
_BLOCK = 1 << 20


class _Folder:
    path: str | None = None


def get_dir() -> str:
    """Where downloads are kept: `set_dir`'s, else ``$TORCH_HOME/hub``, else in the user's cache.

    >>> import wengert.hub
    >>> wengert.hub.get_dir().endswith("hub")
    True
    """
    if _Folder.path is not None:
        return _Folder.path
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("TORCH_HOME", os.path.join(cache, "torch"))
    return os.path.join(os.path.expanduser(home), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Say where downloads are kept.

    >>> import wengert.hub
    >>> wengert.hub.set_dir(wengert.hub.get_dir())
    """
    _Folder.path = os.path.expanduser(os.fspath(d))


def download_url_to_file(
    url: str, dst: str, hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Fetch a URL, which may be a ``file://`` one, into a file.

    Args:
        url: what to fetch.
        dst: the file; it is written whole or not at all.
        hash_prefix: how the SHA-256 of the content begins; RuntimeError if it does not.
        progress: accepted, without effect.

    >>> import os, pathlib, tempfile, wengert.hub
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source = pathlib.Path(folder, "a")
    ...     size = source.write_bytes(b"abc")
    ...     wengert.hub.download_url_to_file(source.as_uri(), os.path.join(folder, "b"))
    ...     pathlib.Path(folder, "b").read_bytes()
    b'abc'
    """
    from urllib.request import urlopen

    folder = os.path.dirname(os.path.abspath(dst))
    digest = hashlib.sha256()
    with urlopen(url) as source, tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
        try:
            while block := source.read(_BLOCK):
                file.write(block)
                digest.update(block)
            file.close()
            if hash_prefix is not None and not digest.hexdigest().startswith(hash_prefix):
                raise RuntimeError(
                    f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()}"):'
                    f" {url}"
                )
            os.replace(file.name, dst)
        except BaseException:
            os.unlink(file.name)
            raise


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> dict[str, Any]:
    """What a file of weights holds, fetched unless it is there from an earlier call.

    Args:
        url: where it is; ``file://`` works without a network.
        model_dir: where it is kept; ``checkpoints`` in `get_dir` if None.
        map_location, weights_only: see `wengert.load`.
        progress: accepted, without effect.
        check_hash: whether the name of the file holds its SHA-256, as in ``resnet-5c106cde.pth``.
        file_name: its name here; that of the URL if None.

    >>> import pathlib, tempfile, wengert
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "w.pth")
    ...     wengert.save({"w": wengert.ones(1)}, path)
    ...     wengert.hub.load_state_dict_from_url(path.as_uri(), model_dir=folder)
    {'w': tensor([1.])}
    """
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, file_name or os.path.basename(urlparse(url).path))
    if not os.path.exists(path):
        match = _HASH.search(path) if check_hash else None
        print(f'Downloading: "{url}" to {path}')
        download_url_to_file(url, path, match[1] if match else None, progress)
    loaded: dict[str, Any] = load_file(path, map_location, weights_only=weights_only)
    return loaded


def load(
    repo_or_dir: str,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: Any = "check",
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """A model that the ``hubconf.py`` of a local folder makes; nothing is fetched from GitHub.

    Args:
        repo_or_dir: the folder.
        model: the name of a function in its ``hubconf.py``.
        args, kwargs: what it is called with.
        source: must be ``"local"``.
        trust_repo, force_reload, verbose, skip_validation: without effect.

    >>> import wengert.hub
    >>> try:
    ...     wengert.hub.load("pytorch/vision", "resnet18")
    ... except RuntimeError:
    ...     print("not from GitHub")
    not from GitHub
    """
    if source != "local":
        raise RuntimeError(
            f"torch.hub.load({repo_or_dir!r}, source={source!r}): wengert fetches no code; clone"
            " the repository and pass its folder with source='local'"
        )
    entry: Callable[..., Any] | None = getattr(_hubconf(repo_or_dir), model, None)
    if not callable(entry):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return entry(*args, **kwargs)


def _hubconf(folder: str) -> Any:
    path = os.path.join(folder, "hubconf.py")
    spec: Any = importlib.util.spec_from_file_location("hubconf", path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.fspath(folder))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(os.fspath(folder))
    return module


__all__ = ["download_url_to_file", "get_dir", "load", "load_state_dict_from_url", "set_dir"]
