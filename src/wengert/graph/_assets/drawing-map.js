"use strict";

/* A small map of the whole drawing, with the part of it that is in view: for where there is more
   than can be seen. `move(x, y)` is told which point of the drawing is to be in the middle. */

const MAP = 200; // pixels of its longer side

class Minimap {
  constructor(canvas, move) {
    Object.assign(this, { canvas, placed: null });
    const to = (event) => {
      const { left, top } = canvas.getBoundingClientRect();
      const { scale, x, y } = this.fitted;
      move((event.clientX - left - x) / scale, (event.clientY - top - y) / scale);
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      to(event);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (event.buttons > 0) to(event);
    });
  }

  /* `seen`: left, top, right, bottom of what is in view. */
  show(placed, opened, [left, top, right, bottom]) {
    const { canvas } = this;
    const all = left <= 1 && top <= 1 && right >= placed.width - 1 && bottom >= placed.height - 1;
    canvas.hidden = all;
    if (all) {
      return;
    }
    const scale = Math.min(MAP / placed.width, MAP / placed.height);
    const [width, height] = [placed.width, placed.height].map((size) => Math.max(scale * size, 40));
    const dense = window.devicePixelRatio || 1;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    canvas.width = width * dense;
    canvas.height = height * dense;
    const [x, y] = [(width - placed.width * scale) / 2, (height - placed.height * scale) / 2];
    this.fitted = { scale, x, y };
    const pen = canvas.getContext("2d");
    const colour = (name) => getComputedStyle(canvas).getPropertyValue(`--${name}`).trim();
    pen.setTransform(scale * dense, 0, 0, scale * dense, x * dense, y * dense);
    pen.lineWidth = 1 / scale;
    pen.fillStyle = colour("edge");
    pen.strokeStyle = colour("edge");
    for (const [index, [boxX, boxY, boxWidth, boxHeight]] of placed.boxes) {
      if (opened.has(index)) {
        if (index > 0) pen.strokeRect(boxX, boxY, boxWidth, boxHeight);
      } else {
        pen.fillRect(boxX, boxY, Math.max(boxWidth, 1 / scale), Math.max(boxHeight, 1 / scale));
      }
    }
    pen.strokeStyle = colour("accent");
    pen.lineWidth = 2 / scale;
    const [x0, y0] = [Math.max(left, 0), Math.max(top, 0)];
    pen.strokeRect(x0, y0, Math.min(right, placed.width) - x0, Math.min(bottom, placed.height) - y0);
  }
}
