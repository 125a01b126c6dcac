// Settings, buttons and the table of what was found.

import { EXAMPLES } from "./examples.js";
import { shown } from "./svg.js";

export const [SHORTEST, LONGEST] = [0.2, 20]; // length scales, in units of x
const [LEAST_NOISE, MOST_NOISE] = [0.01, 1];
const NO_NOISE = 1e-5; // below it there is none to be seen

const SECONDS_TOLD = 2; // that the code was copied

// Sliders go from 0 to 100 in logarithms; three digits are enough to read.
const onSlider = (value, low, high) => (100 * Math.log(value / low)) / Math.log(high / low);
const ofSlider = (place, low, high) =>
  Number((low * (high / low) ** (place / 100)).toPrecision(3));

export function createControls(root, { onSetting, onLook, onTask, onExample, onClear }) {
  const form = root.querySelector("form");
  const field = (name) => form.elements[name];
  const output = (name) => root.querySelector(`[data-found="${name}"]`);
  let task = "regression";
  let exactLength = null; // one that no place of the slider has
  let wantsEstimate = true; // of noise that could be given, too

  const length = () => exactLength ?? ofSlider(field("length-scale").value, SHORTEST, LONGEST);
  const noise = () => ofSlider(field("noise-std").value, LEAST_NOISE, MOST_NOISE);
  const isGaussian = () => field("noise").value === "gaussian";

  function refresh() {
    field("length-scale").disabled = field("learn").checked;
    field("estimate").disabled = !isGaussian();
    field("estimate").checked = wantsEstimate || !isGaussian();
    field("noise-std").disabled = field("estimate").checked;
    field("length-shown").value = field("learn").checked ? "" : shown(length());
    field("noise-shown").value = field("noise-std").disabled ? "" : shown(noise());
    root.querySelectorAll("[data-for]").forEach((part) => (part.hidden = part.dataset.for !== task));
    root.querySelectorAll("[data-task]").forEach((button) =>
      button.setAttribute("aria-pressed", String(button.dataset.task === task)),
    );
  }

  function button(text, click) {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.addEventListener("click", click);
    return made;
  }

  function offerExamples() {
    const examples = Object.entries(EXAMPLES[task]);
    root.querySelector(".pg-examples").replaceChildren(
      ...examples.map(([name, example]) => button(name, () => onExample(example))),
      button("clear", onClear),
    );
  }

  root.querySelectorAll("[data-task]").forEach((choice) =>
    choice.addEventListener("click", () => {
      task = choice.dataset.task;
      offerExamples();
      refresh();
      onTask();
    }),
  );
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", ({ target }) => {
    if (target.name === "label") return;
    if (target.name === "truth") return onLook();
    if (target.name === "length-scale") exactLength = null;
    if (target.name === "estimate") wantsEstimate = target.checked;
    refresh();
    // The trace is of all length scales, and the same for all error bars.
    onSetting(!["length-scale", "learn", "uncertainty"].includes(target.name));
  });

  const copy = root.querySelector(".pg-copy");
  copy.addEventListener("click", async () => {
    const code = root.querySelector(".pg-code code");
    try {
      await navigator.clipboard.writeText(code.textContent);
      copy.textContent = "Copied";
    } catch {
      // Browsers keep the clipboard from pages without encryption: the reader copies.
      getSelection().selectAllChildren(code);
      copy.textContent = "Selected";
    }
    setTimeout(() => (copy.textContent = "Copy"), SECONDS_TOLD * 1000);
  });

  function put(name, value, text) {
    output(name).value = value ?? "";
    output(name).textContent = text;
  }

  offerExamples();
  refresh();

  return {
    task: () => task,
    label: () => (task === "classification" ? Number(field("label").value) : null),
    showsTruth: () => field("truth").checked,
    settings: () => ({
      kernel: field("kernel").value,
      length_scale: length(),
      learn: field("learn").checked,
      noise_std: field("estimate").checked ? null : noise(),
      noise: field("noise").value,
      uncertainty: field("uncertainty").value,
    }),
    setLength(value) {
      field("learn").checked = false;
      exactLength = Number(value.toPrecision(3));
      field("length-scale").value = onSlider(value, SHORTEST, LONGEST);
      refresh();
    },
    show(told, lastEvidence) {
      put("points", told.points, String(told.points));
      put("vectors", told.vectors.length, String(told.vectors.length));
      put("log-evidence", told.log_evidence, shown(told.log_evidence.toFixed(2)));
      const change = lastEvidence === null ? 0 : told.log_evidence - lastEvidence;
      const sign = change > 0 ? "+" : "";
      put("change", "", Math.abs(change) < 0.005 ? "" : `(${sign}${shown(change.toFixed(2))})`);
      const isNoise = told.noise_std > NO_NOISE;
      put("noise-std", told.noise_std, isNoise ? told.noise_std.toPrecision(3) : told.noise_std === undefined ? "–" : "0");
      put("milliseconds", told.milliseconds, `${told.milliseconds.toFixed(0)} ms`);
      put("status", told.status, told.status);
      // What was learned is where its slider then begins.
      if (field("learn").checked && told.length_scale) {
        exactLength = Number(told.length_scale.toPrecision(3));
        field("length-scale").value = onSlider(told.length_scale, SHORTEST, LONGEST);
        field("length-shown").value = exactLength;
      }
      if (field("estimate").checked && told.noise_std) {
        field("noise-std").value = onSlider(told.noise_std, LEAST_NOISE, MOST_NOISE);
      }
    },
    showNothing(points) {
      for (const name of ["vectors", "log-evidence", "noise-std", "milliseconds", "status"]) put(name, "", "–");
      put("change", "", "");
      put("points", points, String(points));
    },
  };
}
