"""What a profile found, with its views: a page, a picture, a frame in a notebook."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from wengert.graph import html_page
from wengert.graph.timelines.timeline import TimelineData


@dataclass(frozen=True, slots=True, repr=False)
class Timeline(TimelineData):
    """What a profile found. Printed, it is a table; a notebook shows it as a chart.

    Attributes:
        seconds: how long it watched.
        times: seconds from its start. Of a long run some only, the peak always among them.
        total: bytes that graphs held at each of these times, and until the next.
        lines: the same by lines, those with the most bytes first. They sum up to `total`.
        modules: the same by modules.
        calls: backward and grad calls, in the order in which they began.
        peak: the most bytes, and what held them.
        left: what is held at the end.
        ended: why it stopped watching before its end; nothing if it did not.
    """

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as a page (.html), a picture (.svg, .png) or data (.json).

        A PNG takes ``resvg-py``, of the extra ``wengert[graph]``; ImportError without it.
        Raises ValueError for another ending.
        """
        from wengert.graph.timelines import page, picture

        if not isinstance(path, str | os.PathLike):
            raise TypeError(f"save(): path must be a str or a path, not {type(path).__name__}")
        ending = Path(path).suffix.lower()
        if ending == ".html":
            html_page.write_text(path, page.timeline_page(self))
        elif ending == ".svg":
            html_page.write_text(path, picture.svg(self))
        elif ending == ".png":
            Path(path).write_bytes(picture.png(self))
        elif ending == ".json":
            html_page.write_text(path, self.to_json(indent=1) + "\n")
        else:
            raise ValueError(
                f"save(): path must end with .html, .svg, .png or .json, and is {os.fspath(path)!r}"
            )

    def _repr_html_(self) -> str:
        from wengert.graph.timelines import page

        return html_page.frame(page.timeline_page(self), 900)
