"""The sections of the page. Each returns its HTML, or nothing where there is nothing to show."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape

from wengert.autograd.naming import OF_IMAGES
from wengert.cli._data import Run, text_at
from wengert.cli._page._source_links import SourceLinks, anchor
from wengert.cli._page._widgets import (
    Cell,
    Column,
    as_seconds,
    code,
    count,
    is_code,
    nbytes,
    percent,
    seconds,
    share,
    table,
    tabs,
    text,
)
from wengert.cli._watch import OLD
from wengert.graph import Finding, Leak, Line, Report, Timeline
from wengert.graph.captures import Capture
from wengert.graph.description import LEAF, GraphReport, Group, NodeInfo
from wengert.graph.drawing.html_format import html_of
from wengert.graph.drawing.picture import drawing_of
from wengert.graph.formatting import format_bytes, format_flops, format_memory, shorten_path
from wengert.graph.hotness import PHASES, Hotness, Phase
from wengert.graph.timelines.page import Fragment

KINDS = {
    "growing-graph": "The graph grows from call to call",
    "needless-retain": "A graph is retained for nothing",
    "second-backward": "A second backward through a released graph",
    "leak": "A graph outlives its step",
    "no-gradient": "Parameters that no gradient reaches",
    "no-backward": "Graphs that no backward goes through",
}
_NO_FINDINGS = (
    "no graph grew or outlived its step, none was retained for nothing, and every parameter that"
    " wants a gradient got one."
)
_TOO_FEW = (
    "no graph was retained for nothing, and every parameter that wants a gradient got one. What"
    " outlives its step would show after some ten backward calls."
)
_SHARE = "of the time of the whole run, but for that of watching"
_PHASES: dict[Phase, str] = {
    "forward": "forward: operations and modules",
    "backward": "backward calls",
    "optimizer": "torch.optim",
    "data": "torch.utils.data",
    "report": "watching, for this report",
    "other": "Python, other packages, waiting",
}


def findings_section(run: Run, links: SourceLinks) -> str:
    """What to look at, the line and the remedy."""
    if not run.report.findings:
        return _calm(run)
    assert run.observations is not None
    calls_of_run = run.report.backward_calls
    leaks = [
        _leak(leak, _when_seen(calls, calls_of_run), links)
        for calls, leak in run.observations.leaks
    ]
    others = [_finding(finding, links) for finding in run.report.findings if finding.kind != "leak"]
    return "".join(leaks + others)


def _calm(run: Run) -> str:
    if not run.report.backward_calls:
        return ""
    begin = (
        "Nothing beside what ended the run" if run.ending.kind == "failed" else "Nothing to look at"
    )
    statement = _NO_FINDINGS if run.report.backward_calls >= OLD else _TOO_FEW
    return f'<p class="calm">{begin}: {statement}</p>'


def _when_seen(calls: int, total: int) -> str:
    """When something was seen that was not there at the end."""
    return f"seen after {calls:,} of {total:,} backward calls" if calls < total else ""


def _leak(leak: Leak, note: str, links: SourceLinks) -> str:
    what = str(leak).partition("\n")[0].removeprefix(leak.held)
    remedy = code(leak.remedy) if is_code(leak.remedy) else escape(leak.remedy)
    return card(
        f'{KINDS["leak"]} <span class="muted">{note}</span>',
        (links.link(leak.where), code(leak.line)),
        ("instead", remedy),
        ("", f"<code>{escape(leak.held)}</code>{escape(what)}."),
    )


def _finding(finding: Finding, links: SourceLinks) -> str:
    return card(
        escape(KINDS.get(finding.kind, finding.kind)) + _times(finding.times),
        (links.link(finding.where), code(text_at(finding.where))),
        ("", escape(_sentence(finding.text))),
        *((escape(label), _fact(fact, links)) for label, fact in finding.facts),
        *(("" if k else _remedy(finding), escape(r)) for k, r in enumerate(finding.remedies)),
    )


def _remedy(finding: Finding) -> str:
    return "remedies" if len(finding.remedies) > 1 else "remedy"


def _fact(fact: str, links: SourceLinks) -> str:
    """``what  at file:line  code``, or what else happened."""
    what, at, location = fact.partition("  at ")
    if not at:
        return escape(shorten_path(fact))
    where, _, line = location.partition("  ")
    return f"<code>{escape(what)}</code> at {links.link(where)} {code(line)}"


def card(title: str, *facts: tuple[str, str]) -> str:
    rows = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in facts)
    return f'<article class="card finding"><h3>{title}</h3><dl>{rows}</dl></article>'


def _times(number: int) -> str:
    return f' <span class="muted">{number:,} times</span>' if number > 1 else ""


def _sentence(words: str) -> str:
    end = "" if words.endswith((".", ")")) else "."
    return words[:1].upper() + words[1:] + end


def phases_bar(hotness: Hotness) -> str:
    """A bar of what the time was spent on, and its legend."""
    fractions = [(phase, s / hotness.total) for phase, s in hotness.seconds.items() if s]
    legend = "".join(
        f'<li><span class="phase-swatch phase-{phase}"></span>{phase}'
        f' <span class="figure">{percent(fraction)}</span>'
        f'<span class="muted">{_PHASES[phase]}</span></li>'
        for phase, fraction in fractions
    )
    return f'{_bar(fractions, "phases whole")}<ul class="phase-legend">{legend}</ul>'


def _bar(fractions: Iterable[tuple[Phase, float]], kind: str = "phases") -> str:
    pieces = "".join(
        f'<i class="phase-{phase}" style="width:{100 * fraction:.2f}%"></i>'
        for phase, fraction in fractions
        if fraction
    )
    return f'<span class="{kind}" aria-hidden="true">{pieces}</span>'


def lines_table(hotness: Hotness, saved: dict[str, int], links: SourceLinks) -> str:
    """The user's lines by their time."""
    columns = [
        *_LINE,
        Column("phases", "to the scale of the hottest line", number=False),
        Column("share", _SHARE),
        Column("seconds"),
        Column("forward", "seconds inside of wengert"),
        Column("backward", "seconds below backward and grad calls"),
        Column("other", "seconds of all the rest"),
        Column("samples", _sampling_note(hotness)),
        Column("saves", "bytes that the line's operations saved, in the graphs above"),
    ]
    most = max((line.total for line in hotness.lines), default=0.0)
    rows, total = [], hotness.of_script
    for line in hotness.lines:
        fractions = [(phase, line.seconds.get(phase, 0.0) / most) for phase in PHASES]
        forward, backward = (line.seconds.get(p, 0.0) for p in ("forward", "backward"))
        rows.append([
            *_line(line.where, line.text, links),
            Cell(_bar(fractions), line.total),
            share(line.total / total),
            seconds(line.total), seconds(forward), seconds(backward),
            seconds(line.total - forward - backward),
            count(line.samples), nbytes(saved.get(line.where, 0)),
        ])  # fmt: skip
    return table(columns, rows, "lines")


def modules_table(hotness: Hotness) -> str:
    """The modules by their time."""
    columns = [
        Column("module", number=False),
        Column("share", _SHARE),
        Column("seconds", "without those of the modules inside"),
        Column("forward", "seconds of its calls"),
        Column("backward", "seconds in the derivatives of what it computed"),
        Column("samples", _sampling_note(hotness)),
    ]
    total = hotness.of_script
    rows = [
        [
            text(module.name), share(module.total / total), seconds(module.total),
            seconds(module.forward), seconds(module.backward), count(module.samples),
        ]
        for module in hotness.modules
    ]  # fmt: skip
    return table(columns, rows) if rows else ""


def _sampling_note(hotness: Hotness) -> str:
    return f"looks, one every {1000 * hotness.interval:.0f} ms"


def sources_section(hotness: Hotness, saved: dict[str, int], links: SourceLinks) -> str:
    """The files of the user, each line with its share of the time."""
    heat = {line.where: line for line in hotness.lines}
    most = max((line.total for line in hotness.lines), default=1.0)
    panels = []
    for k, source in enumerate(links.sources):
        rows = []
        for number, content in enumerate(source.lines, 1):
            where = f"{source.path}:{number}"
            hot = heat.get(where)
            total = hot.total if hot else 0.0
            saves = saved.get(where, 0)
            rows.append(
                f'<tr id="{anchor(k, number)}" style="--heat:{total / most:.3f}">'
                f'<td class="no">{number}</td>'
                f'<td class="number">{percent(total / hotness.of_script) if hot else ""}</td>'
                f'<td class="number muted">{format_bytes(saves) if saves else ""}</td>'
                f"<td><code>{escape(content.rstrip())}</code></td></tr>"
            )
        head = "<thead><tr><th></th><th>time</th><th>saves</th><th></th></tr></thead>"
        body = f'<div class="source"><table>{head}<tbody>{"".join(rows)}</tbody></table></div>'
        panels.append((links.name(source.path), body))
    return tabs("source", "Files", panels) if panels else ""


def graphs_section(captures: Sequence[Capture], hotness: Hotness, links: SourceLinks) -> str:
    """The graphs of the first calls: each one's picture and tables."""
    seconds = {module.name: module.total for module in hotness.modules}
    texts = [capture.text for capture in captures]
    panels = []
    for k, capture in enumerate(captures):
        alone = capture.text and texts.count(capture.text) == 1
        title = capture.text if alone else f"{capture.what}  {links.name(capture.where)}"
        title += " (refused)" * capture.refused
        panels.append((title, _graph(capture, f"graph-{k}", seconds, links)))
    return tabs("graph", "Backward calls", panels) if panels else ""


def _graph(capture: Capture, name: str, seconds: Mapping[str, float], links: SourceLinks) -> str:
    graph = capture.graph
    which = f"backward call {capture.call:,} of the run"
    if capture.refused:
        which += ", which was refused: it raised, and changed nothing"
    head = (
        f'<p class="at">{links.link(capture.where)} {code(capture.text)}'
        f' <span class="muted">{which}</span></p>'
    )
    if graph is None:
        return head + f'<p class="muted">{capture.nodes:,} nodes are too many to be shown.</p>'
    panels = [("by module", _modules(graph))] if any(n.module for n in graph.nodes) else []
    panels += [
        ("by line", _lines(graph, links)),
        ("by node", _nodes([node for node in graph.nodes if node.state != LEAF], links)),
    ]
    picture = _drawing(graph, f"{links.name(capture.where)}  {capture.text}", seconds)
    return head + picture + tabs(name, "Tables", panels, "small")


def _drawing(graph: GraphReport, title: str, seconds: Mapping[str, float]) -> str:
    """The drawing's page in a frame, which is filled when it is first seen."""
    try:
        page = html_of(replace(drawing_of(graph), title=title), seconds)
    except ImportError as error:
        return f'{_figures(graph)}<p class="calm">{escape(_sentence(str(error)))}</p>'
    # In single quotes: of double ones its data are full.
    quoted = page.replace("&", "&amp;").replace("'", "&#39;")
    return (
        '<iframe class="drawing" title="Drawing of the graph" sandbox="allow-scripts"'
        f" data-page='{quoted}'></iframe>"
    )


def _figures(graph: GraphReport) -> str:
    """What a drawing says of the whole, where there is none."""
    leaves = sum(node.state == LEAF for node in graph.nodes)
    return figures(
        ("operations", f"{len(graph.nodes) - leaves:,}", ""),
        ("leaves", f"{leaves:,}", ""),
        ("keeps", format_bytes(graph.nbytes), ""),
        ("of leaves", format_bytes(graph.leaf_bytes), ""),
        ("backward frees", format_bytes(graph.frees), ""),
        ("forward", format_flops(graph.flops.forward), ""),
        ("backward", format_flops(graph.flops.backward), ""),
    )


def figures(*facts: tuple[str, str, str]) -> str:
    """Large numbers side by side: name, plain text, and HTML that is put below."""
    items = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd>{below}</div>"
        for name, value, below in facts
    )
    return f'<dl class="figures">{items}</dl>'


_FLOPS = (
    Column("forward", "floating-point operations of the calls"),
    Column("backward", "floating-point operations of their derivatives"),
)
_NUMBERS = (
    Column("nodes"),
    Column("bytes", "that the graph keeps alive, each storage at the first node that saved it"),
    Column("frees", "what a backward gives back of that"),
    *_FLOPS,
    Column("released", "nodes that an earlier backward has passed"),
)


def _numbers(group: Group) -> tuple[Cell, ...]:
    """The cells of `_NUMBERS`."""
    sizes = nbytes(group.nbytes), nbytes(group.frees)
    return count(group.nodes), *sizes, *_flops(group), count(group.released)


def _flops(item: Group | NodeInfo) -> tuple[Cell, ...]:
    """The cells of `_FLOPS`."""
    return tuple(Cell(format_flops(n) if n else "", n) for n in item.flops or (0, 0))


def _modules(graph: GraphReport) -> str:
    rows = [[text(group.name), *_numbers(group)] for group in graph.by_module()]
    return table([Column("module", number=False), *_NUMBERS], rows)


def _lines(graph: GraphReport, links: SourceLinks) -> str:
    rows = [[*_line(g.name, g.text, links), *_numbers(g)] for g in graph.by_line()]
    return table([*_LINE, *_NUMBERS], rows)


def _nodes(nodes: list[NodeInfo], links: SourceLinks) -> str:
    columns = [
        Column("operation", number=False),
        Column("shape", number=False),
        Column("saves", number=False),
        Column("bytes"),
        Column("frees"),
        *_FLOPS,
        Column("module", number=False),
        Column("line", number=False),
    ]
    rows = [
        [
            text(node.op), text(_shape(node.shape)),
            text(", ".join(f"{saved.name} {_shape(saved.shape)}" for saved in node.saved)),
            nbytes(node.nbytes), nbytes(node.frees), *_flops(node), text(node.module),
            Cell(links.link(node.where)),
        ]
        for node in nodes
    ]  # fmt: skip
    return table(columns, rows)


def _shape(shape: Sequence[int] | None) -> str:
    return "" if shape is None else "\N{MULTIPLICATION SIGN}".join(map(str, shape)) or "scalar"


def memory_section(
    report: Report, timeline: Timeline | None, chart: Fragment | None, links: SourceLinks
) -> str:
    """What graphs held in the run, and how it came and went in its first calls."""
    if timeline is None or chart is None:
        return ""
    memory_use, calls = report.memory, len(timeline.calls)
    at = links.link(memory_use.peak_at) if memory_use.peak_at else "the end"
    which = "All calls in detail:"
    if calls < report.backward_calls:
        most = format_bytes(timeline.peak.nbytes)
        which = f"The first {calls:,} calls, in which they held at most {most}, in detail:"
    peak = format_memory(memory_use.peak, memory_use.peak_leaves)
    return (
        f"<p>Graphs held at most <strong>{peak}</strong>, at {at},"
        f" and {format_bytes(memory_use.after)} after the last backward. {which}</p>{chart.body}"
    )


def releases_section(report: Report, links: SourceLinks) -> str:
    """Which lines release graphs, and which retain them."""
    released = [line for line in report.lines if line.released_nodes]
    retained = [line for line in report.lines if line.retaining]
    return _released(released, links) + _retained(retained, links)


def _released(released: list[Line], links: SourceLinks) -> str:
    if not released:
        return ""
    columns = [
        *_LINE,
        Column("calls"),
        Column("operations each"),
        Column("bytes each"),
    ]
    rows = [
        [
            *_line(line.where, line.text or line.what, links), count(line.calls),
            count(round(line.released_nodes / line.measured)),
            nbytes(line.released_bytes / line.measured),
        ]
        for line in sorted(released, key=lambda line: line.released_nodes, reverse=True)
    ]  # fmt: skip
    return f"<h3>released by</h3>{table(columns, rows)}"


def _retained(retained: list[Line], links: SourceLinks) -> str:
    if not retained:
        return ""
    columns = [
        *_LINE,
        Column("calls"),
        Column("bytes each", "the most that one of them kept"),
    ]
    rows = [
        [
            *_line(line.where, line.text or line.what, links), count(line.retaining),
            nbytes(line.kept_bytes),
        ]
        for line in sorted(retained, key=lambda line: line.retaining, reverse=True)
    ]  # fmt: skip
    return f"<h3>retained by</h3>{table(columns, rows)}"


_LINE = (Column("line", number=False), Column("code", number=False))


def _line(where: str, words: str, links: SourceLinks) -> tuple[Cell, Cell]:
    """The cells of `_LINE`."""
    return Cell(links.link(where)), Cell(code(words))


def operations_section(report: Report, hotness: Hotness) -> str:
    """Operations: how many nodes of them backward passed, and where time was seen."""
    columns = [
        Column("operation", number=False),
        Column("passed", "nodes that backward calls went through"),
        Column("seconds"),
        Column("forward", "seconds in calls of the operation"),
        Column("backward", "seconds in its derivative"),
        Column("share", _SHARE),
    ]
    times = {_of_images(op.name, report.ops): (op.forward, op.backward) for op in hotness.ops}
    total = hotness.of_script or 1.0
    rows = []
    for name in {**times, **report.ops}:
        forward, backward = times.get(name, (0.0, 0.0))
        both = forward + backward
        rows.append([
            text(name), count(report.ops.get(name, 0)), seconds(both), seconds(forward),
            seconds(backward), share(both / total),
        ])  # fmt: skip
    rows.sort(key=lambda row: (row[2].key, row[1].key), reverse=True)
    return table(columns, rows) if rows else ""


def _of_images(name: str, ops: Collection[str]) -> str:
    """The name of an operation with its dimensions, if the run has it with no others."""
    full_names = [full for d in (1, 2, 3) if name in OF_IMAGES and (full := f"{name}{d}d") in ops]
    return full_names[0] if len(full_names) == 1 else name


def saved_by_line(captures: Iterable[Capture]) -> dict[str, int]:
    """The bytes that lines save, by ``file:line``: the most in any of the graphs."""
    saved: dict[str, int] = {}
    for capture in captures:
        for group in capture.graph.by_line() if capture.graph else ():
            saved[group.name] = max(saved.get(group.name, 0), group.nbytes)
    return saved


def took(total: float) -> str:
    """A time for people."""
    minutes, remainder = divmod(total, 60)
    if not minutes:
        return f"{as_seconds(remainder) if remainder < 1 else f'{remainder:.1f}'} s"
    return f"{int(minutes):,} min {remainder:.0f} s"
