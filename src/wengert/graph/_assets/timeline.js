"use strict";

/* The bytes that graphs hold over time, stacked by line or by module, with the backward calls. */

const TIMELINE = { height: 300, left: 62, right: 14, top: 26, axis: 22, lane: 12, gap: 6, series: 8 };

for (const place of document.querySelectorAll("[data-timeline]")) {
  drawTimeline(place, readData(place.dataset.timeline));
}

function formatTime(seconds, step = seconds) {
  const scale = step >= 1 || step === 0 ? [1, "s"] : step >= 1e-3 ? [1e3, "ms"] : [1e6, "us"];
  const value = seconds * scale[0];
  return `${Number(value.toFixed(value < 100 ? 2 : 1))} ${scale[1]}`;
}

/* At most `count` round numbers from `low` to `high`. */
function roundSteps(low, high, count) {
  const least = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= least);
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high; k += 1) found.push(k * step);
  return { step, found };
}

/* The index of the last of some ascending numbers that is not above `value`, at least 0. */
function lastUpTo(numbers, value) {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

function drawTimeline(place, data) {
  const view = { group: "line", low: data.low, high: data.seconds || 1, band: null, call: null, at: null };
  const calls = data.calls.map(([where, begin, end, nodes, before, after, released, flags], index) => {
    const [what, line, text] = data.places[where];
    const [retains, raised] = [(flags & 1) > 0, (flags & 2) > 0];
    return { index, what, line, text, begin, end, nodes, before, after, released, retains, raised };
  });
  const svg = svgElement("svg", {
    tabindex: 0, role: "img", height: TIMELINE.height,
    "aria-label": "Bytes held by graphs over time. Arrows move, plus and minus zoom, 0 shows all,"
      + " p goes to the peak, n and b to the next and the previous call.",
  });
  const tip = element("div", { class: "tip", hidden: true, role: "status" });
  const hint = element("span", { class: "muted" });
  const legend = element("div", { class: "legend" });
  const chosen = element("div", { class: "chosen-call", hidden: true, "aria-live": "polite" });
  const reset = element("button", { type: "button", click: () => zoom(0, data.seconds) }, "Show all");
  const choice = ["line", "module"].map((group) => element(
    "button", { type: "button", "data-group": group, click: () => choose(group) }, `By ${group}`,
  ));
  place.append(
    element(
      "div", { class: "tools" },
      element("div", { class: "choice", role: "group", "aria-label": "Stacked by" }, choice), reset,
      hint,
    ),
    svg, tip, keys(), legend, chosen,
  );

  let width = 0;
  new ResizeObserver(() => {
    const now = Math.max(320, Math.floor(svg.getBoundingClientRect().width));
    if (now !== width) { width = now; draw(); }
  }).observe(place);
  listen();
  choose(data.first);

  function bands() { return data.groups[view.group]; }

  function seriesOf(band) {
    const k = bands().indexOf(band);
    return band.rest || k >= TIMELINE.series ? "rest" : `series-${k + 1}`;
  }

  function keys() {
    const shown = [["key-call", "backward", calls.some((c) => !c.retains && !c.raised)],
      ["key-retains", "backward that kept the graph", calls.some((c) => c.retains && !c.raised)],
      ["key-raised", "backward that raised", calls.some((c) => c.raised)]];
    return element("div", { class: "keys muted" }, shown.filter(([, , any]) => any).map(
      ([name, text]) => element("span", {}, element("span", { class: `swatch ${name}` }), text),
    ));
  }

  function choose(group) {
    view.group = group;
    view.band = null;
    for (const button of choice) button.setAttribute("aria-pressed", button.dataset.group === group);
    drawLegend();
    draw();
  }

  function zoom(low, high) {
    const least = data.seconds * 1e-6 || 1e-9;
    const span = Math.min(Math.max(high - low, least), data.seconds || 1);
    view.low = Math.max(0, Math.min(low, data.seconds - span));
    view.high = view.low + span;
    draw();
  }

  function highlight(band) {
    view.band = view.band === band ? null : band;
    drawLegend();
    draw();
  }

  /* Where things are on the page. */

  function inner() { return width - TIMELINE.left - TIMELINE.right; }
  function bottom() { return TIMELINE.height - TIMELINE.axis - TIMELINE.lane - TIMELINE.gap; }
  function x(seconds) {
    return TIMELINE.left + (seconds - view.low) / (view.high - view.low) * inner();
  }
  function secondsAt(pixel) {
    const part = Math.min(1, Math.max(0, (pixel - TIMELINE.left) / inner()));
    return view.low + part * (view.high - view.low);
  }

  function draw() {
    if (!width) return;
    const first = lastUpTo(data.times, view.low);
    const last = lastUpTo(data.times, view.high);
    let most = 1;
    for (let k = first; k <= last; k += 1) most = Math.max(most, data.total[k]);
    const y = (bytes) => bottom() - bytes / (most * 1.05) * (bottom() - TIMELINE.top);
    svg.setAttribute("viewBox", `0 0 ${width} ${TIMELINE.height}`);
    svg.replaceChildren(
      svgElement("defs", {}, svgElement(
        "clipPath", { id: `${place.dataset.timeline}-clip` },
        svgElement("rect", { x: TIMELINE.left, y: 0, width: inner(), height: TIMELINE.height }),
      )),
      ...grid(y, most),
      svgElement("g", { "clip-path": `url(#${place.dataset.timeline}-clip)` },
        ...areas(first, last, y), ...marks(), peak(y)),
    );
    drawCursor();
    reset.disabled = view.low <= 0 && view.high >= data.seconds;
  }

  function grid(y, most) {
    const made = [];
    for (const bytes of roundSteps(0, most, 5).found) {
      made.push(
        svgElement("line", { class: "grid", x1: TIMELINE.left, x2: width - TIMELINE.right, y1: y(bytes), y2: y(bytes) }),
        svgElement("text", { x: TIMELINE.left - 8, y: y(bytes) + 4, "text-anchor": "end" }, formatSize(bytes)),
      );
    }
    const { step, found } = roundSteps(view.low, view.high, Math.max(2, Math.floor(inner() / 110)));
    for (const seconds of found) {
      const anchor = x(seconds) > width - 40 ? "end" : "middle";
      made.push(svgElement(
        "text", { x: x(seconds), y: TIMELINE.height - 6, "text-anchor": anchor },
        formatTime(seconds, Math.max(step, seconds)),
      ));
    }
    return made;
  }

  /* The points from `first` to `last` and where they are. Of more than there is room for, in each
     pixel the one with the most bytes; `least` has those with the least. */
  function visible(first, last) {
    const places = (index) => x(Math.max(data.times[index], view.low));
    const indices = Array.from({ length: last - first + 1 }, (_, k) => first + k);
    if (indices.length <= 1.5 * inner()) return { points: indices, at: indices.map(places), least: [] };
    const [points, least, at] = [[], [], []];
    for (const index of indices) {
      const pixel = Math.floor(places(index));
      const k = at.length - 1;
      if (at[k] !== pixel) {
        at.push(pixel);
        points.push(index);
        least.push(index);
      } else {
        if (data.total[index] > data.total[points[k]]) points[k] = index;
        if (data.total[index] < data.total[least[k]]) least[k] = index;
      }
    }
    return { points, at, least };
  }

  /* Steps: what is held from one time on, until the next. */
  function areas(first, last, y) {
    const { points, at, least } = visible(first, last);
    hint.textContent = least.length
      ? "the most in each pixel, and as a line the least; drag to zoom, double click to show all"
      : "drag to zoom, double click to show all, click a call or a band";
    const times = [...at, x(view.high)].map((pixel) => pixel.toFixed(1));
    const step = (sum, k) => `L${times[k]},${y(sum).toFixed(1)}H${times[k + 1]}`;
    const edge = (sums) => `M${sums.map(step).join("").slice(1)}`;
    let below = points.map(() => 0);
    const made = bands().map((band) => {
      const lower = below.map((sum, k) => `L${times[k + 1]},${y(sum).toFixed(1)}H${times[k]}`);
      below = below.map((sum, k) => sum + band.values[points[k]]);
      const faded = view.band !== null && view.band !== band;
      return svgElement("path", {
        class: `band ${seriesOf(band)}${faded ? " faded" : ""}`, "data-name": band.name,
        d: `${edge(below)}${lower.reverse().join("")}Z`, click: () => highlight(band),
      });
    });
    const totals = (indices) => indices.map((index) => data.total[index]);
    const lines = [svgElement("path", { class: "outline", d: edge(totals(points)) })];
    if (least.length) lines.push(svgElement("path", { class: "outline least", d: edge(totals(least)) }));
    return [...made, ...lines];
  }

  /* Calls, in a lane of their own; where many would share a pixel, the first of each pixel. */
  function marks() {
    const top = bottom() + TIMELINE.gap;
    const made = [svgElement("rect", {
      class: "lane", x: TIMELINE.left, y: top, width: inner(), height: TIMELINE.lane, rx: 2,
    })];
    const shown = calls.filter((c) => c.end >= view.low && c.begin <= view.high);
    let filled = -1;
    for (const call of shown) {
      const [begin, end] = [x(call.begin), Math.max(x(call.end), x(call.begin) + 1.5)];
      if (end <= filled + 1 && call.index !== view.call && !call.raised) continue;
      filled = end;
      const kind = `${call.retains ? " retains" : ""}${call.raised ? " raised" : ""}`;
      const mark = call.index === view.call ? " chosen" : "";
      if (shown.length <= 60 || mark) {
        made.push(svgElement("rect", {
          class: "call-shade", x: begin, y: TIMELINE.top, width: end - begin, height: bottom() - TIMELINE.top,
          "pointer-events": "none",
        }));
      }
      made.push(svgElement("rect", {
        class: `call${kind}${mark}`, "data-call": call.index, x: begin, y: top, rx: 1.5,
        width: end - begin, height: TIMELINE.lane, click: () => select(call.index),
      }));
    }
    return made;
  }

  function peak(y) {
    const at = x(data.peak.at);
    const [height, text] = [y(data.peak.bytes), `peak ${formatSize(data.peak.bytes)}`];
    if (!data.peak.bytes || at < TIMELINE.left || at > width - TIMELINE.right) return null;
    const anchor = at < TIMELINE.left + 60 ? "start" : at > width - 80 ? "end" : "middle";
    return svgElement("g", { "pointer-events": "none" },
      svgElement("path", { class: "peak-mark", d: `M${at - 4},${height - 8}h8l-4,6z` }),
      svgElement("text", { class: "peak-label", x: at, y: height - 12, "text-anchor": anchor }, text));
  }

  function drawLegend() {
    legend.replaceChildren(...bands().map((band) => element(
      "button", {
        type: "button", "aria-pressed": String(view.band === band), title: `${band.name}  ${band.text}`,
        click: () => highlight(band),
      },
      element("span", { class: `swatch ${seriesOf(band)}` }),
      element("span", { class: "name" }, band.name.replace(/^.*[/\\](?=[^/\\]+:\d+$)/, ""), band.text ? element("code", {}, band.text) : null),
      element("span", { class: "bytes" }, formatSize(band.peak)),
    )));
  }

  function select(index) {
    view.call = view.call === index ? null : index;
    const call = calls[view.call];
    chosen.hidden = !call;
    if (call) {
      const kept = call.retains ? ", kept the graph" : "";
      chosen.replaceChildren(
        element("p", {}, element("strong", {}, `${call.what} ${formatCount(call.index + 1)} of ${formatCount(calls.length)}`),
          ` at ${call.line} `, element("code", {}, call.text)),
        element("p", { class: "muted" },
          `began at ${formatTime(call.begin)}, took ${formatTime(call.end - call.begin)}, passed ${formatCount(call.nodes)} nodes, `
          + `held ${formatSize(call.before)} before and ${formatSize(call.after)} after, released ${formatSize(call.released)}${kept}`),
        call.raised ? element("p", { class: "bad" }, "It raised an exception.") : "",
      );
    }
    draw();
  }

  /* Pointer and keys. */

  function listen() {
    let from = null; // where the button went down
    let dragged = false;
    const pixel = (event) => event.clientX - svg.getBoundingClientRect().left;
    svg.addEventListener("pointerdown", (event) => {
      from = event.button === 0 ? pixel(event) : null;
      dragged = false;
    });
    svg.addEventListener("pointermove", (event) => {
      dragged ||= from !== null && Math.abs(pixel(event) - from) > 4;
      point(secondsAt(pixel(event)), dragged ? from : null);
    });
    svg.addEventListener("pointerleave", () => { if (from === null) point(null); });
    window.addEventListener("pointerup", (event) => {
      if (dragged && from !== null) {
        zoom(...[secondsAt(from), secondsAt(pixel(event))].sort((a, b) => a - b));
      }
      from = null;
    });
    // Before the parts hear of it: a drag is no click on where it ends.
    svg.addEventListener("click", (event) => {
      if (dragged) event.stopPropagation();
      else if (event.detail === 2) zoom(0, data.seconds);
    }, true);
    svg.addEventListener("keydown", key);
    svg.addEventListener("blur", () => point(null));
  }

  function key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = view.at ?? data.peak.at;
    const half = (view.high - view.low) / 2;
    const move = (seconds) => {
      if (seconds < view.low || seconds > view.high) zoom(seconds - half, seconds + half);
      point(seconds);
    };
    const next = (step) => {
      const k = lastUpTo(data.times, at) + step;
      return data.times[Math.min(Math.max(k, 0), data.times.length - 1)];
    };
    const actions = {
      ArrowLeft: () => move(next(-1)),
      ArrowRight: () => move(next(1)),
      Home: () => move(0),
      End: () => move(data.times[data.times.length - 1]),
      "+": () => zoom(at - half / 2, at + half / 2),
      "-": () => zoom(at - half * 2, at + half * 2),
      0: () => zoom(0, data.seconds),
      p: () => move(data.peak.at),
      n: () => goToCall(1),
      b: () => goToCall(-1),
      Escape: () => { view.band = null; drawLegend(); zoom(0, data.seconds); point(null); },
    };
    const action = actions[event.key === "=" ? "+" : event.key];
    if (action) { event.preventDefault(); action(); }
  }

  function goToCall(step) {
    const index = view.call === null ? (step > 0 ? 0 : calls.length - 1) : view.call + step;
    if (!calls[index]) return;
    view.call = null;
    select(index);
    const { begin, end } = calls[index];
    if (begin < view.low || end > view.high) {
      const half = (view.high - view.low) / 2;
      zoom(begin - half, begin + half);
    }
  }

  function point(seconds, from = null) {
    view.at = seconds;
    drawCursor(from);
  }

  function drawCursor(from = null) {
    for (const old of svg.querySelectorAll(".cursor, .selection")) old.remove();
    tip.hidden = view.at === null;
    if (view.at === null) return;
    const at = x(view.at);
    if (from !== null) {
      svg.append(svgElement("rect", {
        class: "selection", x: Math.min(from, at), y: TIMELINE.top, width: Math.abs(at - from), height: bottom() - TIMELINE.top,
      }));
    }
    svg.append(svgElement("line", { class: "cursor", x1: at, x2: at, y1: TIMELINE.top - 8, y2: bottom() }));
    const k = lastUpTo(data.times, view.at);
    const rows = bands().map((band) => [band, band.values[k]]).filter(([, bytes]) => bytes > 0);
    tip.replaceChildren(
      element("strong", {}, `${formatSize(data.total[k])} at ${formatTime(view.at)}`),
      element("table", {}, rows.map(([band, bytes]) => element(
        "tr", {}, element("td", {}, element("span", { class: `swatch ${seriesOf(band)}` })),
        element("td", { class: "name" }, band.text || band.name),
        element("td", { class: "number" }, formatSize(bytes)),
      ))),
      element("div", { class: "muted" }, nearest(view.at)),
    );
    const [box, outer] = [svg.getBoundingClientRect(), place.getBoundingClientRect()];
    const right = at > width * 0.55;
    tip.style.left = right ? "auto" : `${box.left - outer.left + at + 14}px`;
    tip.style.right = right ? `${outer.right - box.left - at + 14}px` : "auto";
    tip.style.top = `${box.top - outer.top + TIMELINE.top}px`;
  }

  function nearest(seconds) {
    const away = (c) => Math.max(c.begin - seconds, seconds - c.end, 0);
    let found = null;
    for (const call of calls) if (found === null || away(call) < away(found)) found = call;
    if (found === null) return "";
    const when = away(found) === 0 ? "during" : found.begin > seconds
      ? `${formatTime(found.begin - seconds)} before` : `${formatTime(seconds - found.end)} after`;
    return `${when} ${found.what} ${formatCount(found.index + 1)}, ${found.line}`;
  }
}
