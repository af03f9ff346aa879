// Python in a worker: it answers by the function that the local server calls. Its memory is there
// as it was after some answers, so nothing is imported and compiled anew.
import createModule from "./pyodide/pyodide.asm.mjs";
import { loadPyodide } from "./pyodide/pyodide.mjs";

const PAGE = 65536; // bytes of WebAssembly's pages

async function bytes(name, through) {
  const { ok, body, statusText } = await fetch(name);
  if (!ok) throw new Error(`${name}: ${statusText}`);
  return new Uint8Array(await new Response(through ? body.pipeThrough(through) : body).arrayBuffer());
}

async function start() {
  const packages = bytes("packages.zip");
  const memory = await bytes("memory.bin", new DecompressionStream("gzip"));
  const createPyodideModule = settings => {
    const { instantiateWasm } = settings;
    settings.instantiateWasm = (info, receive) => instantiateWasm(info, (instance, module) => {
      const own = instance.exports.memory; // too small for the one to come
      own.grow(Math.max(0, Math.floor((memory.length - own.buffer.byteLength) / PAGE)));
      return receive(instance, module);
    });
    return createModule(settings);
  };
  const python = await loadPyodide({ createPyodideModule, _loadSnapshot: memory });
  python.FS.writeFile("/packages.zip", await packages); // for what is imported later
  // The library has the same modules compiled, at other places than where the memory saw them.
  python.runPython(`
import sys, zipimport
zipimport._zip_directory_cache.clear()
sys.path_importer_cache.clear()
`);
  return { python, answered: python.runPython("lambda question: answered(json.loads(question))") };
}

let ran = null; // what runs the cells of a notebook

async function parts(question) {
  const { python, answered } = await started;
  if (question.cell === undefined) return answered(JSON.stringify(question));
  if (!ran) {
    for (const name of question.files) python.FS.writeFile(name, await bytes(name));
    ran = python.runPython(`${new TextDecoder().decode(await bytes("cells.py"))}\nran`);
  }
  return ran(question.cell);
}

const started = start();
let newest = 0;

onmessage = async ({ data: { id, question } }) => {
  newest = id;
  try {
    const answer = await parts(question);
    if (id !== newest) return;
    postMessage({ id, isStarted: true });
    for (const text of answer) {
      postMessage({ id, text });
      await new Promise(resolve => setTimeout(resolve)); // a newer question may have come
      if (id !== newest) break;
    }
    answer.destroy();
    postMessage({ id, end: true });
  } catch (error) {
    postMessage({ id, failed: String(error).slice(-300) });
  }
};
