"use strict";
// Turn an answer into elements. Text enters the page as text only; the one piece of markup is the
// picture, which the server writes and escapes.

// An element with attributes and children, which are elements or text.
function node(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  made.append(...children.filter(child => child !== null));
  return made;
}

function card(id, title, about, ...children) {
  return node("section", { class: "card", id }, node("h3", {}, title),
    about ? node("p", { class: "about" }, about) : null,
    ...children.filter(child => child !== null));
}

const heading = text => node("h4", {}, text);

function rows(list) {
  const made = node("dl", { class: "rows" });
  for (const row of list) {
    const kind = row.style === "red" ? "alarming" : row.is_dim ? "dim" : null;
    made.append(node("dt", { class: row.is_dim ? "dim" : null }, row.label),
      node("dd", { class: kind }, row.text));
  }
  return made;
}

function formula(text, isMain = false) {
  return node("pre", { class: isMain ? "formula main" : "formula" }, node("code", {}, text));
}

function titleOf(answer) {
  return node("div", { class: "title" }, node("h2", {}, answer.text),
    node("p", {}, `${answer.kind}: ${answer.headline}`));
}

function arraysOf(answer, choose) {
  if (answer.arrays.length < 2 && !answer.instruction.length) return null;
  const parts = [];
  if (answer.instruction.length) parts.push(rows(answer.instruction));
  if (answer.arrays.length > 1) {
    const select = node("select", { id: "array" });
    answer.arrays.forEach((one, k) =>
      select.append(node("option", { value: k, selected: k === answer.array },
        `${one.place} ${one.text}`)));
    select.addEventListener("change", () => choose("array", select.value));
    parts.push(node("p", {}, node("label", { for: "array" }, "Show the array "), select));
  }
  return card("arrays", answer.instruction.length ? "The instruction" : "The tuple",
    answer.arrays.length > 1 ? "The page shows one array of a tuple at a time." : "", ...parts);
}

function comparisonOf(found, k) {
  return card(k ? `comparison-${k}` : "comparison", `Compared with ${found.is_formula ? "the formula " : ""}${found.text}`,
    found.is_formula ? "Does the formula give the offset of every element? ISL decides. A "
    + "counterexample has the layout's offset first; a dot marks it in the picture."
      : "Equivalent: every element has the same offset in both. Bitcast: the buffer of one serves "
    + "as the other without a copy, with elements in row-major order.",
    node("p", { class: "verdict" }, node("span", { class: "sign" }, `${found.sign} `),
      node("span", { id: k ? null : "verdict" }, found.verdict)),
    rows(found.rows),
    ...found.is_formula ? [] : [
      heading("Relayout: slot p of the second buffer receives this slot of the first"),
      formula(found.relayout, true),
      heading("The other way: slot p of the first buffer receives this slot of the second"),
      formula(found.way_back)]);
}

function banksOf(found) {
  return card("banks", `Bank conflicts: ${found.access}`, "Word w of shared memory lies in bank "
    + "w % 32, and a bank gives one word in a round. Dots mark the elements for which a bank needs "
    + "several rounds.",
    node("p", { class: "verdict" }, node("span", { id: "bank-verdict" }, found.verdict)),
    rows(found.rows));
}

// The verdicts alone, for the head of the page; the cards below say why.
function verdictsOf({ comparisons, banks }, choose) {
  const lines = (comparisons || []).map(one => `${one.sign} ${one.text}: ${one.verdict}`);
  if (banks) lines.push(`${banks.access}: ${banks.verdict}`);
  return node("div", { id: "verdicts" }, ...lines.map(line => node("p", {}, line)),
    banks && banks.assumed_for ? bitsOf(banks, choose) : null);
}

// Buttons for the bits of an element, where neither the text nor the access says them.
function bitsOf({ assumed_for: access, bits }, choose) {
  const buttons = [8, 16, 32].map(n => {
    const button = node("button", { type: "button", "aria-pressed": String(n === bits) }, `${n}`);
    button.addEventListener("click", () => choose("access", `${access}, ${n} bits`));
    return button;
  });
  return node("p", { class: "assumed" }, `${bits}-bit elements are assumed: `,
    ...buttons.flatMap(button => [button, " "]));
}

// A button that shows something in the picture while the pointer or the focus is there.
function pointing(text, event, k) {
  const button = node("button", { type: "button", class: "term" }, text);
  const tell = chosen => () => place("picture-card").dispatchEvent(
    new CustomEvent(event, { detail: chosen }));
  for (const kind of ["pointerenter", "focus"]) button.addEventListener(kind, tell(k));
  for (const kind of ["pointerleave", "blur"]) button.addEventListener(kind, tell(null));
  return button;
}

// The formula; where the picture has its terms, pointing at one shows its values in the cells.
function mainFormula(text, panel) {
  const made = formula(text, true), terms = panel ? panel.terms : [];
  if (terms.length && terms.join(" + ") === text)
    made.firstChild.replaceChildren(...terms.flatMap((term, k) =>
      [k ? " + " : "", pointing(term, "term", k)]));
  return made;
}

// The parts of the text; pointing at a tile's part shows the first such tile in the cells.
function wordsOf(list, panel) {
  const made = rows(list), levels = panel ? panel.levels.map(level => level.name) : [];
  for (const label of made.querySelectorAll("dt")) {
    const [, sizes] = /[([]([\d, ]+)[)\]]$/.exec(label.textContent) || [];
    const level = sizes ? levels.indexOf(sizes.split(/, ?/).join("x")) : -1;
    if (level >= 0) label.replaceChildren(pointing(label.textContent, "tile", level));
  }
  return made;
}

// Mark the terms that are not 0 for the element chosen in the picture.
function markTerms({ detail: values }) {
  document.querySelectorAll("#formula .term").forEach((term, k) =>
    term.classList.toggle("on", Boolean(values) && values[k] !== "0"));
}

const panelOf = answer => ((answer.picture || {}).panels || [])[0]; // of the layout itself

function formulaOf(found, panel) {
  const names = found.names.map(one => `${one.symbol} = ${one.name}`);
  if (found.symbols.length) names.push(`${found.symbols.join(", ")}: sizes, at least 1`);
  const reference = found.reference === found.simplified
    ? [node("p", { class: "about" }, "The reference formula is already in this form.")]
    : [heading("The reference formula, from the notation's definition"), formula(found.reference),
      heading("Derivation"), derivation(found.derivation)];
  const about = `The offset of the element at (${found.coordinates.join(", ")}); // rounds down, % is `
    + `the remainder.${names.length ? ` Here ${names.join(", ")}.` : ""}`;
  return card("formula", "Formula", "", mainFormula(found.simplified, panel),
    node("p", { class: "about" }, about),
    folded("Typeset, derivation, inverse", typeset(found.simplified), ...reference,
      heading("Inverse: from an offset p to coordinates"), formula(found.inverse)));
}

const folded = (title, ...children) => node("details", { class: "fold" },
  node("summary", {}, title), ...children);

function derivation(steps) {
  const made = node("ol", { class: "steps", id: "derivation" });
  for (const step of steps)
    made.append(node("li", {}, node("code", {}, `${step.before} = ${step.after}`),
      node("span", { class: "rule" }, ` by rule ${step.rule}`
        + (step.because ? `, since ${step.because}` : ""))));
  return made;
}

function waiting(id, title) {
  return card(id, title, "", node("p", { class: "about" }, "not there yet …"));
}

function proofOf({ proofs, deciders }) {
  return card("proofs", "Proof", "", rows(proofs),
    folded("What this means", node("p", { class: "about" },
      `Decided by ${deciders.join(" and ") || "the form alone"}; nothing is sampled. `
      + "Injective: no two elements share a slot. Surjective: every slot holds an element, so "
      + "there is no padding. Formulas: the simplified formula, the reference and the inverse "
      + "agree everywhere.")));
}

const wanted = { target: "c", way: "offset" }; // the reader's last choice

function codeOf({ code: list }) {
  const text = node("code"), copy = node("button", { type: "button" }, "Copy code");
  const show = () => {
    const one = list.find(each => each.target === wanted.target) || list[0];
    text.textContent = one[wanted.way];
  };
  const choices = (legend, name, options) => {
    const group = node("fieldset", { class: "choices" }, node("legend", {}, legend));
    for (const [value, title] of options) {
      const input = node("input", { type: "radio", name, value, checked: wanted[name] === value });
      input.addEventListener("change", () => { wanted[name] = value; show(); });
      group.append(node("label", {}, input, ` ${title}`));
    }
    return group;
  };
  copy.addEventListener("click", () => copied(copy, text.textContent));
  show();
  return card("code", "Code", "Integers only: 32 bits if the bounds allow it, otherwise 64.",
    choices("Language", "target", list.map(one => [one.target, one.title])),
    node("div", { class: "codehead" },
      choices("Function", "way", [["offset", "coordinates to offset"],
        ["coordinates", "offset to coordinates"]]), copy),
    node("pre", { class: "code", tabindex: 0, "aria-label": "code" }, text));
}

async function copied(button, text) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "The browser forbids copying";
  }
  setTimeout(() => { button.textContent = before; }, 1500);
}

const pictureStyle = new CSSStyleSheet();
document.adoptedStyleSheets = [...document.adoptedStyleSheets, pictureStyle];

// The picture, with cards beside it.
function pictureOf(answer, choose, beside) {
  const found = answer.picture, made = card("picture-card", "", "");
  made.addEventListener("chosen", markTerms);
  const title = titleOf(answer);
  made.replaceChildren(title, verdictsOf(answer, choose));
  const sizes = Object.entries(found.at).map(([name, n]) => `${name} = ${n}`);
  if (sizes.length) made.append(node("p", { class: "about" }, `Drawn at ${sizes.join(", ")}.`));
  if (found.example) made.append(node("p", { class: "about" }, `No sizes are given. An example: drawn at ${found.example}.`));
  if (found.reason) {
    made.append(node("p", {}, `No picture: ${found.reason}.`), pair(...beside.map(one => [one])));
    return made;
  }
  const shown = node("div", { class: "shown" });
  const parsed = new DOMParser().parseFromString(found.markup, "text/html");
  // The page's policy forbids styles in markup, and allows this sheet.
  pictureStyle.replaceSync(found.style);
  shown.append(...parsed.body.childNodes);
  if (found.panels.length > 1) shown.append(node("div", { class: "beside" }, ...beside));
  else shown.append(node("div", { class: "side" }, ...beside, shown.querySelector(".details")));
  const drawings = [...shown.querySelectorAll("#picture>svg")];
  resized(drawings);
  title.append(coloursOf(found, choose));
  shown.classList.toggle("several", found.panels.length > 1);
  shown.classList.toggle("example", Boolean(found.example));
  made.append(shown, savingOf(found, drawings));
  return made;
}

const sizeOf = svg => ["width", "height"].map(name => Number(svg.getAttribute(name)));

// A small picture grows, but not below the fold; as many as fit stand side by side, and what is
// still too wide shrinks a little, then scrolls.
function resized(drawings) {
  const sizes = drawings.map(sizeOf), room = document.body.clientWidth - 80;
  const [wide, high] = [0, 1].map(k => Math.max(...sizes.map(size => size[k])));
  let beside = drawings.length;
  while (beside > 1 && beside * wide > 1.3 * room) beside -= 1;
  const largest = Math.max(1, Math.min(1.5, 0.6 * innerHeight / high));
  const scale = drawings.length > 1 ? Math.min(largest, Math.max(0.65, room / (beside * wide)))
    : largest;
  drawings.forEach((svg, k) => {
    svg.style.width = `${Math.floor(scale * sizes[k][0])}px`;
    svg.style.minWidth = `${Math.floor(Math.min(scale, 0.65) * sizes[k][0])}px`;
  });
}

const COLOURS = { tile: "tile", offset: "offset, first to last", row: "row", column: "column",
  word: "32-bit word", bank: "bank", swizzle: "what the swizzle moves" };

function coloursOf(found, choose) {
  const select = node("select", { id: "colour" });
  for (const name of found.colours)
    select.append(node("option", { value: name, selected: name === found.colour },
      COLOURS[name] || name));
  select.addEventListener("change", () => choose("colour", select.value));
  return node("p", { class: "colours" }, slicesOf(found, choose),
    node("label", { for: "colour" }, "Colour by "), select);
}

// A field for the number of the first slice, if some are left out.
function slicesOf({ slices }, choose) {
  if (!slices || !slices.last) return null;
  const input = node("input", { type: "number", id: "slice", min: 0, max: slices.last,
    value: Math.min(slices.first, slices.last) });
  input.addEventListener("change", () => choose("slice", input.value));
  return node("span", {}, node("label", { for: "slice" }, "From slice "), input,
    ` to ${slices.last} `);
}

// Buttons that save the picture: as it is, and as a page that needs nothing else.
function savingOf(found, drawings) {
  const save = (name, blob) => {
    const link = node("a", { href: URL.createObjectURL(blob), download: `layout.${name}` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  const drawing = () => {
    const sizes = drawings.map(sizeOf), outer = make("svg", {});
    outer.append(make("style", {}, [...pictureStyle.cssRules].map(rule => rule.cssText).join("")));
    let x = 0;
    drawings.forEach((svg, k) => {
      const copy = svg.cloneNode(true);
      for (const ring of copy.querySelectorAll(".ring")) ring.remove();
      copy.removeAttribute("style");
      copy.setAttribute("x", x);
      x += sizes[k][0];
      outer.append(copy);
    });
    outer.setAttribute("width", x);
    outer.setAttribute("height", Math.max(...sizes.map(size => size[1])));
    return new Blob([new XMLSerializer().serializeToString(outer)], { type: "image/svg+xml" });
  };
  const png = async () => {
    const image = new Image(), canvas = document.createElement("canvas");
    image.src = URL.createObjectURL(drawing());
    await image.decode();
    canvas.width = 2 * image.width;
    canvas.height = 2 * image.height;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob(blob => save("png", blob));
  };
  const page = async () => {
    const [css, script] = await Promise.all(["picture.css", "picture.js"]
      .map(async name => (await fetch(name)).text()));
    const data = JSON.stringify(found.panels).replace(/</g, "\\u003c");
    save("html", new Blob([`<!DOCTYPE html>\n<html lang="en"><meta charset="utf-8"><title>Layout`
      + `</title><style>${css}${found.style}</style><body>${found.markup}`
      + `<script type="application/json" id="data">${data}</scr` + `ipt><script>${script}</scr`
      + "ipt></body></html>"], { type: "text/html" }));
  };
  const made = node("p", { class: "saving" }, "Save the picture: ");
  const kinds = { SVG: () => save("svg", drawing()), PNG: png, "interactive page": page };
  for (const [name, act] of Object.entries(kinds)) {
    const button = node("button", { type: "button" }, name);
    button.addEventListener("click", act);
    made.append(button, " ");
  }
  return made;
}

// Two columns of cards; one column on a narrow screen.
function pair(left, right) {
  const stacks = [left, right].map(list => list.filter(part => part !== null))
    .filter(list => list.length);
  return node("div", { class: stacks.length > 1 ? "pair" : "stack" },
    ...stacks.map(list => node("div", { class: "stack" }, ...list)));
}

function memoryOf(answer) {
  const list = [...answer.memory, ...answer.sizes];
  if (!list.length) return null;
  return card("sizes", "Memory and sizes", "Axes: the array's axes in the order of memory, slowest "
    + "first. Recipe: the steps to this order; the result is row-major.", rows(list));
}

function comparisonsOf({ comparisons }) {
  return node("div", { class: "stack", id: "comparisons" }, ...comparisons.map(comparisonOf));
}

// The cards whose parts of the answer come later.
const LATER = { comparisons: comparisonsOf, proofs: proofOf, code: codeOf };

// The whole answer, in the order of the page.
function parts(answer, choose) {
  const words = card("words", "In words", "Each part of the text and its meaning.",
    wordsOf(answer.words, panelOf(answer)));
  const notes = answer.notes.length
    ? card("notes", "Notes", "", ...answer.notes.map(note => node("p", {}, note))) : null;
  const tpu = answer.tpu.length ? card("tpu", "On a TPU", "A vector register has 8 rows, the "
    + "sublanes, of 128 columns, the lanes.", rows(answer.tpu)) : null;
  const facts = !answer.formula ? [] : [formulaOf(answer.formula, panelOf(answer)),
    answer.proofs ? proofOf(answer) : waiting("proofs", "Proof")];
  return [
    answer.picture ? pictureOf(answer, choose, facts) : titleOf(answer),
    arraysOf(answer, choose),
    !answer.compared ? null : answer.comparisons ? comparisonsOf(answer)
      : waiting("comparisons", "Comparison"),
    answer.banks ? banksOf(answer.banks) : null,
    notes,
    answer.picture ? null : facts.length ? pair([facts[0]], facts.slice(1)) : null,
    tpu && pair([tpu], []),
    pair([words], [memoryOf(answer)]),
    answer.code ? codeOf(answer) : answer.formula ? waiting("code", "Code") : null,
  ].filter(part => part !== null);
}
