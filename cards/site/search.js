"use strict";
// The rows that hold a pasted text, found by numbers of texts (pipelines/catalogue_site/text_index.py).

const MAX_RUNS_READ = 160; // of a pasted text
const SMALLEST_RUNS = 10; // so many of these are its smallest: of a text near to it, the smallest are stored
const MAX_NEAR = 30; // texts that are listed because they share runs
const MAX_ADDRESS = 8000; // characters of a text that is part of the address
let searches = 0;

// Called by the scripts of the index.
function site_push(key, encoded) {
  received.set(key, new DataView(Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0)).buffer));
}

// The script of a number of 32 bits, the first of a hash or those of a run. scripts: those of this search.
function loadNumbers(scripts, name, number) {
  const key = `${name}-${(number >>> (32 - viewer.bits[name])).toString(16).padStart(4, "0")}`;
  if (!scripts.has(key)) scripts.set(key, loadScript(`search/${key}.js`, key));
  return scripts.get(key);
}

// The rows with texts whose hash fits. high: the first 32 bits of their hash.
async function findRows(scripts, high, fits) {
  const numbers = await loadNumbers(scripts, "texts", high);
  const found = [];
  for (let at = 0; at < numbers.byteLength; at += 20) {
    if (!fits(numbers.getUint32(at + 4, true), numbers.getUint32(at, true))) continue;
    const row = numbers.getUint32(at + 8, true);
    const column = findColumn(row);
    found.push({ column, position: row - column.first, rows: numbers.getUint32(at + 12, true), words: numbers.getUint16(at + 16, true), end: numbers.getUint16(at + 18, true) });
  }
  return found;
}

// The texts that share runs, by the first 33 bits of their hash: how many of their runs are stored, and which tokens share them.
async function findSharing(scripts, runs) {
  const found = new Map();
  await Promise.all(runs.map(async ([run, token]) => {
    const number = ((run << 16) | (run >>> 16)) >>> 0;
    const numbers = await loadNumbers(scripts, "runs", number);
    for (let at = 0; at < numbers.byteLength; at += 8) {
      const high = numbers.getUint32(at + 4, true);
      if (high >>> 4 !== (number & 0xfffffff)) continue;
      const hash = (high & 1) * 2 ** 32 + numbers.getUint32(at, true);
      if (!found.has(hash)) found.set(hash, { hash, stored: (high >>> 1) & 7, tokens: [] });
      found.get(hash).tokens.push(token);
    }
  }));
  return [...found.values()];
}

// The runs that are looked up: each number once, the smallest, then those at the start of the text.
function chooseRuns(runs) {
  const distinct = [...new Map([...runs].reverse()).entries()].sort((a, b) => a[1] - b[1]);
  const smallest = new Set([...distinct].sort((a, b) => a[0] - b[0]).slice(0, SMALLEST_RUNS));
  const others = distinct.filter((run) => !smallest.has(run));
  const read = others.slice(0, Math.max(0, MAX_RUNS_READ - smallest.size));
  return { chosen: [...smallest, ...read], skippedFrom: read.length < others.length ? others[read.length][1] : null };
}

function rowLinks({ column, rows, total }) {
  const release = viewer.releases[column.release];
  const cell = make("td", {});
  rows.forEach(({ position }, index) => {
    const text = count(position + 1);
    const href = rowAddress(column, position);
    cell.append(index ? ", " : "", release.withheld ? text : make("a", { href, text, "aria-label": `row ${text}` }));
  });
  if (total > rows.length) cell.append(` of ${plural(total, "row")} that are equal ignoring case, punctuation, white space`);
  if (release.withheld) cell.append(make("div", { class: "soft small", text: "not shown here: the licence does not permit it" }));
  return cell;
}

// The rows of one text as rows of the table of results, those of a column together.
function resultRows(kind, detail, rows) {
  const columns = [...new Set(rows.map(({ column }) => column))];
  return columns.map((column) => {
    const own = rows.filter((row) => row.column === column);
    const release = viewer.releases[column.release];
    const table = `${column.config === "default" ? "" : `${column.config} / `}${column.split} / ${column.column}`;
    return make("tr", {}, make("td", {}, make("b", { text: kind }), detail ? make("div", { class: "soft small", text: detail }) : null),
      make("td", {}, make("a", { href: `${release.path}/index.html`, text: `${release.name} ${release.version}` })),
      make("td", { text: table }), rowLinks({ column, rows: own, total: own[0].rows }));
  });
}

function nearDetail({ stored, tokens }, words) {
  const [first, last] = [Math.min(...tokens), Math.max(...tokens) + RUN_WORDS];
  return `shares ${tokens.length} of ${stored} numbers of runs of five words; estimated. It has ${plural(words, "word")}; shared are words ${count(first + 1)} to ${count(last)} of the pasted text.`;
}

async function findText(text) {
  const scripts = new Map();
  const folded = foldText(text);
  const [high, low] = hashText(folded);
  const ends = [text, text.trim()].map((one) => hashText(one)[1] & 0xffff);
  const { chosen, skippedFrom } = chooseRuns(selectRuns(folded));
  const [whole, sharing] = await Promise.all([
    findRows(scripts, high, (top, bottom) => top === high && bottom === low),
    findSharing(scripts, chosen),
  ]);
  const hash = high * 2 + (low >>> 31);
  const near = sharing.filter((one) => one.hash !== hash && one.tokens.length * 2 >= one.stored)
    .sort((a, b) => b.tokens.length / b.stored - a.tokens.length / a.stored || b.stored - a.stored || a.hash - b.hash);
  const listed = await Promise.all(near.slice(0, MAX_NEAR).map(async (one) => {
    const found = await findRows(scripts, Math.floor(one.hash / 2), (top, bottom) => top * 2 + (bottom >>> 31) === one.hash);
    return { ...one, rows: found };
  }));
  const exact = whole.filter(({ end }) => ends.includes(end));
  const others = whole.filter((row) => !exact.includes(row));
  return { folded, exact, others, listed, near: near.length, runs: chosen.length, skippedFrom };
}

function notesOf({ folded, near, runs, skippedFrom }) {
  const notes = [];
  if (!runs) notes.push(`The text has fewer than ${viewer.words} words that a run can begin with, so nearly equal texts and texts inside it were not looked up.`);
  if (skippedFrom !== null) notes.push(`Texts inside the pasted one were looked up to word ${count(skippedFrom)} of ${count(folded.split(" ").length)}. Paste the rest alone.`);
  if (near > MAX_NEAR) notes.push(`Of ${count(near)} texts that share runs, the ${MAX_NEAR} that share most are listed.`);
  return notes;
}

async function start() {
  const search = (searches += 1);
  const text = readHash().get("q") ?? byId("search").value;
  byId("search").value = text;
  byId("status").classList.remove("error");
  byId("results").hidden = true;
  byId("notes").replaceChildren();
  byId("status").textContent = text.trim() ? "looking up…" : "";
  if (!text.trim()) return;
  const found = await findText(text);
  if (search !== searches) return;
  const rows = [...resultRows("exact", "", found.exact), ...resultRows("same ignoring case, punctuation, white space", "", found.others),
    ...found.listed.flatMap((one) => (one.rows.length ? resultRows("in part", nearDetail(one, one.rows[0].words), one.rows) : []))];
  byId("records").replaceChildren(...rows);
  byId("results").hidden = !rows.length;
  byId("notes").replaceChildren(...notesOf(found).map((note) => make("li", { text: note })));
  const scope = `in ${plural(viewer.columns.length, "column")} of ${plural(new Set(viewer.columns.map(({ release }) => release)).size, "release")}`;
  byId("status").textContent = rows.length
    ? `Listed ${scope}: ${plural(found.exact.length, "row")} with exactly this text, ${count(found.others.length)} with the same ignoring case, punctuation, white space, ${plural(found.listed.length, "other text")} that it shares runs of words with`
    : `Not found ${scope}`;
}

function submit() {
  const text = byId("search").value;
  const fits = text.length <= MAX_ADDRESS;
  writeHash({ q: fits ? text : "" });
  start().then(() => { if (!fits) byId("notes").append(make("li", { text: "The text is too long for the address of this page." })); }).catch(showError);
}

byId("tools").hidden = false;
byId("tools").addEventListener("submit", (event) => { event.preventDefault(); submit(); });
byId("search").addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); submit(); } });
window.addEventListener("hashchange", () => start().catch(showError));
window.addEventListener("popstate", () => start().catch(showError));
start().catch(showError);
