"use strict";
// Two versions side by side: the rows that were removed, added and changed.

const state = { list: 0, start: 0, total: 0, size: 50, run: 0 };
const WORDS = { removed: "removed", added: "added", changed: "changed" };
const lists = viewer.changes.flatMap((change) => Object.keys(WORDS).filter((kind) => change.lists[kind]).map((kind) => ({ change, kind, list: change.lists[kind] })));

function tableName(change) { return `${change.config === "default" ? "" : `${change.config} / `}${change.split}`; }

function textsOf(change, columns) {
  return ["title", ...change.texts.filter((column) => column !== "title")].filter((column) => columns.includes(column));
}

function sideElement(version, change, columns, values, other) {
  return make("div", { class: "side" }, make("p", { class: "column", text: version }), valuesElement(columns, textsOf(change, columns), values, { other }));
}

// The values of a row in the order of the columns of the other version.
function inOrder(values, columns, wanted) { return wanted.map((column) => values[columns.indexOf(column)]); }

function recordElement({ change, kind }, record) {
  const name = String(record[0]);
  const sides = [];
  if (kind === "changed") {
    const [, , before, after] = record;
    sides.push(sideElement(viewer.old, change, change.old_columns, before, inOrder(after, change.new_columns, change.old_columns)));
    sides.push(sideElement(viewer.new, change, change.new_columns, after, inOrder(before, change.old_columns, change.new_columns)));
  } else {
    const columns = kind === "added" ? change.new_columns : change.old_columns;
    sides.push(make("div", { class: "side" }, valuesElement(columns, textsOf(change, columns), record[2])));
  }
  return make("article", { class: "row" }, make("header", {}, make("span", { class: "name" }, textNodes(name, "")), make("span", { text: kind === "changed" ? "" : `only in ${kind === "added" ? viewer.new : viewer.old}` })), make("div", { class: kind === "changed" ? "sides" : "" }, ...sides));
}

async function showScreen(start, scroll) {
  const run = state.run;
  const one = lists[state.list];
  state.start = start;
  state.total = one.list.records;
  const records = await loadRecords(one.list, start, start + state.size);
  if (run !== state.run) return;
  byId("records").replaceChildren(...records.map((record) => recordElement(one, record)));
  const all = one.change[one.kind];
  const cut = all > one.list.records ? ` The table is large: the first ${count(one.list.records)} of ${count(all)} are shown.` : "";
  byId("status").textContent = `${plural(one.list.records, "row")} ${WORDS[one.kind]} in ${tableName(one.change)}.${cut}`;
  updatePager(state);
  if (scroll) byId("tools").scrollIntoView();
}

function start() {
  const number = Number(readHash().get("list") || 1);
  state.list = lists[number - 1] ? number - 1 : 0;
  state.run += 1;
  byId("list").value = state.list;
  showScreen(0, false).catch(showError);
}

lists.forEach((one, index) => byId("list").append(make("option", { value: index, text: `${tableName(one.change)}: ${plural(one.list.records, "row")} ${WORDS[one.kind]}` })));
byId("list").addEventListener("change", () => { writeHash({ list: Number(byId("list").value) + 1 }); start(); });
setPager(state, (first, scroll) => showScreen(first, scroll).catch(showError));
window.addEventListener("hashchange", start);
window.addEventListener("popstate", start);
byId("tools").hidden = lists.length === 0;
if (lists.length) start();
