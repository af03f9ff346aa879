// Python in a worker: it answers by the function that the local server calls.
import { loadPyodide } from "./pyodide/pyodide.mjs";

async function start() {
  const packages = fetch("packages.zip").then(response => response.arrayBuffer());
  const python = await loadPyodide();
  python.FS.writeFile("/packages.zip", new Uint8Array(await packages));
  return python.runPython(`
import json, sys
sys.path.insert(0, "/packages.zip")
from morello_layouts.explorer.engine import answered
lambda question: answered(json.loads(question))
`);
}

const started = start();
let newest = 0;

onmessage = async ({ data: { id, question } }) => {
  newest = id;
  try {
    const answered = await started;
    if (id !== newest) return;
    const parts = answered(JSON.stringify(question));
    postMessage({ id, isStarted: true });
    for (const text of parts) {
      postMessage({ id, text });
      await new Promise(resolve => setTimeout(resolve)); // a newer question may have come
      if (id !== newest) break;
    }
    parts.destroy();
    postMessage({ id, end: true });
  } catch (error) {
    postMessage({ id, failed: String(error).slice(-300) });
  }
};
