// The page: what is asked, and where answers go.

import { createControls, LONGEST, SHORTEST } from "./controls.js";
import { createEngine, readManifest } from "./engine.js";
import { EXAMPLES } from "./examples.js";
import { drawMap } from "./map.js";
import { createPlot } from "./plot.js";
import { createTrace } from "./trace.js";

const FRAMES = {
  regression: { x: [-10, 10], y: [-2, 2] },
  classification: { x: [-5, 5], y: [-5, 5] },
};
const GRID = { regression: 201, classification: 48 }; // values along an axis
const TRIED = 25; // length scales of the trace
const MEGABYTE = 1e6;
const HINT = "Click to add a point, click on one to remove it, drag it to move it.";

const root = document.querySelector("#playground");
const find = (selector) => root.querySelector(selector);

// Each task keeps its points while the other is looked at.
const tasks = Object.fromEntries(
  Object.entries(EXAMPLES).map(([task, examples]) => {
    const [first] = Object.values(examples);
    return [task, { points: first.points(), truth: first.truth, scene: {}, last: null }];
  }),
);
let engine = null;
let generation = 0; // of data and settings that a trace is about
let changes = 0;
let emptied = 0; // the last change that left nothing to fit

const controls = createControls(root, {
  onSetting: (isAboutData) => changed(isAboutData),
  onLook: () => draw(),
  onTask: () => changed(true),
  onExample(example) {
    Object.assign(now(), { points: example.points(), truth: example.truth, last: null, scene: {} });
    changed(true);
  },
  onClear() {
    Object.assign(now(), { points: [], truth: null, last: null, scene: {} });
    changed(true);
  },
});
const now = () => tasks[controls.task()];

const plot = createPlot(find(".pg-plot"), find("canvas"), {
  onAdd(place) {
    const label = controls.label();
    now().points.push(label === null ? place : { ...place, label });
    changed(true);
  },
  onMove(point, place) {
    Object.assign(point, place);
    changed(true);
  },
  onRemove(point) {
    now().points = now().points.filter((other) => other !== point);
    changed(true);
  },
});

const trace = createTrace(find(".pg-trace"), {
  from: SHORTEST,
  to: LONGEST,
  onChoose(length) {
    controls.setLength(length);
    changed(false);
  },
});

function draw() {
  const { points, scene, truth } = now();
  const frame = FRAMES[controls.task()];
  plot.show({ frame, points, scene: { ...scene, truth: controls.showsTruth() ? truth : null } });
  drawMap(find("canvas"), scene, GRID[controls.task()]);
}

function request(what) {
  const task = controls.task();
  const { x, y } = FRAMES[task];
  const points = now().points.map((p) => (task === "regression" ? [p.x, p.y] : [p.x, p.y, p.label]));
  return { what, task, points, x_range: x, y_range: y, grid: GRID[task], ...controls.settings() };
}

const isEnough = ({ task, points }) =>
  task === "regression" ? points.length > 1 : new Set(points.map((p) => p[2])).size > 1;

function changed(isAboutData) {
  if (isAboutData) {
    generation += 1;
    trace.forget();
  }
  const asked = request("fit");
  const change = ++changes;
  if (!isEnough(asked)) {
    emptied = change;
    now().scene = {};
  }
  draw();
  if (!engine) return;
  if (!isEnough(asked)) return askForPoints(asked);
  root.dataset.state = "busy";
  const task = now();
  const points = [...task.points];
  engine.ask(asked, (told) => {
    if (change > emptied && task === now()) show(told, task, points);
  });
}

function askForPoints({ task, points }) {
  engine.forget();
  remark("");
  root.dataset.state = "ready";
  controls.showNothing(points.length);
  find(".pg-code code").textContent = "";
  say(`Click in the picture to add points: ${task === "regression" ? "two at least" : "of two classes at least"}.`);
}

function show(told, task, points) {
  root.dataset.state = engine.isAsked() ? "busy" : told.error ? "refused" : "ready";
  say(HINT);
  remark(told.error ?? told.remarks.join(" "));
  if (told.error) return;
  task.scene = { ...told, vectors: new Set(told.vectors.map((row) => points[row])) };
  controls.show(told, task.last);
  task.last = told.log_evidence;
  trace.mark(told);
  draw();
  find(".pg-code code").textContent = told.code;
  root.dispatchEvent(new CustomEvent("playground:fitted", { detail: told }));
  fillTrace();
}

// Every fourth length scale first: the shape is seen at once, and then its details.
function fillTrace() {
  const lengths = Array.from({ length: TRIED }, (_, i) =>
    Number((SHORTEST * (LONGEST / SHORTEST) ** (i / (TRIED - 1))).toPrecision(3)),
  );
  const order = [0, 2, 1, 3].flatMap((first) => lengths.filter((_, i) => i % 4 === first));
  const asked = request("evidence");
  const about = generation;
  engine.askLater(
    order.filter((length) => !trace.knows(length)).map((length) => ({ ...asked, length_scale: length })),
    (told) => about === generation && !told.error && trace.add(told),
  );
}

function say(text, isFailure = false) {
  find(".pg-message").textContent = text;
  if (isFailure) root.dataset.state = "failed";
}

function remark(text) {
  find(".pg-remark").textContent = text;
  find(".pg-remark").hidden = !text;
}

function showProgress({ what, loaded, total }) {
  const bar = find("progress");
  bar.hidden = false;
  if (what === "import") {
    bar.removeAttribute("value");
    say("Importing numpy, scipy, scikit-learn and relvec: a few seconds.");
  } else {
    bar.value = loaded / total;
    say(`Loading ${what}: ${(loaded / MEGABYTE).toFixed(1)} of ${(total / MEGABYTE).toFixed(1)} MB.`);
  }
}

function failed(why) {
  find("progress").hidden = true;
  say(`Python did not start: ${why}`, true);
}

function start(manifest) {
  find(".pg-start").hidden = true;
  say("Loading Python.");
  const begun = performance.now();
  engine = createEngine(manifest, {
    onProgress: showProgress,
    onFailure: failed,
    onReady() {
      find("progress").hidden = true;
      root.dataset.startSeconds = ((performance.now() - begun) / 1000).toFixed(1);
      changed(true);
    },
  });
}

async function prepare() {
  try {
    const manifest = await readManifest();
    // Readers who save data are asked first.
    if (!navigator.connection?.saveData) return start(manifest);
    const size = Object.values(manifest.bytes).reduce((a, b) => a + b, 0) / MEGABYTE;
    say(`Python for this page is ${size.toFixed(0)} MB to load.`);
    find(".pg-start").hidden = false;
    find(".pg-start").addEventListener("click", () => start(manifest), { once: true });
  } catch (error) {
    say(error.message, true);
  }
}

new MutationObserver(draw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
draw();
prepare();
