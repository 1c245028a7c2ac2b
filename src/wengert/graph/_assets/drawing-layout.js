"use strict";

/* Coordinates for the boxes that are visible: _drawing/_place.py in JavaScript, the same operations
   on the same numbers in the same order. A test compares what both come to. */

const Layout = readData("layout");

/* boxes: as in the page; opened: a Set of indices. Returns
   { width, height, boxes: Map(index -> [x, y, width, height]), lines }. */
function place(boxes, opened) {
  const levels = new Map();
  for (const index of openInside(boxes, opened).reverse()) {
    levels.set(index, new Level(boxes, index, levels));
  }
  const whole = levels.get(0);
  const placed = {
    width: whole.width + 2 * Layout.margin,
    height: whole.height + 2 * Layout.margin,
    boxes: new Map(),
    lines: [],
  };
  const waiting = [[0, Layout.margin, Layout.margin]];
  for (let next = 0; next < waiting.length; next++) {
    const [index, x, y] = waiting[next];
    const level = levels.get(index);
    if (level === undefined) {
      placed.boxes.set(index, [x, y, boxes[index].width, boxes[index].height]);
      continue;
    }
    placed.boxes.set(index, [x, y, level.width, level.height]);
    boxes[index].members.forEach((member, k) => {
      waiting.push([member, x + level.left(k), y + level.tops[k]]);
    });
    level.draw(placed.lines, x, y);
  }
  return placed;
}

/* The open boxes that can be seen, outer ones first. */
function openInside(boxes, opened) {
  const order = [];
  const waiting = [0];
  while (waiting.length > 0) {
    const index = waiting.pop();
    if (opened.has(index)) {
      order.push(index);
      waiting.push(...boxes[index].members);
    }
  }
  return order;
}

/* The vertex of the port that each tensor takes. */
function numbers(ports, first) {
  return new Map(ports.flatMap((tensors, k) => tensors.map((tensor) => [tensor, first + k])));
}

/* The inside of one open box: the centres and sizes of its vertices. */
class Level {
  constructor(boxes, index, levels) {
    this.box = boxes[index];
    this.levels = levels;
    this.inside = this.box.interior;
    this.members = this.box.members.length;
    this.ports = [this.inside.entries.length, this.inside.exits.length];
    this.portOf = [
      numbers(this.inside.entries, this.members),
      numbers(this.inside.exits, this.members + this.ports[0]),
    ];
    const count = this.inside.layers.reduce((sum, row) => sum + row.length, 0);
    this.widths = new Array(count).fill(0);
    this.heights = new Array(count).fill(0);
    this.box.members.forEach((member, k) => {
      const size = levels.get(member) ?? boxes[member];
      this.widths[k] = size.width;
      this.heights[k] = size.height;
    });
    const outermost = this.box.parent === null;
    this.head = outermost ? 0 : Layout.head;
    this.foot = outermost ? 0 : Layout.foot;
    this.side = outermost ? 0 : Layout.side;
    this.least = outermost ? 0 : this.box.heading;
    this.x = new Array(count).fill(0);
    this.tops = new Array(count).fill(0);
    this.bands = [];
    this.ends = this.inside.ways.map((way) => this.endsOf(way));
    this.setX();
    this.setY();
  }

  left(v) {
    return this.x[v] - this.widths[v] / 2;
  }

  endsOf(way) {
    const found = [];
    for (const tensor of way.tensors) {
      const start = this.atPort(way.path[0], tensor, 1);
      const stop = this.atPort(way.path.at(-1), tensor, 0);
      if (!found.some(([a, b]) => a === start && b === stop)) {
        found.push([start, stop]);
      }
    }
    return found;
  }

  atPort(v, tensor, side) {
    const level = v < this.members ? this.levels.get(this.box.members[v]) : undefined;
    if (level === undefined) {
      return 0;
    }
    return level.x[level.portOf[side].get(tensor)] - level.width / 2;
  }

  /* Each vertex as near to its neighbours above and below as the order allows. */
  setX() {
    const neighbours = this.neighbours();
    const rows = this.inside.layers;
    for (const row of rows) {
      let right = 0;
      row.forEach((v, k) => {
        right += k > 0 ? this.apart(row[k - 1], v) : 0;
        this.x[v] = right;
      });
      for (const v of row) {
        this.x[v] -= right / 2;
      }
    }
    for (let sweep = 0; sweep < Layout.sweeps; sweep++) {
      const side = sweep % 2;
      for (const row of side === 0 ? rows : rows.toReversed()) {
        this.settle(row, row.map((v) => neighbours[v][side]));
      }
    }
    let left = Infinity;
    let right = -Infinity;
    for (let v = 0; v < this.x.length; v++) {
      left = Math.min(left, this.left(v));
      right = Math.max(right, this.x[v] + this.widths[v] / 2);
    }
    this.width = Math.max(2 * Math.floor((right - left) / 2 + 0.5) + 2 * this.side, this.least);
    const shift = this.width / 2 - (left + right) / 2;
    this.x = this.x.map((x) => Math.floor(x + shift + 0.5));
  }

  /* Of each vertex, above and below: who, how far aside it would like to be, how much. */
  neighbours() {
    const found = this.x.map(() => [[], []]);
    this.inside.ways.forEach((way, k) => {
      const ends = this.ends[k];
      const last = way.path.length - 2;
      const start = ends.reduce((sum, [a]) => sum + a, 0) / ends.length;
      const stop = ends.reduce((sum, [, b]) => sum + b, 0) / ends.length;
      for (let step = 0; step <= last; step++) {
        const [u, v] = [way.path[step], way.path[step + 1]];
        const shift = (step === 0 ? start : 0) - (step === last ? stop : 0);
        const weight = 1 + (step > 0 ? 3 : 0) + (step < last ? 3 : 0);
        found[v][0].push([u, shift, weight]);
        found[u][1].push([v, -shift, weight]);
      }
    });
    return found;
  }

  apart(u, v) {
    const bend = this.widths[u] === 0 || this.widths[v] === 0;
    return (this.widths[u] + this.widths[v]) / 2 + (bend ? Layout.bendGap : Layout.gap);
  }

  /* Move a layer to where it is nearest to its wishes: least squares, order kept. */
  settle(row, wishes) {
    const blocks = [];
    const offsets = [];
    let offset = 0;
    row.forEach((v, k) => {
      offset += k > 0 ? this.apart(row[k - 1], v) : 0;
      offsets.push(offset);
      const weight = wishes[k].reduce((sum, [, , w]) => sum + w, 0);
      let wish = this.x[v];
      if (weight > 0) {
        wish = wishes[k].reduce((sum, [u, shift, w]) => sum + (this.x[u] + shift) * w, 0) / weight;
      }
      let block = [wish - offset, weight + 0.01, 1];
      while (blocks.length > 0 && blocks.at(-1)[0] >= block[0]) {
        const [where, heavy, many] = blocks.pop();
        const total = heavy + block[1];
        block = [(where * heavy + block[0] * block[1]) / total, total, many + block[2]];
      }
      blocks.push(block);
    });
    let k = 0;
    for (const [where, , many] of blocks) {
      for (let i = 0; i < many; i++, k++) {
        this.x[row[k]] = where + offsets[k];
      }
    }
  }

  /* Layers below each other; ports in the borders; vertices in the middle of their layer. */
  setY() {
    const [ins, outs] = this.ports;
    let y = ins > 0 ? 0 : this.head;
    for (const row of this.inside.layers) {
      const port = row[0] >= this.members && row[0] < this.members + ins + outs;
      const high = Math.max(...row.map((v) => this.heights[v]));
      if (port && row[0] >= this.members + ins) {
        y += this.foot - Layout.layerGap;
      }
      for (const v of row) {
        this.tops[v] = y + Math.floor((high - this.heights[v]) / 2);
      }
      this.bands.push([y, y + high]);
      y += port ? this.head : high + Layout.layerGap;
    }
    this.height = this.bands.at(-1)[1] + (outs > 0 ? 0 : this.foot);
  }

  /* Add the lines between the members, the box being at x, y. */
  draw(lines, x, y) {
    const layer = new Map(this.inside.layers.flatMap((row, k) => row.map((v) => [v, k])));
    this.inside.ways.forEach((way, w) => {
      const [first, last] = [way.path[0], way.path.at(-1)];
      for (const [start, stop] of this.ends[w]) {
        const points = [];
        way.path.forEach((v, k) => {
          const at = x + this.x[v] + (v === first ? start : v === last ? stop : 0);
          const [top, bottom] = this.bands[layer.get(v)];
          if (k > 0) {
            points.push([at, y + top], [at, y + this.tops[v]]);
          }
          if (k < way.path.length - 1) {
            points.push([at, y + this.tops[v] + this.heights[v]], [at, y + bottom]);
          }
        });
        lines.push({
          source: this.endOf(first),
          target: this.endOf(last),
          tensors: way.tensors,
          points: points.filter(
            ([a, b], k) => k === 0 || a !== points[k - 1][0] || b !== points[k - 1][1],
          ),
        });
      }
    });
  }

  /* The box at the end of a line, null if the line goes on inside of it. */
  endOf(v) {
    if (v >= this.members || this.levels.has(this.box.members[v])) {
      return null;
    }
    return this.box.members[v];
  }
}
