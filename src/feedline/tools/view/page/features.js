// Histograms of all features, the schema and the code, the files.

let featuresTimer = 0, schemaTimer = 0;

async function loadFeatures() {
  clearTimeout(featuresTimer);
  let found;
  try {
    found = await ask("statistics");
  } catch (error) {
    return complain(error);
  }
  if (state.tab !== "features") return undefined;
  const names = Object.keys(found.features);
  const busy = !found.job || found.job.state === "running";
  const head = el("div", { class: "heading" }, el("div", {}, el("h2", {}, "Features"),
    el("p", { class: "soft" }, `${count(names.length, "feature")}${found.too_many ? ", and more without statistics" : ""}`)),
  busy ? progress(found.job) : null);
  const cards = names.length ? el("div", { class: "cards" }, ...names.map((name) => featureCard(name, found.features[name], found.records)))
    : el("div", { class: "empty" }, el("b", {}, busy ? "Reading …" : "No features"), busy ? "Histograms appear as the files are read." : "There is nothing to count.");
  replaced("tab-features", el("div", { class: "wide" }, head, cards));
  if (busy) featuresTimer = setTimeout(loadFeatures, 600);
  return undefined;
}

function replaced(id, content) {
  const place = $(id), at = place.scrollTop;
  place.replaceChildren(content);
  place.scrollTop = at;
}

function featureCard(name, one, total) {
  const lengths = one.length !== undefined;
  const numbers = lengths ? one.length : one.value;
  const share = one.records >= total ? "in all records" : `in ${(100 * one.records / Math.max(1, total)).toPrecision(3)} %`;
  const kind = one.types.join(" or ");
  const made = el("article", { class: "card", "data-feature": name },
    el("div", { class: "card-head" }, el("b", {}, name), el("span", { class: "soft" }, `${kind}, ${share}`)));
  if (numbers.min !== null) {
    const operand = lengths ? `len(${quoted(name)})` : quoted(name);
    made.append(bars(one.histogram, numbers, operand, one.types.every((t) => t === "int" || lengths)),
      el("div", { class: "axis" }, el("span", {}, figure(numbers.min)), el("span", {}, lengths ? "length" : ""), el("span", {}, figure(numbers.max))));
  }
  const per = one.values_per_record;
  const varies = per && per.min !== per.max ? `${figure(per.min)}–${figure(per.max)}` : per ? figure(per.max) : "–";
  const pairs = [["mean", figure(numbers.mean)], ["deviation", figure(numbers.std)], ["per record", varies],
    ["values", integer.format(one.values)]];
  if (numbers.not_finite) pairs.push(["not finite", integer.format(numbers.not_finite)]);
  made.append(el("dl", { class: "figures" }, ...pairs.map(([a, b]) => el("div", {}, el("dt", {}, a), el("dd", {}, b)))));
  const frequent = one.frequent.filter((item) => item.count > 1).slice(0, 5);
  if (frequent.length) {
    made.append(el("ul", { class: "frequent", "aria-label": "Frequent values" }, ...frequent.map((item) => frequentRow(name, item, one))));
  }
  return made;
}

function frequentRow(name, item, one) {
  const binary = item.value !== null && typeof item.value === "object";
  const text = binary ? "bytes" : String(item.value);
  const fill = el("i", { "aria-hidden": "true" });
  fill.style.width = `${Math.max(1, 100 * item.count / Math.max(1, one.values))}%`;
  const value = typeof item.value === "string" ? `"${item.value.replace(/\\/g, "\\\\").replace(/"/g, '\\"')}"` : String(item.value);
  return el("li", {}, el("button", { type: "button", disabled: binary, title: "Only records with this value",
    onclick: () => filterBy(`${quoted(name)} = ${value}`) }, fill, el("span", {}, text || "(empty)"),
  el("span", { class: "soft" }, `${one.frequent_error ? "~" : ""}${integer.format(item.count)}`)));
}

function bars(histogram, numbers, operand, whole) {
  const { start, width, counts } = histogram;
  const first = Math.max(0, Math.floor((numbers.min - start) / (width || 1)));
  const last = Math.min(counts.length - 1, Math.floor((numbers.max - start) / (width || 1)));
  const some = counts.slice(first, last + 1);
  const top = Math.max(1, ...some);
  const around = Math.max(0, 5 - some.length) * 5;
  const made = drawn("svg", { class: "bars", viewBox: `${-around} 0 ${some.length * 10 + 2 * around} 84`, preserveAspectRatio: "none", role: "img",
    "aria-label": `histogram of ${operand}` });
  some.forEach((n, i) => {
    const height = n ? Math.max(1.5, 82 * n / top) : 0;
    const low = start + (first + i) * width, high = low + width;
    const group = drawn("g", {});
    const gap = some.length > 1 ? 1 : 0;
    const words = whole && width === 1 ? `${figure(low)}: ${integer.format(n)}` : `${figure(low)} to ${figure(high)}: ${integer.format(n)}`;
    const title = drawn("title");
    title.textContent = words;
    group.append(drawn("rect", { class: "shown", x: i * 10 + gap, y: 84 - height, width: 10 - 2 * gap, height }),
      drawn("rect", { class: "hit", x: i * 10, y: 0, width: 10, height: 84 }), title);
    if (n) group.addEventListener("click", () => filterBy(whole && width === 1 ? `${operand} = ${low}` : `${operand} >= ${low} and ${operand} < ${high}`));
    made.append(group);
  });
  return made;
}

async function loadSchema() {
  clearTimeout(schemaTimer);
  let found;
  try {
    found = await ask("schema");
  } catch (error) {
    return complain(error);
  }
  if (state.tab !== "schema") return undefined;
  const busy = !found.job || found.job.state === "running";
  const what = found.examples ? "Examples" : "records";
  const about = `${integer.format(found.records)} ${what}, ${found.formats.join(" and ")}`;
  const head = el("div", { class: "heading" }, el("div", {}, el("h2", {}, "Schema"), el("p", { class: "soft" }, about)), busy ? progress(found.job) : null);
  const rows = found.features.map((one) => {
    const share = one.records === found.records ? "all" : `${(100 * one.records / Math.max(1, found.records)).toPrecision(3)} %`;
    const size = one.size && one.values ? `${bytes(one.size / one.values)} each` : "";
    return [one.name, one.types.join(" or ") || "empty", one.shape, share, size];
  });
  const parts = [head, grid(["Feature", "Type", "Shape", "In", "Size"], rows, [3, 4], "No features are known.")];
  if (found.bad_records) {
    parts.push(el("p", { class: "note bad" }, `${count(found.bad_records, "record")} cannot be read: ${found.bad.map((bad) => bad.error).slice(0, 3).join("; ")}`));
  }
  if (found.python) {
    const copy = el("button", { class: "plain", type: "button" }, "Copy");
    copy.addEventListener("click", () => copied(copy, found.python));
    parts.push(el("div", { class: "code" }, el("div", { class: "code-head" }, "Read it in Python", copy), el("pre", {}, ...coloured(found.python))));
  } else if (found.formats.length > 1) parts.push(el("p", { class: "note" }, "The files have several formats, so there is no code that reads all of them."));
  replaced("tab-schema", el("div", { class: "wide" }, ...parts));
  if (busy) schemaTimer = setTimeout(loadSchema, 600);
  return undefined;
}

function bytes(n) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (n >= 999.5 && unit < units.length - 1) [n, unit] = [n / 1000, unit + 1];
  return unit ? `${n.toFixed(1)} ${units[unit]}` : `${Math.round(n)} B`;
}

function coloured(code) {
  const parts = [];
  const words = /(#[^\n]*)|("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|\b(import|as|from|def|return|lambda|for|in|None|True|False)\b/g;
  let at = 0;
  for (const match of code.matchAll(words)) {
    parts.push(code.slice(at, match.index), el("span", { class: match[1] ? "c" : match[2] ? "s" : "k" }, match[0]));
    at = match.index + match[0].length;
  }
  return [...parts, code.slice(at)];
}

function grid(heads, rows, right, nothing) {
  if (!rows.length) return el("div", { class: "empty" }, el("b", {}, nothing));
  const side = (i) => right.includes(i) ? "right" : "";
  return el("table", { class: "grid-table" },
    el("thead", {}, el("tr", {}, ...heads.map((head, i) => el("th", { scope: "col", class: side(i) }, head)))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((value, i) =>
      el("td", { class: `${side(i)}${value === "" ? " gone" : ""}`, "data-name": heads[i] }, el("span", {}, value)))))));
}

function drawFiles() {
  const files = state.session?.files ?? [];
  const bad = files.filter((file) => file.error).length;
  const about = `${count(files.length, "file")}${bad ? `, ${count(bad, "file")} with an error` : ""}`;
  const rows = files.map((file) => [file.name, [file.format, file.compression].filter(Boolean).join(", "), file.size ?? "",
    file.complete ? integer.format(file.records) : `${integer.format(file.records)}+`,
    el("span", { class: `state ${file.error ? "bad" : file.complete ? "" : "busy"}` }, file.error || (file.complete ? "ready" : "reading"))]);
  replaced("tab-files", el("div", { class: "wide" }, el("div", { class: "heading" }, el("div", {}, el("h2", {}, "Files"), el("p", { class: "soft" }, about))),
    grid(["File", "Format", "Size", "Records", "State"], rows, [2, 3], "No files; the dataset is in the tab Pipeline.")));
}
