"use strict";
// The fields' texts go to the server, its answer goes to the page, and the address keeps the texts.
const NAMES = ["layout", "shape", "other", "access", "assuming", "at"];
const START = { layout: "f32[3,5]{1,0:T(2,2)}" };
const place = id => document.getElementById(id);
const shownAnswer = place("answer"), status = place("status");
const LONGEST = 4000; // characters of a field, as in limits.py
let array = ""; // the position of the array in a tuple
let presets = [];
let asking = null; // aborts the question under way
let timer = null;
let isTyping = false; // changes of one field in a row are one entry of the history
let isNewEntry = false; // the change that waits for the timer begins an entry
let shownText = ""; // the answer on the page, as received
let answered = 0; // parts of answers so far

function typed() {
  const question = {};
  for (const name of NAMES) if (place(name).value) question[name] = place(name).value;
  if (array) question.array = array;
  return question;
}

function fill(question) {
  for (const name of NAMES) place(name).value = question[name] || "";
  array = question.array || "";
}

const addressOf = question => {
  const text = new URLSearchParams(question).toString();
  return text ? `#${text}` : location.pathname;
};

function fromAddress() {
  const found = {};
  for (const [name, value] of new URLSearchParams(location.hash.slice(1)))
    if (NAMES.includes(name) || name === "array") found[name] = value;
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
    for await (const text of answersTo(question, own.signal)) {
      if (own !== asking) return;
      const part = JSON.parse(text), isFirst = !Object.keys(answer).length;
      answer = { ...answer, ...part };
      tell(answer.errors || [], answer);
      if (isFirst) show(answer, text);
      else complete(part);
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
      ? "Not a layout yet: the picture shows the last one."
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
  shownAnswer.replaceChildren(...parts(answer, chooseArray));
  if (answer.picture && answer.picture.panels)
    interactive(place("picture-card"), answer.picture.panels);
  if (kept && place(kept)) place(kept).focus();
}

// Put parts that come later in the places that wait for them.
function complete(part) {
  for (const [name, make] of Object.entries(LATER))
    if (part[name] && place(name)) place(name).replaceWith(make(part));
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
  place("swap").hidden = !place("other").value.trim()
    || Boolean(answer.comparison && answer.comparison.is_formula);
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

function chooseArray(k) {
  go({ ...typed(), array: String(k) });
}

place("question").addEventListener("submit", event => event.preventDefault());
place("question").addEventListener("input", event => {
  if (event.target.id === "preset") return;
  if (event.target.id === "layout") array = "";
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

place("copy-link").addEventListener("click", event => copied(event.target, location.href));

addEventListener("popstate", () => {
  clearTimeout(timer);
  isTyping = false;
  fill(fromAddress());
  place("preset").value = "";
  ask();
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
