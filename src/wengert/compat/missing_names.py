"""What is said of a name that is asked for and not there."""

from __future__ import annotations

import difflib
import os
import sys

from wengert.compat import differences, torch_names

_HERE = "(this process runs wengert in place of PyTorch)"


def missing(path: str) -> str:
    """What the error of a name that is not there says.

    >>> from wengert.compat.missing_names import missing
    >>> missing("torch.zeroz")
    'torch.zeroz: no such name in PyTorch 2.13 either; did you mean torch.zeros or torch.zero_?'
    """
    said = describe(path)
    lacks, mark, instead = said.partition(" yet")
    return f"{path}: {lacks}{mark} {_HERE}{instead}" if mark else f"{path}: {said}"


def describe(path: str) -> str:
    """Whether PyTorch has a name that wengert lacks, and what else there is.

    Names that neither has come with those that look like them.

    >>> from wengert.compat.missing_names import describe
    >>> describe("torch.dequantize")
    'wengert has no torch.dequantize yet; instead: float32, float16 and bfloat16'
    """
    if not torch_names.is_pytorchs(path):
        close = nearest(path)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        return f"no such name in PyTorch {_release()} either{hint}"
    instead = _instead(path)
    return f"wengert has no {path} yet" + (f"; instead: {instead}" if instead else "")


def listed() -> dict[str, str]:
    """The names that the documentation lists as missing, with what there is instead.

    >>> from wengert.compat.missing_names import listed
    >>> "torch.quantize_per_tensor" in listed()
    True
    """
    return differences.missing_names()


def asker() -> str:
    """Which installed package asks for a name, and where; empty for a program of the user's own.

    The traceback of an error shows that line, too, but not where the error is caught and told.

    >>> from wengert.compat.missing_names import asker
    >>> asker()
    ''
    """
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        name = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if name not in ("wengert", "importlib") and not file.startswith("<frozen"):
            break
        frame = frame.f_back  # type: ignore[assignment]
    if frame is None or f"{os.sep}site-packages{os.sep}" not in frame.f_code.co_filename:
        return ""
    return f" (asked for by {name}, {frame.f_code.co_filename}:{frame.f_lineno})"


def _instead(path: str) -> str:
    """What the documentation names instead of a name, or of what it is in."""
    remedies = listed()
    while path not in remedies and "." in path:
        path = path.rpartition(".")[0]
    remedy = remedies.get(path, "")
    return "" if remedy == "—" else remedy.replace("`", "")


def _release() -> str:
    return ".".join(torch_names.VERSION.split(".")[:2])


def nearest(path: str) -> list[str]:
    """The names of PyTorch that look most like one that it does not have.

    >>> from wengert.compat.missing_names import nearest
    >>> nearest("torch.nn.Liner")
    ['torch.nn.Linear']
    """
    module, _, name = path.rpartition(".")
    close = difflib.get_close_matches(name, torch_names.of_module(module).words(), n=3, cutoff=0.8)
    return [f"{module}.{word}" for word in close]
