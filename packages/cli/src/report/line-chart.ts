import { html, type SafeHtml } from './escape-html.js';

/** A line of a chart. */
export interface Line {
  readonly name: string;
  /** By ascending x. On a logarithmic axis all are above 0. */
  readonly points: readonly { readonly x: number; readonly y: number }[];
  /** Index of the point that is marked; every point has a dot then. */
  readonly marked?: number;
}

/** Lines over the same axes, which begin and end at a tick. */
export interface Chart {
  readonly xLabel: string;
  readonly yLabel: string;
  /** Decades are evenly spaced on a logarithmic axis. Default: linear, both. */
  readonly logarithmic?: { readonly x?: boolean; readonly y?: boolean };
  readonly lines: readonly Line[];
  readonly formatY?: (y: number) => string;
}

const WIDTH = 760;
const HEIGHT = 300;
const LEFT = 80;
const RIGHT = WIDTH - 24;
const TOP = 16;
const BOTTOM = HEIGHT - 52;
const MOST_TICKS = 6;

/** Lines as an SVG picture that scales to its place; the classes `curve line0`, `curve line1` and so on give them their colours. */
export function lineChart(title: string, chart: Chart): SafeHtml {
  const { lines, logarithmic = {}, formatY = (y: number) => String(y) } = chart;
  const points = lines.flatMap((line) => line.points);
  const x = axisOf(
    points.map((point) => point.x),
    { isLog: logarithmic.x === true, start: LEFT, end: RIGHT },
  );
  const y = axisOf(
    points.map((point) => point.y),
    { isLog: logarithmic.y === true, start: BOTTOM, end: TOP },
  );
  const vertical = x.ticks.map(({ at, value }) => {
    const place = at.toFixed(1);
    return html`<line class="axis" x1="${place}" y1="${TOP}" x2="${place}" y2="${BOTTOM}"></line>
      <text class="soft" x="${place}" y="${BOTTOM + 20}" text-anchor="middle">${value}</text>`;
  });
  const horizontal = y.ticks.map(({ at, value }) => {
    const place = at.toFixed(1);
    return html`<line class="axis" x1="${LEFT}" y1="${place}" x2="${RIGHT}" y2="${place}"></line>
      <text class="soft" x="${LEFT - 10}" y="${(at + 4).toFixed(1)}" text-anchor="end">
        ${formatY(value)}
      </text>`;
  });
  const drawn = lines.map(({ name, points: own, marked }, index) => {
    const places = own.map((one) => [x.at(one.x).toFixed(1), y.at(one.y).toFixed(1)] as const);
    const dots = marked === undefined ? [] : places.map((place, i) => dot(place, i === marked));
    return html`<polyline
        class="curve line${index}"
        points="${places.map((place) => place.join(',')).join(' ')}"
        ><title>${name}</title></polyline
      >${dots}`;
  });
  const middle = (TOP + BOTTOM) / 2;
  return html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img">
    <title>${title}</title>
    ${vertical} ${horizontal}
    <text class="soft" x="${(LEFT + RIGHT) / 2}" y="${HEIGHT - 8}" text-anchor="middle">
      ${chart.xLabel}
    </text>
    <text transform="translate(16 ${middle}) rotate(-90)" text-anchor="middle" class="soft y-label">
      ${chart.yLabel}
    </text>
    ${drawn}
  </svg>`;
}

function dot([x, y]: readonly [string, string], isMarked: boolean): SafeHtml {
  return html`<circle
    class="${isMarked ? 'marked' : 'dot'}"
    cx="${x}"
    cy="${y}"
    r="${isMarked ? 6 : 4}"
  ></circle>`;
}

interface Axis {
  readonly at: (value: number) => number;
  readonly ticks: readonly { readonly at: number; readonly value: number }[];
}

/** Where values stand between two places of the picture. */
function axisOf(
  given: readonly number[],
  { isLog, start, end }: { isLog: boolean; start: number; end: number },
): Axis {
  const values = isLog ? given.map((value) => Math.log10(value)) : given;
  const [low, high] = [
    values.reduce((a, b) => Math.min(a, b)),
    values.reduce((a, b) => Math.max(a, b)),
  ];
  const all = isLog ? logTicks(low, high) : ticks(low, high, stepOf(high - low || 1));
  const at = scale(all, start, end);
  return {
    at: (value) => at(isLog ? Math.log10(value) : value),
    ticks: all.map((tick) => ({
      at: at(tick),
      value: isLog ? Number((10 ** tick).toPrecision(1)) : Number(tick.toPrecision(12)),
    })),
  };
}

/** Multiples of the step from the last below all values to the first above them, at least two. */
function ticks(least: number, most: number, step: number): number[] {
  const low = Math.floor(least / step);
  const high = Math.max(Math.ceil(most / step), low + 1);
  return Array.from({ length: high - low + 1 }, (_, i) => (low + i) * step);
}

/** Decades, or within few of them 1, 2 and 5 times each, as logarithms. */
function logTicks(least: number, most: number): number[] {
  if (most - least >= 2) return ticks(least, most, 1);
  const all = ticks(least, most + 1, 1).flatMap((decade) =>
    [1, 2, 5].map((factor) => decade + Math.log10(factor)),
  );
  const from = all.findLastIndex((tick) => tick <= least + 1e-9);
  const to = all.findIndex((tick) => tick >= most - 1e-9);
  return all.slice(from, Math.max(to, from + 1) + 1);
}

/** 1, 2 or 5 times a power of ten. */
function stepOf(range: number): number {
  const least = range / MOST_TICKS;
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5].find((factor) => factor * power >= least) ?? 10);
}

function scale(all: readonly number[], start: number, end: number): (value: number) => number {
  const [low = 0, high = 1] = [all[0], all.at(-1)];
  return (value) => start + ((value - low) / (high - low)) * (end - start);
}
