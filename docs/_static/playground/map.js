// Probabilities of classes as a picture under the points.

// As in playground.css: the classes, and halfway between them nothing but ground.
const COLOURS = ["--pg-class-0", "--pg-class-1", "--pg-class-2"];
const STRONGEST = 0.62; // how much of a colour a sure class has

export function drawMap(canvas, scene, grid) {
  canvas.hidden = !scene?.chances;
  if (canvas.hidden) return;
  const { classes, chances } = scene;
  const style = getComputedStyle(canvas);
  const colours = classes.map((label) => rgb(style.getPropertyValue(COLOURS[label])));
  canvas.width = canvas.height = grid;
  const context = canvas.getContext("2d");
  const image = context.createImageData(grid, grid);
  const even = 1 / classes.length; // what is known of a class that may be any
  for (let i = 0; i < grid * grid; i++) {
    const each = chances.map((chance) => chance[i]);
    const sure = (Math.max(...each) - even) / (1 - even);
    for (let c = 0; c < 3; c++) {
      image.data[4 * i + c] = each.reduce((sum, chance, k) => sum + chance * colours[k][c], 0);
    }
    image.data[4 * i + 3] = 255 * STRONGEST * sure;
  }
  context.putImageData(image, 0, 0);
}

// #rrggbb, as the style sheet has them.
const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.trim().slice(at, at + 2), 16));
