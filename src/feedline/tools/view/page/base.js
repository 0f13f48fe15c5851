// Elements, requests and state. Text from files only ever becomes text nodes and attributes, never markup.

const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const PAGE_ROWS = 50;
const TABS = ["records", "features", "schema", "pipeline", "files"];
const state = {
  tab: "records", start: 0, filter: "", sort: "", descending: false, open: null, element: 0,
  view: null, session: null, hidden: new Set(),
};

// Control characters in names, such as those that reverse the direction of text, are shown as escapes.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;
const NAMED = new Set(["title", "data-name", "aria-label", "alt"]);
const visible = (text) => String(text).replace(HIDDEN, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);

function el(tag, given = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "class") made.className = value;
    else made.setAttribute(name, value === true ? "" : NAMED.has(name) ? visible(value) : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined)
    .map((child) => (typeof child === "string" ? visible(child) : child)));
  return made;
}

function drawn(tag, given = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(given)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function icon(path) {
  return drawn("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, drawn("path", { d: path }));
}

const integer = new Intl.NumberFormat("en");
const digits = new Intl.NumberFormat("en", { maximumSignificantDigits: 5 });
const count = (n, one, many = `${one}s`) => `${integer.format(n)} ${n === 1 ? one : many}`;

function figure(x) {
  if (x === null || x === undefined) return "–";
  if (typeof x !== "number") return String(x);
  if (Number.isInteger(x) && Math.abs(x) < 1e15) return integer.format(x);
  return Math.abs(x) >= 1e6 || Math.abs(x) < 1e-4 ? x.toExponential(3) : digits.format(x);
}

class Gone extends Error {}

async function ask(name, query = {}, body = undefined) {
  const given = new URLSearchParams(query).toString();
  let answer;
  try {
    answer = await fetch(`api/${name}${given ? `?${given}` : ""}`, body === undefined ? {} : {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
    });
  } catch {
    throw new Gone("feedline view has ended, or cannot be reached. Start it again, and open the address that it prints.");
  }
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error || `status ${answer.status}`);
  return found;
}

const mediaUrl = (query) => `media?${new URLSearchParams(query)}`;

function complain(error) {
  $("notice").textContent = error ? error.message : "";
  $("notice").hidden = !error;
}

// The address keeps what is shown, so that it survives a reload and the way back.
function remember() {
  const kept = new URLSearchParams();
  if (state.tab !== "records") kept.set("tab", state.tab);
  if (state.start) kept.set("start", state.start);
  if (state.filter) kept.set("filter", state.filter);
  if (state.sort) kept.set("sort", state.sort);
  if (state.descending) kept.set("descending", "1");
  if (state.open !== null) kept.set("open", state.open);
  if (state.element) kept.set("element", state.element);
  const text = kept.toString();
  if (text !== location.hash.slice(1)) history.replaceState(null, "", `#${text}`);
}

function recall() {
  const kept = new URLSearchParams(location.hash.slice(1));
  const whole = (name) => Math.max(0, parseInt(kept.get(name) ?? "0", 10) || 0);
  state.tab = TABS.includes(kept.get("tab")) ? kept.get("tab") : "records";
  state.start = whole("start");
  state.filter = kept.get("filter") ?? "";
  state.sort = kept.get("sort") ?? "";
  state.descending = kept.get("descending") === "1";
  state.open = kept.has("open") ? whole("open") : null;
  state.element = whole("element");
}

function progress(job) {
  const share = job && job.total ? Math.min(1, job.done / job.total) : 0;
  const bar = el("i");
  bar.style.width = `${(share * 100).toFixed(1)}%`;
  const text = job && job.total ? `${integer.format(job.done)} of ${integer.format(job.total)}` : "starting";
  return el("div", { class: "progress", role: "status" },
    el("div", { class: job && job.total ? "track" : "track unknown" }, bar), el("span", { class: "soft" }, text));
}

async function copied(button, text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el("textarea", { "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  const before = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = before; }, 1500);
}
