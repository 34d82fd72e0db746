// Keys press what has them in data-key: first in the row with the focus, then among the page's
// own, then in the first row that is still open.
addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (event.target.closest("input, textarea, select")) return;
  const named = `[data-key="${CSS.escape(event.key)}"]`;
  const row = document.activeElement.closest("[data-row]");
  const found = (row && row.querySelector(named)) || document.querySelector(`.page-keys ${named}`)
    || document.querySelector(`[data-row="open"] ${named}`);
  if (found) {
    event.preventDefault();
    found.click();
  }
});
