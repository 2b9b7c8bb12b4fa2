// The script of the page: one view at a time, keys, search and sorting. It stores nothing and requests nothing.
"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const root = document.documentElement;
  const views = all(".view");
  const first = views.find((view) => "first" in view.dataset) || views[0]; // what the page opens on
  const search = document.querySelector("nav form");
  const box = search.querySelector("input");
  const told = search.querySelector("output");
  const keys = document.getElementById("keys");
  const title = document.title;

  // Views

  const named = () => location.hash.slice(1); // anchors are numbers and plain words
  const current = () => views.find((view) => view.classList.contains("current"));

  function show(moved) {
    const view = views.find((one) => one.id === named()) || first;
    for (const one of views) one.classList.toggle("current", one === view);
    root.classList.toggle("whole", view === first);
    for (const link of all("nav a")) {
      if (link.hash === `#${view.id}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    document.title = `${view.dataset.title} · ${title}`;
    filter();
    reachable();
    if (moved) {
      scrollTo(0, 0);
      view.querySelector("h2").focus({ preventScroll: true });
    }
  }

  // The next view of a kernel is a kernel, and that of a comparison is a comparison; the overview comes before both.
  function neighbour(step) {
    const here = current();
    const alike = views.filter((view) => view.dataset.kind === here.dataset.kind);
    const next = alike[alike.indexOf(here) + step] ?? (step < 0 ? views[0] : here === views[0] && views.find((view) => view.dataset.kind === "kernel"));
    if (next && next !== here) location.hash = next.id;
  }

  // Only boxes that scroll need to be reached by keyboard.
  function reachable() {
    for (const region of all(".scroll", current())) region.tabIndex = region.scrollWidth > region.clientWidth ? 0 : -1;
  }

  // Search

  const searched = (view) => all("table[data-searchable]", view);
  const sought = () => box.value.toLowerCase().split(/\s+/).filter(Boolean);

  function holds(row, words) {
    const text = words.length ? row.textContent.toLowerCase() : "";
    return words.every((word) => text.includes(word));
  }

  function filter() {
    const words = sought();
    let shown = 0;
    let rows = 0;
    for (const table of searched(current())) {
      let found = 0;
      for (const row of table.tBodies[0].rows) {
        row.hidden = !holds(row, words);
        found += !row.hidden;
      }
      rows += table.tBodies[0].rows.length;
      shown += found;
      const details = table.closest("details");
      if (details && words.length) details.open = found > 0;
      else if (details && details.dataset.opened) details.open = false;
      if (details) details.dataset.opened = words.length && found ? "by search" : "";
    }
    const go = shown ? "; Enter: the next" : elsewhere(words) ? "; Enter: another view" : "";
    told.textContent = words.length ? `${shown} of ${rows} rows${go}` : "";
  }

  // The next view that has such a row, once around.
  function elsewhere(words) {
    const place = views.indexOf(current());
    const others = [...views.slice(place + 1), ...views.slice(0, place)];
    return others.find((view) => searched(view).some((table) => [...table.tBodies[0].rows].some((row) => holds(row, words))));
  }

  // Goes to the next row that was found, or to the next view where there is one.
  function seek() {
    const words = sought();
    if (!words.length) return;
    const rows = searched(current()).flatMap((table) => [...table.tBodies[0].rows]).filter((row) => !row.hidden);
    if (!rows.length) {
      location.hash = elsewhere(words)?.id ?? location.hash;
      return;
    }
    const next = rows[(rows.findIndex((row) => row.classList.contains("found")) + 1) % rows.length];
    for (const row of all(".found")) row.classList.remove("found");
    next.classList.add("found");
    next.scrollIntoView({ block: "center" });
  }

  // Sorting

  const number = (cell) => parseFloat(cell.dataset.value ?? cell.textContent.replace(/,/g, ""));

  function sort(table, heading) {
    const place = heading.cellIndex;
    const isNumber = heading.classList.contains("r");
    const before = heading.getAttribute("aria-sort");
    const order = before ? (before === "ascending" ? "descending" : "ascending") : isNumber ? "descending" : "ascending";
    const sign = order === "ascending" ? 1 : -1;
    const compare = (one, other) => {
      if (!isNumber) return sign * one.textContent.localeCompare(other.textContent, "en", { numeric: true });
      const [left, right] = [number(one), number(other)];
      if (isNaN(left) || isNaN(right)) return isNaN(left) - isNaN(right); // rows without a number stay last
      return sign * (left - right);
    };
    const body = table.tBodies[0];
    body.append(...[...body.rows].sort((one, other) => compare(one.cells[place], other.cells[place])));
    for (const one of heading.parentNode.cells) one.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", order);
  }

  for (const table of all("table[data-sortable]")) {
    for (const heading of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      button.addEventListener("click", () => sort(table, heading));
      heading.append(button);
    }
  }

  // Keys

  const showKeys = (open) => {
    open ? keys.showModal() : keys.close();
    search.querySelector("button").setAttribute("aria-expanded", open);
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || keys.open) return;
    const typing = event.target === box;
    const arrow = event.key.startsWith("Arrow");
    if (arrow && event.target.closest(".scroll")) return; // the box scrolls
    if (event.key === "Escape" && typing) {
      box.value = "";
      filter();
      box.blur();
    } else if (typing) return;
    else if (event.key === "ArrowRight" || event.key === "j") neighbour(1);
    else if (event.key === "ArrowLeft" || event.key === "k") neighbour(-1);
    else if (event.key === "/") box.focus();
    else if (event.key === "?") showKeys(true);
    else return;
    event.preventDefault();
  });

  keys.addEventListener("close", () => search.querySelector("button").setAttribute("aria-expanded", false));
  keys.querySelector("button").addEventListener("click", () => showKeys(false));
  search.querySelector("button").addEventListener("click", () => showKeys(true));
  search.addEventListener("submit", (event) => {
    event.preventDefault();
    seek();
  });
  box.addEventListener("input", filter);
  addEventListener("hashchange", () => show(true));
  addEventListener("resize", reachable);

  root.classList.add("js");
  search.hidden = false;
  show(false);
})();
