// Write the memory of a Python that has answered some questions, so that a page need not load
// and import: node snapshot.mjs PYODIDE PACKAGES TARGET < questions as JSON.
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

const [pyodide, packages, target] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(resolve(pyodide, "pyodide.mjs")));
const python = await loadPyodide({ indexURL: `${resolve(pyodide)}/`, _makeSnapshot: true });
python.FS.writeFile("/packages.zip", readFileSync(packages));
python.runPython(`
import gc, json, sys
sys.path.insert(0, "/packages.zip")
from morello_layouts.interfaces.explorer.engine import answered
for question in json.loads(${JSON.stringify(readFileSync(0, "utf8"))}):
    assert "trouble" not in "".join(answered(question)), question
gc.collect()
`);
writeFileSync(target, gzipSync(python.makeMemorySnapshot(), { level: 9 }));
