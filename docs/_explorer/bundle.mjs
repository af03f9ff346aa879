// Write archives of compiled modules, by the Python that will load them, which spares a page to
// compile them: node bundle.mjs PYODIDE TARGET SOURCE... [-- TARGET SOURCE...], where a source is
// a folder or an archive.
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [pyodide, ...rest] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(resolve(pyodide, "pyodide.mjs")));
const python = await loadPyodide({ indexURL: `${resolve(pyodide)}/` });
python.runPython(readFileSync(new URL("bundle.py", import.meta.url), "utf8"));
let count = 0;

// The path of a source for Python.
function mounted(source) {
  const place = `/source${count++}`, isFolder = statSync(source).isDirectory();
  const inside = isFolder ? `${place}/${basename(source)}` : place;
  python.FS.mkdirTree(inside);
  const root = isFolder ? source : dirname(source);
  python.FS.mount(python.FS.filesystems.NODEFS, { root: resolve(root) }, inside);
  return isFolder ? place : `${place}/${basename(source)}`;
}

for (const job of rest.join("\0").split("\0--\0")) {
  const [target, ...sources] = job.split("\0");
  const bytes = python.globals.get("bundled")(python.toPy(sources.map(mounted)));
  writeFileSync(target, bytes.toJs());
}
