"use strict";
// The rows of the tables of a version: browse, search, filter by label, and open a row by its name.

const MAX_MATCHES = 5000; // rows that are kept of a search; more are only counted
const state = { table: 0, label: "", search: "", row: "", start: 0, total: 0, size: SCREEN_ROWS, run: 0 };
let matches = null; // [place, record] of the rows found, null where all rows are shown

const table = () => viewer.tables[state.table];

function tableName(one) {
  return `${one.config === "default" ? "" : `${one.config} / `}${one.split} (${count(one.rows)})`;
}

function rowElement(record, place) {
  const [position, name, ...values] = record;
  const one = table();
  const label = one.label && one.label !== "score" ? one.columns.indexOf(one.label) : -1;
  const hidden = new Set([...(label >= 0 ? [one.label] : []), ...(viewer.labels.length ? ["label_text"] : [])]);
  if (one.columns.includes("id") && String(values[one.columns.indexOf("id")]) === name) hidden.add("id");
  const columns = one.columns.filter((column) => !hidden.has(column));
  const shown = columns.map((column) => values[one.columns.indexOf(column)]);
  const link = make("a", { class: "name", href: rowLink(state.table, name, position), title: "a link to this row" }, textNodes(name, state.search));
  const article = make("article", { class: `row${name === state.row ? " target" : ""}`, tabindex: "-1", "data-name": name },
    make("header", {}, link, make("span", { text: `row ${count(position + 1)}` }),
      label >= 0 ? make("span", { class: "label", dir: "auto" }, textNodes(labelName(values[label]), "")) : null),
    valuesElement(columns, one.texts, shown, { words: state.search }));
  article.dataset.place = place;
  return article;
}

// Whether a row has the label and the words that are asked for.
function matcher() {
  const one = table();
  const words = state.search;
  const column = one.columns.indexOf(one.label) + 2;
  const filter = state.label === "" ? null : one.filters[Number(state.label)];
  const last = filter && Number(state.label) === one.filters.length - 1;
  const hasLabel = (value) => {
    if (!filter) return true;
    if (filter.length === 4) return value >= filter[2] && (value < filter[3] || (last && value <= filter[3]));
    return Array.isArray(value) ? (filter[2] === null ? value.length === 0 : value.includes(filter[2])) : value === filter[2];
  };
  const hasWords = (record) => !words || record.some((value, index) => index > 0 && value !== null && String(value).toLowerCase().includes(words));
  return (record) => hasLabel(record[column]) && hasWords(record);
}

function showRecords(pairs) {
  byId("records").replaceChildren(...pairs.map(([place, record]) => rowElement(record, place)));
}

async function showScreen(start, scroll) {
  state.start = start;
  const run = state.run;
  if (matches) {
    showRecords(matches.slice(start, start + state.size));
  } else {
    const records = await loadRecords(table().list, start, start + state.size);
    if (run !== state.run) return;
    showRecords(records.map((record, index) => [start + index, record]));
    byId("status").textContent = state.total ? `rows ${count(start + 1)} to ${count(Math.min(start + state.size, state.total))} of ${count(state.total)}` : "This table has no rows.";
  }
  updatePager(state);
  if (scroll) byId("tools").scrollIntoView();
}

async function browse() {
  matches = null;
  state.total = table().list.records;
  await showScreen(0, false);
}

async function search() {
  const run = state.run;
  const list = table().list;
  const fits = matcher();
  let found = 0;
  matches = [];
  byId("stop").hidden = false;
  byId("records").replaceChildren();
  await scanList(list, (record, place) => {
    if (!fits(record)) return;
    found += 1;
    if (matches && found <= MAX_MATCHES) matches.push([place, record]);
  }, (read) => {
    if (run !== state.run) return false;
    const done = read >= list.records;
    state.total = matches.length;
    const kept = found > MAX_MATCHES ? `; the first ${count(MAX_MATCHES)} are shown` : "";
    const progress = done ? `in all ${plural(list.records, "row")}` : state.stopped ? `in the first ${count(read)} of ${plural(list.records, "row")}; stopped` : `so far, ${count(read)} of ${plural(list.records, "row")} searched`;
    byId("status").textContent = `${plural(found, "row")} found ${progress}${kept}`;
    if (byId("records").childElementCount < Math.min(state.size, state.total)) showScreen(0, false);
    updatePager(state);
    return !state.stopped;
  });
  if (run === state.run) byId("stop").hidden = true;
}

// The name of the row at a position of the table, and its place in the list; null where the list leaves it out. The list is in
// the order of positions.
async function findPosition(list, position) {
  let [low, high] = [list.records === table().rows ? position : 0, Math.min(position, list.records)];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [record] = await loadRecords(list, middle, middle + 1);
    if (record[0] < position) low = middle + 1;
    else high = middle;
  }
  const [record] = await loadRecords(list, low, low + 1);
  return record && record[0] === position ? [record[1], low] : null;
}

// Show the rows around a row. at: where it was when the link was made; another version of the table may have it elsewhere.
async function openRow(name, at) {
  const run = state.run;
  const list = table().list;
  matches = null;
  state.total = list.records;
  let place = -1;
  if (at < list.records) {
    const [record] = await loadRecords(list, at, at + 1);
    if (record && record[1] === name) place = at;
  }
  if (place < 0) {
    byId("status").textContent = `searching for row ${name}`;
    await scanList(list, (record, index) => { if (place < 0 && record[1] === name) place = index; }, () => place < 0 && run === state.run);
  }
  if (run !== state.run) return;
  if (place < 0) { await showScreen(0, false); byId("status").textContent = `This table has no row named ${name}.`; return; }
  await showScreen(Math.floor(place / state.size) * state.size, false);
  const element = byId("records").querySelector(".target");
  if (element) { element.scrollIntoView({ block: "center" }); element.focus({ preventScroll: true }); }
}

function fillLabels() {
  const one = table();
  byId("label-field").hidden = one.filters.length === 0;
  byId("label-field").firstChild.textContent = `${one.label === "score" ? "Score" : "Label"} `;
  byId("label").replaceChildren(make("option", { value: "", text: "all" }),
    ...one.filters.map(([name, rows], index) => make("option", { value: index, text: `${name} (${count(rows)})` })));
}

async function start() {
  const hash = readHash();
  state.run += 1;
  state.stopped = false;
  const number = Number(hash.get("table") || 1);
  state.table = number >= 1 && number <= viewer.tables.length ? Math.floor(number) - 1 : 0;
  state.search = (hash.get("q") || "").toLowerCase();
  state.row = hash.get("row") || "";
  fillLabels();
  state.label = table().filters[hash.get("label")] ? hash.get("label") : "";
  byId("table").value = state.table;
  byId("label").value = state.label;
  byId("search").value = hash.get("q") || "";
  byId("note").textContent = table().note;
  byId("note").hidden = !table().note;
  byId("stop").hidden = true;
  byId("status").classList.remove("error");
  byId("clear").hidden = !(state.search || state.label || state.row || hash.has("position"));
  let at = hash.has("at") ? Number(hash.get("at")) : Infinity;
  if (hash.has("position") && !state.row) {
    const run = state.run;
    const position = Number(hash.get("position"));
    const found = await findPosition(table().list, position);
    if (run !== state.run) return;
    if (!found) { await browse(); byId("status").textContent = `Row ${count(position + 1)} is not among the rows that are shown.`; return; }
    [state.row, at] = found;
  }
  if (state.row) await openRow(state.row, at);
  else if (state.search || state.label) await search();
  else await browse();
}

function submit() {
  writeHash({ table: Number(byId("table").value) + 1, label: byId("label").value, q: byId("search").value.trim() });
  start().catch(showError);
}

viewer.tables.forEach((one, index) => byId("table").append(make("option", { value: index, text: tableName(one) })));
byId("tools").addEventListener("submit", (event) => { event.preventDefault(); submit(); });
byId("table").addEventListener("change", () => { byId("label").value = ""; submit(); });
byId("label").addEventListener("change", submit);
byId("stop").addEventListener("click", () => { state.stopped = true; });
byId("clear").addEventListener("click", () => { byId("search").value = ""; byId("label").value = ""; submit(); });
setPager(state, (first, scroll) => showScreen(first, scroll).catch(showError));
window.addEventListener("hashchange", () => start().catch(showError));
window.addEventListener("popstate", () => start().catch(showError));
if (viewer.tables.length) start().catch(showError);
