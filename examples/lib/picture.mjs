// Small SVG pictures of a box of the plane: coloured cells, dots and lines, with axes where they are named. Written into the current folder.
import { writeFileSync } from 'node:fs';

/** @typedef {{ left: number, right: number, bottom: number, top: number }} Box */

const WIDTH = 480;

/** Room for axes around a picture, in pixels. */
const MARGINS = { left: 56, right: 20, top: 12, bottom: 44 };
const NO_MARGINS = { left: 0, right: 0, top: 0, bottom: 0 };

/** Ten colours that are easy to tell apart. */
export const COLOURS = [
  ...['#1f77b4', '#ff7f0e', '#2ca02c', '#d62728', '#9467bd'],
  ...['#8c564b', '#e377c2', '#7f7f7f', '#bcbd22', '#17becf'],
];

/** Colours of equal steps of lightness. */
const HEIGHTS = [
  [68, 1, 84],
  [59, 82, 139],
  [33, 145, 140],
  [94, 201, 98],
  [253, 231, 37],
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

/**
 * From deep blue at 0 over green to light yellow at 1, times a brightness.
 *
 * @param {number} value @param {number} brightness
 */
export function heightColour(value, brightness = 1) {
  const at = Math.min(1, Math.max(0, value)) * (HEIGHTS.length - 1);
  const low = Math.min(Math.floor(at), HEIGHTS.length - 2);
  const mixed = HEIGHTS[low]?.map(
    (one, k) => brightness * (one + (at - low) * ((HEIGHTS[low + 1]?.[k] ?? 0) - one)),
  );
  return `rgb(${mixed?.map(Math.round).join()})`;
}

/** About five round numbers between two. @param {number} from @param {number} to */
function ticks(from, to) {
  const least = (to - from) / 6;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * ([1, 2, 5].find((one) => one * power >= least) ?? 10);
  const first = Math.ceil(from / step);
  const count = Math.floor(to / step + 1e-9) - first + 1;
  return Array.from({ length: count }, (_, k) => Number(((first + k) * step).toPrecision(6)));
}

/** A picture of a box of the plane, x to the right and y upwards. */
export class Picture {
  /** @type {string[]} */
  #parts = [];
  #box;
  #labels;
  #margins;
  #scaleX;
  #scaleY;

  /**
   * @param {Box} box
   * @param {{ height?: number, x?: string, y?: string }} options its height in pixels, by default with one scale for both axes; names of axes, which are drawn then
   */
  constructor(box, { height, x, y } = {}) {
    this.#box = box;
    this.#labels = x === undefined || y === undefined ? undefined : { x, y };
    this.#margins = this.#labels === undefined ? NO_MARGINS : MARGINS;
    this.#scaleX = (WIDTH - this.#margins.left - this.#margins.right) / (box.right - box.left);
    this.#scaleY = height === undefined ? this.#scaleX : height / (box.top - box.bottom);
  }

  /**
   * `columns` x `rows` cells that fill a box, row by row from its lower left corner; one without a colour is left out.
   *
   * @param {number} columns @param {number} rows @param {(cell: number) => string | undefined} colourOf @param {Box} box
   */
  cells(columns, rows, colourOf, box = this.#box) {
    const [width, height] = [(box.right - box.left) / columns, (box.top - box.bottom) / rows];
    this.#parts.push('<g shape-rendering="crispEdges">');
    for (let cell = 0; cell < columns * rows; cell++) {
      const colour = colourOf(cell);
      if (colour === undefined) continue;
      const x = this.#x(box.left + width * (cell % columns));
      const y = this.#y(box.bottom + height * (Math.floor(cell / columns) + 1));
      // Half a pixel over the edge, so that no line shows between neighbours.
      const size = `width="${(width * this.#scaleX + 0.5).toFixed(1)}" height="${(height * this.#scaleY + 0.5).toFixed(1)}"`;
      this.#parts.push(`<rect x="${x}" y="${y}" ${size} fill="${colour}"/>`);
    }
    this.#parts.push('</g>');
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

  /**
   * A line through pairs of numbers, `width` pixels wide.
   *
   * @param {ArrayLike<number>} points @param {string | undefined} colour @param {number} width
   */
  line(points, colour = 'black', width = 1.5) {
    this.#parts.push(
      `<polyline points="${this.#corners(points)}" fill="none" stroke="${colour}" stroke-width="${width}" stroke-linejoin="round"/>`,
    );
  }

  /**
   * The inside of a closed line through pairs of numbers.
   *
   * @param {ArrayLike<number>} points @param {string | undefined} colour
   */
  area(points, colour = 'black') {
    this.#parts.push(`<polygon points="${this.#corners(points)}" fill="${colour}"/>`);
  }

  /** @param {string} file its name ends in .svg */
  save(file) {
    const { left, right, top, bottom } = this.#margins;
    const inside = Math.round((this.#box.top - this.#box.bottom) * this.#scaleY);
    const frame = `x="${left}" y="${top}" width="${WIDTH - left - right}" height="${inside}"`;
    const lines = [
      `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${top + inside + bottom}">`,
      '<rect width="100%" height="100%" fill="white"/>',
      `<clipPath id="inside"><rect ${frame}/></clipPath>`,
      '<g clip-path="url(#inside)">',
      ...this.#parts,
      '</g>',
      ...this.#axes(frame, inside),
      '</svg>',
    ];
    writeFileSync(file, `${lines.join('\n')}\n`);
    console.log(`wrote ${file}`);
  }

  /** A frame with round numbers along it, and the names of the axes. @param {string} frame @param {number} inside */
  #axes(frame, inside) {
    if (this.#labels === undefined) return [];
    const { left, right, top } = this.#margins;
    const end = top + inside;
    const box = this.#box;
    const [middle, height] = [(left + WIDTH - right) / 2, top + inside / 2];
    return [
      '<g font-family="sans-serif" font-size="13" fill="#333" text-anchor="middle">',
      `<rect ${frame} fill="none" stroke="#333"/>`,
      ...ticks(box.left, box.right).map(
        (one) => `<text x="${this.#x(one)}" y="${end + 16}">${one}</text>`,
      ),
      ...ticks(box.bottom, box.top).map(
        (one) => `<text x="${left - 6}" y="${this.#y(one)}" dy="4" text-anchor="end">${one}</text>`,
      ),
      `<text x="${middle}" y="${end + 36}">${this.#labels.x}</text>`,
      `<text transform="translate(14 ${height}) rotate(-90)">${this.#labels.y}</text>`,
      '</g>',
    ];
  }

  /** @param {ArrayLike<number>} points */
  #corners(points) {
    return Array.from({ length: points.length / 2 }, (_, point) =>
      [this.#x(points[2 * point] ?? 0), this.#y(points[2 * point + 1] ?? 0)].join(),
    ).join(' ');
  }

  /** @param {number} x */
  #x(x) {
    return (this.#margins.left + (x - this.#box.left) * this.#scaleX).toFixed(1);
  }

  /** @param {number} y */
  #y(y) {
    return (this.#margins.top + (this.#box.top - y) * this.#scaleY).toFixed(1);
  }
}
