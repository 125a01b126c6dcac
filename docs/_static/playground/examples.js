// Data to begin with. Drawn by a seed: everybody sees the same.

function generator(seed) {
  let state = seed;
  // mulberry32
  const uniform = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const normal = () =>
    Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  return { uniform, normal };
}

const rounded = (value) => Math.round(value * 1000) / 1000;

const spread = (n, from, to) =>
  Array.from({ length: n }, (_, i) => from + ((to - from) * i) / (n - 1));

function noisy(places, curve, noise, seed) {
  const { normal } = generator(seed);
  return places.map((x) => ({ x: rounded(x), y: rounded(curve(x) + noise * normal()) }));
}

const sinc = (x) => (x === 0 ? 1.2 : (1.2 * Math.sin(x)) / x);
const step = (x) => (x < 0 ? -0.8 : 0.8);
const wave = (x) => Math.sin(0.7 * x);
const slope = (x) => 0.9 * Math.sin(0.4 * x) + 0.05 * x;

function withOutliers(points) {
  for (const [i, y] of [[8, -1.7], [17, 1.7], [31, -1.6]]) points[i].y = y;
  return points;
}

const REGRESSION = {
  sinc: { truth: sinc, points: () => noisy(spread(50, -9.5, 9.5), sinc, 0.1, 1) },
  step: { truth: step, points: () => noisy(spread(40, -9, 9), step, 0.1, 2) },
  outliers: { truth: wave, points: () => withOutliers(noisy(spread(40, -9, 9), wave, 0.1, 3)) },
  gap: {
    truth: slope,
    points: () => noisy([...spread(16, -8.5, -3.5), ...spread(16, 3, 8)], slope, 0.08, 4),
  },
};

function classes(n, place, seed) {
  const random = generator(seed);
  return Array.from({ length: n }, (_, i) => {
    const { x, y, label } = place(i, random);
    return { x: rounded(x), y: rounded(y), label };
  });
}

// Two of each class: as Ripley's mixtures, which the papers use.
const MIXTURES = [[-2.8, -1.2, 0], [1.2, -0.6, 0], [-1.2, 1.6, 1], [2.6, 1.4, 1]];

const CLASSIFICATION = {
  mixtures: {
    points: () =>
      classes(80, (i, { normal }) => {
        const [x, y, label] = MIXTURES[i % 4];
        return { x: x + 0.85 * normal(), y: y + 0.85 * normal(), label };
      }, 5),
  },
  moons: {
    points: () =>
      classes(70, (i, { uniform, normal }) => {
        const angle = Math.PI * uniform();
        const label = i % 2;
        const side = label ? -1 : 1;
        return {
          x: side * (2.4 * Math.cos(angle) - 1.2) + 0.35 * normal(),
          y: side * (2.4 * Math.sin(angle) - 0.7) + 0.35 * normal(),
          label,
        };
      }, 6),
  },
  ring: {
    points: () =>
      classes(70, (i, { uniform, normal }) => {
        const label = i % 2;
        const angle = 2 * Math.PI * uniform();
        const radius = (label ? 3.4 : 0.8) + 0.45 * normal();
        return { x: radius * Math.cos(angle), y: radius * Math.sin(angle), label };
      }, 7),
  },
  "three classes": {
    points: () =>
      classes(75, (i, { normal }) => {
        const angle = (2 * Math.PI * (i % 3)) / 3 + 0.5;
        return { x: 2 * Math.cos(angle) + normal(), y: 2 * Math.sin(angle) + normal(), label: i % 3 };
      }, 8),
  },
};

export const EXAMPLES = { regression: REGRESSION, classification: CLASSIFICATION };
