// Tabs, keyboard, theme, and the start.

const TITLES = { records: "Records", features: "Features", schema: "Schema", pipeline: "Pipeline", files: "Files" };
const LOADERS = { features: loadFeatures, schema: loadSchema, pipeline: () => loadPipeline(), files: drawFiles };
const SUN = "M12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6 7 7M17 17l1.4 1.4M18.4 5.6 17 7M7 17l-1.4 1.4M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8z";
const MOON = "M20 14.5A8 8 0 0 1 9.5 4 8 8 0 1 0 20 14.5z";

function availableTabs() {
  const files = state.session?.files.length ?? 0;
  return TABS.filter((tab) => tab === "pipeline" ? state.session?.pipeline : files);
}

function drawTabs() {
  const bad = state.session?.files.filter((file) => file.error).length ?? 0;
  $("tabs").replaceChildren(...availableTabs().map((tab) => el("button", { type: "button", role: "tab", id: `to-${tab}`,
    "aria-selected": String(tab === state.tab), "aria-controls": `tab-${tab}`, onclick: () => showTab(tab) }, TITLES[tab],
  tab === "files" && bad ? el("span", { class: "count", title: `${count(bad, "file")} with an error` }, String(bad)) : null)));
}

function showTab(tab) {
  const tabs = availableTabs();
  state.tab = tabs.includes(tab) ? tab : tabs[0] ?? "records";
  for (const one of TABS) $(`tab-${one}`).hidden = one !== state.tab;
  drawTabs();
  $(`to-${state.tab}`)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  remember();
  LOADERS[state.tab]?.();
}

async function loadSession() {
  try {
    state.session = await ask("session");
    complain(null);
  } catch (error) {
    complain(error);
    return;
  }
  const { total, complete, files, pipeline } = state.session;
  $("summary").textContent = files.length ? `${integer.format(total)}${complete ? "" : "+"} ${total === 1 ? "record" : "records"}` : pipeline;
  document.title = files.length === 1 ? `${files[0].name.split("/").pop()} – feedline view` : "feedline view";
  drawTabs();
  if (state.tab === "files") drawFiles();
  if (!complete) setTimeout(loadSession, 600);
}

// Light and dark.
function theme(set) {
  const wished = set ?? localStorage.getItem("feedline-theme");
  const dark = wished ? wished === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  if (set && dark === matchMedia("(prefers-color-scheme: dark)").matches) localStorage.removeItem("feedline-theme");
  else if (set) localStorage.setItem("feedline-theme", set);
  $("theme-button").replaceChildren(icon(dark ? SUN : MOON));
}

const otherTheme = () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");

function showHelp() {
  const keys = [["j k ↓ ↑", "next row, row before"], ["Enter", "open the record"], ["Esc", "close it"], ["n p → ←", "next page, page before"],
    ["g G", "first page, last page"], ["/", "filter"], ["s", "sort"], ["1 … 5", "the tabs"], ["t", "light or dark"], ["?", "this list"]];
  const filters = [["label = 3", "numbers and text; of several values, one is enough"], ['name ~ "cat"', "contains, in any case; !~ does not"],
    ["weight > 4.5 and not age <= 7", "and, or, not, brackets"], ["has caption", "there is a value"],
    ["len(tokens) > 9", "how many values, or the length of a string"], ['"odd name" = 1', "names with spaces and the like need quotes"]];
  const dialog = $("help");
  const listed = (pairs, tag) => el("dl", { class: tag === "kbd" ? "keys" : "keys sentences" }, ...pairs.flatMap(([a, b]) => [
    el("dt", {}, ...(tag === "kbd" ? a.split(" ").flatMap((key, i) => [i ? " " : "", key === "…" ? "…" : el("kbd", {}, key)]) : [el("code", {}, a)])), el("dd", {}, b)]));
  dialog.replaceChildren(el("div", { class: "dialog-head" }, el("b", {}, "Keyboard and filters"),
    el("button", { class: "icon", type: "button", "aria-label": "Close", onclick: () => dialog.close() }, "×")),
  el("div", { class: "dialog-body" }, listed(keys, "kbd"), listed(filters, "code")));
  if (!dialog.open) dialog.showModal();
}

function onKey(event) {
  const typing = event.target instanceof Element && event.target.matches("input:not([type=checkbox]), select, textarea");
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.key === "Escape") {
    if (typing) event.target.blur();
    else if (!$("columns").hidden) $("columns").hidden = true;
    else if (state.open !== null) closeRecord();
    return;
  }
  if (typing) return;
  const records = state.tab === "records", pipeline = state.tab === "pipeline";
  const down = () => records ? move(1) : pipeline ? toElement(state.element + 1) : null;
  const up = () => records ? move(-1) : pipeline ? toElement(state.element - 1) : null;
  const keys = {
    j: down, ArrowDown: records || pipeline ? down : null, k: up, ArrowUp: records || pipeline ? up : null,
    n: () => records && !$("page-next").disabled && goTo(state.start + PAGE_ROWS), p: () => records && goTo(state.start - PAGE_ROWS),
    g: () => records && goTo(0), G: () => records && goTo(lastStart(page?.total ?? 0)),
    "/": () => { showTab("records"); $("filter").focus(); $("filter").select(); },
    s: () => { showTab("records"); $("sort").focus(); }, t: otherTheme, "?": showHelp,
  };
  keys.ArrowRight = keys.PageDown = keys.n;
  keys.ArrowLeft = keys.PageUp = keys.p;
  keys.Home = keys.g;
  keys.End = keys.G;
  keys.Enter = keys.o = () => records && chosen >= 0 && page?.rows[chosen] && openRecord(page.rows[chosen].number);
  availableTabs().forEach((tab, i) => { keys[String(i + 1)] = () => showTab(tab); });
  if (event.target instanceof HTMLButtonElement && event.key === "Enter") return;
  const action = keys[event.key];
  if (!action) return;
  if (!records && !pipeline && /^(Arrow|Page|Home|End)/.test(event.key)) return;
  event.preventDefault();
  action();
}

async function begin() {
  theme();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => theme());
  $("theme-button").addEventListener("click", otherTheme);
  $("help-button").addEventListener("click", showHelp);
  document.addEventListener("keydown", onKey);
  bindRecords();
  recall();
  await loadSession();
  showTab(state.tab);
  if (state.session?.files.length) {
    await applyView();
    if (state.open !== null) openRecord(state.open);
  }
  document.documentElement.dataset.ready = "true";
}

begin();
