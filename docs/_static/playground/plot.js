// The picture of data and model, and what pointer and keyboard do in it.

import { add, path, scale, shown, ticks } from "./svg.js";

const MARGIN = { left: 38, right: 10, top: 10, bottom: 26 };
const REACH = 12; // pixels from a point within which it is meant
const TOUCH_REACH = 20; // a finger is less exact
const STILL = 4; // pixels that a click may move

export function createPlot(svg, canvas, { onAdd, onMove, onRemove }) {
  let frame = { x: [-1, 1], y: [-1, 1] };
  let points = [];
  let scene = {};
  let cursor = null;
  let hasKeyboard = false; // whoever moves it is here
  let held = null;
  let toX = (x) => x;
  let toY = (y) => y;

  // Whether there is room to draw in: not before the page is laid out.
  function measure() {
    const { width, height } = svg.getBoundingClientRect();
    if (width <= MARGIN.left + MARGIN.right) return false;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    toX = scale(frame.x, [MARGIN.left, width - MARGIN.right]);
    toY = scale(frame.y, [height - MARGIN.bottom, MARGIN.top]);
    Object.assign(canvas.style, {
      left: `${MARGIN.left}px`,
      top: `${MARGIN.top}px`,
      width: `${width - MARGIN.left - MARGIN.right}px`,
      height: `${height - MARGIN.top - MARGIN.bottom}px`,
    });
    return true;
  }

  function drawAxes() {
    const axes = add(svg, "g", { class: "pg-axes" });
    const [left, right, bottom, top] = [...frame.x.map(toX), ...frame.y.map(toY)];
    const isNarrow = right - left < 400;
    for (const x of ticks(frame.x, isNarrow ? 5 : 9)) {
      add(axes, "line", { x1: toX(x), x2: toX(x), y1: bottom, y2: top });
      add(axes, "text", { x: toX(x), y: bottom + 17, "text-anchor": "middle" }, shown(x));
    }
    for (const y of ticks(frame.y, 6)) {
      add(axes, "line", { x1: left, x2: right, y1: toY(y), y2: toY(y) });
      add(axes, "text", { x: left - 6, y: toY(y) + 4, "text-anchor": "end" }, shown(y));
    }
    const clip = add(add(svg, "defs"), "clipPath", { id: "pg-clip" });
    add(clip, "rect", { x: left, y: top, width: right - left, height: bottom - top });
  }

  function drawCurves(inside) {
    const { mean, lower, upper, truth } = scene;
    const places = (values) =>
      values.map((_, i) => frame.x[0] + ((frame.x[1] - frame.x[0]) * i) / (values.length - 1)).map(toX);
    if (mean) {
      const xs = places(mean);
      const back = path([...xs].reverse(), lower.map(toY).reverse()).replace("M", "L");
      add(inside, "path", { class: "pg-band", d: `${path(xs, upper.map(toY))}${back}Z` });
    }
    if (truth) {
      const xs = Array.from({ length: 401 }, (_, i) => frame.x[0] + ((frame.x[1] - frame.x[0]) * i) / 400);
      add(inside, "path", { class: "pg-truth", d: path(xs.map(toX), xs.map(truth).map(toY)) });
    }
    if (mean) add(inside, "path", { class: "pg-mean", d: path(places(mean), mean.map(toY)) });
  }

  function drawPoints(inside) {
    for (const point of points) {
      const place = { cx: toX(point.x), cy: toY(point.y) };
      const isVector = Boolean(scene.vectors?.has(point));
      if (isVector) add(inside, "circle", { class: "pg-vector", r: 9, ...place });
      const kind = point.label === undefined ? "" : ` pg-class-${point.label}`;
      add(inside, "circle", { class: `pg-point${kind}`, r: 4.5, ...place });
      add(inside, "circle", { class: "pg-handle", r: REACH, ...place });
    }
  }

  function draw() {
    if (!measure()) return;
    svg.replaceChildren();
    svg.classList.toggle("pg-classes", points.some((point) => point.label !== undefined));
    drawAxes();
    const inside = add(svg, "g", { "clip-path": "url(#pg-clip)" });
    drawCurves(inside);
    drawPoints(add(svg, "g")); // whole, at the edges as well
    if (cursor && hasKeyboard) {
      const [x, y] = [toX(cursor.x), toY(cursor.y)];
      add(svg, "path", { class: "pg-cursor", d: `M${x - 9} ${y}H${x + 9}M${x} ${y - 9}V${y + 9}` });
    }
  }

  const within = ([low, high], value) => Math.min(high, Math.max(low, value));
  const rounded = (value) => Math.round(value * 1000) / 1000;
  const placeAt = (x, y) => ({
    x: rounded(within(frame.x, toX.back(x))),
    y: rounded(within(frame.y, toY.back(y))),
  });
  const pixelsOf = (event) => {
    const box = svg.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  function nearest(x, y, reach) {
    const away = (point) => Math.hypot(toX(point.x) - x, toY(point.y) - y);
    const best = points.reduce((a, b) => (a && away(a) <= away(b) ? a : b), null);
    return best && away(best) <= reach ? best : null;
  }

  svg.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const start = pixelsOf(event);
    const reach = event.pointerType === "touch" ? TOUCH_REACH : REACH;
    held = { start, point: nearest(...start, reach), hasMoved: false };
    cursor = null;
    svg.setPointerCapture(event.pointerId);
  });

  svg.addEventListener("pointermove", (event) => {
    if (!held) return;
    const here = pixelsOf(event);
    held.hasMoved ||= Math.hypot(here[0] - held.start[0], here[1] - held.start[1]) > STILL;
    if (held.hasMoved && held.point) onMove(held.point, placeAt(...here));
  });

  svg.addEventListener("pointerup", () => {
    if (held && !held.hasMoved) change(held.point, placeAt(...held.start));
    held = null;
  });
  svg.addEventListener("pointercancel", () => (held = null));

  const change = (point, place) => (point ? onRemove(point) : onAdd(place));

  const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  const centre = () => ({ x: (frame.x[0] + frame.x[1]) / 2, y: (frame.y[0] + frame.y[1]) / 2 });
  svg.addEventListener("keydown", (event) => {
    const { x, y } = (cursor ??= centre());
    hasKeyboard = true;
    if (event.key in STEPS) {
      const size = event.shiftKey ? 8 : 64; // parts of a side that one press goes
      const [across, up] = STEPS[event.key];
      cursor = {
        x: within(frame.x, x + (across * (frame.x[1] - frame.x[0])) / size),
        y: within(frame.y, y + (up * (frame.y[1] - frame.y[0])) / size),
      };
      draw();
    } else if (event.key === "Enter" || event.key === " ") {
      const here = [toX(cursor.x), toY(cursor.y)];
      change(nearest(...here, REACH), placeAt(...here));
    } else {
      return;
    }
    event.preventDefault();
  });
  svg.addEventListener("focus", () => {
    if (!svg.matches(":focus-visible")) return; // a click, which needs no cursor
    cursor ??= centre();
    hasKeyboard = true;
    draw();
  });
  svg.addEventListener("blur", () => {
    hasKeyboard = false; // the cursor waits where it is
    draw();
  });
  new ResizeObserver(draw).observe(svg);

  return {
    show(what) {
      ({ frame, points, scene } = what);
      draw();
    },
  };
}
