// For screen readers and the keyboard: the theme makes a landmark of the buttons of each block of code, all without names, and
// tables that scroll but cannot be reached. It makes both after a page is loaded.
let blocks = 0;

function completePage() {
  for (const buttons of document.querySelectorAll(".md-code__nav:not([aria-label])")) {
    buttons.setAttribute("aria-label", `Code ${++blocks}`);
  }
  for (const table of document.querySelectorAll(".md-typeset__scrollwrap")) {
    table.tabIndex = table.scrollWidth > table.clientWidth ? 0 : -1;
  }
}

new MutationObserver(completePage).observe(document.documentElement, { childList: true, subtree: true });
addEventListener("resize", completePage);
