"""The shell of every HTML page: one file that opens offline and sends nothing anywhere."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any

_NONE: Mapping[str, Any] = MappingProxyType({})


def page(
    title: str,
    body: str,
    *,
    styles: Sequence[str] = (),
    scripts: Sequence[str] = (),
    framed: Sequence[str] = (),
    data: Mapping[str, Any] = _NONE,
    refresh: int | None = None,
) -> str:
    """A page around `body`, which is HTML: whoever writes it escapes what is not theirs.

    Args:
        title: plain text.
        body: what stands in ``<body>``, in front of the scripts.
        styles: names of files in ``_assets``, put behind ``base.css``.
        scripts: names of files in ``_assets``, put behind ``base.js``.
        framed: such names of pages in frames, whose scripts need this page's permission too.
        data: what scripts read with ``readData(id)``, by id.
        refresh: seconds after which the browser reads the page again; None: it does not.
    """
    code = [asset(name) for name in ("base.js", *scripts)]
    allowed = [*code, *map(asset, framed)]
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(allowed)}">',
        *([] if refresh is None else [f'<meta http-equiv="refresh" content="{refresh}">']),
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        '<link rel="icon" href="data:,">',
        f"<title>{escape(title)}</title>",
        *(f"<style>{asset(name)}</style>" for name in ("base.css", *styles)),
        "</head>",
        "<body>",
        body,
        *(_data_block(name, value) for name, value in data.items()),
        *(f"<script>{text}</script>" for text in code),
        "</body>",
        "</html>",
        "",
    ]
    return _encodable("\n".join(lines))


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a page, or another text for people, as UTF-8."""
    Path(path).write_text(_encodable(text), encoding="utf-8", newline="\n")


def frame(html: str, height: int = 600) -> str:
    """A page inside of a notebook: a frame of its own, so that no style leaks in or out."""
    return (
        f'<iframe srcdoc="{escape(html)}" sandbox="allow-scripts" width="100%"'
        f' height="{height}" style="border:0"></iframe>'
    )


@cache
def asset(name: str) -> str:
    """The text of a file in ``_assets``."""
    return (resources.files(__package__) / "_assets" / name).read_text(encoding="utf-8")


def _policy(code: Sequence[str]) -> str:
    """Nothing is fetched, and no script runs but these: whatever slipped into the page."""
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in code]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:;"
        " form-action 'none'; base-uri 'none'"
    )


def _data_block(name: str, value: Any) -> str:
    # Escapes of JSON itself: no text can end the element or open a comment in it.
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return f'<script type="application/json" id="{escape(name)}">{text}</script>'


def _encodable(text: str) -> str:
    """Paths that are no UTF-8 have lone surrogates in them."""
    return text.encode("utf-8", "replace").decode()
