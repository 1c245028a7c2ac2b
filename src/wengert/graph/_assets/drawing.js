"use strict";

/* The page of a drawing: what is open, selected and found; zoom, pan, keys. */

const MANY = 400; // boxes; of more, only those near the view are drawn
const EVERYTHING = [-Infinity, -Infinity, Infinity, Infinity];
const NOTHING = [0, 0, 0, 0];
const FAR = 0.2; // at less than this size texts cannot be read: frames and lines alone are drawn
const READABLE = 0.65; // at this size they are easy to read
const LEAST = 0.35; // of the first view: where all is smaller, it shows the beginning
const FEW = 12; // boxes that may be smaller than that before they are closed
const narrow = matchMedia("(max-width: 719px)"); // then the overview covers the canvas

const drawing = prepared(readData("drawing"));
const canvas = document.getElementById("canvas");
const world = document.getElementById("world");
const panel = document.getElementById("panel");
const search = document.getElementById("search");
const found = document.getElementById("found");
const legend = document.querySelector(".legend");
const turn = document.getElementById("turn");
const beside = document.getElementById("overview");
const map = new Minimap(document.getElementById("map"), center);
const overview = new Overview(beside, drawing, {
  go(index) {
    if (narrow.matches) showOverview(false);
    go(index);
  },
});

const state = {
  opened: new Set([0]),
  sideways: false, // whether layers follow each other from left to right
  selected: null,
  matches: [],
  match: -1,
  view: { x: 0, y: 0, scale: 1 },
  placed: null, // coordinates of everything visible
  scale: null, // of the bars
  first: true, // whether the view is the one that the page began with
  drawn: { area: NOTHING, scale: 0 }, // of the drawing, what is drawn, and for which size
};

const act = {
  isOpen: (index) => state.opened.has(index),
  toggle,
  close: closePanel,
};

/* Nodes with their lines, and for boxes who uses them and what is inside. */
function prepared(data) {
  data.nodes.forEach((node) => {
    [node.where, node.text] = data.places[node.place];
  });
  data.boxes.forEach((box, index) => {
    Object.assign(box, { index, users: [] });
  });
  data.edges.forEach(([source, target]) => data.boxes[source].users.push(target));
  data.boxOfNode = new Map();
  for (const box of data.boxes) {
    if (box.members.length === 0) {
      box.nodes.forEach((node) => data.boxOfNode.set(node, box.index));
    }
  }
  data.operations = (box) => (box.members.length > 0
    ? box.members.flatMap((member) => data.operations(data.boxes[member]))
    : box.kind === "op" ? [box] : []);
  return data;
}

/* Lay out what is open; `show` draws it. */
function arrange() {
  state.placed = place(drawing.boxes, state.opened, state.sideways);
  state.scale = barScale(drawing, state.placed, state.opened);
  state.drawn.area = NOTHING;
}

/* Draw all boxes, or, of many, those in the view and around it. */
function draw() {
  const focused = document.activeElement?.dataset?.box;
  const all = state.placed.boxes.size <= MANY;
  const { scale } = state.view;
  canvas.classList.toggle("far", scale < FAR);
  state.drawn = { area: all ? EVERYTHING : around(inView()), scale };
  const shown = all ? state.placed : within(state.placed, state.drawn.area);
  world.replaceChildren(...(scale < FAR
    ? drawFar(drawing, shown, state.opened, 1 / scale)
    : drawAll(drawing, shown, state)));
  mark();
  if (focused !== undefined) {
    world.querySelector(`[data-box="${focused}"]`)?.focus({ preventScroll: true });
  }
}

/* What of the drawing can be seen: left, top, right, bottom. */
function inView() {
  const { x, y, scale } = state.view;
  return [-x, -y, canvas.clientWidth - x, canvas.clientHeight - y].map((at) => at / scale);
}

function around([left, top, right, bottom]) {
  const [aside, above] = [right - left, bottom - top];
  return [left - aside, top - above, right + aside, bottom + above];
}

/* The boxes and lines that reach into an area. */
function within(placed, [left, top, right, bottom]) {
  const reaches = ([x0, y0, x1, y1]) => x0 < right && x1 > left && y0 < bottom && y1 > top;
  return {
    sideways: placed.sideways,
    boxes: new Map([...placed.boxes].filter(([, [x, y, w, h]]) => reaches([x, y, x + w, y + h]))),
    lines: placed.lines.filter(({ points }) => {
      const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
      return reaches([
        Math.min(...xs) - 1, Math.min(...ys) - 1, Math.max(...xs) + 1, Math.max(...ys) + 1,
      ]);
    }),
  };
}

/* The classes of what is selected and found. */
function mark() {
  const matches = new Set(state.matches.map(visibleAround));
  for (const made of world.querySelectorAll("[data-box]")) {
    const index = Number(made.dataset.box);
    made.classList.toggle("selected", index === state.selected);
    made.classList.toggle("match", matches.has(index));
  }
}

/* The box itself, or the closed one that it is in. */
function visibleAround(index) {
  while (!state.placed.boxes.has(index)) {
    index = drawing.boxes[index].parent;
  }
  return index;
}

function select(index) {
  if (suppressed()) {
    return;
  }
  state.selected = index;
  const reading = panel.contains(document.activeElement);
  panel.hidden = index === null;
  if (index !== null) {
    panel.replaceChildren(...panelOf(drawing, drawing.boxes[index], act, go));
    panel.scrollTop = 0;
    if (reading) {
      panel.focus({ preventScroll: true });
    }
  }
  overview.select(index);
  mark();
}

/* Close the panel; who has read in it goes back to its box. */
function closePanel() {
  const index = state.selected;
  const reading = panel.contains(document.activeElement);
  select(null);
  if (reading && index !== null) {
    focusOn(index);
  }
}

/* Open or close a box; its corner stays where it is on the screen. */
function toggle(index) {
  if (drawing.boxes[index].members.length === 0 || suppressed()) {
    return;
  }
  const [x, y] = state.placed.boxes.get(visibleAround(index));
  if (!state.opened.delete(index)) {
    state.opened.add(index);
  }
  arrange();
  const [newX, newY] = state.placed.boxes.get(visibleAround(index));
  state.view.x += (x - newX) * state.view.scale;
  state.view.y += (y - newY) * state.view.scale;
  show();
  if (state.selected === index) {
    select(index);
  }
}

/* Show a box, wherever it is: open what it is in, select it, move it to the middle. */
function go(index) {
  let inside = drawing.boxes[index].parent;
  let closed = false;
  while (inside !== null) {
    closed ||= !state.opened.has(inside);
    state.opened.add(inside);
    inside = drawing.boxes[inside].parent;
  }
  if (closed) {
    arrange();
  }
  select(index);
  const [x, y, width, height] = state.placed.boxes.get(index);
  const { view } = state;
  view.scale = Math.max(view.scale, 0.7);
  const room = free();
  view.x = room.from + room.width / 2 - (x + width / 2) * view.scale;
  view.y = canvas.clientHeight / 2 - (y + Math.min(height, 200) / 2) * view.scale;
  show();
}

function openAll(all) {
  const which = drawing.boxes.filter((box) => box.members.length > 0 && (all || box.index === 0));
  state.opened = new Set(which.map((box) => box.index));
  arrange();
  fitOrBegin();
}

/* Lay out from left to right, or again downwards. */
function turnAround() {
  state.sideways = !state.sideways;
  tellDirection();
  arrange();
  fitOrBegin();
}

function tellDirection() {
  turn.textContent = state.sideways ? "↓" : "→";
  turn.setAttribute("aria-label", state.sideways ? "Lay out downwards" : "Lay out from left to right");
}

/* ------------------------------------------------------------------ zoom and pan */

function show() {
  state.first = false;
  const { x, y, scale } = state.view;
  world.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
  const [left, top, right, bottom] = inView();
  const { area, scale: before } = state.drawn;
  const [x0, y0, x1, y1] = area;
  const drawn = left >= x0 && top >= y0 && right <= x1 && bottom <= y1;
  const nearer = area !== EVERYTHING && right - left < (x1 - x0) / 12; // most of it is outside
  const far = scale < FAR;
  if (!drawn || nearer || far !== (before < FAR) || (far && scale > 1.5 * before)) {
    draw();
  }
  map.show(state.placed, state.opened, inView());
}

/* What the panel leaves of the width: where that begins, and how much it is. */
function free() {
  const left = canvas.clientWidth - (panel.hidden ? 0 : panel.offsetWidth);
  if (left < 100) {
    return { from: 0, width: canvas.clientWidth };
  }
  return { from: panel.classList.contains("left") ? canvas.clientWidth - left : 0, width: left };
}

function zoom(factor, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
  const { view } = state;
  const scale = Math.min(4, Math.max(Math.min(0.02, whole(1).scale), view.scale * factor));
  view.x = x - ((x - view.x) * scale) / view.scale;
  view.y = y - ((y - view.y) * scale) / view.scale;
  view.scale = scale;
  show();
}

/* The view in which everything can be seen, at `most` times its size, above the legend if it
   would be behind that. */
function whole(most) {
  const view = viewOf(canvas.clientHeight, most);
  const behind = view.x < legend.offsetLeft + legend.offsetWidth
    && view.y + state.placed.height * view.scale > legend.offsetTop;
  return behind ? viewOf(legend.offsetTop, most) : view;
}

/* At most so much, in the middle of the free width and of so much height. */
function viewOf(high, most) {
  const { width, height } = state.placed;
  const room = free();
  const scale = Math.min(room.width / width, high / height, most);
  return {
    scale,
    x: room.from + (room.width - width * scale) / 2,
    y: (high - height * scale) / 2,
  };
}

function fit() {
  state.view = whole(1.5);
  show();
}

/* All of it, or where that could not be read its beginning. */
function fitOrBegin() {
  const view = whole(1);
  if (view.scale < LEAST) {
    const { width, height, boxes, sideways } = state.placed;
    view.scale = 0.6;
    const closed = [...boxes].filter(([index]) => !state.opened.has(index));
    const along = sideways ? 0 : 1;
    const [x, y, w, h] = closed.reduce((a, b) => (b[1][along] < a[1][along] ? b : a))[1];
    const room = free();
    const middle = (size, full, at) => size / 2 - (full * view.scale < size ? full / 2 : at) * view.scale;
    view.x = sideways ? room.from : room.from + middle(room.width, width, x + w / 2);
    view.y = sideways ? middle(canvas.clientHeight, height, y + h / 2) : 0;
  }
  state.view = view;
  show();
}

/* The first view: as much opened as can be read when all of it is in view, in the direction that
   leaves more of it to be read. Repetitions are open only where there is room for everything. */
function start() {
  const opened = drawing.boxes.filter((box) => box.opened).sort((a, b) => a.depth - b.depth);
  if (!tryFirst(opened, 0.9)) {
    const folded = opened.filter((box) => !isRepeated(box));
    let count = folded.length;
    while (!tryFirst(folded.slice(0, count), READABLE) && count > 1) {
      count = Math.max(1, Math.floor(count * 0.75));
    }
  }
  tellDirection();
  arrange();
  fitOrBegin();
  state.first = true;
}

/* Whether a box is a repetition, or in one. */
function isRepeated(box) {
  while (box.kind !== "repeat" && box.parent !== null) {
    box = drawing.boxes[box.parent];
  }
  return box.kind === "repeat";
}

/* Open some boxes; whether all then fits at so much of its size, or less where there are few. */
function tryFirst(some, size) {
  state.opened = new Set(some.map((box) => box.index));
  const ways = [false, true].map((sideways) => place(drawing.boxes, state.opened, sideways));
  const [down, aside] = ways.map(scaleOf);
  state.sideways = aside > 1.05 * down;
  return Math.max(down, aside) >= (ways[0].boxes.size > FEW ? size : 0.8 * size);
}

/* At which size a layout fits into the canvas, at most its own. */
function scaleOf(placed) {
  const room = free();
  return Math.min(1, room.width / placed.width, canvas.clientHeight / placed.height);
}

/* A frame gets its size late, a window gets another one: then the first view is another one. */
new ResizeObserver(() => (state.first ? start() : show())).observe(canvas);

/* Move a point of the drawing to the middle. */
function center(x, y) {
  const room = free();
  state.view.x = room.from + room.width / 2 - x * state.view.scale;
  state.view.y = canvas.clientHeight / 2 - y * state.view.scale;
  show();
}

/* ------------------------------------------------------------------ the overview at the side */

function showOverview(shown) {
  beside.hidden = !shown;
  document.getElementById("side").setAttribute("aria-expanded", String(shown));
}

let drag = null;

/* Whether a click is the end of a drag, and means nothing. */
function suppressed() {
  return drag !== null && drag.moved;
}

canvas.addEventListener("pointerdown", (event) => {
  if (event.button === 0) {
    drag = { x: event.clientX, y: event.clientY, moved: false };
  }
});
window.addEventListener("pointermove", (event) => {
  if (drag === null || event.buttons === 0) {
    return;
  }
  const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
  if (drag.moved || Math.hypot(dx, dy) > 4) {
    drag = { x: event.clientX, y: event.clientY, moved: true };
    canvas.classList.add("dragged");
    state.view.x += dx;
    state.view.y += dy;
    show();
  }
});
window.addEventListener("pointerup", () => {
  canvas.classList.remove("dragged");
  setTimeout(() => { drag = null; }); // behind the click
});
// In a frame the wheel scrolls the page around it, unless a key says that it is to zoom.
const framed = window.parent !== window;
canvas.addEventListener("wheel", (event) => {
  if (framed && !event.ctrlKey && !event.metaKey) return;
  event.preventDefault();
  const { left, top } = canvas.getBoundingClientRect();
  const lines = event.deltaMode === 1 ? 16 : 1;
  zoom(1.0015 ** (-event.deltaY * lines), event.clientX - left, event.clientY - top);
}, { passive: false });

/* ------------------------------------------------------------------ search */

function find() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  state.matches = words.length === 0 ? [] : drawing.boxes
    .filter((box) => box.members.length === 0 && words.every((word) => textOf(box).includes(word)))
    .map((box) => box.index);
  state.match = -1;
  tellFound();
  mark();
}

function textOf(box) {
  if (box.text === undefined) {
    const nodes = box.nodes.map((index) => drawing.nodes[index]);
    const texts = nodes.map((n) => `${n.op} ${n.kind} ${n.module} ${n.where} ${n.text}`);
    box.text = [box.title, ...texts].join(" ").toLowerCase();
  }
  return box.text;
}

function tellFound() {
  const many = state.matches.length;
  const at = state.match < 0 ? "" : `${formatCount(state.match + 1)} of `;
  found.textContent = search.value.trim() === "" ? "" : `${at}${formatCount(many)} found`;
}

function next(step) {
  const many = state.matches.length;
  if (many > 0) {
    state.match = state.match < 0 && step < 0 ? many - 1 : (state.match + step + many) % many;
    tellFound();
    go(state.matches[state.match]);
  }
}

search.addEventListener("input", find);
search.addEventListener("keydown", (event) => {
  if (event.key === "Enter") {
    next(event.shiftKey ? -1 : 1);
  }
});

/* ------------------------------------------------------------------ clicks, keys and buttons */

const boxAt = (event) => Number(event.target.closest("[data-box]")?.dataset.box);

world.addEventListener("click", (event) => {
  const index = boxAt(event);
  if (event.target.closest(".toggle")) {
    toggle(index);
  } else if (!Number.isNaN(index)) {
    const before = panel.hidden;
    select(index);
    if (before && !panel.hidden) { // not over the box, and not between two clicks
      const [all, width] = [canvas.clientWidth, panel.offsetWidth];
      panel.classList.toggle("left", event.clientX > all - width && all > 2 * width);
    }
  }
});
world.addEventListener("dblclick", (event) => {
  const index = boxAt(event);
  if (!Number.isNaN(index) && !event.target.closest(".toggle")) {
    toggle(index);
  }
});
world.addEventListener("keydown", (event) => {
  const index = boxAt(event);
  if (event.key === "Enter") {
    select(index);
    panel.focus({ preventScroll: true });
  } else if (event.key === " ") {
    event.preventDefault();
    toggle(index);
  }
});

/* Arrow keys go from a box to the nearest one in their direction, or else move the view. */
const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function arrow(key) {
  const [right, down] = arrows[key];
  const from = document.activeElement?.dataset?.box;
  if (from === undefined) {
    state.view.x -= 80 * right;
    state.view.y -= 80 * down;
    show();
    return;
  }
  const [x, y] = handle(Number(from));
  let nearest = null;
  let least = Infinity;
  for (const index of state.placed.boxes.keys()) {
    const [toX, toY] = handle(index);
    const along = (toX - x) * right + (toY - y) * down;
    const aside = Math.abs((toX - x) * down) + Math.abs((toY - y) * right);
    const far = along + 2 * aside;
    if (index > 0 && along > 0 && far < least) {
      [nearest, least] = [index, far];
    }
  }
  if (nearest !== null) {
    focusOn(nearest);
  }
}

/* The middle of a closed box, or of the upper border of an open one. */
function handle(index) {
  const [x, y, width, height] = state.placed.boxes.get(index);
  return [x + width / 2, y + (state.opened.has(index) ? 20 : height / 2)];
}

const keys = {
  "+": () => zoom(1.25),
  "=": () => zoom(1.25),
  "-": () => zoom(0.8),
  0: fit,
  "/": () => search.focus(),
  Escape: closePanel,
  ...Object.fromEntries(Object.keys(arrows).map((key) => [key, () => arrow(key)])),
};

document.addEventListener("keydown", (event) => {
  const typing = event.target === search
    || (Object.hasOwn(arrows, event.key) && panel.contains(event.target)); // and scrolling
  if (event.ctrlKey || event.metaKey || event.altKey || (typing && event.key !== "Escape")) {
    return;
  }
  if (Object.hasOwn(keys, event.key)) {
    event.preventDefault();
    keys[event.key]();
  }
});

const buttons = {
  "zoom-in": () => zoom(1.25),
  "zoom-out": () => zoom(0.8),
  fit,
  "open-all": () => openAll(true),
  "close-all": () => openAll(false),
  side: () => showOverview(beside.hidden),
  turn: turnAround,
};
for (const [id, click] of Object.entries(buttons)) {
  document.getElementById(id).addEventListener("click", click);
}

/* Give a box, or the closed one that it is in, the focus; it is moved into the view. */
function focusOn(index) {
  const visible = visibleAround(index);
  reveal(visible);
  world.querySelector(`[data-box="${visible}"]`)?.focus({ preventScroll: true });
}

function reveal(index) {
  const { view } = state;
  const [left, top, width] = state.placed.boxes.get(index);
  const room = free();
  const [x, y] = [left * view.scale + view.x, top * view.scale + view.y];
  const aside = x - room.from;
  if (aside < 0 || y < 0 || aside > room.width - 100 || y > canvas.clientHeight - 50) {
    view.x += (room.width - Math.min(width * view.scale, room.width)) / 2 - aside;
    view.y += canvas.clientHeight / 2 - y;
    show();
  }
}

/* Tab moves to boxes outside of the view: these are moved into it. */
world.addEventListener("focusin", (event) => {
  if (event.target.matches("[data-box]:focus-visible")) {
    reveal(Number(event.target.dataset.box));
  }
});

narrow.addEventListener("change", () => showOverview(!narrow.matches));
showOverview(!narrow.matches);
arrange();
start();
