"""A drawing as pixels."""

from __future__ import annotations

import re
from html import escape
from typing import Any

from wengert.graph import _optional
from wengert.graph.drawing._svg import colours

_ZOOM = 2.0
_PIXELS = 16e6  # of a picture; a larger one is made smaller than twice its size


def png_of(svg: str) -> bytes:
    """The pixels of a picture at twice its size."""
    resvg = _optional.resvg()
    _check_fonts(resvg)
    size = re.search(r'width="([\d.e+]+)" height="([\d.e+]+)"', svg)
    assert size is not None
    zoom = min(_ZOOM, (_PIXELS / (float(size[1]) * float(size[2]))) ** 0.5)
    return bytes(resvg.svg_to_bytes(svg_string=svg, zoom=zoom))


def _check_fonts(resvg: Any) -> None:
    """Raise RuntimeError where a text leaves no trace: resvg finds no font for it."""
    fonts = colours()["sans"]
    empty = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20">{}</svg>'
    text = f'<text x="2" y="15" font-family="{escape(fonts)}" font-size="14">x</text>'
    with_text, without = (
        bytes(resvg.svg_to_bytes(svg_string=empty.format(inner))) for inner in (text, "")
    )
    if with_text == without:
        raise RuntimeError(
            "a drawing as PNG needs a font for its texts, and none of these is installed:"
            f" {fonts}. Install one (on Debian: apt-get install fonts-dejavu-core), or draw an"
            " .svg or .html"
        )
