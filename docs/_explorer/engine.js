"use strict";
// The engine that answers where there is no server: Python in a worker of the browser.
const ENGINE = { loading: "Python is loading into this page (once, about 40 MB) …",
  gone: "Python could not be loaded." };
const PATIENCE = 60000; // milliseconds for a part of an answer, after Python has loaded
let worker = null, asked = 0, isKept = false;

// Keep the page's files for the time without a network, after what a reader waits for.
function keepFiles() {
  if (isKept || !navigator.serviceWorker) return;
  isKept = true;
  navigator.serviceWorker.register("offline.js").catch(console.warn);
}

// Yield the answer to a question as JSON, in parts.
async function* answersTo(question, signal) {
  worker ||= new Worker("worker.js", { type: "module" });
  const id = ++asked, received = [];
  let wake = null, timer = null;
  const hear = message => { received.push(message); if (wake) wake(); };
  const listen = ({ data }) => { if (data.id === id || data.failed) hear(data); };
  const abort = () => hear({ end: true });
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(() => hear({ isLate: true }), PATIENCE);
  };
  worker.addEventListener("message", listen);
  signal.addEventListener("abort", abort);
  worker.postMessage({ id, question });
  try {
    for (;;) {
      if (!received.length) await new Promise(resolve => { wake = resolve; });
      const { text, end, failed, isLate } = received.shift();
      if (failed) { worker = null; throw new TypeError(failed); }
      if (isLate) {
        worker.terminate();
        worker = null;
        yield JSON.stringify({ trouble: { what: "the answer takes too long",
          why: `it was ended after ${PATIENCE / 1000} seconds`,
          fix: "ask about something smaller, or on a desktop, which is faster" } });
        return;
      }
      if (end) { keepFiles(); return; }
      wait();
      if (text) yield text;
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
    if (worker) worker.removeEventListener("message", listen);
  }
}
