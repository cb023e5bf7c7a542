"use strict";
// Two releases side by side, each from its script (pipelines/catalogue_site/side_by_side.py), and the texts that both have.

const nameOf = ({ name, version }) => `${name}@${version}`;
const releases = viewer.releases.map((release, number) => ({ ...release, number })).filter(({ damaged }) => !damaged);
const loaded = new Map(); // number of a release -> promise of its data
let shows = 0;

// Called by the scripts of releases.
function site_push(key, values) {
  received.set(key, values);
}

function loadRelease({ number }) {
  const key = `release-${String(number).padStart(4, "0")}`;
  if (!loaded.has(number)) loaded.set(number, loadScript(`sides/${key}.js`, key));
  return loaded.get(number);
}

function tableElement(heads, rows) {
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": heads.caption },
    make("table", { class: "listing compared" }, make("thead", {}, make("tr", {}, ...heads.names.map((text) => make("th", { scope: "col", text })))), make("tbody", {}, ...rows)));
}

function sectionElement(title, one, other, names) {
  const rows = [...new Set([...Object.keys(one), ...Object.keys(other)])].map((name) => {
    const cells = [one[name], other[name]].map((value) => make("td", { dir: "auto" }, one[name] === other[name] ? value : make("mark", { text: value ?? "–" })));
    return make("tr", {}, make("th", { scope: "row", text: name }), ...cells);
  });
  return make("section", {}, make("h2", { text: title }), rows.length ? tableElement({ caption: title, names: ["value", ...names] }, rows) : make("p", { text: "Neither release has any." }));
}

// A row by its number in all columns, with a link to it where it is shown.
function placeElement(row) {
  const column = findColumn(row);
  const release = viewer.releases[column.release];
  const text = `${column.config === "default" ? "" : `${column.config} / `}${column.split} / ${column.column}, row ${count(row - column.first + 1)}`;
  return release.withheld ? `${text} (not shown here: the licence does not permit it)` : make("a", { href: rowAddress(column, row - column.first), text });
}

function sharedElement(found, names, turned) {
  const section = make("section", {}, make("h2", { text: "Texts in both" }));
  if (!found) { section.append(make("p", { text: "No text of one is in the other, ignoring case, punctuation and white space." })); return section; }
  const rows = found.examples.map((rows) => make("tr", {}, ...(turned ? [...rows].reverse() : rows).map((row) => make("td", {}, placeElement(row)))));
  section.append(make("p", { text: `${plural(found.texts, "text")}, ${count(found.long)} of five words or more, are in both, ignoring case, punctuation and white space.${found.texts > rows.length ? ` The table has ${count(rows.length)} of them.` : ""}` }),
    tableElement({ caption: "Texts in both", names }, rows));
  return section;
}

async function start() {
  const show = (shows += 1);
  const hash = readHash();
  const find = (key, other) => releases.find((release) => nameOf(release) === hash.get(key)) || other;
  const one = find("one", releases[0]);
  const other = find("other", releases[releases.indexOf(one) + 1] || releases[0]);
  byId("one").value = one.number;
  byId("other").value = other.number;
  byId("status").classList.remove("error");
  const [left, right] = await Promise.all([one, other].map(loadRelease));
  if (show !== shows) return;
  const names = [one, other].map(nameOf);
  const turned = one.number > other.number;
  const found = turned ? right.shared[one.number] : left.shared[other.number];
  const sections = Object.keys(left.sections).map((title) => sectionElement(title, left.sections[title], right.sections[title], names));
  if (one !== other) sections.splice(1, 0, sharedElement(found, names, turned));
  byId("records").replaceChildren(...sections);
  byId("status").textContent = one === other ? "Choose two releases." : `${names[0]} beside ${names[1]}`;
}

function submit() {
  const [one, other] = ["one", "other"].map((id) => nameOf(viewer.releases[byId(id).value]));
  writeHash({ one, other });
  start().catch(showError);
}

for (const id of ["one", "other"]) {
  byId(id).append(...releases.map((release) => make("option", { value: release.number, text: nameOf(release) })));
  byId(id).addEventListener("change", submit);
}
window.addEventListener("hashchange", () => start().catch(showError));
window.addEventListener("popstate", () => start().catch(showError));
byId("tools").hidden = false;
if (releases.length) start().catch(showError);
else byId("status").textContent = "This site has no release to show.";
