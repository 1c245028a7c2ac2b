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

/* As wengert.graph._format.size. */
function formatSize(bytes) {
  if (bytes < 1000) return `${bytes.toFixed(0)} B`;
  const units = [["kB", 1e3], ["MB", 1e6], ["GB", 1e9]];
  const [unit, scale] = units.find(([, s]) => bytes < 999.95 * s) ?? units[2];
  return `${(bytes / scale).toFixed(1)} ${unit}`;
}

function formatCount(count) {
  return count.toLocaleString("en-US");
}
