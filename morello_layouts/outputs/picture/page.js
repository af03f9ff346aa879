"use strict";
// The pictures are in the page already; the data beside them describes each cell.
// Offsets are text here: those of a huge array exceed the numbers of JavaScript.
const key = coordinate => coordinate.join(",");
const bracketed = list => `(${list.join(", ")})`;
const SVG = "http://www.w3.org/2000/svg";
const GAPS = [16, 8, 4];

function make(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

// Make the elements of page.py interactive: the picture, the details, the players.
function interactive(root, panels) {
  const drawn = [...root.querySelectorAll("#picture g.panel")];
  let kept = null; // the place that was clicked: {panel, offset}

  panels.forEach((panel, k) => {
    panel.byOffset = new Map(panel.cells.map(cell => [cell.o, cell]));
    panel.byCoordinate = new Map(panel.cells.map(cell => [key(cell.c), cell]));
    panel.slotAt = new Map(panel.slots.map(slot => [slot.o, slot]));
    panel.slotOf = new Map(panel.slots.filter(slot => slot.c).map(slot => [key(slot.c), slot]));
    panel.marks = new Map(); // offset → elements that show it
    for (const place of drawn[k].querySelectorAll("g.cell[data-o],g.slot[data-o]"))
      remember(panel, place.dataset.o, place, k);
  });

  function remember(panel, offset, place, k) {
    if (!panel.marks.has(offset)) panel.marks.set(offset, []);
    panel.marks.get(offset).push(place);
    place.addEventListener("pointerenter", () => kept || show(k, offset));
    place.addEventListener("click", () => {
      const again = kept && kept.panel === k && kept.offset === offset;
      kept = again ? null : { panel: k, offset };
      show(k, offset);
    });
  }

  // The coordinate at an offset, whether it is padding, and the numbers of its tiles.
  function found(panel, offset) {
    const cell = panel.byOffset.get(offset), slot = panel.slotAt.get(offset);
    const isPadding = slot ? slot.c === null : cell.k === null;
    return {
      coordinate: isPadding ? (cell ? cell.c : null) : (slot ? slot.c : cell.c),
      isPadding, tiles: (cell || slot).t, elsewhere: cell ? cell.e : null,
    };
  }

  // Arrows from the place of an element in one layout to its places in the others.
  const arrows = make("svg", { class: "arrows", "aria-hidden": "true" });
  if (panels.length > 1) root.querySelector("#picture").append(arrows);

  function middle(place) {
    const box = place.querySelector("rect").getBoundingClientRect();
    const from = arrows.getBoundingClientRect();
    return [box.x - from.x + box.width / 2, box.y - from.y + box.height / 2, box.height / 2];
  }

  // An arc above the numbers from the top of one place to the top of the other, or beside them.
  function arrow([x, y, room], [toX, toY]) {
    if (Math.abs(toY - y) > Math.abs(toX - x)) {
      const left = x + room, toLeft = toX + room, far = Math.max(left, toLeft) + 110;
      return `M${left} ${y}C${far} ${y} ${far} ${toY} ${toLeft} ${toY}m8 -5l-8 5l8 5`;
    }
    const top = y - room, toTop = toY - room, high = Math.min(top, toTop) - 90;
    return `M${x} ${top}C${x} ${high} ${toX} ${high} ${toX} ${toTop}m-5 -8l5 8l5 -8`;
  }

  function follow(marked, k) {
    const others = marked.filter((place, other) => other !== k && place);
    const lines = marked[k] ? others.map(place => arrow(middle(marked[k]), middle(place))) : [];
    arrows.replaceChildren(make("path", { d: lines.join("") }));
  }

  function show(k, offset) {
    const here = found(panels[k], offset), marked = [];
    for (const place of root.querySelectorAll(".on")) ring(place, false);
    const holder = (panels[k].byOffset.get(offset) || {}).h;
    if (holder !== undefined) { light(holder, k, offset); return; }
    panels.forEach((panel, other) => {
      let at = other === k ? offset : null;
      if (other !== k && here.coordinate) {
        const name = key(here.coordinate);
        const same = panel.byCoordinate.get(name) || panel.slotOf.get(name);
        at = same ? same.o : null;
      }
      const places = panel.marks.get(at) || [];
      for (const place of places) ring(place, true);
      marked.push(places.find(place => place.classList.contains("cell")));
      describe(panel, other, at);
    });
    follow(marked, k);
    const at = k ? null : offset;
    root.dispatchEvent(new CustomEvent("chosen", { detail: panels[k].values[at] || null }));
  }

  // The elements that a lane holds of each operand of an instruction.
  function light(holder, k, offset) {
    panels.forEach((panel, other) => {
      const held = panel.cells.filter(cell => cell.h === holder);
      for (const cell of held)
        for (const place of panel.marks.get(cell.o) || []) ring(place, true);
      const at = held.map(cell => bracketed(cell.c)).join(", ") || "none that is shown here";
      describe(panel, other, other === k ? offset : null, `lane ${holder} holds ${at}`);
    });
  }

  // Show other numbers in a layout's cells, by their offsets, and some cells faint.
  function relabel(k, numberAt = () => null, isFaint = () => false) {
    for (const place of drawn[k].querySelectorAll("g.cell[data-o]")) {
      const text = place.querySelector("text"), number = numberAt(place.dataset.o);
      if (!text) continue;
      place.dataset.text ??= text.textContent;
      if (place.dataset.text) text.textContent = number ?? place.dataset.text;
      place.classList.toggle("faint", isFaint(place.dataset.o));
    }
  }

  function showTerm(k, j) {
    const valueAt = offset => (panels[k].values[offset] || [])[j];
    relabel(k, valueAt, offset => valueAt(offset) === "0");
  }

  function showTile(k, level, tile) {
    const isOther = offset => key(found(panels[k], offset).tiles[level] || []) !== key(tile);
    relabel(k, () => null, isOther);
  }

  root.addEventListener("term", ({ detail: j }) => j === null ? relabel(0) : showTerm(0, j));
  root.addEventListener("tile", ({ detail: j }) => j === null ? relabel(0)
    : showTile(0, j, panels[0].cells[0].t[j]));

  function letGo() {
    kept = null;
    arrows.replaceChildren();
    for (const place of root.querySelectorAll(".on")) ring(place, false);
    panels.forEach((panel, k) => describe(panel, k, null, "no cell is chosen: click one"));
  }

  // A frame inside the place, so that its neighbours do not cover it.
  function ring(place, isOn) {
    place.classList.toggle("on", isOn);
    const old = place.querySelector(".ring");
    if (old) old.remove();
    if (!isOn) return;
    const box = place.querySelector("rect"), size = name => Number(box.getAttribute(name) || 0);
    place.append(make("rect", { class: "ring", x: size("x") + 2, y: size("y") + 2,
      width: size("width") - 4, height: size("height") - 4 }));
  }

  function describe(panel, k, offset, otherwise = "this element is not shown here") {
    const section = root.querySelector(`.details section[data-panel="${k}"]`);
    const table = section.querySelector("table"), hint = section.querySelector(".hint");
    table.replaceChildren();
    relabel(k);
    table.hidden = offset === null;
    hint.hidden = offset !== null;
    if (offset === null) { hint.textContent = otherwise; return; }
    const place = found(panel, offset);
    const row = (name, value, note = "", class_ = "", show = null) => {
      const line = table.insertRow();
      line.className = class_;
      const head = document.createElement("th");
      head.textContent = name;
      line.append(head);
      line.insertCell().textContent = value;
      line.insertCell().textContent = note;
      if (!show) return;
      line.addEventListener("pointerenter", show);
      line.addEventListener("pointerleave", () => relabel(k));
    };
    row("slot", offset, `of ${panel.size}`);
    if (place.isPadding)
      row("holds", "padding", place.coordinate ? `${bracketed(place.coordinate)} is outside` : "");
    else row("element", bracketed(place.coordinate), panel.names.join(", "));
    panel.levels.forEach((level, j) => {
      if (place.tiles[j]) row(`tile ${level.name}`, bracketed(place.tiles[j]), "number", "",
        () => showTile(k, j, place.tiles[j]));
    });
    (panel.steps[offset] || []).forEach((at, j) => {
      const stage = panel.stages[j];
      row(stage.name, at ? bracketed(at) : "not added yet", `in [${stage.shape.join(",")}]`, "",
        () => relabel(k, other => (panel.numbers[other] || [])[j]));
    });
    const values = panel.values[offset];
    if (values) {
      panel.terms.forEach((term, j) => row(j ? "+" : "offset", term, `= ${values[j]}`, "",
        () => showTerm(k, j)));
      row("=", String(values.reduce((a, b) => a + BigInt(b), 0n)), "", "sum");
    }
  }

  root.querySelector("#picture").addEventListener("keydown", event => {
    const by = { ArrowLeft: [1, -1], ArrowRight: [1, 1], ArrowUp: [2, -1], ArrowDown: [2, 1] };
    if (event.key === "Escape") letGo();
    const move = by[event.key];
    if (!move) return;
    event.preventDefault();
    const panel = panels[kept ? kept.panel : 0];
    if (!panel.cells.length) return;
    let cell = kept && panel.byOffset.get(kept.offset);
    if (cell) {
      const next = [...cell.c];
      if (next.length < move[0]) return;
      next[next.length - move[0]] += move[1];
      cell = panel.byCoordinate.get(key(next)) || cell;
    } else cell = panel.cells[0];
    kept = { panel: kept ? kept.panel : 0, offset: cell.o };
    show(kept.panel, cell.o);
    const [place] = panels[kept.panel].marks.get(cell.o) || [];
    if (place) place.scrollIntoView({ block: "nearest", inline: "nearest" });
  });

  // The player: each step of the recipe moves the cells; at last they are in the order of memory.
  for (const section of root.querySelectorAll(".player")) player(section);

  function player(section) {
    const k = Number(section.dataset.panel), panel = panels[k], last = panel.stages.length;
    const svg = section.querySelector("svg"), range = section.querySelector("input");
    svg.classList.add(...drawn[k].ownerSVGElement.classList); // for the hatching
    const digits = panel.size.length, width = Math.max(30, digits * 8 + 12), height = 28;
    const trail = make("path", { class: "trail" });
    const nodes = panel.cells.map(cell => {
      const group = make("g", { class: "cell", "data-o": cell.o });
      group.append(make("title", {}));
      const fill = cell.k === null ? "p" : `c${cell.k}`;
      group.append(make("rect", { class: fill, width, height }));
      const text = make("text", { class: "o", x: width / 2, y: 18.5 });
      group.append(text);
      svg.append(group);
      remember(panel, cell.o, group, k);
      return { cell, group, text, title: group.firstChild };
    });
    svg.append(trail);
    const inLine = lines(panel, nodes, width);
    let timer = null;

    function place(node, stage) {
      if (stage === last) return inLine(node);
      const [slice, row, column] = node.cell.at;
      const gap = (levels, end) => levels.slice(0, end).reduce((sum, level) =>
        sum + (level !== null && panel.levels[level].split <= stage ? GAPS[level] || 4 : 0), 0);
      const perSlice = spread(panel.gaps.columns.length + 1, panel.gaps.columns, stage) + 24;
      return [column * width + gap(panel.gaps.columns, column) + slice * perSlice,
              row * height + gap(panel.gaps.rows, row)];
    }
    function spread(count, levels, stage) {
      return count * width + levels.reduce((sum, level) =>
        sum + (level !== null && panel.levels[level].split <= stage ? GAPS[level] || 4 : 0), 0);
    }
    function go(stage) {
      stage = Math.max(0, Math.min(last, stage));
      range.value = stage;
      const step = panel.stages[Math.min(stage, last - 1)], shape = `[${step.shape.join(",")}]`;
      section.querySelector(".step").textContent =
        stage === last ? `memory, ${panel.size} slots` : `${step.name} ${shape}`;
      section.querySelector(".words").textContent = stage === last
        ? "the slots in the order of memory" : step.words;
      let right = 0, bottom = 0;
      const order = [];
      for (const node of nodes) {
        const number = panel.numbers[node.cell.o][Math.min(stage, last - 1)];
        const [x, y] = place(node, stage);
        const away = number === null;
        node.group.classList.toggle("away", away);
        node.group.style.transform = `translate(${x + 4}px,${y + 4}px)`;
        node.text.textContent = node.cell.k === null || away ? "" : number;
        node.title.textContent = `${bracketed(node.cell.c)}: ${away ? "not added yet" : number}`;
        right = Math.max(right, x + width);
        bottom = Math.max(bottom, y + height);
        if (!away) order.push([Number(number), x + 4 + width / 2, y + 4 + height / 2]);
      }
      svg.setAttribute("width", right + 8);
      svg.setAttribute("height", bottom + 8);
      svg.setAttribute("viewBox", `0 0 ${right + 8} ${bottom + 8}`);
      order.sort((a, b) => a[0] - b[0]);
      // A line from cell to cell in order is clearer than numbers, if the cells are few.
      const points = order.length <= 300 && !panel.isCut && stage < last ? order : [];
      trail.setAttribute("d", points.slice(1).map((to, j) => link(points[j], to)).join(""));
    }
    // From the edge of one number to that of the next, if it is beside it.
    function link([, x, y], [, toX, toY]) {
      if (Math.hypot(toX - x, toY - y) >= 1.6 * width) return "";
      const near = Math.min(0.36 * width / Math.abs(toX - x), 0.36 * height / Math.abs(toY - y));
      const point = part => `${x + part * (toX - x)} ${y + part * (toY - y)}`;
      return `M${point(near)}L${point(1 - near)}`;
    }
    const play = section.querySelector(".play");
    const stop = () => { clearInterval(timer); timer = null; play.textContent = "Play"; };
    section.querySelector(".back").onclick = () => { stop(); go(Number(range.value) - 1); };
    section.querySelector(".next").onclick = () => { stop(); go(Number(range.value) + 1); };
    range.oninput = () => { stop(); go(Number(range.value)); };
    play.onclick = () => {
      if (timer) { stop(); return; }
      if (Number(range.value) === last) go(0);
      play.textContent = "Pause";
      timer = setInterval(() => {
        if (!section.isConnected) { stop(); return; } // another picture has replaced this one
        go(Number(range.value) + 1);
        if (Number(range.value) === last) stop();
      }, 1400);
    };
    go(0);
  }
}

// The place of a cell in the lines of memory. Slots that are not shown leave gaps if the whole
// buffer is small.
function lines(panel, nodes, width) {
  const sorted = [...nodes].sort((a, b) => (BigInt(a.cell.o) < BigInt(b.cell.o) ? -1 : 1));
  const rank = new Map(sorted.map((node, j) => [node, j]));
  const whole = Number(panel.size) <= 2 * nodes.length + 64;
  const shape = panel.stages[panel.stages.length - 1].shape;
  let run = 1;
  for (const size of [...shape].reverse()) if (run * size * width <= 1000) run *= size; else break;
  const count = Math.max(run, Math.floor(1000 / width / run) * run);
  return node => {
    const at = whole ? Number(node.cell.o) : rank.get(node);
    return [at % count * width, Math.floor(at / count) * 44];
  };
}

const written = document.getElementById("data");
if (written) interactive(document.body, JSON.parse(written.textContent));
