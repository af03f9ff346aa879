"use strict";
// A notebook's page: its cells run in the engine that answers the explorer, one after the other.
const cells = [...document.querySelectorAll("main > .cell")], state = document.querySelector("#state");
const ran = new Map(); // a cell that has run, and its text then
let running = Promise.resolve();

// Show one output: text as it is, what Python made for pages as a page.
function shown([kind, text]) {
  const isPage = kind === "svg" || kind === "html", box = document.createElement(isPage ? "div" : "pre");
  if (isPage) box.innerHTML = text;
  else box.textContent = text;
  box.className = kind;
  return box;
}

async function run(cell) {
  const code = cell.querySelector("textarea").value, output = cell.querySelector("output");
  state.textContent = ran.size ? "Running …" : ENGINE.loading;
  const files = document.body.dataset.files.split(" ").filter(Boolean);
  try {
    let parts = [];
    for await (const text of answersTo({ cell: code, files }, new AbortController().signal)) {
      const { outputs, trouble } = JSON.parse(text);
      parts = parts.concat(outputs || [["error", `${trouble.what}: ${trouble.why}`]]);
      if (trouble) ran.clear(); // the worker is a new one
    }
    output.replaceChildren(...parts.map(shown));
    ran.set(cell, code);
  } catch (error) {
    output.replaceChildren(shown(["error", `${ENGINE.gone} ${error.message}`]));
  }
  state.textContent = "";
}

// Run a cell, after those above it that have not run as they are now.
function upTo(last) {
  running = running.then(async () => {
    for (const cell of cells.slice(0, cells.indexOf(last) + 1)) {
      const isNew = ran.get(cell) !== cell.querySelector("textarea").value;
      if (isNew || cell === last) await run(cell);
    }
  });
}

for (const cell of cells) {
  cell.querySelector("button").onclick = () => upTo(cell);
  const text = cell.querySelector("textarea");
  text.onkeydown = event => {
    if (event.key !== "Enter" || !event.shiftKey) return;
    event.preventDefault();
    upTo(cell);
    cells[cells.indexOf(cell) + 1]?.querySelector("textarea").focus();
  };
  text.oninput = () => { text.rows = text.value.split("\n").length; };
}
