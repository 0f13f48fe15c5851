// Values: in a table, and in full.

function line(points, signed, width, height, solid = false) {
  const made = drawn("svg", { class: "line", viewBox: `0 0 ${width} ${height}`, width, height, preserveAspectRatio: "none",
    "aria-hidden": "true" });
  const y = (v) => signed ? height / 2 - v * (height / 2 - 1) : height - 1 - v * (height - 2);
  const step = points.length > 1 ? width / (points.length - 1) : width;
  if (solid && points.length > 1) {
    const upper = points.map(([, b], i) => `${(i * step).toFixed(1)} ${y(b).toFixed(1)}`);
    const lower = points.map(([a], i) => `${(i * step).toFixed(1)} ${(y(a) + 0.6).toFixed(1)}`).reverse();
    made.append(drawn("path", { class: "area", d: `M${[...upper, ...lower].join("L")}Z` }));
  } else {
    const parts = points.flatMap(([a, b], i) => a === b ? [[i, a]] : [[i, a], [i, b]]);
    made.append(drawn("path", { d: `M${parts.map(([i, v]) => `${(i * step).toFixed(1)} ${y(v).toFixed(1)}`).join("L")}` }));
  }
  return made;
}

function shortCell(cell, where) {
  if (!cell || cell.kind === "missing") return el("span", { class: "missing" }, "–");
  if (cell.kind === "text" && cell.text === "") return el("span", { class: "missing", title: "an empty string" }, '""');
  if (cell.kind === "image") {
    return el("img", { class: "thumb", loading: "lazy", decoding: "async", alt: cell.text, title: cell.text,
      src: mediaUrl({ ...where, as: "thumbnail" }) });
  }
  if (cell.kind === "images") {
    const some = Array.from({ length: Math.min(3, cell.count) }, (_, i) => el("img", { class: "thumb", loading: "lazy", alt: "",
      src: mediaUrl({ ...where, as: "thumbnail", item: i }) }));
    return el("span", { class: "thumbs", title: cell.text }, ...some);
  }
  if (cell.kind === "sound") {
    const parts = cell.line.length ? [line(cell.line, true, 96, 26, true)] : [];
    return el("span", { class: "drawn", title: cell.text }, ...parts, el("span", { class: "soft" }, seconds(cell.text)));
  }
  if (cell.line) {
    return el("span", { class: "drawn", title: cell.type }, line(cell.line, cell.signed, 96, 26, cell.sound),
      el("span", { class: "soft" }, cell.type));
  }
  const text = cell.kind === "bytes" ? `${cell.size}: ${cell.text}` : cell.text;
  const soft = ["bytes", "list", "ragged", "sparse", "other"].includes(cell.kind);
  return el("span", { class: soft ? "soft mono" : "", title: [cell.type, cell.size].filter(Boolean).join(", ") }, text);
}

const seconds = (text) => (text.match(/[\d.]+ s\b/) ?? [text.split(",")[0]])[0];

// All of a value: `where` says which one it is in requests.
function longCell(name, cell, where, tools = []) {
  const about = [cell.type, cell.kind === "text" || cell.kind === "bytes" ? cell.size : ""].filter(Boolean).join(", ");
  const head = el("div", { class: "value-head" }, el("b", {}, name || "value"),
    el("span", { class: "soft", title: about }, cell.kind === "image" || cell.kind === "sound" ? cell.text : about));
  const buttons = el("span", { class: "tools" }, ...tools);
  if (cell.more) buttons.append(el("button", { class: "link", type: "button", onclick: () => showAll(name, where) }, "all"));
  head.append(buttons);
  const made = el("div", { class: "value" }, head);
  if (cell.kind === "image") made.append(picture(name, cell, where));
  else if (cell.kind === "images") {
    made.append(el("div", { class: "gallery" }, ...Array.from({ length: Math.min(24, cell.count) }, (_, i) =>
      picture(`${name} ${i}`, cell, { ...where, item: i }, "thumbnail"))));
  } else if (cell.kind === "sound") made.append(...sound(cell, where));
  else {
    if (cell.line) made.append(line(cell.line, cell.signed, 420, 72, cell.sound));
    if (cell.kind === "number") made.append(el("div", { class: "figure" }, cell.text));
    else if (cell.kind === "text" && cell.text === "") made.append(el("span", { class: "missing" }, "an empty string"));
    else if (cell.kind === "text") made.append(el("div", { class: "words" }, cell.text));
    else if (cell.kind === "missing") made.append(el("span", { class: "missing" }, "–"));
    else made.append(el("pre", {}, cell.text));
    if (cell.sound) made.append(playable(where));
  }
  return made;
}

function picture(name, cell, where, as = "full") {
  const image = el("img", { alt: cell.text, loading: "lazy", src: mediaUrl({ ...where, as }), onclick: () => showImage(name, cell, where) });
  image.addEventListener("load", () => image.classList.toggle("tiny", image.naturalWidth <= 96));
  return image;
}

function sound(cell, where) {
  const url = mediaUrl({ ...where, as: "sound" });
  const player = el("audio", { controls: true, preload: "none", src: url });
  if (cell.line.length) return [line(cell.line, true, 420, 72, true), player];
  const place = el("div", { class: "soft" }, "decoding …");
  waveform(url).then((points) => place.replaceWith(line(points, true, 420, 72, true)), () => { place.textContent = "no waveform: the browser cannot decode it"; });
  return [place, player];
}

async function waveform(url) {
  const data = await (await fetch(url)).arrayBuffer();
  const decoded = await new OfflineAudioContext(1, 1, 44100).decodeAudioData(data);
  const samples = decoded.getChannelData(0);
  const parts = Math.min(480, samples.length);
  return Array.from({ length: parts }, (_, i) => {
    let least = 1, greatest = -1;
    const stop = Math.floor((i + 1) * samples.length / parts);
    for (let k = Math.floor(i * samples.length / parts); k < stop; k++) {
      least = Math.min(least, samples[k]);
      greatest = Math.max(greatest, samples[k]);
    }
    return [least, greatest];
  });
}

function playable(where) {
  const rate = el("input", { class: "number", type: "text", inputmode: "numeric", value: "16000", "aria-label": "Samples per second" });
  const row = el("div", { class: "wave-row" });
  const play = el("button", { class: "plain", type: "button", onclick: () => {
    row.querySelector("audio")?.remove();
    const given = Math.max(1000, parseInt(rate.value, 10) || 16000);
    row.append(el("audio", { controls: true, autoplay: true, src: mediaUrl({ ...where, as: "sound", rate: given }) }));
  } }, "Play as sound");
  row.append(play, rate, el("span", { class: "soft" }, "Hz"));
  return row;
}

function dialogWith(title, body, tools = []) {
  const dialog = $("full");
  const close = el("button", { class: "icon", type: "button", "aria-label": "Close", onclick: () => dialog.close() }, "×");
  dialog.replaceChildren(el("div", { class: "full" }, el("div", { class: "dialog-head" }, el("b", {}, title), ...tools, close),
    el("div", { class: "dialog-body" }, body)));
  if (!dialog.open) dialog.showModal();
}

function showImage(name, cell, where) {
  const image = el("img", { alt: cell.text, src: mediaUrl({ ...where, as: "full" }) });
  image.addEventListener("load", () => image.classList.toggle("tiny", image.naturalWidth <= 256));
  dialogWith(`${name || "value"}: ${cell.text}`, image);
}

async function showAll(name, where) {
  const text = el("pre", {}, "loading …");
  const more = el("button", { class: "plain", type: "button" }, "More");
  const body = el("div", {}, text, more);
  let next = 0, first = true;
  const load = async () => {
    more.disabled = true;
    try {
      const found = await ask("value", { ...where, start: next });
      text.textContent = first ? found.text : text.textContent + found.text;
      first = false;
      next = found.next;
      more.hidden = next === null;
    } catch (error) {
      text.textContent = error.message;
      more.hidden = true;
    }
    more.disabled = false;
  };
  more.addEventListener("click", load);
  dialogWith(name || "value", body);
  await load();
}
