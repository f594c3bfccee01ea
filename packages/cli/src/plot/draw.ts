import { printable } from '@mercer/core/npy';
import { usageError } from '../cli-error.js';
import { columnNames, type Table } from '../files/table-columns.js';
import type { Markish } from '@observablehq/plot';
import type { Drawing, PlotLibrary } from './load-library.js';
import { renderSvg, type PictureOptions } from './plot-svg.js';

export const PLOT_KINDS = ['scatter', 'line', 'heat-map', 'images'] as const;
export type PlotKind = (typeof PLOT_KINDS)[number];

export const SCHEMES = ['viridis', 'turbo', 'greys', 'blues', 'rdbu'] as const;

export interface PlotOptions {
  readonly kind: PlotKind;
  readonly title?: string | undefined;
  readonly xLabel?: string | undefined;
  readonly yLabel?: string | undefined;
  /** In pixels. */
  readonly width: number;
  readonly height?: number | undefined;
  /** Axes that are logarithmic. */
  readonly log: readonly ('x' | 'y')[];
  readonly scheme?: (typeof SCHEMES)[number] | undefined;
  /** Rows and columns of pixels of each image; a square by default. */
  readonly imageShape?: readonly [height: number, width: number] | undefined;
}

/** More would be a file that no program shows. */
const MOST_POINTS = 2 ** 20;
const MOST_CELLS = 2 ** 24;
/** Whole numbers that are told apart by colours of their own, not by a ramp. */
const MOST_CLASSES = 10;

/**
 * A picture of a table as SVG.
 *
 * @throws CliError USAGE for a table that is no such picture
 */
export function draw(drawing: Drawing, name: string, table: Table, options: PlotOptions): string {
  const { kind, title, xLabel, yLabel, width, height, log } = options;
  const content = CONTENTS[kind](drawing, name, table, options);
  const axis = (which: 'x' | 'y', label: string | undefined): object => ({
    ...content[which],
    ...(label !== undefined && { label }),
    ...(log.includes(which) && { type: 'log' }),
  });
  return renderSvg(drawing, {
    grid: content.axis !== null && kind !== 'heat-map',
    ...content,
    ...(title !== undefined && { title }),
    width,
    ...(height !== undefined && { height }),
    x: axis('x', xLabel),
    y: axis('y', yLabel),
  });
}

type ContentOf = (
  drawing: Drawing,
  name: string,
  table: Table,
  options: PlotOptions,
) => PictureOptions;

const CONTENTS: Readonly<Record<PlotKind, ContentOf>> = {
  scatter: ({ plot }, name, table, { scheme = 'viridis' }) => {
    const { rows, columns } = table;
    if (columns !== 2 && columns !== 3) {
      throw unsuited(name, table, 'a scatter plot has columns x, y and if wanted a colour');
    }
    checkSize(name, rows, MOST_POINTS, 'points');
    const [x, y, color] = labelsOf(table);
    const options = {
      x: (row: number) => at(table, row, 0),
      y: (row: number) => at(table, row, 1),
    };
    if (columns === 2)
      return {
        marks: [plot.dot(range(rows), { ...options, r: 2.5, fill: '#1f77b4' })],
        x: { label: x ?? null },
        y: { label: y ?? null },
      };
    const classes = classesOf(table, 2);
    return {
      marks: [
        plot.dot(range(rows), { ...options, r: 2.5, fill: (row: number) => at(table, row, 2) }),
      ],
      x: { label: x ?? null },
      y: { label: y ?? null },
      color:
        classes === undefined
          ? { label: color ?? null, type: 'linear', scheme, legend: true }
          : {
              label: color ?? null,
              type: 'ordinal',
              domain: classes,
              scheme: 'tableau10',
              legend: true,
            },
    };
  },
  line: ({ plot }, name, table) => {
    const { rows, columns } = table;
    checkSize(name, rows * columns, MOST_POINTS, 'points');
    const [first = '', ...rest] = labelsOf(table);
    const isAlone = columns === 1;
    const series = isAlone ? [first] : rest;
    const x = (row: number): number => (isAlone ? row : at(table, row, 0));
    return {
      x: { label: isAlone ? 'row' : first },
      y: { label: (series.length === 1 && series[0]) || null },
      color: { type: 'ordinal', domain: series, scheme: 'tableau10', legend: series.length > 1 },
      marks: series.map((label, k) => {
        const y = (row: number): number => at(table, row, isAlone ? 0 : k + 1);
        return plot.lineY(range(rows), { x, y, stroke: () => label, z: null, strokeWidth: 1.5 });
      }),
    };
  },
  'heat-map': ({ plot }, name, table, { scheme = 'viridis' }) => {
    const { rows, columns } = table;
    checkSize(name, rows * columns, MOST_CELLS, 'cells');
    const data = Float64Array.from(range(rows * columns), (k) =>
      at(table, Math.floor(k / columns), k % columns),
    );
    const ticks = (count: number): number => Math.min(10, count);
    return {
      marks: [cells(plot, data, rows, columns), plot.frame()],
      x: { label: 'column', ticks: ticks(columns) },
      y: { label: 'row', reverse: true, ticks: ticks(rows) },
      color: { type: 'linear', scheme, legend: true },
      // the frame is at most so much higher or wider
      aspectRatio: rows / columns / Math.min(1.6, Math.max(0.25, rows / columns)),
    };
  },
  images: ({ plot }, name, table, { scheme = 'greys', imageShape }) => {
    const { rows: count, columns: pixels } = table;
    const side = Math.round(Math.sqrt(pixels));
    const [height, width] = imageShape ?? [side, side];
    if (height * width !== pixels) {
      throw unsuited(
        name,
        table,
        `images of ${height} x ${width} have ${height * width} pixels a row. Name their size, as in --image-shape 28x28`,
      );
    }
    const across = Math.ceil(Math.sqrt((count * height) / width));
    const down = Math.ceil(count / across);
    const [rows, columns] = [down * (height + 1) - 1, across * (width + 1) - 1];
    checkSize(name, rows * columns, MOST_CELLS, 'pixels');
    // between images there is nothing
    const data = new Float64Array(rows * columns).fill(NaN);
    for (let image = 0; image < count; image++) {
      const top = Math.floor(image / across) * (height + 1);
      const left = (image % across) * (width + 1);
      for (let pixel = 0; pixel < pixels; pixel++) {
        const place = (top + Math.floor(pixel / width)) * columns + left + (pixel % width);
        data[place] = at(table, image, pixel);
      }
    }
    return {
      marks: [cells(plot, data, rows, columns)],
      y: { reverse: true },
      color: { type: 'linear', scheme },
      axis: null,
      aspectRatio: 1,
    };
  },
};

/** A cell for each number of a matrix, row by row. */
const cells = (plot: PlotLibrary, data: Float64Array, rows: number, columns: number): Markish =>
  plot.raster(data, {
    width: columns,
    height: rows,
    x1: 0,
    y1: 0,
    x2: columns,
    y2: rows,
    imageRendering: 'pixelated',
  });

const at = ({ cell }: Table, row: number, column: number): number => Number(cell(row, column));

const range = (count: number): number[] => Array.from({ length: count }, (_, k) => k);

const labelsOf = (table: Table): string[] => columnNames(table).map(printable);

/** Values of a column that are few whole numbers, ascending. */
function classesOf(table: Table, column: number): number[] | undefined {
  const found = new Set<number>();
  for (let row = 0; row < table.rows; row++) {
    const value = at(table, row, column);
    if (!Number.isInteger(value)) return undefined;
    found.add(value);
    if (found.size > MOST_CLASSES) return undefined;
  }
  return [...found].sort((a, b) => a - b);
}

function checkSize(name: string, found: number, most: number, what: string): void {
  if (found <= most) return;
  throw usageError(
    `Cannot draw '${printable(name)}': ${found} ${what} are more than ${most}. Draw a part of them, or means of several`,
  );
}

const unsuited = (name: string, { rows, columns }: Table, why: string): Error =>
  usageError(
    `Cannot draw '${printable(name)}': it has ${rows} rows of ${columns} numbers, and ${why}. Choose columns as in file.csv:x,y`,
  );
