// What both pictures share: elements, scales, ticks.

const NAMESPACE = "http://www.w3.org/2000/svg";

export function add(parent, name, attributes = {}, text = "") {
  const element = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text) element.textContent = text;
  parent.append(element);
  return element;
}

export const scale = ([from, to], [start, end]) => {
  const there = (value) => start + ((value - from) / (to - from)) * (end - start);
  there.back = (place) => from + ((place - start) / (end - start)) * (to - from);
  return there;
};

// A path through points; a number that is none leaves a gap.
export function path(xs, ys) {
  let drawing = false;
  return xs
    .map((x, i) => {
      const here = Number.isFinite(ys[i]);
      const command = here ? `${drawing ? "L" : "M"}${x.toFixed(2)} ${ys[i].toFixed(2)}` : "";
      drawing = here;
      return command;
    })
    .join("");
}

// Round numbers within the range, about as many as asked for.
export function ticks([from, to], about) {
  const rough = (to - from) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const found = [];
  for (let k = Math.ceil(from / step); k * step <= to + 1e-9 * step; k++) {
    found.push(Number((k * step).toPrecision(6)));
  }
  return found;
}

export const shown = (number) => String(number).replace("-", "−");
