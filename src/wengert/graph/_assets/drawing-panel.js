"use strict";

/* What the panel says of a box. `go(index)` shows another one. */

function panelOf(drawing, box, act, go) {
  const node = box.kind === "op" ? drawing.nodes[box.nodes[0]] : null;
  const about = node !== null ? aboutNode(drawing, node, go) : aboutPart(drawing, box, act, go);
  const edges = [
    linkList("computed from", node !== null ? inputLinks(drawing, node, go) : []),
    linkList("used by", box.users.map((index) => boxLink(drawing, index, go))),
  ];
  const named = [box.title, box.tag].filter(Boolean).join(" ");
  return [
    element("button", { class: "close square", "aria-label": "Close", click: act.close }, "×"),
    element("h2", {}, node === null ? named : node.op),
    ...about,
    ...(PILLS.includes(box.kind) || node !== null ? edges : []),
  ].filter(Boolean);
}

/* What a node, or a part, computes; nothing for what only moves numbers. */
function flopsOf({ flops }) {
  return ["forward", "backward"].map((name, k) => [name, flops?.[k] ? formatFlops(flops[k]) : ""]);
}

function facts(rows) {
  return element("dl", {}, ...rows
    .filter(([, value]) => value !== null && value !== "")
    .flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}

function aboutNode(drawing, node, go) {
  const rows = node.saved.map((saved) => element("tr", {},
    element("td", {}, `${saved.name} `, element("span", { class: "muted" }, saved.of)),
    element("td", {}, saved.shape === null ? "?" : shapeText(saved.shape), " ", saved.dtype ?? ""),
    element("td", { class: "number" }, formatSize(saved.nbytes), saved.leaf ? " *" : "")));
  return [
    facts([
      ["module", node.module],
      ["shape", shapeText(node.shape)],
      ["grad_fn", node.kind],
      ["state", node.state],
      ["keeps", formatSize(node.nbytes)],
      ["backward frees", formatSize(node.frees)],
      ...flopsOf(node),
    ]),
    element("pre", {}, `${node.where}\n${node.text}`),
    rows.length > 0 ? element("h3", {}, "saved for backward") : null,
    rows.length > 0 ? element("table", {}, element("tbody", {}, ...rows)) : null,
    node.saved.some((saved) => saved.leaf)
      ? element("p", { class: "muted" }, "* the memory of a leaf, which is not counted") : null,
  ];
}

function aboutPart(drawing, box, act, go) {
  const first = box.nodes.length > 0 ? drawing.nodes[box.nodes[0]] : null;
  if (PILLS.includes(box.kind)) {
    return [
      element("p", { class: "muted" }, box.kind === "leaf" ? "requires grad" : "no gradient"),
      facts([
        ["shape", box.shape === null ? "" : shapeText(box.shape)],
        ["tensors", box.nodes.length > 1 ? formatCount(box.nodes.length) : ""],
      ]),
      first !== null ? element("pre", {}, `${first.where}\n${first.text}`) : null,
    ];
  }
  const inside = drawing.operations(box).map((inner) => drawing.nodes[inner.nodes[0]]);
  const lines = new Map(inside.map((node) => [node.where, node.text]));
  return [
    element("p", { class: "muted" }, {
      module: "a call of a module", repeat: "equal parts in a row", section: "a stretch of code",
    }[box.kind]),
    facts([
      ["operations", formatCount(box.count)],
      ["released", box.released > 0 ? formatCount(box.released) : ""],
      ["keeps", formatSize(box.nbytes)],
      ["of leaves", formatSize(box.leaf_bytes)],
      ["backward frees", formatSize(box.frees)],
      ...flopsOf(box),
      ["time in the run", formatSeconds(box.seconds)],
    ]),
    element("p", { class: "after" }, element("button", { class: "toggle-part", click: () => act.toggle(box.index) },
      act.isOpen(box.index) ? "close" : "open")),
    element("h3", {}, lines.size === 1 ? "line"
      : `${formatCount(lines.size)} lines${lines.size > 3 ? ", the first" : ""}`),
    element("pre", {}, [...lines].slice(0, 3).map((line) => line.join("\n")).join("\n")),
    linkList("keep most", heaviest(drawing, box).map(({ first, count, nbytes }) => [
      element("span", {}, boxLink(drawing, first, go), count > 1 ? ` × ${formatCount(count)}` : ""),
      element("span", { class: "number" }, formatSize(nbytes)),
    ])),
  ];
}

/* The operations of a part that keep most, equal ones of a line together. */
function heaviest(drawing, box) {
  const kinds = new Map();
  for (const inner of drawing.operations(box)) {
    const name = `${inner.title} ${drawing.nodes[inner.nodes[0]].where}`;
    const kind = kinds.get(name) ?? { first: inner.index, count: 0, nbytes: 0 };
    kind.count += 1;
    kind.nbytes += inner.nbytes;
    kinds.set(name, kind);
  }
  return [...kinds.values()].filter((kind) => kind.nbytes > 0)
    .sort((a, b) => b.nbytes - a.nbytes).slice(0, 8);
}

function linkList(title, items) {
  if (items.length === 0) {
    return null;
  }
  const list = items.slice(0, 40).map((item) => element("li", {}, ...[item].flat()));
  if (items.length > 40) {
    list.push(element("li", { class: "muted" }, `and ${formatCount(items.length - 40)} more`));
  }
  return element("div", {}, element("h3", {}, title), element("ul", {}, ...list));
}

function boxLink(drawing, index, go) {
  const box = drawing.boxes[index];
  const about = box.kind === "op" ? box.detail : box.shape !== null ? shapeText(box.shape) : "";
  return element("span", {},
    element("button", { class: "link", click: () => go(index) }, box.title), ` ${about}`);
}

function inputLinks(drawing, node, go) {
  if (node.state !== "live") { // and knows nothing of what it was computed from
    return [];
  }
  return node.inputs.map((index) => {
    if (index === null) {
      return element("span", { class: "muted" }, "a tensor without gradient");
    }
    const box = drawing.boxOfNode.get(index);
    if (box !== undefined) {
      return boxLink(drawing, box, go);
    }
    const leaf = drawing.nodes[index];
    return element("span", {}, leaf.name, " ",
      element("span", { class: "muted" }, `${shapeText(leaf.shape)} parameter`));
  });
}
