"""The page that `wengert run --report` writes: a whole run, in one file."""

from __future__ import annotations

import os
import shlex
from html import escape

from wengert.cli._data import Ending, Run, package_versions, text_at
from wengert.cli._page import _sections
from wengert.cli._page._source_links import SourceLinks
from wengert.cli._page._widgets import code, tabs
from wengert.graph import html_page
from wengert.graph.drawing import html_format
from wengert.graph.formatting import format_bytes
from wengert.graph.timelines.page import fragment

_ENDINGS = {
    "finished": ("good", "finished"),
    "exited": ("warn", "exited with status {status}"),
    "failed": ("bad", "failed"),
    "interrupted": ("warn", "interrupted"),
    "running": ("good", "running"),
}
_REFRESH = 5  # seconds between looks at the page of a script that runs


def run_page(run: Run) -> str:
    """The page as HTML."""
    assert run.observations is not None
    hotness, captures = run.observations.hotness, run.observations.captures
    named = [f"{run.file}:1"] if run.file else []
    named += [line.where for line in hotness.lines]
    named += [node.where for c in captures if c.graph for node in c.graph.nodes]
    source_links = SourceLinks(run.folder, named)
    saved = _sections.saved_by_line(captures)
    report, timeline = run.report, run.observations.timeline
    chart = None if timeline is None else fragment(timeline)
    sections = {
        "findings": ("Findings", _sections.findings_section(run, source_links)),
        "graphs": ("Graphs", _sections.graphs_section(captures, hotness, source_links)),
        "memory": ("Memory", _sections.memory_section(report, timeline, chart, source_links)),
        "time": ("Time", _time(run, saved, source_links)),
        "source": ("Source", _sections.sources_section(hotness, saved, source_links)),
        "releases": ("Releases", _sections.releases_section(report, source_links)),
        "operations": ("Operations", _sections.operations_section(report, hotness)),
    }
    filled = {name: (title, body) for name, (title, body) in sections.items() if body}
    links = "".join(
        f'<li><a href="#{name}">{title}{_badge(run, name)}</a></li>'
        for name, (title, _) in filled.items()
    )
    bodies = "".join(
        f'<section id="{name}" aria-labelledby="{name}-title">'
        f'<h2 id="{name}-title">{title}</h2>{body}</section>'
        for name, (title, body) in filled.items()
    )
    body = (
        f'<div class="report"><nav aria-label="Sections"><ul>{links}</ul></nav>'
        f"<main>{_head(run, source_links)}{bodies}</main></div>"
    )
    title = f"{os.path.basename(run.script)}: wengert run"
    return html_page.page(
        title,
        body,
        styles=["report.css", *(chart.styles if chart else ())],
        scripts=["report.js", *(chart.scripts if chart else ())],
        framed=html_format.SCRIPTS,
        data=chart.data if chart else {},
        refresh=_REFRESH if run.ending.kind == "running" else None,
    )


def _badge(run: Run, name: str) -> str:
    number = len(run.report.findings)
    return f' <span class="badge">{number:,}</span>' if name == "findings" and number else ""


def _time(run: Run, saved: dict[str, int], source_links: SourceLinks) -> str:
    assert run.observations is not None
    hotness = run.observations.hotness
    if not hotness.samples:
        return ""
    lines, modules = (
        _sections.lines_table(hotness, saved, source_links),
        _sections.modules_table(hotness),
    )
    if not modules:
        return _sections.phases_bar(hotness) + lines
    panels = [("by line", lines), ("by module", modules)]
    return _sections.phases_bar(hotness) + tabs("hot", "Time", panels, "small")


def _head(run: Run, source_links: SourceLinks) -> str:
    colour, words = _ENDINGS[run.ending.kind]
    words = words.format(status=run.ending.status)
    report = run.report
    command = (
        "wengert run " + ("" if run.file else "-m ") + shlex.join([run.script, *run.arguments])
    )
    facts = [("time", _sections.took(run.seconds), "")]
    if report.backward_calls:
        facts += [
            ("backward calls", f"{report.backward_calls:,}", ""),
            ("operations", f"{report.nodes:,}", ""),
            ("most held by graphs", format_bytes(report.memory.peak), ""),
        ]
    names = " · ".join(f"{name} {version}" for name, version in package_versions().items())
    none = "" if report.backward_calls else '<p class="calm">The script made no backward call.</p>'
    return (
        f"<header><h1>{escape(os.path.basename(run.script))}</h1>"
        f'<p class="command"><code>{escape(command)}</code></p>'
        f'<p><span class="status {colour}">{escape(words)}</span>'
        f' <span class="muted">{escape(_when(run))}</span></p>'
        f"{_ending(run.ending, source_links)}{_sections.figures(*facts)}{none}"
        f'<p class="muted versions">{escape(names)}</p></header>'
    )


def _when(run: Run) -> str:
    if run.ending.kind != "running":
        return run.began
    return f"since {run.began}; this page is read again every {_REFRESH} seconds"


def _ending(ending: Ending, source_links: SourceLinks) -> str:
    """What ended the script, if that has something to say."""
    if not ending.text or ending.kind == "interrupted":
        return ""
    at = ""
    if ending.where:
        at = f"<p class='at'>{source_links.link(ending.where)} {code(text_at(ending.where))}</p>"
    return f'<div class="card ending">{at}<pre>{escape(ending.text)}</pre></div>'
