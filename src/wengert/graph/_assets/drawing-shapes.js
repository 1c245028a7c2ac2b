"use strict";

/* Boxes and lines as SVG: as _drawing/_svg.py draws them, and with what can be clicked. */

const PILLS = ["leaf", "data"];
const STACK = 3;

function shapeText(shape) {
  return shape.length > 0 ? shape.join(" × ") : "scalar";
}

/* The most bytes among closed boxes: operations are compared with operations, what can be opened
   with its like. */
function barScale(drawing, placed, opened) {
  const scale = new Map([[false, 0], [true, 0]]);
  for (const index of placed.boxes.keys()) {
    const box = drawing.boxes[index];
    const part = box.members.length > 0;
    if (!part || !opened.has(index)) {
      scale.set(part, Math.max(scale.get(part), box.nbytes + box.leaf_bytes));
    }
  }
  return scale;
}

/* All that is placed. */
function drawAll(drawing, placed, { opened, scale }) {
  const inOrder = [...placed.boxes.keys()].sort((a, b) => a - b);
  const visible = inOrder.map((index) => drawing.boxes[index]);
  const isOpen = (box) => opened.has(box.index) && box.members.length > 0;
  const framed = visible.filter((box) => isOpen(box) && box.parent !== null);
  return [
    ...framed.map((box) => openFrame(box, placed.boxes.get(box.index))),
    ...placed.lines.flatMap((line) => drawLine(line, placed.sideways)),
    ...drawShapes(drawing, placed),
    ...visible
      .filter((box) => box.parent !== null)
      .map((box) => (isOpen(box)
        ? heading(box, placed.boxes.get(box.index))
        : closedBox(drawing, box, placed.boxes.get(box.index), scale))),
  ];
}

/* The same from far away, where no text can be read: frames, and all lines in one path. What is
   smaller than `least` is left out. */
function drawFar(drawing, placed, opened, least) {
  const frames = [...placed.boxes].sort(([a], [b]) => a - b)
    .filter(([index, [, , , height]]) => index > 0 && height >= least)
    .map(([index, [x, y, width, height]]) => {
      const box = drawing.boxes[index];
      const open = opened.has(index);
      const classes = open ? `box open ${level(box.depth)}` : classesOf(drawing, box);
      return svgElement("g", active(box, x, y, classes, open),
        svgElement("title", {}, box.tip),
        svgElement("rect", { class: "frame", width, height }));
    });
  const along = placed.sideways ? 0 : 1;
  const far = placed.lines.filter(({ points }) => points.at(-1)[along] - points[0][along] >= least);
  const lines = svgElement("path", {
    class: "line", d: far.map(({ points }) => course(points, placed.sideways)).join(""),
  });
  return [...frames, lines];
}

/* Open boxes inside of each other have two colours in turn. */
function level(depth) {
  return `level-${depth % 2}`;
}

function openFrame(box, [x, y, width, height]) {
  return svgElement("g", { class: `box open ${level(box.depth)}`, transform: `translate(${x} ${y})` },
    svgElement("rect", { class: "frame", width, height, rx: 10 }));
}

/* What all boxes have that the keyboard and the pointer can reach. */
function active(box, x, y, classes, open) {
  return {
    class: classes,
    transform: `translate(${x} ${y})`,
    tabindex: 0,
    role: "button",
    "aria-label": [box.title, box.tag, box.detail, box.note].filter(Boolean).join(", "),
    "aria-expanded": box.members.length > 0 ? String(open) : null,
    "data-box": box.index,
  };
}

function heading(box, [x, y, width]) {
  const rest = [box.detail, box.note].filter(Boolean).join(" · ");
  return svgElement("g", active(box, x, y, "box head", true),
    svgElement("rect", { class: "grip", width, height: 34, rx: 10 }),
    sign(14, 13, false),
    svgElement("text", { class: `heading ${level(box.depth)}`, x: 36, y: 24 },
      svgElement("tspan", { class: "title" }, box.title),
      svgElement("tspan", { class: "tag", dx: 8 }, box.tag),
      svgElement("tspan", { dx: 8 }, rest)));
}

/* Plus or minus: a click on it opens or closes the box, and does not select it. */
function sign(x, y, plus) {
  return svgElement("g", { class: "toggle", transform: `translate(${x} ${y})` },
    svgElement("title", {}, plus ? "open" : "close"),
    svgElement("rect", { x: -3, y: -3, width: 20, height: 20, rx: 5 }),
    svgElement("path", { class: "sign", d: plus ? "M3 7h8M7 3v8" : "M3 7h8" }));
}

function classesOf(drawing, box) {
  const part = box.members.length > 0;
  const names = ["box", part ? "part" : box.kind];
  if (box.released > 0 && box.released === box.count) {
    names.push("released");
  }
  if (!part && box.nodes.some((node) => drawing.roots.includes(node))) {
    names.push("root");
  }
  return names.join(" ");
}

function closedBox(drawing, box, [x, y, width, height], scale) {
  const part = box.members.length > 0;
  const made = svgElement("g", active(box, x, y, classesOf(drawing, box), false),
    svgElement("title", {}, box.tip));
  const pill = PILLS.includes(box.kind);
  if (box.kind === "repeat") {
    made.append(...[2 * STACK, STACK].map((k) => (
      svgElement("rect", { class: "frame", x: k, y: k, width, height, rx: 8 })
    )));
  }
  made.append(svgElement("rect", { class: "frame", width, height, rx: pill ? 12 : 8 }));
  if (pill) {
    made.append(svgElement("text", { class: "title middle", x: width / 2, y: 16 }, box.short));
    return made;
  }
  const left = part ? 36 : 14;
  made.append(
    ...strip(drawing, box),
    svgElement("text", { class: "title", x: left, y: 19 }, box.short),
    svgElement("text", { class: "tag end", x: width - 12, y: 19 }, box.tag),
    svgElement("text", { x: left, y: 34 }, box.detail),
    svgElement("text", { class: "end", x: width - 12, y: 34 }, box.note),
    ...bar(box, scale.get(part)),
  );
  if (part) {
    made.append(sign(15, 12, true));
  }
  return made;
}

/* The colours of the roots that a box is a part of. */
function strip(drawing, box) {
  if (!drawing.coloured) {
    return [];
  }
  const height = 30 / Math.max(box.roots.length, 1);
  return box.roots.map((root, k) => (
    svgElement("rect", { class: `root-${root}`, x: 4, y: 8 + k * height, width: 4, height })
  ));
}

function bar(box, largest) {
  const [own, leaves] = [box.nbytes, box.leaf_bytes]
    .map((count) => (count > 0 ? Math.max((180 * count) / largest, 3) : 0));
  const at = { x: 14.5 + own, y: 40.5, width: leaves, height: 3 };
  return [
    own > 0 ? svgElement("rect", { class: "bytes", x: 14, y: 40, width: own, height: 4 }) : null,
    leaves > 0 ? svgElement("rect", { class: "leaves", ...at }) : null,
  ].filter(Boolean);
}

/* Straight along, a curve from layer to layer. */
function course(points, sideways) {
  return points.map(([x, y], k) => {
    if (k === 0) {
      return `M${x} ${y}`;
    }
    const [fromX, fromY] = points[k - 1];
    if (sideways) {
      const middle = (fromX + x) / 2;
      return y === fromY ? `H${x}` : `C${middle} ${fromY} ${middle} ${y} ${x} ${y}`;
    }
    const middle = (fromY + y) / 2;
    return x === fromX ? `V${y}` : `C${fromX} ${middle} ${x} ${middle} ${x} ${y}`;
  }).join("");
}

function drawLine(line, sideways) {
  const made = [svgElement("path", { class: "line", d: course(line.points, sideways) })];
  if (line.target !== null) {
    const [x, y] = line.points.at(-1);
    const head = sideways ? `M${x - 6} ${y - 3.5}v7L${x} ${y}z` : `M${x - 3.5} ${y - 6}h7L${x} ${y}z`;
    made.push(svgElement("path", { class: "arrow", d: head }));
  }
  return made;
}

/* Where lines leave a box, the shape of what does: where no line bends. */
function drawShapes(drawing, placed) {
  const leaving = new Map();
  const across = placed.sideways ? 1 : 0;
  for (const { source, tensors, points } of placed.lines) {
    if (source !== null && placed.boxes.has(source)) {
      const known = leaving.get(source) ?? { tensors: [], aside: 0 };
      known.tensors.push(...tensors);
      known.aside += points.at(-1)[across] - points[0][across];
      leaving.set(source, known);
    }
  }
  return [...leaving].map(([index, { tensors, aside }]) => {
    const box = drawing.boxes[index];
    const at = placed.sideways
      ? shapeBeside(box, placed.boxes.get(index), aside)
      : shapeBelow(box, placed.boxes.get(index), aside);
    const names = [at.end ? "shape end" : "shape", level(box.depth - 1)];
    return svgElement("text", { class: names.join(" "), x: at.x, y: at.y },
      leavingText(drawing, tensors));
  });
}

function behind(box) {
  return box.kind === "repeat" ? 2 * STACK : 0;
}

function shapeBelow(box, [x, y, width, height], aside) {
  const left = aside > 0;
  return { end: left, x: x + width / 2 + (left ? -6 : 6), y: y + height + 14 + behind(box) };
}

function shapeBeside(box, [x, y, width, height], aside) {
  return { end: false, x: x + width + 6 + behind(box), y: y + height / 2 + (aside > 0 ? -5 : 13) };
}

function leavingText(drawing, tensors) {
  const different = new Set(tensors);
  const shapes = new Set([...different].map((index) => drawing.boxes[index].shape));
  const texts = new Set([...shapes].map((shape) => (shape === null ? "" : shapeText(shape))));
  if (texts.size === 1) {
    const [only] = texts;
    if (only !== "") {
      return only;
    }
  }
  return different.size > 1 ? `${formatCount(different.size)} tensors` : "";
}
