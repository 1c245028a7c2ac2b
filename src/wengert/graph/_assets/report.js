"use strict";

/* Tabs, tables that can be sorted, links into the source. */

for (const list of document.querySelectorAll('[role="tablist"]')) {
  const tabs = [...list.children];
  list.addEventListener("click", (event) => {
    const tab = event.target.closest('[role="tab"]');
    if (tab) select(tab);
  });
  list.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: 1, ArrowLeft: -1, Home: -tabs.length, End: tabs.length };
    if (!(event.key in steps)) return;
    event.preventDefault();
    const at = tabs.indexOf(document.activeElement);
    const beside = (at + steps[event.key] + tabs.length) % tabs.length;
    const ends = { Home: 0, End: tabs.length - 1 };
    const tab = tabs[ends[event.key] ?? beside];
    select(tab);
    tab.focus();
  });
}

function select(tab) {
  for (const other of tab.parentElement.children) {
    const chosen = other === tab;
    other.setAttribute("aria-selected", chosen);
    other.tabIndex = chosen ? 0 : -1;
    document.getElementById(other.getAttribute("aria-controls")).hidden = !chosen;
  }
  fillFrames();
}

/* A drawing fits itself into its frame, and so has to be seen. */
function fillFrames() {
  for (const frame of document.querySelectorAll("iframe[data-page]")) {
    if (frame.offsetParent === null) continue;
    frame.srcdoc = frame.dataset.page;
    delete frame.dataset.page;
  }
}
fillFrames();

for (const block of document.querySelectorAll(".sortable")) {
  const body = block.querySelector("tbody");
  const heads = [...block.querySelectorAll("th")];
  const more = block.querySelector(".more");
  heads.forEach((head, column) => {
    head.firstElementChild.addEventListener("click", () => {
      // Numbers begin with the largest, texts with the first.
      const first = head.classList.contains("number") ? "descending" : "ascending";
      const other = first === "descending" ? "ascending" : "descending";
      const order = head.getAttribute("aria-sort") === first ? other : first;
      heads.forEach((each) => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      sort(body, column, order === "ascending" ? 1 : -1);
      show();
    });
  });
  let all = false;
  const show = () => {
    const shown = all ? Infinity : Number(block.dataset.shown);
    [...body.rows].forEach((row, position) => { row.hidden = position >= shown; });
  };
  more?.addEventListener("click", () => {
    all = true;
    more.hidden = true;
    show();
  });
}

function sort(body, column, sign) {
  const key = (row) => {
    const cell = row.cells[column];
    return cell.dataset.key === undefined ? cell.textContent : Number(cell.dataset.key);
  };
  const compare = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b));
  const rows = [...body.rows].map((row) => [key(row), row]);
  rows.sort(([a], [b]) => sign * compare(a, b));
  body.append(...rows.map(([, row]) => row));
}

/* A line may be in a file whose tab is not the one that is seen. */
function reveal() {
  const target = document.getElementById(location.hash.slice(1));
  const panel = target?.closest('[role="tabpanel"]');
  if (!panel) return;
  select(document.getElementById(panel.getAttribute("aria-labelledby")));
  document.querySelector("tr.target")?.classList.remove("target");
  target.classList.add("target");
  target.scrollIntoView({ block: "center" });
}

window.addEventListener("hashchange", reveal);
// The same link again changes no hash.
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#source-"]');
  if (link && link.hash === location.hash) reveal();
});
reveal();

const links = new Map(
  [...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]),
);
const seen = new Set();
const observer = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting) seen.add(target.id);
    else seen.delete(target.id);
  }
  const first = [...links.keys()].find((id) => seen.has(id));
  for (const [id, link] of links) {
    if (id === first) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}, { rootMargin: "0px 0px -60% 0px" });
document.querySelectorAll("main > section").forEach((section) => observer.observe(section));
