// node bytecode.mjs RUNTIME SOURCE TARGET WHEEL...
//
// Compiles the Python files of wheels by the Python that is to run them, Pyodide's, which
// Node runs as browsers do. Most of the time of an import there is that of compiling.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [runtime, source, target, ...wheels] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(resolve(runtime, "pyodide.mjs")));
const python = await loadPyodide({ indexURL: resolve(runtime) });
python.mountNodeFS("/source", resolve(source));
python.mountNodeFS("/target", resolve(target));
python.runPython(readFileSync(new URL("bytecode.py", import.meta.url), "utf8"));
const compile = python.globals.get("compiled");
for (const wheel of wheels) compile(`/source/${wheel}`, `/target/${wheel}`);
