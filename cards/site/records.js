"use strict";
// What the pages with rows share: lists of records loaded from beside the page, and elements made of texts.
// A text of a dataset becomes a text node, never markup.

const SCREEN_ROWS = 100; // shown at a time
const CACHED_PAGES = 12; // of 1,000 records, of all lists together
const LONG_TEXT = 1500; // characters; longer texts are cut until a reader asks for them
const MAX_DIFF_WORDS = 400; // of two texts whose words are compared

const viewer = JSON.parse(document.getElementById("data").textContent);
const cache = new Map(); // "table-1/3" -> Promise of records, the least recently used first
const received = new Map(); // "table-1/3" -> records, between the end of a script and its load event

// Called by the files of records.
function rows_push(folder, page, records) {
  received.set(`${folder}/${page}`, records);
}

// The records of a page of a list, 1 for the first. Rejects where the file cannot be read.
function loadPage(list, page) {
  const key = `${list.folder}/${page}`;
  const known = cache.get(key);
  cache.delete(key);
  const records = known || loadScript(`${list.folder}/rows-${String(page).padStart(4, "0")}.js`, key);
  cache.set(key, records);
  for (const oldest of [...cache.keys()].slice(0, Math.max(0, cache.size - CACHED_PAGES))) cache.delete(oldest);
  records.catch(() => cache.delete(key));
  return records;
}

// Of the pages about several releases: the column that has a row, by its number in all columns, and the address of the row.
function findColumn(row) {
  return viewer.columns.filter(({ first }) => first <= row).pop();
}

function rowAddress(column, position) {
  return `${viewer.releases[column.release].path}/rows.html#table=${column.table + 1}&position=${position}`;
}

function loadScript(path, key) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    const fail = () => reject(new Error(`${path} cannot be read: copy the whole folder of the site`));
    script.onload = () => {
      const records = received.get(key);
      received.delete(key);
      script.remove();
      if (records) resolve(records);
      else fail();
    };
    script.onerror = () => { script.remove(); fail(); };
    script.charset = "utf-8";
    script.src = path;
    document.head.append(script);
  });
}

// The records from one place of a list to another.
async function loadRecords(list, start, end) {
  const found = [];
  for (let page = Math.floor(start / 1000) + 1; page <= Math.ceil(Math.min(end, list.records) / 1000); page += 1) {
    const first = (page - 1) * 1000;
    found.push(...(await loadPage(list, page)).slice(Math.max(0, start - first), end - first));
  }
  return found;
}

// Read a list page after page. each: called with every record and its place. progress: called after each page with the number
// of records read so far; reading ends where it returns false.
async function scanList(list, each, progress) {
  for (let page = 1; page <= list.pages; page += 1) {
    const records = await loadPage(list, page);
    records.forEach((record, index) => each(record, (page - 1) * 1000 + index));
    if (!progress(Math.min(page * 1000, list.records))) return;
    await new Promise((resume) => setTimeout(resume)); // lets the page answer a click on Stop
  }
}

function byId(id) { return document.getElementById(id); }

// An element. options: attributes; `text` is its text, `on` a function to call on a click.
function make(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name === "text") element.textContent = value;
    else if (name === "on") element.addEventListener("click", value);
    else if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

function count(number) { return number.toLocaleString("en-US"); }
function plural(number, noun) { return `${count(number)} ${noun}${number === 1 ? "" : "s"}`; }

// Characters that a reader does not see, or that turn the direction of a text. A joiner inside an emoji is left alone.
const INVISIBLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|\u200d(?!\p{Extended_Pictographic})/gu;

// A text as nodes: invisible characters as JSON's escapes, as in the card, and what was searched for marked.
function textNodes(text, words) {
  const fragment = document.createDocumentFragment();
  let end = 0;
  for (const match of text.matchAll(INVISIBLE)) {
    appendMarked(fragment, text.slice(end, match.index), words);
    const code = match[0].split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
    fragment.append(make("span", { class: "control", title: "a character that is not visible", text: code }));
    end = match.index + match[0].length;
  }
  appendMarked(fragment, text.slice(end), words);
  return fragment;
}

function appendMarked(fragment, text, words) {
  const folded = text.toLowerCase();
  if (!words || folded.length !== text.length) { fragment.append(text); return; }
  let end = 0;
  for (let hit = folded.indexOf(words); hit >= 0; hit = folded.indexOf(words, end)) {
    fragment.append(text.slice(end, hit), make("mark", { text: text.slice(hit, hit + words.length) }));
    end = hit + words.length;
  }
  fragment.append(text.slice(end));
}

// A text of a row as an element. Long ones are cut; other: a text to compare it with word by word.
function textElement(text, { words = "", kind = "", other = null } = {}) {
  const element = make("p", { class: `text ${kind}`, dir: "auto", lang: viewer.language || null });
  if (text === null || text === undefined) return make("p", { class: "missing", text: "null" });
  const value = String(text);
  if (value === "") return make("p", { class: "missing", text: "(empty)" });
  const fill = (shown) => element.replaceChildren(other !== null ? differingWords(shown, other) : textNodes(shown, words));
  if (value.length <= LONG_TEXT) { fill(value); return element; }
  fill(`${value.slice(0, LONG_TEXT)}…`);
  const more = make("button", {
    type: "button", class: "more", text: `Show all ${count(value.length)} characters`, on: () => { fill(value); more.remove(); },
  });
  return make("div", {}, element, more);
}

// A text with the words marked that another text does not have at the same place (the longest common subsequence).
function differingWords(text, other) {
  const [ours, theirs] = [text, other].map((one) => one.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) || []);
  if (ours.length > MAX_DIFF_WORDS || theirs.length > MAX_DIFF_WORDS || text === other) return textNodes(text, "");
  const lengths = Array.from({ length: ours.length + 1 }, () => new Uint16Array(theirs.length + 1));
  for (let i = ours.length - 1; i >= 0; i -= 1) {
    for (let j = theirs.length - 1; j >= 0; j -= 1) {
      lengths[i][j] = ours[i] === theirs[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  const fragment = document.createDocumentFragment();
  for (let i = 0, j = 0; i < ours.length;) {
    if (j < theirs.length && ours[i] === theirs[j]) { fragment.append(textNodes(ours[i], "")); i += 1; j += 1; }
    else if (j < theirs.length && lengths[i][j + 1] >= lengths[i + 1][j]) j += 1;
    else { fragment.append(make("mark", {}, textNodes(ours[i], ""))); i += 1; }
  }
  return fragment;
}

const LABELS = new Set(["label", "labels", "score"]);

// The name of a label, or of each of a list.
function labelName(value) {
  if (value === null || value === undefined) return "(none)";
  if (Array.isArray(value)) return value.length ? value.map(labelName).join(", ") : "(none)";
  return Number.isInteger(value) && viewer.labels[value] !== undefined ? viewer.labels[value] : String(value);
}

// The values of a row as an element: its texts, a pair side by side, then the other columns. other: the values of its twin.
function valuesElement(columns, texts, values, { words = "", other = null } = {}) {
  const element = make("div", {});
  const sides = make("div", { class: texts.length === 2 && !texts.includes("title") ? "sides" : "" });
  const shown = texts.filter((column) => columns.includes(column) && !(column === "title" && values[columns.indexOf(column)] === ""));
  for (const column of shown) {
    const index = columns.indexOf(column);
    const twin = other && typeof other[index] === "string" ? other[index] : null;
    sides.append(make("div", { class: "side" }, shown.length > 1 ? make("p", { class: "column", text: column }) : null,
      textElement(values[index], { words, kind: column === "title" ? "title" : "", other: twin })));
  }
  const rest = make("dl", { class: "rest" });
  columns.forEach((column, index) => {
    if (texts.includes(column)) return;
    const value = values[index];
    const text = LABELS.has(column) ? labelName(value) : Array.isArray(value) ? value.join(", ") : value === null ? "null" : String(value);
    const changed = other && JSON.stringify(other[index]) !== JSON.stringify(value);
    rest.append(make("dt", { text: column }), make("dd", { dir: "auto" }, changed ? make("mark", {}, textNodes(text, words)) : textNodes(text, words)));
  });
  element.append(sides, rest);
  return element;
}

// The link to a row on the page of rows: by its name, with its place as a hint.
function rowLink(table, name, position) {
  const hint = position === null || position === undefined ? "" : `&at=${position}`;
  return `rows.html#table=${table + 1}&row=${encodeURIComponent(name)}${hint}`;
}

// The place of a table in `viewer.tables`; -1 where it has no rows on the page of rows.
function findTable(config, split) {
  return viewer.tables.findIndex((table) => table.config === config && table.split === split);
}

function readHash() { return new URLSearchParams(location.hash.slice(1)); }
function writeHash(values) {
  const entries = Object.entries(values).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const hash = `#${new URLSearchParams(entries)}`;
  if (hash !== location.hash && !(hash === "#" && !location.hash)) history.pushState(null, "", hash);
}

function showError(error) {
  byId("status").textContent = error.message;
  byId("status").classList.add("error");
}

// Wire the buttons below a list. state: start (the first record shown), total, size (records shown at a time). show: called
// with a new start.
function setPager(state, show) {
  const move = (start) => show(Math.max(0, Math.min(start, Math.floor((state.total - 1) / state.size) * state.size)), true);
  byId("previous").onclick = () => move(state.start - state.size);
  byId("next").onclick = () => move(state.start + state.size);
  byId("jump").onchange = (event) => {
    const wanted = Number(event.target.value);
    if (wanted >= 1 && wanted <= state.total) move(Math.floor((wanted - 1) / state.size) * state.size);
  };
}

function updatePager(state) {
  byId("pager").hidden = state.total <= state.size;
  byId("previous").disabled = state.start === 0;
  byId("next").disabled = state.start + state.size >= state.total;
  byId("jump").value = state.start + 1;
  byId("jump").max = state.total;
  byId("of").textContent = `of ${count(state.total)}`;
}

// Keys for the whole page, unless the reader types into a field.
function setKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    const press = (id) => { if (byId(id) && !byId(id).disabled) byId(id).click(); };
    if (event.key === "/" && byId("search")) { event.preventDefault(); byId("search").focus(); }
    else if (event.key === "n") press("next");
    else if (event.key === "p") press("previous");
  });
}
setKeys();
