"use strict";

/* What stands beside the canvas: figures of the whole graph, and its modules, repetitions and
   stretches of code as a tree that folds, with the share of each. `act.go(index)` shows a box. */

const ROWS = 200; // of one parent; the canvas shows all
const UNFOLDED = 16; // rows that are seen at first, or a few more

const MEASURES = [
  { name: "bytes", title: "bytes kept for backward", of: (box) => box.nbytes, text: formatSize },
  { name: "nodes", title: "operations", of: (box) => box.count, text: formatCount },
  {
    name: "FLOP", title: "floating-point operations, forward and backward",
    of: (box) => box.flops[0] + box.flops[1], text: (count) => formatFlops(count).slice(0, -4),
  },
  { name: "time", title: "seconds of the whole run", of: (box) => box.seconds, text: formatSeconds },
];

/* As wengert.graph.formatting.flops. */
function formatFlops(count) {
  return formatScaled(count, "FLOP", [["k", 1e3], ["M", 1e6], ["G", 1e9], ["T", 1e12]]);
}

function formatSeconds(seconds) {
  return seconds === null ? "" : `${seconds.toFixed(3)} s`;
}

class Overview {
  constructor(place, drawing, act) {
    Object.assign(this, { place, drawing, act, selected: null, unfolded: new Set([0]) });
    const [whole] = drawing.boxes;
    this.measures = MEASURES.filter(({ of }) => of(whole) > 0);
    [this.measure] = this.measures;
    this.unfoldFirst();
    this.choice = this.measures.map((measure) => element("button", {
      type: "button", title: measure.title, click: () => this.choose(measure),
    }, measure.name));
    this.tree = element("div", { role: "tree", "aria-label": "Parts of the graph" });
    this.tree.addEventListener("keydown", (event) => this.key(event));
    place.append(
      this.figures(),
      this.measures.length > 1
        ? element("div", { class: "choice", role: "group", "aria-label": "Bars show" }, this.choice)
        : "",
      this.tree,
    );
    this.choose(this.measure);
  }

  figures() {
    const [whole] = this.drawing.boxes;
    const { leaves } = this.drawing;
    const [forward, backward] = whole.flops.map(formatFlops);
    const rows = [
      ["operations", formatCount(whole.count)],
      ["leaves", formatCount(leaves)],
      ["keeps", formatSize(whole.nbytes)],
      ["of leaves", whole.leaf_bytes > 0 ? formatSize(whole.leaf_bytes) : null],
      ["backward frees", formatSize(whole.frees)],
      ["released", whole.released > 0 ? formatCount(whole.released) : null],
      ["forward", whole.flops[0] > 0 ? forward : null],
      ["backward", whole.flops[1] > 0 ? backward : null],
    ].filter(([, value]) => value !== null);
    return element("dl", { class: "summary" }, ...rows.map(([name, value]) => (
      element("div", {}, element("dt", {}, name), element("dd", {}, value))
    )));
  }

  choose(measure) {
    this.measure = measure;
    this.choice.forEach((button) => {
      button.setAttribute("aria-pressed", String(button.textContent === measure?.name));
    });
    this.show();
  }

  /* Modules from the outside in, as long as not too many rows are seen; repetitions stay folded. */
  unfoldFirst() {
    const waiting = [0];
    let rows = 0;
    while (waiting.length > 0) {
      const index = waiting.shift();
      const parts = this.parts(index);
      if (index === 0 || rows + parts.length <= UNFOLDED) {
        this.unfolded.add(index);
        rows += parts.length;
        waiting.push(...parts.filter((member) => this.drawing.boxes[member].kind !== "repeat"));
      }
    }
  }

  /* Where a part is all there is, what is inside of it is seen at once. */
  unfoldAlone(index) {
    const parts = this.parts(index);
    if (parts.length === 1 && this.drawing.boxes[parts[0]].members.length > 0) {
      this.unfolded.add(parts[0]);
      this.unfoldAlone(parts[0]);
    }
  }

  /* The members that compute something. */
  parts(index) {
    const { boxes } = this.drawing;
    return boxes[index].members.filter((member) => boxes[member].count > 0
      && !PILLS.includes(boxes[member].kind));
  }

  show() {
    const focused = document.activeElement?.dataset?.row;
    const made = [];
    const waiting = this.parts(0).map((index) => [index, 1]).reverse();
    const left = new Map(); // rows of a parent that are still to be shown
    while (waiting.length > 0) {
      const [index, depth] = waiting.pop();
      const { parent } = this.drawing.boxes[index];
      left.set(parent, (left.get(parent) ?? ROWS) - 1);
      if (left.get(parent) < 0) {
        const rest = this.parts(parent).length - ROWS;
        made.push(element("div", { class: "muted more", style: indent(depth) },
          `and ${formatCount(rest)} more`));
        while (waiting.length > 0 && this.drawing.boxes[waiting.at(-1)[0]].parent === parent) {
          waiting.pop();
        }
        continue;
      }
      made.push(this.row(index, depth));
      if (this.unfolded.has(index)) {
        waiting.push(...this.parts(index).map((member) => [member, depth + 1]).reverse());
      }
    }
    this.tree.replaceChildren(...made);
    const current = this.tree.querySelector(`[data-row="${focused ?? this.selected}"]`)
      ?? this.tree.querySelector("[data-row]");
    current?.setAttribute("tabindex", "0");
    if (focused !== undefined) {
      current?.focus();
    }
  }

  row(index, depth) {
    const box = this.drawing.boxes[index];
    const inside = this.parts(index).length > 0;
    const open = this.unfolded.has(index);
    const whole = this.measure?.of(this.drawing.boxes[0]) ?? 0;
    const value = this.measure?.of(box) ?? 0;
    const fold = element("span", {
      class: "fold", "aria-hidden": "true",
      click: (event) => { event.stopPropagation(); this.toggle(index); },
    }, inside ? (open ? "▾" : "▸") : "");
    return element("div", {
      role: "treeitem", tabindex: -1, "data-row": index, "aria-level": depth,
      "aria-expanded": inside ? String(open) : null, "aria-selected": String(index === this.selected),
      title: box.tip, style: indent(depth), click: () => this.act.go(index),
    },
    fold,
    element("span", { class: "name" }, box.title),
    box.tag !== "" ? element("span", { class: "tag" }, box.tag) : null,
    element("span", { class: "share" }, element("i", {
      style: `width:${whole > 0 ? (100 * value / whole).toFixed(1) : 0}%`,
    })),
    element("span", { class: "number" }, value > 0 ? this.measure.text(value) : ""));
  }

  toggle(index) {
    if (this.parts(index).length === 0) {
      return;
    }
    if (!this.unfolded.delete(index)) {
      this.unfolded.add(index);
      this.unfoldAlone(index);
    }
    this.show();
  }

  /* Mark the row of a box, which may be in what is folded. */
  select(index) {
    this.selected = index;
    let inside = index === null ? null : this.drawing.boxes[index].parent;
    while (inside !== null) {
      this.unfolded.add(inside);
      inside = this.drawing.boxes[inside].parent;
    }
    this.show();
    this.tree.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }

  key(event) {
    const row = event.target.closest("[data-row]");
    if (row === null || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const index = Number(row.dataset.row);
    const rows = [...this.tree.querySelectorAll("[data-row]")];
    const move = (to) => {
      row.setAttribute("tabindex", "-1");
      to?.setAttribute("tabindex", "0");
      to?.focus();
    };
    const at = rows.indexOf(row);
    const parent = () => rows.find((r) => Number(r.dataset.row) === this.drawing.boxes[index].parent);
    const open = this.unfolded.has(index) && this.parts(index).length > 0;
    const actions = {
      ArrowDown: () => move(rows[at + 1] ?? row),
      ArrowUp: () => move(rows[at - 1] ?? row),
      ArrowRight: () => (open ? move(rows[at + 1] ?? row) : this.toggle(index)),
      ArrowLeft: () => (open ? this.toggle(index) : move(parent() ?? row)),
      Home: () => move(rows[0]),
      End: () => move(rows.at(-1)),
      Enter: () => this.act.go(index),
      " ": () => this.toggle(index),
    };
    if (Object.hasOwn(actions, event.key)) {
      event.preventDefault();
      event.stopPropagation();
      actions[event.key]();
    }
  }
}

function indent(depth) {
  return `padding-left:${0.5 + 0.9 * (depth - 1)}rem`;
}
