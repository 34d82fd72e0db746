// Keys press what has them in data-key: first in the row at work, then among the page's own. The row
// at work has the focus, or is the first that is still open. A form is sent once.
let sent = false;
function atWork() {
  return document.activeElement.closest("[data-row]") || document.querySelector("[data-row=open]");
}
function mark() {
  for (const row of document.querySelectorAll(".at-work")) row.classList.remove("at-work");
  const row = document.querySelector("[data-row=open], [data-row=done]") && atWork();
  if (!row) return;
  row.classList.add("at-work");
  row.scrollIntoView({block: "nearest"});
}
addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || sent) return;
  if (event.target.closest("input, textarea, select")) return;
  const named = `[data-key="${CSS.escape(event.key)}"]`;
  const row = atWork();
  const found = (row && row.querySelector(named)) || document.querySelector(`.page-keys ${named}`);
  if (found) {
    event.preventDefault();
    found.click();
  }
});
addEventListener("submit", event => {
  if (sent) event.preventDefault();
  sent = true;
});
addEventListener("pageshow", () => { sent = false; });
addEventListener("focusin", mark);
mark();
