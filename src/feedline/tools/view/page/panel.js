// One record, beside the table.

let opened = 0;

async function openRecord(number) {
  state.open = number;
  remember();
  const turn = ++opened;
  const panel = $("panel");
  panel.hidden = false;
  if (!panel.childElementCount) panel.replaceChildren(panelHead(number, ""), el("p", { class: "note" }, "loading …"));
  try {
    const found = await ask("record", { number });
    if (turn === opened) drawRecord(found);
  } catch (error) {
    if (turn === opened) panel.replaceChildren(panelHead(number, ""), el("p", { class: "note bad" }, error.message));
  }
}

function panelHead(number, name) {
  return el("div", { class: "panel-head" },
    el("div", {}, el("h2", {}, `Record ${integer.format(number)}`), el("small", { title: name }, el("bdi", {}, name))),
    el("button", { class: "icon", type: "button", "aria-label": "Record before", title: "Record before (k)", onclick: () => step(-1) }, "‹"),
    el("button", { class: "icon", type: "button", "aria-label": "Next record", title: "Next record (j)", onclick: () => step(1) }, "›"),
    el("button", { class: "icon", type: "button", "aria-label": "Close", title: "Close (Esc)", onclick: closeRecord }, "×"));
}

function step(by) {
  if (chosen < 0 && page) choose(page.rows.findIndex((row) => row.number === state.open));
  return move(by);
}

function drawRecord(found) {
  const where = state.session && state.session.files.length > 1 ? `${found.name}, record ${integer.format(found.record)}` : found.name;
  const parts = [panelHead(found.number, where)];
  if (found.error) parts.push(el("p", { class: "note bad" }, found.error));
  if (state.session?.follows) {
    parts.push(el("div", { class: "value" }, el("button", { class: "plain", type: "button", id: "to-element", onclick: () => {
      state.element = found.number;
      showTab("pipeline");
    } }, "What the model gets")));
  }
  const order = columnNames();
  const cells = Object.entries(found.cells).sort(([a], [b]) => order.indexOf(a) - order.indexOf(b));
  for (const [name, cell] of cells) {
    const tools = [];
    if (cell.kind === "number" || (cell.kind === "text" && !cell.more && cell.text.length < 80)) {
      const value = cell.kind === "number" ? cell.text : `"${cell.text.replace(/\\/g, "\\\\").replace(/"/g, '\\"')}"`;
      tools.push(el("button", { class: "link", type: "button", title: "Only records with this value",
        onclick: () => addFilter(`${quoted(name)} = ${value}`) }, "filter"));
    }
    parts.push(longCell(name, cell, { number: found.number, feature: name }, tools));
  }
  if (!found.error && !Object.keys(found.cells).length) parts.push(el("p", { class: "note" }, "This record has no features."));
  $("panel").replaceChildren(...parts);
  $("panel").scrollTop = 0;
}

function closeRecord() {
  opened++;
  state.open = null;
  $("panel").hidden = true;
  $("panel").replaceChildren();
  remember();
}
