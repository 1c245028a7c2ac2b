"""A timeline in a file or in a notebook."""

from __future__ import annotations

import os
from pathlib import Path

from wengert.graph import _page
from wengert.graph._profile import page, picture
from wengert.graph._profile.timeline import Timeline


def save(timeline: Timeline, path: str | os.PathLike[str]) -> None:
    """Write a timeline in the format that the path's ending names."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"save(): path must be a str or a path, not {type(path).__name__}")
    ending = Path(path).suffix.lower()
    if ending == ".html":
        _page.write(path, page.page(timeline))
    elif ending == ".svg":
        _page.write(path, picture.svg(timeline))
    elif ending == ".png":
        Path(path).write_bytes(picture.png(timeline))
    elif ending == ".json":
        _page.write(path, timeline.to_json(indent=1) + "\n")
    else:
        raise ValueError(
            f"save(): path must end with .html, .svg, .png or .json, and is {os.fspath(path)!r}"
        )


def notebook(timeline: Timeline) -> str:
    """A timeline for a notebook."""
    return _page.frame(page.page(timeline), 900)
