// What the model gets: an element after each step of a dataset.

let pipelineTurn = 0;

async function loadPipeline(again = false) {
  const turn = ++pipelineTurn;
  remember();
  let found;
  try {
    found = await ask("pipeline", again ? { element: state.element, again: 1 } : { element: state.element });
  } catch (error) {
    return complain(error);
  }
  if (turn !== pipelineTurn || state.tab !== "pipeline") return undefined;
  drawPipeline(found);
  if (found.job?.state === "running") setTimeout(() => { if (turn === pipelineTurn) loadPipeline(); }, 300);
  return undefined;
}

function toElement(number) {
  state.element = Math.max(0, number);
  return loadPipeline();
}

function drawPipeline(found) {
  const input = el("input", { class: "number", type: "text", inputmode: "numeric", value: found.element, "aria-label": "Element" });
  const form = el("form", { class: "stepper", autocomplete: "off", onsubmit: (event) => {
    event.preventDefault();
    toElement(parseInt(input.value.replace(/[^\d]/g, ""), 10) || 0);
  } },
  el("button", { class: "icon", type: "button", "aria-label": "Element before", title: "Element before (k)", disabled: found.element === 0,
    onclick: () => toElement(state.element - 1) }, "‹"),
  el("label", { class: "soft" }, "Element "), input,
  el("button", { class: "icon", type: "button", "aria-label": "Next element", title: "Next element (j)", onclick: () => toElement(state.element + 1) }, "›"),
  el("button", { class: "plain", type: "button", title: "With new random numbers, if there are any", onclick: () => loadPipeline(true) }, "Run again"));
  const head = el("div", { class: "heading" }, el("div", {}, el("h2", {}, "What the model gets"),
    el("p", { class: "soft" }, `One element of the source after each step of ${state.session?.pipeline ?? "the dataset"}`)), form);
  const parts = [head];
  if (found.job?.state === "running") parts.push(progress(null));
  if (found.error) parts.push(el("p", { class: "note bad" }, found.error));
  if (found.ended && !found.error) parts.push(el("p", { class: "note" }, "The dataset ends before this element has gone through all steps."));
  parts.push(el("ol", { class: "steps" }, ...found.steps.map((one, i) => drawStep(one, i, found))));
  replaced("tab-pipeline", el("div", { class: "wide" }, ...parts));
}

function drawStep(one, i, found) {
  // Compared with the step before, unless that gave bytes which are only shown as features.
  const below = one.inputs.map((k) => found.steps[k]);
  const before = below.length && !below.some((step) => step.serialized)
    ? new Map(below.flatMap((step) => step.leaves).map((leaf) => [leaf.path, leaf])) : null;
  const kinds = ["step", one.functions.length ? "user" : "", one.error ? "failed" : "",
    i === found.steps.length - 1 && one.leaves.length ? "last" : ""].filter(Boolean).join(" ");
  const card = el("div", { class: "card" }, el("div", { class: "call" }, one.call));
  if (one.spec) card.append(el("div", { class: "about" }, one.spec));
  for (const text of one.functions) card.append(el("div", { class: "about" }, text));
  if (one.note) card.append(el("div", { class: one.left_out || one.note.startsWith("drops") ? "badge warn" : "badge" }, one.note));
  if (one.error) card.append(el("p", { class: "note bad" }, one.error));
  else if (!one.leaves.length) card.append(el("p", { class: "about" }, "nothing has come here"));
  const same = before && one.leaves.length && before.size === one.leaves.length && one.leaves.every((leaf) => unchanged(leaf, before));
  if (same) card.append(el("div", { class: "about" }, "the element is as it was"));
  else if (one.leaves.length) {
    card.append(el("div", { class: "leaves" }, ...one.leaves.map((leaf) => drawLeaf(leaf, before, { element: found.element, step: i, feature: leaf.path, run: found.job?.id ?? 0 }))));
  }
  return el("li", { class: kinds, "data-step": one.call }, el("span", { class: "dot", title: "The number of the step in messages and in explain()" }, String(one.position)), card);
}

const unchanged = (leaf, before) => {
  const old = before.get(leaf.path);
  return Boolean(old) && old.text === leaf.text && old.type === leaf.type && old.kind === leaf.kind
    && JSON.stringify(old.line) === JSON.stringify(leaf.line) && !leaf.array;
};

function drawLeaf(leaf, before, where) {
  const how = !before ? "" : unchanged(leaf, before) ? "same" : before.has(leaf.path) ? "changed" : "new";
  const all = leaf.more ? el("button", { class: "link", type: "button", onclick: () => showAll(leaf.path, where) }, "all") : null;
  const about = leaf.kind === "text" || leaf.kind === "bytes" ? leaf.size : leaf.type ?? "";
  const made = el("div", { class: `leaf ${how}` }, el("div", { class: "leaf-name" }, el("b", {}, leaf.path || "element"),
    el("span", { class: "soft", title: about }, about), all));
  if (leaf.kind === "image") made.append(picture(leaf.path, leaf, where, "thumbnail"));
  else if (leaf.line?.length) made.append(line(leaf.line, leaf.signed, 210, 40, leaf.kind === "sound"));
  if (leaf.kind !== "image") made.append(el("div", { class: "shown" }, leaf.text));
  return made;
}
