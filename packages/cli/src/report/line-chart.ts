import { html, type SafeHtml } from './escape-html.js';

/** One curve over a logarithmic axis; both axes begin and end at a tick. */
export interface Curve {
  readonly xLabel: string;
  readonly yLabel: string;
  /** By ascending x, which is above 0. */
  readonly points: readonly { readonly x: number; readonly y: number }[];
  /** Index of the point that is marked. */
  readonly marked: number;
  readonly formatY: (y: number) => string;
}

const WIDTH = 760;
const HEIGHT = 300;
const LEFT = 80;
const RIGHT = WIDTH - 24;
const TOP = 16;
const BOTTOM = HEIGHT - 52;
const MOST_TICKS = 6;

/** A curve with dots as an SVG picture that scales to its place. */
export function lineChart(title: string, curve: Curve): SafeHtml {
  const xs = curve.points.map(({ x }) => Math.log10(x));
  const ys = curve.points.map(({ y }) => y);
  const xTicks = ticks(xs, 1);
  const yTicks = ticks(ys, stepOf(Math.max(...ys) - Math.min(...ys) || 1));
  const xAt = scale(xTicks, LEFT, RIGHT);
  const yAt = scale(yTicks, BOTTOM, TOP);
  const places = ys.map((y, i) => [xAt(xs[i] ?? 0).toFixed(1), yAt(y).toFixed(1)] as const);
  const dots = places.map(
    ([x, y], i) =>
      html`<circle
        class="${i === curve.marked ? 'marked' : 'dot'}"
        cx="${x}"
        cy="${y}"
        r="${i === curve.marked ? 6 : 4}"
      ></circle>`,
  );
  const vertical = xTicks.map((tick) => {
    const x = xAt(tick).toFixed(1);
    return html`<line class="axis" x1="${x}" y1="${TOP}" x2="${x}" y2="${BOTTOM}"></line>
      <text class="soft" x="${x}" y="${BOTTOM + 20}" text-anchor="middle"
        >${Number((10 ** tick).toPrecision(1))}</text
      >`;
  });
  const horizontal = yTicks.map((tick) => {
    const y = yAt(tick);
    return html`<line
        class="axis"
        x1="${LEFT}"
        y1="${y.toFixed(1)}"
        x2="${RIGHT}"
        y2="${y.toFixed(1)}"
      ></line>
      <text class="soft" x="${LEFT - 10}" y="${(y + 4).toFixed(1)}" text-anchor="end">
        ${curve.formatY(tick)}
      </text>`;
  });
  const middle = (TOP + BOTTOM) / 2;
  return html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img">
    <title>${title}</title>
    ${vertical} ${horizontal}
    <text class="soft" x="${(LEFT + RIGHT) / 2}" y="${HEIGHT - 8}" text-anchor="middle">
      ${curve.xLabel}
    </text>
    <text transform="translate(16 ${middle}) rotate(-90)" text-anchor="middle" class="soft y-label">
      ${curve.yLabel}
    </text>
    <polyline class="curve" points="${places.map((place) => place.join(',')).join(' ')}"></polyline>
    ${dots}
  </svg>`;
}

/** Multiples of the step from the last below all values to the first above them, at least two. */
function ticks(values: readonly number[], step: number): number[] {
  const low = Math.floor(Math.min(...values) / step);
  const high = Math.max(Math.ceil(Math.max(...values) / step), low + 1);
  return Array.from({ length: high - low + 1 }, (_, i) => (low + i) * step);
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
