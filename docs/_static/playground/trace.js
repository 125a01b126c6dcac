// Log evidence against length scale: filled in while nothing else is to be done.

import { add, path, scale, shown, ticks } from "./svg.js";

const MARGIN = { left: 46, right: 10, top: 10, bottom: 34 };

export function createTrace(svg, { onChoose, from, to }) {
  let found = new Map();
  let here = null;
  const logs = [Math.log10(from), Math.log10(to)];
  let toX = (x) => x;

  function draw() {
    const { width, height } = svg.getBoundingClientRect();
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.replaceChildren();
    toX = scale(logs, [MARGIN.left, width - MARGIN.right]);
    const bottom = height - MARGIN.bottom;
    const axes = add(svg, "g", { class: "pg-axes" });
    for (const tick of [0.1, 0.2, 0.5, 1, 2, 5, 10, 20].filter((t) => t >= from && t <= to)) {
      const x = toX(Math.log10(tick));
      add(axes, "line", { x1: x, x2: x, y1: MARGIN.top, y2: bottom });
      add(axes, "text", { x, y: bottom + 14, "text-anchor": "middle" }, shown(tick));
    }
    add(axes, "text", { x: (MARGIN.left + width) / 2, y: height - 4, "text-anchor": "middle" }, "length scale");
    const all = [...found, ...(here ? [[here.length_scale, here.log_evidence]] : [])];
    const levels = all.map(([, evidence]) => evidence).filter(Number.isFinite);
    if (levels.length) drawLevels(axes, levels, bottom, width);
  }

  function drawLevels(axes, levels, bottom, width) {
    const [low, high] = [Math.min(...levels), Math.max(...levels)];
    const room = Math.max(1, 0.06 * (high - low));
    const range = [low - room, high + room];
    const toY = scale(range, [bottom, MARGIN.top]);
    for (const tick of ticks(range, 4)) {
      add(axes, "line", { x1: MARGIN.left, x2: width - MARGIN.right, y1: toY(tick), y2: toY(tick) });
      add(axes, "text", { x: MARGIN.left - 5, y: toY(tick) + 4, "text-anchor": "end" }, shown(tick));
    }
    const known = [...found].sort(([a], [b]) => a - b);
    const xs = known.map(([length]) => toX(Math.log10(length)));
    const ys = known.map(([, evidence]) => toY(evidence));
    add(svg, "path", { class: "pg-mean", d: path(xs, ys) });
    xs.forEach((cx, i) => add(svg, "circle", { class: "pg-tried", r: 2, cx, cy: ys[i] }));
    if (here?.length_scale) {
      const x = Math.min(toX(logs[1]), Math.max(toX(logs[0]), toX(Math.log10(here.length_scale))));
      add(svg, "line", { class: "pg-here", x1: x, x2: x, y1: MARGIN.top, y2: bottom });
      add(svg, "circle", { class: "pg-here-dot", r: 5, cx: x, cy: toY(here.log_evidence) });
    }
  }

  svg.addEventListener("click", (event) => {
    const place = toX.back(event.clientX - svg.getBoundingClientRect().left);
    onChoose(10 ** Math.min(logs[1], Math.max(logs[0], place)));
  });
  new ResizeObserver(draw).observe(svg);

  return {
    // Of other data or another kernel nothing is known yet.
    forget() {
      found = new Map();
      here = null;
      draw();
    },
    knows: (length) => found.has(length),
    add({ length_scale, log_evidence }) {
      found.set(length_scale, log_evidence);
      draw();
    },
    mark(result) {
      here = result;
      draw();
    },
  };
}
