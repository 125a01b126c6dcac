// Python beside the page: loads the runtime, then answers one request at a time.

const RUNTIME = new URL("runtime/", import.meta.url).href;
const PACKAGES = ["relvec"]; // the lock file has what it needs

const tell = (kind, message) => self.postMessage({ kind, ...message });

// Everything is fetched by fetch, so counting there is the whole progress. Files are
// asked for again each time, which costs little if they have not changed: parts of two
// versions never meet.
function countBytes(manifest) {
  const total = Object.values(manifest.bytes).reduce((sum, size) => sum + size, 0);
  const plainFetch = self.fetch.bind(self);
  let loaded = 0;
  const count = (name) =>
    new TransformStream({
      transform(chunk, controller) {
        loaded += chunk.byteLength;
        tell("progress", { what: name.split("-")[0], loaded: Math.min(loaded, total), total });
        controller.enqueue(chunk);
      },
    });
  self.fetch = async (address, options) => {
    const response = await plainFetch(address, { ...options, cache: "no-cache" });
    const name = String(address.url ?? address).split("/").pop();
    if (!(name in manifest.bytes) || !response.ok || !response.body) return response;
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(count(name)), { status, statusText, headers });
  };
}

async function start(manifest) {
  countBytes(manifest);
  const { loadPyodide } = await import(`${RUNTIME}pyodide.mjs`);
  const python = await loadPyodide({ indexURL: RUNTIME, packageBaseUrl: RUNTIME, packages: PACKAGES });
  tell("progress", { what: "import" });
  const script = await fetch(new URL("playground.py", import.meta.url));
  python.FS.writeFile("playground.py", await script.text());
  const playground = python.pyimport("playground");
  playground.warm_up();
  return playground.answer;
}

let answer;

self.onmessage = async ({ data }) => {
  try {
    if (data.manifest) {
      answer = await start(data.manifest);
      tell("ready");
    } else {
      tell("answer", { told: JSON.parse(answer(JSON.stringify(data.request))) });
    }
  } catch (error) {
    if (data.manifest) tell("failed", { why: last(error) });
    else tell("answer", { told: { error: last(error) } });
  }
};

// The last line of a traceback says what happened.
const last = (error) => String(error.message ?? error).trim().split("\n").pop();
