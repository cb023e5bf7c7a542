"use strict";
// Filters, search and order of the datasets. The page is complete without this script.

const body = document.querySelector("#datasets tbody");
const rows = [...body.rows];
const search = document.getElementById("search");
const filters = [...document.querySelectorAll("[data-filter]")];
const headers = [...document.querySelectorAll("[data-sort]")];
let order = { key: "", descending: false };

function update() {
  const words = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of rows) {
    const text = row.dataset.words.toLowerCase();
    const fits = words.every((word) => text.includes(word))
      && filters.every((one) => !one.value || row.dataset[one.dataset.filter].split("|").includes(one.value));
    row.hidden = !fits;
    shown += fits;
  }
  document.getElementById("status").textContent = `${shown} of ${rows.length} dataset${rows.length === 1 ? "" : "s"}`;
  const values = { q: search.value.trim(), sort: order.key && (order.descending ? "-" : "") + order.key };
  for (const one of filters) values[one.dataset.filter] = one.value;
  const entries = Object.entries(values).filter(([, value]) => value);
  document.getElementById("clear").hidden = !entries.some(([key]) => key !== "sort");
  history.replaceState(null, "", entries.length ? `#${new URLSearchParams(entries)}` : location.pathname);
}

function sortRows(key, descending) {
  order = { key, descending };
  const value = (row) => row.dataset[key];
  const compare = ["rows", "lead"].includes(key) ? (a, b) => Number(value(a)) - Number(value(b)) : (a, b) => value(a).localeCompare(value(b), "en");
  const sorted = key ? [...rows].sort((a, b) => (descending ? -1 : 1) * compare(a, b)) : rows;
  body.append(...sorted);
  for (const header of headers) {
    if (header.dataset.sort === key) header.setAttribute("aria-sort", descending ? "descending" : "ascending");
    else header.removeAttribute("aria-sort");
  }
}

for (const header of headers) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = header.textContent;
  button.addEventListener("click", () => { sortRows(header.dataset.sort, order.key === header.dataset.sort && !order.descending); update(); });
  header.replaceChildren(button);
}
for (const one of filters) one.addEventListener("change", update);
search.addEventListener("input", update);
document.getElementById("tools").addEventListener("submit", (event) => event.preventDefault());
document.getElementById("clear").addEventListener("click", () => { search.value = ""; for (const one of filters) one.value = ""; update(); });
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(INPUT|SELECT)$/.test(event.target.tagName)) { event.preventDefault(); search.focus(); }
});

const hash = new URLSearchParams(location.hash.slice(1));
search.value = hash.get("q") || "";
for (const one of filters) one.value = [...one.options].some((option) => option.value === hash.get(one.dataset.filter)) ? hash.get(one.dataset.filter) : "";
const sort = hash.get("sort") || "";
if (headers.some((header) => header.dataset.sort === sort.replace(/^-/, ""))) sortRows(sort.replace(/^-/, ""), sort.startsWith("-"));
update();
