"""``wengert explain``: what an error of a graph's life means, and what to do about it."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterator
from importlib import resources

_LINK = re.compile(r"\[(?P<text>[^\]]+)\]\([^)]*\)")


def print_explanation(id: str | None) -> int:
    """Print the explanation of an id, or all ids; returns the exit code."""
    known_ids = ids()
    if id is None:
        width = max(map(len, known_ids))
        for name in known_ids:
            print(f"{name:<{width}}  {summary(explanation(name))}")
        return 0
    if id in known_ids:
        _print(explanation(id))
        return 0
    close = difflib.get_close_matches(id, known_ids, n=3)
    hint = f"; did you mean {', '.join(close)}?" if close else "; `wengert explain` lists them"
    print(f"wengert explain: no error has the id {id!r}{hint}", file=sys.stderr)
    return 1


def ids() -> list[str]:
    """The ids that there are explanations for, in the order of the alphabet."""
    files = resources.files("wengert") / "explanations"
    return sorted(f.name.removesuffix(".md") for f in files.iterdir() if f.name.endswith(".md"))


def explanation(id: str) -> str:
    """The Markdown of an explanation."""
    file = resources.files("wengert") / "explanations" / f"{id}.md"
    return file.read_text(encoding="utf-8")


def summary(markdown: str) -> str:
    """The first sentence below the title."""
    return markdown.split("\n\n")[1].replace("\n", " ")


def _print(markdown: str) -> None:
    if sys.stdout.isatty():
        try:
            from rich.console import Console
            from rich.markdown import Markdown
        except ImportError:
            pass
        else:
            text = "\n".join(line for _, line in _lines(markdown))
            Console().print(Markdown(text, code_theme="ansi_dark"))
            return
    print(markdown_as_text(markdown))


def markdown_as_text(markdown: str) -> str:
    """Markdown as text: blocks of code are indented, titles underlined."""
    lines: list[str] = []
    for code, line in _lines(markdown):
        if code:
            lines += [] if line.startswith("```") else [f"    {line}".rstrip()]
        elif line.startswith("#"):
            level, _, title = line.partition(" ")
            lines += [title, ("=" if level == "#" else "-") * len(title)]
        else:
            lines.append(line.replace("**", ""))
    return "\n".join(lines)


def _lines(markdown: str) -> Iterator[tuple[bool, str]]:
    """The lines, and whether each belongs to a block of code; of links the text is left."""
    inside = False
    for line in markdown.rstrip("\n").split("\n"):
        fence = line.startswith("```")
        if inside or fence:
            yield True, line
        else:
            yield False, _LINK.sub(lambda link: link["text"], line)
        inside ^= fence
