"use strict";

/* What all pages use: reading data, building elements, numbers for people. */

function readData(id) {
  return JSON.parse(document.getElementById(id).textContent);
}

/* An element with attributes and children. Children that are strings become text, never HTML;
   attributes whose value is null, undefined or false are left out, functions listen. */
function element(tag, attributes = {}, ...children) {
  return build(document.createElement(tag), attributes, children);
}

function svgElement(tag, attributes = {}, ...children) {
  return build(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function build(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") {
      made.addEventListener(name, value);
    } else if (value !== null && value !== undefined && value !== false) {
      made.setAttribute(name, value === true ? "" : value);
    }
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

/* As wengert.graph.formatting.size. */
function formatSize(bytes) {
  return formatScaled(bytes, "B", [["k", 1e3], ["M", 1e6], ["G", 1e9]]);
}

function formatScaled(count, unit, scales) {
  if (count < 1000) return `${count.toFixed(0)} ${unit}`;
  const [prefix, scale] = scales.find(([, s]) => count < 999.95 * s) ?? scales.at(-1);
  return `${(count / scale).toFixed(1)} ${prefix}${unit}`;
}

function formatCount(count) {
  return count.toLocaleString("en-US");
}
