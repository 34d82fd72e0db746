// Keys press what has them in data-key: first in the row at work, then among the page's own. The row
// at work has the focus, or is the first that is still open; up and down move it. A form is sent once.
// A note that was typed and not sent yet is in the box of each page.
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
  return row;
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
    [...document.querySelectorAll(ofPage)].find(
      element => element.matches(selector) && element.checkVisibility());
}
// What the keys of this page do, as its buttons and links say it: a list of those that work.
function list(details) {
  const keys = new Map();
  if (rows.length > 1) keys.set("↑ ↓", "move the marked row");
  const row = atWork();
  for (const element of [...(row ? row.querySelectorAll("[data-key]") : []), ...document.querySelectorAll(ofPage)]) {
    const key = element.dataset.key;
    if (keys.has(key) || key === "?" || !element.checkVisibility()) continue;
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
  if (event.target.closest("input:not([type=checkbox]), textarea, select")) return;
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
  const button = event.submitter;
  const asks = button && button.dataset.ask;
  if (sent || (asks && !confirm(asks))) return event.preventDefault();
  sent = Boolean(button);
  if (sent && button.name === "action") sessionStorage.removeItem("note");
});
const note = document.querySelector("#note");
if (note) note.addEventListener("input", () => sessionStorage.setItem("note", note.value));
addEventListener("pageshow", () => {
  sent = false;
  if (note) note.value = sessionStorage.getItem("note") || "";
});
// Shift selects all rows from the last box that was pressed to this one.
const boxes = [...document.querySelectorAll(".choose")];
let last = -1;
for (const [index, box] of boxes.entries()) {
  box.addEventListener("click", event => {
    const [from, to] = [Math.min(last, index), Math.max(last, index)];
    if (event.shiftKey && last >= 0) for (const other of boxes.slice(from, to)) other.checked = box.checked;
    last = index;
  });
}
addEventListener("focusin", () => {
  const row = mark();
  if (row && row.contains(document.activeElement)) row.scrollIntoView({block: "nearest"});
});
for (const details of document.querySelectorAll("details.keys")) {
  details.addEventListener("toggle", () => list(details.querySelector("dl")));
}
// A page opens at its top; after a decision it goes on at the row that is next.
const row = mark();
if (row && document.referrer === location.href) row.scrollIntoView({block: "nearest"});
