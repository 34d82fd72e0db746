// Keys press what has them in data-key: first in the row at work, then among the page's own. The row
// at work has the focus, or is the first that is still open; up and down move it. A form is sent once.
let sent = false;
const rows = [...document.querySelectorAll("[data-row=open], [data-row=done]")];
const ofPage = ".page-keys [data-key], .keys > [data-key]";
function atWork() {
  return document.activeElement.closest("[data-row]") || document.querySelector("[data-row=open]");
}
function mark() {
  for (const row of document.querySelectorAll(".at-work")) row.classList.remove("at-work");
  const row = rows.length && atWork();
  if (!row) return;
  row.classList.add("at-work");
  row.scrollIntoView({block: "nearest"});
}
function move(step) {
  const current = rows.indexOf(document.querySelector(".at-work"));
  const row = rows[Math.min(Math.max(current + step, 0), rows.length - 1)];
  (row.querySelector("[data-key=Enter]") || row.querySelector("a")).focus({preventScroll: true});
}
function named(key) {
  const row = atWork();
  const selector = `[data-key="${CSS.escape(key)}"]`;
  return (row && row.querySelector(selector)) ||
    [...document.querySelectorAll(ofPage)].find(element => element.matches(selector));
}
// What the keys of this page do, as its buttons and links say it: a list of those that work.
function list(details) {
  const keys = new Map();
  if (rows.length > 1) keys.set("↑ ↓", "move the marked row");
  const row = atWork();
  for (const element of [...(row ? row.querySelectorAll("[data-key]") : []), ...document.querySelectorAll(ofPage)]) {
    const key = element.dataset.key;
    if (keys.has(key) || key === "?") continue;
    const label = element.getAttribute("aria-label") || [...element.childNodes].filter(
      node => node.nodeName !== "KBD" && !(node.classList && node.classList.contains("unseen"))
    ).map(node => node.textContent).join(" ").trim();
    keys.set(key, rows.includes(row) && row.contains(element) ? `${label} (the marked row)` : label);
  }
  details.replaceChildren(...[...keys].map(([key, label]) => {
    const entry = document.createElement("div");
    const [name, what] = [document.createElement("dt"), document.createElement("dd")];
    name.append(Object.assign(document.createElement("kbd"), {textContent: key}));
    what.textContent = label;
    entry.append(name, what);
    return entry;
  }));
}
addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || sent) return;
  if (event.target.closest("input, textarea, select")) return;
  const arrow = {ArrowUp: -1, ArrowDown: 1}[event.key];
  // Enter on a link or button is its own.
  const taken = event.key === "Enter" && event.target.closest("a, button, summary");
  const element = taken ? null : named(event.key);
  if (arrow && rows.length) move(arrow);
  else if (element) element.click();
  else return;
  event.preventDefault();
});
addEventListener("submit", event => {
  if (sent) event.preventDefault();
  sent = true;
});
addEventListener("pageshow", () => { sent = false; });
addEventListener("focusin", mark);
for (const details of document.querySelectorAll("details.keys")) {
  details.addEventListener("toggle", () => list(details.querySelector("dl")));
}
mark();
