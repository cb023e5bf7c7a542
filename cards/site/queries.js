"use strict";
// Queries with their positives and negatives side by side.

const state = { split: 0, least: "", most: "", search: "", query: "", start: 0, total: 0, size: 25, run: 0 };
let shown = []; // records of the queries that fit the filters

const pages = () => viewer.queries[state.split];
const queryTable = () => viewer.tables[pages().queries];
const corpusTable = () => viewer.tables[pages().corpus];

// "3 positives", "0 to 1 positives", "2 or more positives"
function positivesRange() {
  const least = state.least || "0";
  if (state.most === "") return `${least} or more positives`;
  return least === state.most ? plural(Number(least), "positive") : `${least} to ${state.most} positives`;
}

async function loadRow(list, place) {
  const [record] = await loadRecords(list, place, place + 1);
  return record;
}

function documentElement(record, score, kind) {
  const [position, name, ...values] = record;
  const one = corpusTable();
  const note = score === null ? "not judged" : `score ${score}`;
  return make("div", { class: `document ${kind}` },
    make("header", { class: "small soft" }, make("a", { class: "name", href: rowLink(pages().corpus, name, position) }, textNodes(name, "")), ` ${note}`),
    ...["title", "text"].filter((column) => one.columns.includes(column) && values[one.columns.indexOf(column)] !== "")
      .map((column) => textElement(values[one.columns.indexOf(column)], { kind: column === "title" ? "title" : "" })));
}

// Documents of a query under a heading. documents: [place or id, score].
async function sideElement(title, documents, kind) {
  const side = make("section", { class: "side" }, make("h2", { text: `${title} (${count(documents.length)})` }));
  const more = async (from) => {
    for (const [place, score] of documents.slice(from, from + 20)) {
      if (typeof place === "string") side.append(make("p", { class: "missing", text: `${place}: not in the corpus` }));
      else side.append(documentElement(await loadRow(corpusTable().list, place), score, kind));
    }
    if (documents.length > from + 20) {
      const button = make("button", { type: "button", class: "more", text: `Show more of ${count(documents.length)}`, on: () => { button.remove(); more(from + 20).catch(showError); } });
      side.append(button);
    }
  };
  await more(0);
  return side;
}

function queryElement(record, row) {
  const [, judged, candidates] = record;
  const [, name, ...values] = row;
  const positives = judged.filter(([, score]) => score > 0);
  const negatives = [...judged.filter(([, score]) => score <= 0), ...candidates.map((place) => [place, null])];
  const text = values[queryTable().columns.indexOf("text")];
  const details = make("details", { class: "row query", "data-name": name },
    make("summary", {}, make("span", { class: "name soft" }, textNodes(name, "")), make("span", { class: "text", dir: "auto", lang: viewer.language || null }, textNodes(String(text), state.search)),
      make("span", { class: "soft small", text: `${plural(positives.length, "positive")}, ${plural(negatives.length, "other candidate")}` })));
  let filled = false;
  const fill = async () => {
    if (!details.open || filled) return;
    filled = true;
    const link = make("p", { class: "small" }, make("a", { href: `#split=${state.split + 1}&query=${encodeURIComponent(name)}`, text: "a link to this query" }));
    details.append(link, make("div", { class: "sides" }, await sideElement("Positives", positives, "positive"), await sideElement("Negatives and candidates", negatives, "")));
  };
  details.addEventListener("toggle", () => fill().catch(showError));
  return details;
}

async function showScreen(start, scroll) {
  const run = state.run;
  state.start = start;
  const elements = [];
  for (const record of shown.slice(start, start + state.size)) elements.push(queryElement(record, await loadRow(queryTable().list, record[0])));
  if (run !== state.run) return;
  byId("records").replaceChildren(...elements);
  updatePager(state);
  if (elements.length && (state.query || start === 0)) elements[0].open = true;
  if (scroll) byId("tools").scrollIntoView();
}

async function start() {
  const hash = readHash();
  const run = state.run += 1;
  state.stopped = false;
  state.split = viewer.queries[Number(hash.get("split") || 1) - 1] ? Number(hash.get("split") || 1) - 1 : 0;
  state.search = (hash.get("q") || "").toLowerCase();
  state.query = hash.get("query") || "";
  state.least = hash.get("least") || "";
  state.most = hash.get("most") || "";
  byId("split").value = state.split;
  byId("least").value = state.least;
  byId("most").value = state.most;
  byId("search").value = hash.get("q") || "";
  const filtered = Boolean(state.search || state.query || state.least || state.most);
  byId("clear").hidden = !filtered;
  byId("stop").hidden = !(state.search || state.query);
  byId("status").classList.remove("error");
  const list = pages().list;
  const [least, most] = [Number(state.least || 0), state.most === "" ? Infinity : Number(state.most)];
  let read = 0;
  shown = [];
  const report = () => {
    if (run !== state.run) return false;
    const range = state.least || state.most ? ` with ${positivesRange()}` : "";
    const rest = read < list.records ? `; ${count(read)} read${state.stopped ? ", stopped" : ""}` : "";
    byId("status").textContent = `${count(shown.length)} of ${list.records === 1 ? "1 query" : `${count(list.records)} queries`}${range}${rest}`;
    state.total = shown.length;
    return !state.stopped;
  };
  for (let page = 1; page <= list.pages; page += 1) {
    const records = await loadPage(list, page);
    for (const record of records) {
      read += 1;
      const positives = record[1].filter(([, score]) => score > 0).length;
      if (positives < least || positives > most) continue;
      if (state.search || state.query) {
        const row = await loadRow(queryTable().list, record[0]);
        if (state.query && row[1] !== state.query) continue;
        if (state.search && !row.some((value, index) => index > 0 && String(value).toLowerCase().includes(state.search))) continue;
      }
      shown.push(record);
    }
    if (!report()) break;
  }
  if (run !== state.run) return;
  report();
  byId("stop").hidden = true;
  await showScreen(0, false);
}

function submit() {
  writeHash({ split: Number(byId("split").value) + 1, least: byId("least").value, most: byId("most").value, q: byId("search").value.trim() });
  start().catch(showError);
}

viewer.queries.forEach((one, index) => byId("split").append(make("option", { value: index, text: one.split })));
byId("tools").addEventListener("submit", (event) => { event.preventDefault(); submit(); });
for (const id of ["split", "least", "most"]) byId(id).addEventListener("change", submit);
byId("stop").addEventListener("click", () => { state.stopped = true; });
byId("clear").addEventListener("click", () => { for (const id of ["search", "least", "most"]) byId(id).value = ""; submit(); });
setPager(state, (first, scroll) => showScreen(first, scroll).catch(showError));
window.addEventListener("hashchange", () => start().catch(showError));
window.addEventListener("popstate", () => start().catch(showError));
start().catch(showError);
