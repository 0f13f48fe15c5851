// The table of records: pages, filter, order, columns, selection of a row.

const MOST_COLUMNS = 40;
let page = null, chosen = -1, asked = 0, trimmed = false;

const quoted = (name) => /^[^\W\d][\w./\-:]*$/u.test(name) && !["and", "or", "not", "has", "len"].includes(name.toLowerCase())
  ? name : `"${name.replace(/\\/g, "\\\\").replace(/"/g, '\\"')}"`;

// Examples have no order of their features: pictures come first, then numbers, text and sounds, then lists.
const RANKS = { image: 0, images: 0, number: 1, text: 2, sound: 3 };
const kinds = new Map();

const rankOf = (kind) => RANKS[kind] ?? 4;
const rank = (name) => rankOf(kinds.get(name));

function columnNames() {
  const known = state.session?.features ?? [];
  const shown = page?.columns ?? [];
  for (const row of page?.rows ?? []) {
    for (const [name, cell] of Object.entries(row.cells)) {
      if (!kinds.has(name) || rankOf(cell.kind) > rank(name)) kinds.set(name, cell.kind);
    }
  }
  if (!state.session?.files.some((file) => file.format === "tfrecord" || file.format === "arrayrecord")) {
    return [...new Set([...shown, ...known])];
  }
  return [...new Set([...known, ...shown])].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

async function applyView() {
  // Starts the search for what the filter and the order ask for.
  $("filter").value = state.filter;
  $("filter-error").hidden = true;
  try {
    state.view = state.filter || state.sort
      ? (await ask("view", {}, { filter: state.filter, sort: state.sort, descending: String(state.descending) })).view : null;
  } catch (error) {
    if (error instanceof Gone) return complain(error);
    $("filter-error").textContent = error.message;
    $("filter-error").hidden = false;
    if (page === null) await loadPage();  // an address with a bad filter: all records
    return undefined;
  }
  await loadPage();
}

async function loadPage() {
  const turn = ++asked;
  const query = { start: state.start, count: PAGE_ROWS };
  if (state.view !== null) query.view = state.view;
  $("table").setAttribute("aria-busy", "true");
  try {
    const found = await ask("rows", query);
    if (turn !== asked) return;
    if (state.start >= found.total && found.total && found.complete) {
      state.start = lastStart(found.total);
      return await loadPage();
    }
    page = found;
    complain(null);
  } catch (error) {
    if (turn !== asked) return;
    if (/no selection/.test(error.message)) return applyView();
    return complain(error);
  } finally {
    $("table").removeAttribute("aria-busy");
  }
  if (state.open !== null) chosen = page.rows.findIndex((row) => row.number === state.open);
  chosen = Math.min(chosen, page.rows.length - 1);
  drawTable();
  remember();
  if (!page.complete && state.tab === "records") setTimeout(() => { if (turn === asked) refresh(turn); }, 350);
}

async function refresh(turn) {
  // While records are being found: the page changes only if it was not full.
  const full = page.rows.length === PAGE_ROWS && state.view === null;
  if (!full) return loadPage();
  const found = await ask("session").catch(() => null);
  if (turn !== asked || !found) return undefined;
  page.total = found.total;
  page.complete = found.complete;
  drawPager();
  if (!page.complete) setTimeout(() => { if (turn === asked) refresh(turn); }, 500);
}

const lastStart = (total) => Math.max(0, Math.floor((total - 1) / PAGE_ROWS) * PAGE_ROWS);

function drawTable() {
  const all = columnNames();
  if (all.length > MOST_COLUMNS && !trimmed) {
    trimmed = true;
    for (const name of all.slice(MOST_COLUMNS)) state.hidden.add(name);
  }
  const names = all.filter((name) => !state.hidden.has(name));
  $("columns-button").textContent = names.length < all.length ? `Columns: ${names.length} of ${all.length}` : "Columns";
  const numeric = new Set(names.filter((name) => page.rows.some((row) => cellOf(row, name)?.kind === "number")
    && page.rows.every((row) => (cellOf(row, name)?.kind ?? "number") === "number")));
  $("table").classList.toggle("pictures", page.rows.some((row) => Object.values(row.cells).some((c) => c.kind.startsWith("image"))));
  $("table").classList.toggle("bare", !names.length && !page.rows.length);
  $("head").replaceChildren(el("th", { scope: "col" }, "#"), ...names.map((name) => {
    const by = state.sort === quoted(name);
    const arrow = by ? el("span", { class: "arrow", "aria-hidden": "true" }, state.descending ? "↓" : "↑") : null;
    const sorted = by ? (state.descending ? "descending" : "ascending") : undefined;
    return el("th", { scope: "col", class: numeric.has(name) ? "right" : "", "aria-sort": sorted },
      el("button", { type: "button", title: "Sort", onclick: () => sortBy(name) }, name, arrow));
  }));
  $("body").replaceChildren(...page.rows.map((row, i) => drawRow(row, i, names, numeric)));
  drawEmpty();
  drawPager();
  drawProgress();
  drawSort();
  $("filter-clear").hidden = !state.filter;
}

// A feature may be called like a property that every object has, such as toString.
const cellOf = (row, name) => (Object.hasOwn(row.cells, name) ? row.cells[name] : undefined);

function drawRow(row, i, names, numeric) {
  const cells = [el("td", { "data-name": "Record" }, el("span", {}, integer.format(row.number)))];
  if (row.error || row.left_out) {
    const text = row.error || `a record of ${row.left_out}, shown when it is opened`;
    cells.push(el("td", { class: row.error ? "bad" : "", colspan: Math.max(1, names.length), "data-name": row.error ? "Error" : "" }, el("span", { title: text }, text)));
  } else {
    for (const name of names) {
      const cell = cellOf(row, name);
      const kind = (numeric.has(name) ? "right" : "") + (cell ? "" : " gone");
      cells.push(el("td", { class: kind, "data-name": name }, shortCell(cell, { number: row.number, feature: name })));
    }
  }
  return el("tr", { "aria-selected": String(i === chosen), onclick: () => { choose(i); openRecord(row.number); } }, ...cells);
}

function drawEmpty() {
  const none = !page.rows.length;
  $("empty").hidden = !none;
  if (!none) return;
  const job = page.job;
  const bad = state.session?.files.filter((file) => file.error).length ?? 0;
  const [title, text] = !page.complete && state.sort ? ["Sorting …", "Rows appear when all records have been read."]
    : !page.complete ? [state.view === null ? "Reading …" : "Searching …", "Rows appear as they are found."]
    : job?.state === "failed" ? ["The search has failed", job.error]
    : job?.state === "cancelled" ? ["Cancelled", "Change the filter or the order to search again."]
    : state.filter ? ["No record matches", "Try another filter; ? shows what is possible."]
    : bad ? ["No record can be read", "The tab Files says why."] : ["No records", "The files are empty."];
  const all = page.complete && state.view !== null
    ? el("button", { class: "plain", type: "button", id: "show-all", onclick: showEverything }, "Show all records") : null;
  $("empty").replaceChildren(el("b", {}, title), el("p", {}, text), ...(all ? [all] : []));
}

function showEverything() {
  [state.sort, state.descending] = ["", false];
  return filterBy("");
}

function drawPager() {
  const total = page.total, first = Math.min(state.start + 1, total), last = Math.min(state.start + page.rows.length, total);
  const what = state.view === null ? "" : state.filter ? " matches" : " sorted";
  const more = page.complete ? "" : "+";
  $("range").textContent = total ? `${integer.format(first)}–${integer.format(last)} of ${integer.format(total)}${more}${what}` : "";
  $("page-first").disabled = $("page-back").disabled = state.start === 0;
  $("page-next").disabled = $("page-last").disabled = state.start + PAGE_ROWS >= total;
}

function drawProgress() {
  const job = page.job;
  const running = job?.state === "running";
  $("progress").hidden = !running && !(page.full || page.unreadable);
  $("cancel").hidden = !running;
  document.querySelector("#progress .track").hidden = !running;
  if (running) {
    $("progress-bar").style.width = `${job.total ? Math.min(100, 100 * job.done / job.total) : 0}%`;
    $("progress-text").textContent = `${job.what}: ${integer.format(job.done)} of ${integer.format(job.total)} records`;
  } else {
    const said = [];
    if (page.full) said.push(`only the first ${integer.format(page.total)} are kept`);
    if (page.unreadable) said.push(`left out: ${count(page.unreadable, "damaged part")} of the files`);
    $("progress-text").textContent = said.join("; ");
  }
}

function drawSort() {
  const names = columnNames();
  const options = [["", "Order of the files"], ...names.flatMap((name) => [[quoted(name), name]])];
  for (const name of names) {
    if (kinds.has(name) && kinds.get(name) !== "number") options.push([`len(${quoted(name)})`, `length of ${name}`]);
  }
  if (state.sort && !options.some(([value]) => value === state.sort)) options.push([state.sort, state.sort]);
  $("sort").replaceChildren(...options.map(([value, text]) => el("option", { value, selected: value === state.sort }, text)));
  $("sort").value = state.sort;
  $("direction").hidden = !state.sort;
  $("direction").textContent = state.descending ? "↓" : "↑";
  $("direction").title = state.descending ? "Greatest first" : "Least first";
}

function sortBy(name) {
  const by = quoted(name);
  if (state.sort !== by) [state.sort, state.descending] = [by, false];
  else if (!state.descending) state.descending = true;
  else [state.sort, state.descending] = ["", false];
  state.start = 0;
  applyView();
}

function filterBy(text) {
  state.filter = text.trim();
  state.start = 0;
  chosen = -1;
  showTab("records");
  return applyView();
}

function addFilter(text) {
  return filterBy(state.filter ? `(${state.filter}) and ${text}` : text);
}

function goTo(start) {
  state.start = Math.max(0, Math.min(start, lastStart(page?.total ?? 0)));
  $("scroll").scrollTop = 0;
  return loadPage();
}

function choose(i) {
  if (!page?.rows.length) return;
  chosen = Math.max(0, Math.min(i, page.rows.length - 1));
  [...$("body").children].forEach((row, k) => row.setAttribute("aria-selected", String(k === chosen)));
  $("body").children[chosen]?.scrollIntoView({ block: "nearest" });
}

async function move(by) {
  // To the next row, over the end of the page if need be.
  if (!page?.rows.length) return;
  const to = chosen + by;
  if (to >= page.rows.length && state.start + PAGE_ROWS < page.total) {
    await goTo(state.start + PAGE_ROWS);
    choose(0);
  } else if (to < 0 && state.start > 0 && chosen >= 0) {
    await goTo(state.start - PAGE_ROWS);
    choose(PAGE_ROWS - 1);
  } else choose(to);
  if (state.open !== null && page.rows[chosen]) openRecord(page.rows[chosen].number);
}

function drawColumns() {
  $("columns").replaceChildren(...columnNames().map((name) => {
    const box = el("input", { type: "checkbox" });
    box.checked = !state.hidden.has(name);
    box.addEventListener("change", () => {
      if (box.checked) state.hidden.delete(name);
      else state.hidden.add(name);
      drawTable();
    });
    return el("label", {}, box, name);
  }));
}

function bindRecords() {
  $("filter-form").addEventListener("submit", (event) => { event.preventDefault(); filterBy($("filter").value); $("filter").blur(); });
  $("filter-clear").addEventListener("click", () => filterBy(""));
  $("sort").addEventListener("change", () => { state.sort = $("sort").value; state.start = 0; applyView(); });
  $("direction").addEventListener("click", () => { state.descending = !state.descending; state.start = 0; applyView(); });
  $("cancel").addEventListener("click", cancelSearch);
  $("page-first").addEventListener("click", () => goTo(0));
  $("page-back").addEventListener("click", () => goTo(state.start - PAGE_ROWS));
  $("page-next").addEventListener("click", () => goTo(state.start + PAGE_ROWS));
  $("page-last").addEventListener("click", () => goTo(lastStart(page?.total ?? 0)));
  $("jump-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const to = parseInt($("jump").value.replace(/[^\d]/g, ""), 10);
    if (!Number.isNaN(to)) goTo(Math.floor(to / PAGE_ROWS) * PAGE_ROWS).then(() => choose(to - state.start));
    $("jump").value = "";
    $("jump").blur();
  });
  $("columns-button").addEventListener("click", () => {
    drawColumns();
    $("columns").hidden = !$("columns").hidden;
    $("columns-button").setAttribute("aria-expanded", String(!$("columns").hidden));
  });
  document.addEventListener("click", (event) => {
    if (!$("columns").contains(event.target) && event.target !== $("columns-button")) $("columns").hidden = true;
  });
}

async function cancelSearch() {
  if (state.view === null) return;
  await ask("cancel", {}, { view: String(state.view) }).catch(complain);
  await loadPage();
}
