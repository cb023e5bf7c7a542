"use strict";
// Filters, search and order of the datasets. The page is complete without this script.

const body = document.querySelector("#datasets tbody");
const rows = [...body.rows];
const search = document.getElementById("search");
const filters = [...document.querySelectorAll("[data-filter]")];
const headers = [...document.querySelectorAll("[data-sort]")];
const heading = document.querySelector("h1");
const titles = [heading.textContent, document.title];
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
  heading.textContent = values.benchmark || titles[0];
  document.title = values.benchmark ? `${values.benchmark}: ${titles[1]}` : titles[1];
  for (const link of document.querySelectorAll("#views a")) {
    if (link.textContent === values.benchmark) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
  const entries = Object.entries(values).filter(([, value]) => value);
  document.getElementById("clear").hidden = !entries.some(([key]) => key !== "sort");
  history.replaceState(null, "", entries.length ? `#${new URLSearchParams(entries)}` : location.pathname);
}

function sortRows(key, descending) {
  order = { key, descending };
  const value = (row) => row.dataset[key];
  const compare = headers.some((header) => header.dataset.sort === key && "numeric" in header.dataset) ? (a, b) => Number(value(a)) - Number(value(b)) : (a, b) => value(a).localeCompare(value(b), "en");
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
  button.addEventListener("click", () => { sortRows(header.dataset.sort, order.key === header.dataset.sort ? !order.descending : "numeric" in header.dataset); update(); });
  header.replaceChildren(button);
}
for (const one of filters) one.addEventListener("change", update);
search.addEventListener("input", update);
document.getElementById("tools").addEventListener("submit", (event) => event.preventDefault());
document.getElementById("clear").addEventListener("click", () => { search.value = ""; for (const one of filters) one.value = ""; update(); });
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(INPUT|SELECT)$/.test(event.target.tagName)) { event.preventDefault(); search.focus(); }
});

// What an address says: a benchmark, other filters, words and an order.
function readAddress() {
  const hash = new URLSearchParams(location.hash.slice(1));
  search.value = hash.get("q") || "";
  for (const one of filters) {
    const wanted = hash.get(one.dataset.filter);
    one.value = [...one.options].some((option) => option.value === wanted) ? wanted : "";
  }
  const sort = hash.get("sort") || "";
  const key = sort.replace(/^-/, "");
  sortRows(headers.some((header) => header.dataset.sort === key) ? key : "", sort.startsWith("-"));
  update();
}
window.addEventListener("hashchange", readAddress);
document.getElementById("tools").hidden = false;
document.getElementById("views").hidden = false;
readAddress();
