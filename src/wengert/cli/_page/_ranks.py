"""The page of `wengert run --nproc N --report`: a lane for each rank."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from wengert.cli._data import package_versions
from wengert.cli._page._sections import figures, took
from wengert.cli._page._widgets import (
    Cell,
    Column,
    count,
    nbytes,
    percent,
    seconds,
    share,
    table,
    tabs,
    text,
)
from wengert.cli._rank_times import PHASES, RankTimes, RunTimes, union, without
from wengert.graph import html_page
from wengert.graph.formatting import format_bytes, format_seconds, shorten_path

_WIDTH, _LABEL, _TOP = 1000, 70, 22  # of the picture, in pixels
_LANE, _STRIP, _GAP = 20, 7, 14
_STEPS = 4  # that a closer picture shows
_TICKS = 5
_KINDS = {
    "forward": "calls of modules",
    "backward": "backward calls",
    "optimizer": "steps of optimizers",
    "communication": "the script waits for an exchange that goes on",
    "waiting": "the script waits for another rank",
    "other": "data, the loss, Python, starting",
}
_STRIPS = (
    "Below each lane: exchanges, in the background or not; paler while they wait for other ranks."
)


@dataclass(frozen=True)
class RanksRun:
    """A run of several ranks.

    Attributes:
        script: the script, or the module, as the command line has it.
        arguments: what else it was given.
        module: whether it is a module.
        began: the local time.
        size: how many ranks were started.
        status: the exit code.
        failures: how ranks ended that failed, in the order in which they did.
        restarts: how often all were started again.
        times: what the ranks of the last attempt noted.
    """

    script: str
    arguments: Sequence[str]
    module: bool
    began: str
    size: int
    status: int
    failures: Sequence[str]
    restarts: int
    times: RunTimes

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers."""
        return {
            "script": self.script, "arguments": list(self.arguments), "began": self.began,
            "size": self.size, "status": self.status, "failures": list(self.failures),
            "restarts": self.restarts, "versions": package_versions(), **self.times.to_dict(),
        }  # fmt: skip


def ranks_page(run: RanksRun) -> str:
    """The page as HTML."""
    times = run.times
    body = [_ranks_head(run)]
    if times.ranks:
        body += [
            _section("Lanes", _lanes(times)),
            _section("Ranks", _ranks_table(times)),
            _section("Exchanges", _exchanges_table(times)),
        ]
    title = f"{os.path.basename(run.script)}: wengert run, {run.size} ranks"
    return html_page.page(
        title, f"<main>{''.join(body)}</main>",
        styles=["report.css", "lanes.css"], scripts=["report.js"],
    )  # fmt: skip


def _section(title: str, body: str) -> str:
    name = title.lower()
    return (
        f'<section id="{name}" aria-labelledby="{name}-title">'
        f'<h2 id="{name}-title">{title}</h2>{body}</section>'
    )


def _ranks_head(run: RanksRun) -> str:
    times = run.times
    target = ["-m", run.script] if run.module else [run.script]
    command = f"wengert run --nproc {run.size} " + shlex.join([*target, *run.arguments])
    failures = "".join(f"<p>{escape(failure)}</p>" for failure in run.failures)
    if run.restarts:
        failures += f"<p>Started again {_often(run.restarts)}; below is the last attempt.</p>"
    missing = set(range(run.size)) - {rank.rank for rank in times.ranks}
    if missing:
        names = ", ".join(map(str, sorted(missing)))
        failures += f"<p>Nothing is known of what these ranks did: {names}.</p>"
    facts = [("ranks", str(run.size), "")]
    if times.ranks:
        facts += _facts(times)
    colour, words = ("bad", f"failed with status {run.status}") if run.status else (
        "good", "finished")  # fmt: skip
    names = " · ".join(f"{name} {version}" for name, version in package_versions().items())
    return (
        f"<header><h1>{escape(os.path.basename(run.script))}</h1>"
        f'<p class="command"><code>{escape(command)}</code></p>'
        f'<p><span class="status {colour}">{escape(words)}</span>'
        f' <span class="muted">{escape(run.began)}</span></p>'
        + (f'<div class="card ending">{failures}</div>' if failures else "")
        + figures(*facts)
        + (_verdict(times) if times.ranks else "")
        + f'<p class="muted versions">{escape(names)}</p></header>'
    )


def _often(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"


def _facts(times: RunTimes) -> list[tuple[str, str, str]]:
    hidden, slowest = times.hidden(), times.slowest()
    sent = sum(row.sent for row in times.rows())
    facts = [("time", took(times.end - times.begin), ""), ("sent", format_bytes(sent), "")]
    if hidden is not None:
        facts.append(
            ("hidden behind backward", percent(hidden), "<small>of the time of exchanges</small>")
        )
    if slowest is not None:
        facts.append(("slowest rank", str(slowest), ""))
    return facts


def _verdict(times: RunTimes) -> str:
    """Which rank the others waited for, in a sentence."""
    slowest = times.slowest()
    if slowest is None:
        return '<p class="calm">No rank waited for another.</p>'
    held_up = times.held_up[slowest]
    others = sum(rank.seconds for rank in times.ranks if rank.rank != slowest)
    share_of_time = f" ({percent(held_up / others)} of their time)" if others else ""
    return (
        f'<p class="verdict">The other ranks waited for rank {slowest} the most:'
        f" {escape(format_seconds(held_up))}{share_of_time}, start-up not counted.</p>"
    )


def _lanes(times: RunTimes) -> str:
    panels = [(title, _picture(times, *window)) for title, window in _windows(times)]
    legend = "".join(
        f'<li><span class="phase-swatch lane-{kind}"></span>{kind}'
        f'<span class="muted">{words}</span></li>'
        for kind, words in _KINDS.items()
    )
    note = "" if all(rank.complete for rank in times.ranks) else (
        " The run was too long to note all of it: what is missing is the later part.")  # fmt: skip
    return (
        f'<ul class="phase-legend">{legend}</ul>{tabs("window", "Part of the run", panels)}'
        f'<p class="muted">{_STRIPS}{note}</p>'
    )


def _windows(times: RunTimes) -> list[tuple[str, tuple[float, float]]]:
    """Parts of the run that deserve a picture: begin and end of each."""
    whole = ("the whole run", (times.begin, times.end))
    steps = next((r.phases["backward"] for r in times.ranks if len(r.phases["backward"])), None)
    if steps is None or len(steps) <= _STEPS:
        return [whole]
    work = [rank.phases["forward"][0, 0] for rank in times.ranks if len(rank.phases["forward"])]
    start = min([*work, steps[0, 0]])
    first = "the first steps", (start, float(steps[_STEPS - 1, 1]))
    last = "the last steps", (float(steps[-_STEPS - 1, 1]), float(steps[-1, 1]))
    return [last, first, whole]


def _picture(times: RunTimes, begin: float, end: float) -> str:
    height = _TOP + len(times.ranks) * (_LANE + _STRIP + _GAP)
    scale = (_WIDTH - _LABEL) / max(end - begin, 1e-9)
    parts = [_axis(begin, end, times.begin, height)]
    for k, rank in enumerate(times.ranks):
        y = _TOP + k * (_LANE + _STRIP + _GAP)
        parts.append(f'<text x="0" y="{y + _LANE - 5}">rank {rank.rank}</text>')
        parts += _lane(rank, (begin, end), scale, y)
    label = f"What each rank did, for {format_seconds(end - begin)}"
    return (
        f'<div class="scroll"><svg class="lanes" viewBox="0 0 {_WIDTH} {height}" role="img"'
        f' aria-label="{escape(label)}">{"".join(parts)}</svg></div>'
    )


def _axis(begin: float, end: float, origin: float, height: int) -> str:
    marks = []
    for k in range(_TICKS):
        share_of_width = k / (_TICKS - 1)
        x = _LABEL + share_of_width * (_WIDTH - _LABEL)
        at = begin - origin + share_of_width * (end - begin)
        anchor = "end" if k == _TICKS - 1 else "middle" if k else "start"
        digits = 3 if end - begin < 10 else 1
        marks.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 6}" y2="{height}"/>'
            f'<text x="{x:.1f}" y="10" text-anchor="{anchor}">{at:,.{digits}f} s</text>'
        )
    return f'<g class="axis">{"".join(marks)}</g>'


def _lane(rank: RankTimes, window: tuple[float, float], scale: float, y: int) -> list[str]:
    whole = np.array([[rank.began, rank.ended]])
    rows = [("other", whole, y, _LANE)]
    rows += [(phase, rank.phase(phase), y, _LANE) for phase in PHASES]
    rows += [
        ("communication", rank.communication, y, _LANE),
        ("waiting", rank.waiting, y, _LANE),
        ("waiting", without(rank.waits, rank.transfers), y + _LANE + 1, _STRIP),
        ("communication", rank.transfers, y + _LANE + 1, _STRIP),
    ]
    return [_rectangles(*row, window, scale) for row in rows]


def _rectangles(
    kind: str, spans: np.ndarray, y: int, height: int, window: tuple[float, float], scale: float
) -> str:
    """What of some spans is in the window; those that no pixel tells apart become one."""
    begin, end = window
    seen = spans[(spans[:, 1] > begin) & (spans[:, 0] < end)].clip(begin, end)
    pixel = 0.5 / scale
    seen = union(np.stack([seen[:, 0], np.maximum(seen[:, 1], seen[:, 0] + pixel)], 1))
    shapes = "".join(
        f"M{_LABEL + (a - begin) * scale:.1f} {y}h{(b - a) * scale:.1f}v{height}"
        f"h{(a - b) * scale:.1f}z"
        for a, b in seen.tolist()
    )
    return f'<path class="lane-{kind}" d="{shapes}"><title>{kind}</title></path>' if shapes else ""


def _ranks_table(times: RunTimes) -> str:
    columns = [
        Column("rank"),
        *(Column(kind, f"seconds: {words}") for kind, words in _KINDS.items()),
        Column("total", "seconds"),
        Column("hidden", "seconds of exchange behind a backward that went on"),
        Column("held up", "seconds that the other ranks waited for this one, start-up not counted"),
        Column("ended", number=False),
    ]
    rows = [
        [
            Cell(str(rank.rank), rank.rank),
            *map(seconds, rank.figures().values()),
            seconds(rank.seconds),
            seconds(rank.hidden),
            seconds(times.held_up[rank.rank]),
            text(_ended(rank)),
        ]
        for rank in times.ranks
    ]
    return table(columns, rows)


def _ended(rank: RankTimes) -> str:
    ending = rank.ending
    if ending.kind == "running":
        return "killed"
    words = ending.kind if ending.kind != "exited" else f"exited with status {ending.status}"
    return f"{words}: {ending.text.splitlines()[0]}" if ending.text else words


def _exchanges_table(times: RunTimes) -> str:
    rows = times.rows()
    if not rows:
        return '<p class="calm">The ranks exchanged nothing.</p>'
    columns = [
        Column("collective", "or message", number=False),
        Column("line", number=False),
        Column("calls", "of all ranks"),
        Column("sent", "bytes, by all ranks"),
        Column("exchange", "seconds with all ranks in it, on the average rank"),
        Column("hidden", "the share of that behind a backward that went on"),
        Column("waited", "seconds until the last rank had entered, on the average rank"),
    ]
    return table(columns, [
        [
            text(row.name),
            Cell(f'<span class="where">{escape(shorten_path(row.where))}</span>'),
            count(row.calls), nbytes(row.sent), seconds(row.seconds),
            share(row.hidden / row.seconds if row.seconds else 0.0), seconds(row.waited),
        ]
        for row in rows
    ])  # fmt: skip
