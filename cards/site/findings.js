"use strict";
// Findings: each opens all its rows, beside the rows that make them findings.

const FINDING_ROWS = 50; // shown at a time

function sideElement(finding, split, name, position, values, other) {
  const table = findTable(finding.config, split);
  const texts = table >= 0 && viewer.tables[table].texts.length ? viewer.tables[table].texts : finding.columns.filter((column) => column.endsWith(": text"));
  const shown = name === null ? "" : String(name);
  const link = table >= 0 && values && position !== -1 ? make("a", { class: "name", href: rowLink(table, shown, position) }, textNodes(shown, "")) : make("span", { class: "name" }, textNodes(shown, ""));
  return make("div", { class: "side" }, make("p", { class: "column" }, `${split} `, link),
    position === -1 ? make("p", { class: "missing", text: "not judged" }) : null,
    values ? valuesElement(finding.columns, texts, values, { other }) : make("p", { class: "missing", text: "not a row of this table" }));
}

function recordElement(finding, [row, position, values, twin, twinSplit, twinValues]) {
  const own = sideElement(finding, finding.split, row, position, values, twinValues);
  const other = twin === null ? null : sideElement(finding, twinSplit, twin, null, twinValues, values);
  return make("article", { class: "row" }, make("div", { class: other ? "sides" : "" }, own, other));
}

async function showRows(finding, area, start) {
  const records = await loadRecords(finding.list, start, start + FINDING_ROWS);
  const fragment = make("div", { class: "records" }, ...records.map((record) => recordElement(finding, record)));
  area.append(fragment);
  const end = start + records.length;
  if (end < finding.list.records) {
    const more = make("button", { type: "button", text: `Show more: ${count(end)} of ${count(finding.list.records)} rows so far`, on: () => { more.remove(); showRows(finding, area, end).catch((error) => area.append(error.message)); } });
    area.append(more);
  }
}

function toggle(button, open) {
  const area = byId(`finding-${button.dataset.finding}`).querySelector(".finding-rows");
  area.hidden = !open;
  button.setAttribute("aria-expanded", String(open));
  button.dataset.text ||= button.textContent;
  button.textContent = open ? "Hide the rows" : button.dataset.text;
  if (open && !area.childElementCount) showRows(viewer.findings[button.dataset.finding - 1], area, 0).catch((error) => area.append(error.message));
}

const buttons = [...document.querySelectorAll("button.open")];
for (const button of buttons) {
  button.addEventListener("click", () => {
    const open = button.getAttribute("aria-expanded") !== "true";
    toggle(button, open);
    if (open) history.replaceState(null, "", `#finding-${button.dataset.finding}`);
  });
}

function openFromAddress() {
  const number = /^#finding[=-](\d+)$/.exec(location.hash);
  const item = number && byId(`finding-${number[1]}`);
  if (!item) return;
  const button = item.querySelector("button.open");
  if (button) { toggle(button, true); button.focus({ preventScroll: true }); }
  item.scrollIntoView();
}
window.addEventListener("hashchange", openFromAddress);
openFromAddress();
