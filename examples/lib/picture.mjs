// Small SVG pictures of a box of the plane: coloured cells and dots. Written into the current folder.
import { writeFileSync } from 'node:fs';

/** @typedef {{ left: number, right: number, bottom: number, top: number }} Box */

const WIDTH = 480;

/** Ten colours that are easy to tell apart. */
export const COLOURS = [
  ...['#1f77b4', '#ff7f0e', '#2ca02c', '#d62728', '#9467bd'],
  ...['#8c564b', '#e377c2', '#7f7f7f', '#bcbd22', '#17becf'],
];

/** Blue at -1, white at 0, red at 1. @param {number} value */
export function signedColour(value) {
  const fade = Math.round(255 * (1 - Math.min(1, Math.abs(value))));
  return value < 0 ? `rgb(${fade},${fade},255)` : `rgb(255,${fade},${fade})`;
}

/** White at 0, black at 1. @param {number} value */
export function greyColour(value) {
  const fade = Math.round(255 * (1 - Math.min(1, Math.max(0, value))));
  return `rgb(${fade},${fade},${fade})`;
}

/** A picture of a box of the plane, x to the right and y upwards. */
export class Picture {
  /** @type {string[]} */
  #parts = [];
  #box;
  #scale;

  /** @param {Box} box */
  constructor(box) {
    this.#box = box;
    this.#scale = WIDTH / (box.right - box.left);
  }

  /**
   * `columns` x `rows` cells that fill a box, row by row from its lower left corner; one without a colour is left out.
   *
   * @param {number} columns @param {number} rows @param {(cell: number) => string | undefined} colourOf @param {Box} box
   */
  cells(columns, rows, colourOf, box = this.#box) {
    const [width, height] = [(box.right - box.left) / columns, (box.top - box.bottom) / rows];
    for (let cell = 0; cell < columns * rows; cell++) {
      const colour = colourOf(cell);
      if (colour === undefined) continue;
      const x = this.#x(box.left + width * (cell % columns));
      const y = this.#y(box.bottom + height * (Math.floor(cell / columns) + 1));
      // Half a pixel over the edge, so that no line shows between neighbours.
      const size = `width="${(width * this.#scale + 0.5).toFixed(1)}" height="${(height * this.#scale + 0.5).toFixed(1)}"`;
      this.#parts.push(`<rect x="${x}" y="${y}" ${size} fill="${colour}"/>`);
    }
  }

  /**
   * A dot of `radius` pixels for each pair of numbers.
   *
   * @param {ArrayLike<number>} points @param {(point: number) => string} colourOf @param {number} radius
   */
  dots(points, colourOf, radius = 2) {
    for (let point = 0; point < points.length / 2; point++) {
      const [x, y] = [points[2 * point] ?? 0, points[2 * point + 1] ?? 0];
      this.#parts.push(
        `<circle cx="${this.#x(x)}" cy="${this.#y(y)}" r="${radius}" fill="${colourOf(point)}"/>`,
      );
    }
  }

  /** @param {string} file its name ends in .svg */
  save(file) {
    const height = Math.round((this.#box.top - this.#box.bottom) * this.#scale);
    const open = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}">`;
    const paper = '<rect width="100%" height="100%" fill="white"/>';
    writeFileSync(file, `${[open, paper, ...this.#parts, '</svg>'].join('\n')}\n`);
    console.log(`wrote ${file}`);
  }

  /** @param {number} x */
  #x(x) {
    return ((x - this.#box.left) * this.#scale).toFixed(1);
  }

  /** @param {number} y */
  #y(y) {
    return ((this.#box.top - y) * this.#scale).toFixed(1);
  }
}
