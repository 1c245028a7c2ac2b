"""A timeline as a picture: SVG, and PNG made of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from os.path import basename

from wengert.graph.drawing._png import png_of
from wengert.graph.drawing._svg import colours
from wengert.graph.drawing._text import escape, fit
from wengert.graph.drawing._tree import SERIES
from wengert.graph.formatting import format_bytes, format_seconds
from wengert.graph.timelines.timeline import OTHERS, Band, TimelineData

_WIDTH, _PLOT = 960, 300
_LEFT, _RIGHT, _TOP, _LANE, _ROW = 70, 20, 64, 10, 20
_ENTRY = 410  # width of a text in the legend


def svg(timeline: TimelineData) -> str:
    """The bytes over time by line or module, calls below them, and a legend."""
    return _Picture(timeline).text()


def png(timeline: TimelineData) -> bytes:
    """The same as pixels, at twice its size.

    Raises ImportError without ``resvg-py``, and RuntimeError where no font is installed.
    """
    return png_of(svg(timeline))


class _Picture:
    """The parts of the picture, each a few elements."""

    def __init__(self, timeline: TimelineData) -> None:
        self.timeline = timeline
        self.bands = timeline.modules if timeline.telling == "module" else timeline.lines
        self.colours = colours()
        self.bottom = _TOP + _PLOT
        self.most = (timeline.peak.nbytes or 1) * 1.05
        rows = (len(self.bands) + 1) // 2
        self.height = self.bottom + 56 + rows * _ROW

    def text(self) -> str:
        """All of it."""
        elements = [*self._head(), *self._grid(), *self._areas(), *self._calls(), *self._legend()]
        sans = escape(self.colours["sans"])
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{self.height}"'
            f' viewBox="0 0 {_WIDTH} {self.height}" font-family="{sans}" font-size="12">'
            f'<rect width="100%" height="100%" fill="{self.colours["surface"]}"/>'
            f"{''.join(elements)}</svg>\n"
        )

    def _x(self, seconds: float) -> float:
        fraction = seconds / (self.timeline.seconds or 1)
        return round(_LEFT + fraction * (_WIDTH - _LEFT - _RIGHT), 1)

    def _y(self, nbytes: float) -> float:
        return round(self.bottom - nbytes / self.most * _PLOT, 1)

    def _label(self, x: float, y: float, text: str, more: str = "") -> str:
        muted = self.colours["muted"]
        return f'<text x="{x}" y="{y}" fill="{muted}" {more}>{escape(text)}</text>'

    def _head(self) -> Iterator[str]:
        timeline = self.timeline
        strong = f'font-size="15" font-weight="600" fill="{self.colours["text"]}"'
        yield f'<text x="{_LEFT}" y="26" {strong}>What graphs held</text>'
        yield self._label(_LEFT, 46, fit(timeline.summary(), 12, _WIDTH - _LEFT - _RIGHT))

    def _grid(self) -> Iterator[str]:
        for nbytes in _round_steps(self.timeline.peak.nbytes, 5):
            y = self._y(nbytes)
            line = f'x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}"'
            yield f'<line {line} stroke="{self.colours["line"]}"/>'
            yield self._label(_LEFT - 8, y + 4, format_bytes(nbytes), 'text-anchor="end"')
        for seconds in _round_steps(self.timeline.seconds, 8):
            x, y = self._x(seconds), self.bottom + _LANE + 24
            yield self._label(x, y, format_seconds(seconds), 'text-anchor="middle"')

    def _areas(self) -> Iterator[str]:
        timeline = self.timeline
        xs = [self._x(seconds) for seconds in (*timeline.times, timeline.seconds)]
        below = [0] * len(timeline.times)
        for k, band in enumerate(self.bands):
            above = [a + b for a, b in zip(below, band.values, strict=True)]
            lower = [f"L{xs[i + 1]},{self._y(b)}H{xs[i]}" for i, b in enumerate(below)]
            path = f"M{self._edge(xs, above)[1:]}{''.join(reversed(lower))}Z"
            yield f'<path d="{path}" fill="{self._colour(k, band)}" fill-opacity="0.82"/>'
            below = above
        edge = f"M{self._edge(xs, below)[1:]}"
        yield f'<path d="{edge}" fill="none" stroke="{self.colours["text"]}" stroke-opacity="0.5"/>'
        peak = timeline.peak
        if peak.nbytes:
            x, y = self._x(peak.seconds), self._y(peak.nbytes)
            text = self.colours["text"]
            yield f'<path d="M{x - 4},{y - 8}h8l-4,6z" fill="{text}"/>'
            anchor = "start" if x < _LEFT + 40 else "end" if x > _WIDTH - 80 else "middle"
            strong = f'font-weight="600" text-anchor="{anchor}" fill="{text}"'
            yield f'<text x="{x}" y="{y - 12}" {strong}>peak {format_bytes(peak.nbytes)}</text>'

    def _edge(self, xs: list[float], sums: list[int]) -> str:
        return "".join(f"L{xs[i]},{self._y(s)}H{xs[i + 1]}" for i, s in enumerate(sums))

    def _calls(self) -> Iterator[str]:
        y = self.bottom + 4
        inner = _WIDTH - _LEFT - _RIGHT
        lane = f'x="{_LEFT}" y="{y}" width="{inner}" height="{_LANE}"'
        yield f'<rect {lane} fill="{self.colours["raised"]}"/>'
        filled = 0.0
        for call in self.timeline.calls:
            begin, end = self._x(call.begin), max(self._x(call.end), self._x(call.begin) + 1)
            if end > filled + 0.5 or call.raised:
                filled = end
                name = "bad" if call.raised else "warn" if call.retains else "accent"
                box = f'x="{begin}" y="{y}" width="{round(end - begin, 1)}" height="{_LANE}"'
                yield f'<rect {box} fill="{self.colours[name]}"/>'

    def _legend(self) -> Iterator[str]:
        for k, band in enumerate(self.bands):
            x = _LEFT + k % 2 * (_WIDTH - _LEFT) / 2
            y = self.bottom + 52 + k // 2 * _ROW
            box = f'x="{x}" y="{y - 10}" width="11" height="11" rx="2"'
            yield f'<rect {box} fill="{self._colour(k, band)}"/>'
            text = f"{format_bytes(band.at_peak)}  {basename(band.name)}  {band.text}"
            yield self._label(x + 18, y, fit(text.rstrip(), 12, _ENTRY))

    def _colour(self, k: int, band: Band) -> str:
        is_other = band.name == OTHERS or k >= SERIES
        return self.colours["muted" if is_other else f"series-{k + 1}"]


def _round_steps(high: float, count: int) -> list[float]:
    """Some `count` round numbers from 0 up to `high`."""
    least = high / count or 1.0
    power = 10.0 ** math.floor(math.log10(least))
    step = next(k * power for k in (1, 2, 5, 10) if k * power >= least)
    return [k * step for k in range(int(high / step) + 1)]
