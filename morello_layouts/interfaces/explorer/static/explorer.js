"use strict";
// The fields' texts go to the engine, its answer goes to the page, and the address keeps the texts.
const NAMES = ["layout", "shape", "other", "access", "assuming", "at"];
const CHOSEN = ["array", "colour", "slice"];
const START = { layout: "f32[3,5]{1,0:T(2,2)}" };
const place = id => document.getElementById(id);
const shownAnswer = place("answer"), status = place("status");
const LONGEST = 4000, MOST = 7; // characters of a field, layouts to compare, as in limits.py
let chosen = {}; // what no field holds, by the names in CHOSEN
let presets = [];
let asking = null; // aborts the question under way
let timer = null;
let isTyping = false; // changes of one field in a row are one entry of the history
let isNewEntry = false; // the change that waits for the timer begins an entry
let shownText = ""; // the answer on the page, as received
let answered = 0; // parts of answers so far

const others = () => [...document.querySelectorAll("input.other")];

function typed() {
  const question = {};
  for (const name of NAMES) if (place(name).value) question[name] = place(name).value;
  question.other = others().map(input => input.value).filter(text => text.trim()).join("\n");
  if (!question.other) delete question.other;
  return { ...question, ...chosen };
}

function fill(question) {
  for (const name of NAMES) place(name).value = question[name] || "";
  const texts = (question.other || "").split("\n");
  others().slice(1).forEach(input => input.remove());
  texts.slice(1, MOST).forEach(compareOneMore);
  others().forEach((input, k) => { input.value = texts[k]; });
  chosen = {};
  for (const name of CHOSEN) if (question[name]) chosen[name] = question[name];
}

function compareOneMore() {
  const input = place("other").cloneNode();
  input.removeAttribute("id");
  input.value = "";
  input.setAttribute("aria-label", `Compare with, number ${others().length + 1}`);
  place("add").before(input);
  return input;
}

const addressOf = question => {
  const text = new URLSearchParams(question).toString();
  return text ? `#${text}` : location.pathname;
};

function fromAddress() {
  const found = {};
  for (const [name, value] of new URLSearchParams(location.hash.slice(1)))
    if (NAMES.includes(name) || CHOSEN.includes(name)) found[name] = value;
  return found;
}

// Keep the question in the address.
function remember(isNew) {
  const question = typed();
  if (Object.values(question).some(text => text.length > LONGEST)) return;
  const address = addressOf(question);
  if (address === location.hash) return;
  try {
    history[isNew ? "pushState" : "replaceState"](null, "", address);
  } catch {
    // Browsers limit how often the address changes; the next change brings it up to date.
  }
}

// On a narrow screen the picture is narrower.
const forHere = question => innerWidth < 700 ? { ...question, width: "520" } : question;

async function ask() {
  clearTimeout(timer);
  if (asking) asking.abort();
  const own = asking = new AbortController(), question = typed(), began = performance.now();
  document.title = question.layout ? `${question.layout.slice(0, 60)} · Layout explorer`
    : "Layout explorer";
  const long = Object.keys(question).find(name => question[name].length > LONGEST);
  if (long) {
    const errors = [{ field: long, what: "the text is too long: "
      + `${question[long].length.toLocaleString("en")} characters`,
      why: `a field holds at most ${LONGEST.toLocaleString("en")}`,
      fix: "ask about one array at a time" }];
    tell(errors);
    show({ errors }, "");
    shownText = "";
    return;
  }
  if (!(question.layout || "").trim()) {
    tell([]);
    show({ errors: [] }, "");
    status.textContent = "Type a layout, or choose an example.";
    return;
  }
  shownAnswer.setAttribute("aria-busy", "true");
  if (!answered && ENGINE.loading) status.textContent = ENGINE.loading;
  try {
    let answer = {};
    for await (const text of answersTo(forHere(question), own.signal)) {
      if (own !== asking) return;
      const part = JSON.parse(text), isFirst = !Object.keys(answer).length;
      answer = { ...answer, ...part };
      tell(answer.errors || [], answer);
      if (isFirst) show(answer, text);
      else complete(part, answer);
      if (answer.trouble) troubled(answer.trouble);
      else if (isFirst && answer.source !== undefined) {
        const time = Math.max(1, Math.round(performance.now() - began));
        status.textContent = `Answered in ${time} ms.`;
      }
      answered += 1;
    }
  } catch (error) {
    if (own.signal.aborted) return;
    shownAnswer.classList.add("stale");
    status.textContent = error instanceof TypeError ? ENGINE.gone
      : `The server refused: ${error.message}`;
  } finally {
    if (own === asking) {
      shownAnswer.removeAttribute("aria-busy");
      shownAnswer.dataset.answered = Number(shownAnswer.dataset.answered || 0) + 1;
    }
  }
}

// Say why there is no answer, or only a part of one, and offer to ask again.
function troubled({ what, why, fix }) {
  const again = node("button", { type: "button", id: "again" }, "Ask again");
  again.addEventListener("click", ask);
  status.replaceChildren(`No ${shownText ? "complete " : ""}answer: ${what}; ${why}: ${fix}. `, again);
}

function show(answer, text) {
  const isWrong = answer.source === undefined
    && (answer.trouble !== undefined || answer.errors.length > 0);
  shownAnswer.classList.toggle("stale", isWrong);
  if (isWrong) {
    status.textContent = shownAnswer.childElementCount
      ? "Not readable yet: the picture shows the last answer."
      : "Correct the marked field.";
    return;
  }
  if (text === shownText) return;
  shownText = text;
  if (answer.source === undefined) {
    shownAnswer.replaceChildren();
    return;
  }
  const focused = document.activeElement;
  const kept = focused && shownAnswer.contains(focused) && focused.id;
  shownAnswer.replaceChildren(...parts(answer, choose));
  if (answer.picture && answer.picture.panels)
    interactive(place("picture-card"), answer.picture.panels);
  slide(answer);
  if (kept && place(kept)) place(kept).focus();
  paint();
}

// The sizes that sliders change: those of the picture's symbols, of the field, or in the text.
function sizesTyped(answer) {
  const at = Object.entries((answer.picture || {}).at || {});
  if (at.length) return { symbols: at.map(([name, n]) => ({ name, n })) };
  const field = place("shape").value && !(answer.unused || {}).shape ? "shape" : "layout";
  const sizes = field === "shape" ? /^[\dx*,() ]+$/ : /^\s*(?:[a-z]\w*\[|(?:memref|tensor|vector)<)[\dx,]+/;
  const [text] = place(field).value.match(sizes) || [""], panels = (answer.picture || {}).panels;
  const prefix = field === "shape" ? 0 : text.search(/[[<]/) + 1;
  const found = [...text.slice(prefix).matchAll(/\d+/g)];
  const names = panels ? panels[0].names : [];
  if (found.length !== names.length || answer.arrays.length > 1) return { symbols: [] };
  return { field, symbols: found.map((match, k) => ({ name: names[k], n: Number(match[0]),
    start: prefix + match.index, end: prefix + match.index + match[0].length })) };
}

// Show a slider for each size; those that stay are not made anew, since one may be in hand.
function slide(answer) {
  const box = place("sliders"), { field, symbols } = sizesTyped(answer);
  const names = symbols.map(one => one.name).join();
  if (box.dataset.names !== names) {
    box.dataset.names = names;
    box.replaceChildren(...symbols.slice(0, 4).map(({ name }, k) => {
      const input = node("input", { type: "range", min: 1, id: `size-${k}` });
      input.addEventListener("input", () => resize(k, input.value));
      return node("label", {}, name, input, node("output", { for: `size-${k}` }));
    }));
  }
  box.sizes = { field, symbols };
  [...box.children].forEach((label, k) => {
    const [input, output] = label.querySelectorAll("input,output"), { n } = symbols[k];
    if (input !== document.activeElement) {
      input.max = Math.max(16, 2 ** Math.ceil(Math.log2(2 * n)));
      input.value = n;
    }
    output.value = n;
  });
}

function resize(k, n) {
  const { field, symbols } = place("sliders").sizes, input = place(field || "at");
  symbols[k].n = Number(n);
  if (!field) input.value = symbols.map(one => `${one.name}=${one.n}`).join(", ");
  else {
    const { start, end } = symbols[k], by = String(n).length - (end - start);
    input.value = input.value.slice(0, start) + n + input.value.slice(end);
    symbols[k].end += by;
    for (const later of symbols.slice(k + 1)) { later.start += by; later.end += by; }
  }
  place("sliders").children[k].querySelector("output").value = n;
  input.dispatchEvent(new Event("input", { bubbles: true }));
}

// Put parts that come later in the places that wait for them.
function complete(part, answer) {
  for (const [name, make] of Object.entries(LATER))
    if (part[name] && place(name)) place(name).replaceWith(make(answer));
  if (part.comparisons && place("verdicts")) place("verdicts").replaceWith(verdictsOf(answer, choose));
}

// Show each error under its field, and hide the fields that have no use.
function tell(errors, answer = {}) {
  const isSymbolic = Boolean(answer.formula && answer.formula.symbols.length);
  for (const name of NAMES) {
    const input = place(name), box = place(`${name}-error`);
    // An error in a field that the page does not show, such as the array, appears at the layout.
    const error = errors.find(each => each.field === name)
      || (name === "layout" && errors.find(each => !NAMES.includes(each.field)));
    input.setAttribute("aria-invalid", String(Boolean(error)));
    box.replaceChildren(...(error ? errorParts(error) : []));
    const unused = (answer.unused || {})[name];
    if (!error && unused) box.replaceChildren(node("p", {}, `Not used: ${unused}.`));
    box.classList.toggle("note", !error);
    box.hidden = !box.childElementCount;
  }
  for (const name of ["assuming", "at"])
    document.querySelector(`[data-field="${name}"]`).hidden =
      !isSymbolic && !place(name).value && !errors.some(each => each.field === name);
  place("question").classList.toggle("symbolic",
    !document.querySelector('[data-field="assuming"]').hidden);
  const compared = answer.comparisons || [], count = others().length;
  place("swap").hidden = compared.length !== 1 || compared[0].is_formula;
  place("add").hidden = !others()[count - 1].value.trim() || count >= MOST;
}

function errorParts(error) {
  return [
    // Without its indent, so that the text is aligned with the field's own.
    error.pointer ? node("pre", { class: "pointer" }, error.pointer.replace(/^ {2}/gm, "")) : null,
    node("p", { class: "what" }, error.what),
    error.why ? node("p", {}, error.why) : null,
    error.fix ? node("p", {}, error.fix) : null,
  ].filter(part => part !== null);
}

function go(question, isNew = true) {
  clearTimeout(timer);
  fill(question);
  isTyping = false;
  remember(isNew);
  ask();
}

// Choose the array of a tuple, what a colour stands for, or the first slice.
function choose(name, value) {
  go({ ...typed(), [name]: String(value) });
}

place("question").addEventListener("submit", event => event.preventDefault());
place("question").addEventListener("input", event => {
  if (event.target.id === "preset") return;
  if (event.target.id === "layout") chosen = chosen.colour ? { colour: chosen.colour } : {};
  place("preset").value = "";
  isNewEntry ||= !isTyping;
  isTyping = true;
  clearTimeout(timer);
  // The address waits as well: browsers complain of one that changes with every key.
  timer = setTimeout(() => {
    remember(isNewEntry);
    isNewEntry = false;
    ask();
  }, 60);
});
place("question").addEventListener("change", () => { isTyping = false; });

place("preset").addEventListener("change", event => {
  const preset = presets[Number(event.target.value)];
  if (event.target.value !== "" && preset) go(preset.question);
});

place("swap").addEventListener("click", () => {
  const question = typed();
  go({ ...question, layout: question.other || "", other: question.layout || "", array: "" });
});

place("add").addEventListener("click", () => {
  compareOneMore().focus();
  place("add").hidden = true;
});

place("copy-link").addEventListener("click", event => copied(event.target, location.href));

addEventListener("popstate", () => {
  clearTimeout(timer);
  isTyping = false;
  fill(fromAddress());
  place("preset").value = "";
  ask();
});

// Colours by the system's theme, or always light or dark: of the page and of its pictures.
const THEMES = { system: "(prefers-color-scheme: dark)", light: "not all", dark: "all" };
let theme = "system";

function paint() {
  document.documentElement.style.colorScheme = theme === "system" ? "" : theme;
  for (const sheet of [...document.styleSheets, ...document.adoptedStyleSheets])
    for (const rule of sheet.cssRules)
      if (rule.media && /prefers-color-scheme|^(not )?all$/.test(rule.media.mediaText))
        rule.media.mediaText = THEMES[theme];
  place("theme").textContent = `Theme: ${theme}`;
}

place("theme").addEventListener("click", () => {
  const names = Object.keys(THEMES);
  theme = names[(names.indexOf(theme) + 1) % names.length];
  paint();
});

async function start() {
  const given = fromAddress();
  go(Object.keys(given).length ? given : START, false);
  presets = await (await fetch("presets.json")).json();
  const groups = new Map();
  presets.forEach((preset, k) => {
    if (!groups.has(preset.group))
      groups.set(preset.group, node("optgroup", { label: preset.group }));
    groups.get(preset.group).append(node("option", { value: k }, preset.name));
  });
  place("preset").append(...groups.values());
}

start();
