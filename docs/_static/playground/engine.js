// The conversation with the worker. It does one thing at a time; of what is asked
// meanwhile only the latest is kept, and what can wait is done when nothing else is.

const ASSETS = new URL(".", import.meta.url);

export const HOW_TO_GET_IT =
  "The Python of this page is not here: it is put beside the documentation by " +
  "“make playground”, after “make docs”, in a copy of the source.";

export async function readManifest() {
  if (typeof WebAssembly !== "object") {
    throw new Error("This browser has no WebAssembly, in which Python runs here: take a newer one, or allow it in its settings.");
  }
  const response = await fetch(new URL("runtime/manifest.json", ASSETS), { cache: "no-cache" });
  if (!response.ok) throw new Error(HOW_TO_GET_IT);
  return response.json();
}

export function createEngine(manifest, { onProgress, onReady, onFailure }) {
  const worker = new Worker(new URL("worker.js", ASSETS), { type: "module" });
  let ready = false;
  let current = null;
  let latest = null;
  let later = [];

  function next() {
    if (!ready || current) return;
    current = latest ?? later.shift() ?? null;
    if (current === latest) latest = null;
    if (current) worker.postMessage({ request: current.request });
  }

  const heard = {
    progress: onProgress,
    ready() {
      ready = true;
      onReady();
    },
    failed: ({ why }) => onFailure(why),
    answer({ told }) {
      const done = current;
      current = null;
      // Whoever has asked may ask for more, which comes first.
      done.use(told);
    },
  };
  worker.onmessage = ({ data }) => {
    heard[data.kind](data);
    next();
  };
  worker.onerror = (event) => onFailure(event.message || "its worker did not start");
  worker.postMessage({ manifest });

  return {
    isAsked: () => latest !== null,
    ask(request, use) {
      latest = { request, use };
      later = [];
      next();
    },
    forget() {
      latest = null;
      later = [];
    },
    askLater(requests, use) {
      later = requests.map((request) => ({ request, use }));
      next();
    },
  };
}
