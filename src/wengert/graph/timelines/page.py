"""A timeline as HTML: the chart, what made up the peak, what each line's calls did."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from wengert.graph import html_page
from wengert.graph.drawing._tree import SERIES
from wengert.graph.formatting import format_bytes, format_seconds, shorten_path
from wengert.graph.timelines.timeline import (
    OTHERS,
    BackwardCall,
    Band,
    Holding,
    Share,
    TimelineData,
    shares,
)

_ROWS = 100
_STEPS = 10  # calls from which on the first one may be left out of what is shown at first


@dataclass(frozen=True, slots=True)
class Fragment:
    """A part of a page: what `html_page.page` is given for it, or for several such parts together.

    Attributes:
        body: HTML without ``<html>`` or ``<body>`` around it.
        styles, scripts: names of files in ``_assets``.
        data: what the scripts read, by id.
    """

    body: str
    styles: tuple[str, ...]
    scripts: tuple[str, ...]
    data: dict[str, Any]


def fragment(timeline: TimelineData, name: str = "timeline") -> Fragment:
    """The timeline as a part of a page; `name` is an id that nothing else there has.

    The body begins with the chart and has headings of the second level. A page around it::

        part = fragment(timeline)
        html_page.page("title", f"<main><h1>title</h1>{part.body}</main>", styles=part.styles,
                   scripts=part.scripts, data=part.data)
    """
    body = [
        f'<div class="card timeline" data-timeline="{escape(name)}"></div>',
        "<h2>What made up the peak</h2>",
        _peak(timeline),
        "<h2>Backward calls</h2>",
        _calls(timeline),
    ]
    if timeline.left:
        body += ["<h2>Still held at the end of the recording</h2>", _left(timeline)]
    return Fragment("\n".join(body), ("timeline.css",), ("timeline.js",), {name: _data(timeline)})


def timeline_page(timeline: TimelineData) -> str:
    """The timeline as a page of its own."""
    chart = fragment(timeline)
    title = "What graphs held"
    ended = f'<p class="warn">Recording ended early: {escape(timeline.ended)}.</p>'
    body = (
        f"<main><h1>{title}</h1><p>{escape(timeline.summary())}.</p>"
        f"{ended if timeline.ended else ''}{_figures(timeline)}{chart.body}</main>"
    )
    return html_page.page(title, body, styles=chart.styles, scripts=chart.scripts, data=chart.data)


def _figures(timeline: TimelineData) -> str:
    peak = timeline.peak
    figures = [
        ("peak", format_bytes(peak.nbytes)),
        ("of leaves, besides", format_bytes(peak.leaf_bytes)),
        ("at its end", format_bytes(timeline.left_bytes)),
        ("backward calls", f"{len(timeline.calls):,}"),
        ("recorded", format_seconds(timeline.seconds)),
    ]
    rows = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in figures)
    return f'<dl class="figures">{rows}</dl>'


def _peak(timeline: TimelineData) -> str:
    peak = timeline.peak
    if not peak.nodes:
        return "<p>Nothing was held.</p>"
    colours = {band.name: k for k, band in enumerate(timeline.lines)}
    of_modules = {band.name: k for k, band in enumerate(timeline.modules)}
    lines, modules = peak.by_line(), peak.by_module()
    panels = [
        _details("by line", _shares(timeline, lines, "line", colours), expanded=True),
        _details("by module", _shares(timeline, modules, "module", of_modules)),
        _details(f"by node ({len(peak.nodes):,})", _nodes(timeline, peak.nodes)),
    ]
    return "".join(panels)


def _details(title: str, inner: str, expanded: bool = False) -> str:
    opened = " open" if expanded else ""
    return f'<details{opened}><summary>{title}</summary><div class="scroll">{inner}</div></details>'


def _shares(
    timeline: TimelineData, peak_shares: Sequence[Share], what: str, colours: dict[str, int]
) -> str:
    rows, so_far = [], 0
    for share in peak_shares[:_ROWS]:
        so_far += share.nbytes
        rows.append(
            [
                _number(format_bytes(share.nbytes)),
                _bar(timeline, share.nbytes, colours.get(share.name)),
                _number(timeline.share(so_far)),
                _number(f"{share.nodes:,}"),
                _code(share.name, share.text),
            ]
        )
    head = ["bytes", "share", "cumulative", "nodes", what]
    return _table(head, rows, {0, 2, 3}) + _more(len(peak_shares))


def _nodes(timeline: TimelineData, holdings: Sequence[Holding]) -> str:
    rows, so_far = [], 0
    for node in holdings[:_ROWS]:
        so_far += node.nbytes
        rows.append(
            [
                _number(format_bytes(node.nbytes)),
                _bar(timeline, node.nbytes, None),
                _number(timeline.share(so_far)),
                _node(node),
                _code(node.where, node.text),
                f'<td class="until">{escape(shorten_path(node.until))}</td>',
            ]
        )
    head = ["bytes", "share", "cumulative", "node, module", "line", "until"]
    return _table(head, rows, {0, 2}) + _more(len(holdings))


def _left(timeline: TimelineData) -> str:
    since: dict[tuple[str, str], float] = {}
    for node in timeline.left:
        key = node.where, node.text
        since[key] = min(node.since, since.get(key, node.since))
    groups = shares((n.where, n.text, n) for n in timeline.left)
    rows = [
        [
            _number(format_bytes(share.nbytes)),
            _number(f"{share.nodes:,}"),
            _code(share.name, share.text),
            _number(format_seconds(since[share.name, share.text])),
        ]
        for share in groups[:_ROWS]
    ]
    head = ["bytes", "nodes", "line", "since"]
    return f'<div class="scroll">{_table(head, rows, {0, 1, 3})}</div>{_more(len(groups))}'


def _calls(timeline: TimelineData) -> str:
    if not timeline.calls:
        return "<p>There were none.</p>"
    groups: dict[tuple[str, str, str], list[BackwardCall]] = {}
    for call in timeline.calls:
        groups.setdefault((call.where, call.text, call.what), []).append(call)
    rows = [
        [
            _code(where, text),
            _cell(escape(what)),
            _number(f"{len(calls):,}"),
            _number(f"{max(c.nodes for c in calls):,}"),
            _number(format_bytes(max(c.before for c in calls))),
            _number(format_bytes(sum(c.released for c in calls))),
            _number(format_bytes(max(c.after for c in calls))),
            _cell(_marks(calls)),
        ]
        for (where, text, what), calls in groups.items()
    ]
    head = ["line", "call", "times", "nodes", "most before", "released", "most after", ""]
    return f'<div class="scroll">{_table(head, rows, {2, 3, 4, 5, 6})}</div>'


def _marks(calls: Sequence[BackwardCall]) -> str:
    retained, raised = sum(c.retains for c in calls), sum(c.raised for c in calls)
    marks = [f"{retained:,} retained the graph"] if retained else []
    marks += [f'<span class="bad">{raised:,} raised</span>'] if raised else []
    return ", ".join(marks)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: set[int]) -> str:
    names = "".join(
        f'<th scope="col"{" class=number" if k in numbers else ""}>{name}</th>'
        for k, name in enumerate(head)
    )
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"


def _cell(html: str) -> str:
    return f"<td>{html}</td>"


def _number(text: str) -> str:
    return f'<td class="number">{text}</td>'


def _code(where: str, text: str) -> str:
    """A line of code, or a module: where it is, and below that what it says."""
    source = f"<code>{escape(text)}</code>" if text else ""
    return f'<td class="place"><span>{escape(shorten_path(where))}</span>{source}</td>'


def _node(node: Holding) -> str:
    """A node: its operation, and below that its module."""
    return f'<td class="node">{escape(node.op)}<span>{escape(node.module)}</span></td>'


def _bar(timeline: TimelineData, nbytes: int, colour: int | None) -> str:
    percent = 100 * nbytes / timeline.peak.nbytes
    kind = "rest" if colour is None or colour >= SERIES else f"series-{colour + 1}"
    return (
        f'<td class="share"><span class="bar {kind}" style="width:{percent:.1f}%"></span>'
        f"<span>{timeline.share(nbytes)}</span></td>"
    )


def _more(count: int) -> str:
    return f'<p class="muted">and {count - _ROWS:,} more</p>' if count > _ROWS else ""


def _data(timeline: TimelineData) -> dict[str, Any]:
    """What the script draws: columns, each text once."""
    call_sites: dict[tuple[str, str, str], int] = {}
    calls = [
        [
            call_sites.setdefault((c.what, shorten_path(c.where), c.text), len(call_sites)),
            round(c.begin, 7), round(c.end, 7), c.nodes, c.before, c.after, c.released,
            int(c.retains) + 2 * int(c.raised),
        ]
        for c in timeline.calls
    ]  # fmt: skip
    return {
        "seconds": timeline.seconds,
        "low": _low(timeline),
        "times": timeline.times,
        "total": timeline.total,
        "first": timeline.telling,
        "groups": {
            "line": [_band(band) for band in timeline.lines],
            "module": [_band(band) for band in timeline.modules],
        },
        "places": list(call_sites),
        "calls": calls,
        "peak": {"at": timeline.peak.seconds, "bytes": timeline.peak.nbytes},
    }


def _low(timeline: TimelineData) -> float:
    """From when on the chart is shown at first: what the first step loads may take most of it."""
    if len(timeline.calls) < _STEPS:
        return 0.0
    second = timeline.calls[1].begin
    later = max(
        (held for at, held in zip(timeline.times, timeline.total, strict=True) if at >= second),
        default=0,
    )
    if second < timeline.seconds / 2 or later < timeline.peak.nbytes:
        return 0.0
    return second - 0.2 * (timeline.seconds - second)


def _band(band: Band) -> dict[str, Any]:
    return {
        "name": shorten_path(band.name),
        "text": band.text,
        "rest": band.name == OTHERS,
        "peak": band.at_peak,
        "values": band.values,
    }
