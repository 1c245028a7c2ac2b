"use strict";

/* Coordinates for the boxes that are visible. Downwards they are those of drawing/_layout.py: the
   same operations on the same numbers in the same order, and a test compares what both come to.
   Sideways, layers follow each other from left to right. */

const Layout = readData("layout");
const SIDE_GAP = 76; // between layers from left to right: shapes stand there

/* boxes: as in the page; opened: a Set of indices. Returns
   { sideways, width, height, boxes: Map(index -> [x, y, width, height]), lines }. */
function place(boxes, opened, sideways = false) {
  const levels = new Map();
  for (const index of openInside(boxes, opened).reverse()) {
    levels.set(index, new Level(boxes, index, levels, sideways));
  }
  const whole = levels.get(0);
  const placed = {
    sideways,
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
      const [aside, along] = level.point(level.first(k), level.starts[k]);
      waiting.push([member, x + aside, y + along]);
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

/* What an open box has around its members: where lines come in and where they go out, on the sides
   across, and how much of both the texts take. */
function frameOf(box, sideways) {
  if (box.parent === null) {
    return { enter: 0, leave: 0, before: 0, behind: 0, across: 0, along: 0 };
  }
  const { head, foot, side } = Layout;
  return sideways
    ? { enter: side, leave: side, before: head, behind: foot, across: 0, along: box.heading }
    : { enter: head, leave: foot, before: side, behind: side, across: box.heading, along: 0 };
}

/* The inside of one open box. Layers follow each other along an axis, their vertices stand across
   it; known are the centres and the sizes of the vertices. */
class Level {
  constructor(boxes, index, levels, sideways) {
    this.box = boxes[index];
    this.levels = levels;
    this.sideways = sideways;
    this.inside = this.box.interior;
    this.members = this.box.members.length;
    this.ports = [this.inside.entries.length, this.inside.exits.length];
    this.portOf = [
      numbers(this.inside.entries, this.members),
      numbers(this.inside.exits, this.members + this.ports[0]),
    ];
    const count = this.inside.layers.reduce((sum, row) => sum + row.length, 0);
    this.broad = new Array(count).fill(0); // across
    this.deep = new Array(count).fill(0); // along
    this.box.members.forEach((member, k) => {
      const { width, height } = levels.get(member) ?? boxes[member];
      [this.broad[k], this.deep[k]] = this.point(width, height);
    });
    this.frame = frameOf(this.box, sideways);
    this.layerGap = sideways ? SIDE_GAP : Layout.layerGap;
    this.centres = new Array(count).fill(0); // across
    this.starts = new Array(count).fill(0); // along
    this.bands = []; // of each layer: where it begins and ends
    this.ends = this.inside.ways.map((way) => this.endsOf(way));
    this.setAcross();
    this.setAlong();
    [this.width, this.height] = this.point(this.across, this.along);
  }

  /* What is so far across and so far along, as x and y; and the other way round. */
  point(across, along) {
    return this.sideways ? [along, across] : [across, along];
  }

  first(v) {
    return this.centres[v] - this.broad[v] / 2;
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
    return level.centres[level.portOf[side].get(tensor)] - level.across / 2;
  }

  /* Each vertex as near to its neighbours in the layers beside it as the order allows. */
  setAcross() {
    const neighbours = this.neighbours();
    const rows = this.inside.layers;
    for (const row of rows) {
      let right = 0;
      row.forEach((v, k) => {
        right += k > 0 ? this.apart(row[k - 1], v) : 0;
        this.centres[v] = right;
      });
      for (const v of row) {
        this.centres[v] -= right / 2;
      }
    }
    for (let sweep = 0; sweep < Layout.sweeps; sweep++) {
      const side = sweep % 2;
      for (const row of side === 0 ? rows : rows.toReversed()) {
        this.settle(row, row.map((v) => neighbours[v][side]));
      }
    }
    let low = Infinity;
    let high = -Infinity;
    for (let v = 0; v < this.centres.length; v++) {
      low = Math.min(low, this.first(v));
      high = Math.max(high, this.centres[v] + this.broad[v] / 2);
    }
    const { before, behind, across } = this.frame;
    this.across = Math.max(2 * Math.floor((high - low) / 2 + 0.5) + before + behind, across);
    const shift = before + (this.across - before - behind) / 2 - (low + high) / 2;
    this.centres = this.centres.map((at) => Math.floor(at + shift + 0.5));
  }

  /* Of each vertex, in the layers beside it: who, how far aside it would like to be, how much. */
  neighbours() {
    const found = this.centres.map(() => [[], []]);
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
    const bend = this.broad[u] === 0 || this.broad[v] === 0;
    return (this.broad[u] + this.broad[v]) / 2 + (bend ? Layout.bendGap : Layout.gap);
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
      let wish = this.centres[v];
      if (weight > 0) {
        const sum = wishes[k].reduce((all, [u, shift, w]) => all + (this.centres[u] + shift) * w, 0);
        wish = sum / weight;
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
        this.centres[row[k]] = where + offsets[k];
      }
    }
  }

  /* Layers behind each other; ports in the borders; vertices in the middle of their layer. */
  setAlong() {
    const [ins, outs] = this.ports;
    const { enter, leave, along } = this.frame;
    let at = ins > 0 ? 0 : enter;
    for (const row of this.inside.layers) {
      const port = row[0] >= this.members && row[0] < this.members + ins + outs;
      const deep = Math.max(...row.map((v) => this.deep[v]));
      if (port && row[0] >= this.members + ins) {
        at = Math.max(at + leave - this.layerGap, along);
      }
      for (const v of row) {
        this.starts[v] = at + Math.floor((deep - this.deep[v]) / 2);
      }
      this.bands.push([at, at + deep]);
      at += port ? enter : deep + this.layerGap;
    }
    this.along = Math.max(this.bands.at(-1)[1] + (outs > 0 ? 0 : leave), along);
  }

  /* Add the lines between the members, the box being at x, y. */
  draw(lines, x, y) {
    const layer = new Map(this.inside.layers.flatMap((row, k) => row.map((v) => [v, k])));
    this.inside.ways.forEach((way, w) => {
      const [first, last] = [way.path[0], way.path.at(-1)];
      for (const [start, stop] of this.ends[w]) {
        const points = [];
        let [lastX, lastY] = [NaN, NaN];
        const add = (across, along) => {
          const atX = x + (this.sideways ? along : across);
          const atY = y + (this.sideways ? across : along);
          if (atX !== lastX || atY !== lastY) {
            points.push([atX, atY]);
            [lastX, lastY] = [atX, atY];
          }
        };
        way.path.forEach((v, k) => {
          const at = this.centres[v] + (v === first ? start : v === last ? stop : 0);
          const [begin, end] = this.bands[layer.get(v)];
          if (k > 0) {
            add(at, begin);
            add(at, this.starts[v]);
          }
          if (k < way.path.length - 1) {
            add(at, this.starts[v] + this.deep[v]);
            add(at, end);
          }
        });
        lines.push({
          source: this.endOf(first), target: this.endOf(last), tensors: way.tensors, points,
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
