import { escapeHtml } from '../report/escape-html.js';

/** One line of the plot: a name and its points. */
export interface Series {
  readonly name: string;
  readonly points: readonly { readonly x: number; readonly y: number }[];
  /** Series of one group share a colour. */
  readonly group: number;
  /** Lines with dots, dashed lines for limits, hollow dots for others' results. */
  readonly style: 'own' | 'limit' | 'peer';
}

const WIDTH = 880;
const LEAST_HEIGHT = 520;
const LEGEND_LINE = 22;
const LEFT = 76;
const RIGHT = 210;
const TOP = 48;
const BOTTOM = 56;
const PALETTE = ['#2f6fd0', '#c8553d', '#3a8f5c', '#8a5fc2', '#b8860b', '#4d6b78', '#c2478f'];

/**
 * A plot with logarithmic axes as a self-contained SVG picture. Points must be positive; others are left out.
 */
export function logPlot(
  title: string,
  xLabel: string,
  yLabel: string,
  series: readonly Series[],
): string {
  const drawn = series
    .map((line) => ({ ...line, points: line.points.filter(({ x, y }) => x > 0 && y > 0) }))
    .filter((line) => line.points.length > 0);
  const height = Math.max(LEAST_HEIGHT, TOP + BOTTOM + drawn.length * LEGEND_LINE);
  const points = drawn.flatMap((line) => line.points);
  const x = axis(
    points.map((point) => point.x),
    LEFT,
    WIDTH - RIGHT,
  );
  const y = axis(
    points.map((point) => point.y),
    height - BOTTOM,
    TOP,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="system-ui, sans-serif" font-size="13">
<title>${escapeHtml(title)}</title>
<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>
<text x="${LEFT}" y="26" font-size="16" font-weight="600" fill="#1c2330">${escapeHtml(title)}</text>
${grid(x, y, height)}
<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${height - 14}" text-anchor="middle" fill="#5b6675">${escapeHtml(xLabel)}</text>
<text transform="translate(18 ${(TOP + height - BOTTOM) / 2}) rotate(-90)" text-anchor="middle" fill="#5b6675">${escapeHtml(yLabel)}</text>
${drawn.map((line, i) => drawSeries(line, i, x, y)).join('\n')}
</svg>
`;
}

interface Axis {
  readonly low: number;
  readonly high: number;
  readonly at: (value: number) => number;
}

/** Whole decades around the values, at least one. */
function axis(values: readonly number[], start: number, end: number): Axis {
  const logs = values.map((value) => Math.log10(value));
  const low = Math.floor(logs.reduce((a, b) => Math.min(a, b), Infinity));
  const top = Math.ceil(logs.reduce((a, b) => Math.max(a, b), -Infinity));
  const finite = Number.isFinite(low);
  const from = finite ? low : 0;
  const to = finite ? Math.max(top, low + 1) : 1;
  return {
    low: from,
    high: to,
    at: (value) => start + ((Math.log10(value) - from) / (to - from)) * (end - start),
  };
}

function grid(x: Axis, y: Axis, height: number): string {
  const parts: string[] = [];
  for (const decade of decades(x)) {
    const at = x.at(10 ** decade).toFixed(1);
    parts.push(
      `<line x1="${at}" y1="${TOP}" x2="${at}" y2="${height - BOTTOM}" stroke="#e3e7ec"/>`,
      `<text x="${at}" y="${height - BOTTOM + 18}" text-anchor="middle" fill="#5b6675">${power(decade)}</text>`,
    );
  }
  for (const decade of decades(y)) {
    const at = y.at(10 ** decade).toFixed(1);
    parts.push(
      `<line x1="${LEFT}" y1="${at}" x2="${WIDTH - RIGHT}" y2="${at}" stroke="#e3e7ec"/>`,
      `<text x="${LEFT - 8}" y="${Number(at) + 4}" text-anchor="end" fill="#5b6675">${power(decade)}</text>`,
    );
  }
  return parts.join('\n');
}

/** Every decade, or every second or third when there are many. */
function decades({ low, high }: Axis): number[] {
  const step = Math.ceil((high - low) / 10);
  return Array.from({ length: Math.floor((high - low) / step) + 1 }, (_, i) => low + i * step);
}

function power(decade: number): string {
  if (decade >= -2 && decade <= 3) return String(Number((10 ** decade).toPrecision(1)));
  return `10<tspan dy="-5" font-size="10">${decade}</tspan>`;
}

function drawSeries(line: Series, index: number, x: Axis, y: Axis): string {
  const color = PALETTE[line.group % PALETTE.length] ?? '#000000';
  const dash = line.style === 'limit' ? ' stroke-dasharray="6 4"' : '';
  const opacity = { own: 0.4, limit: 0.9, peer: 0.15 }[line.style];
  const fill = line.style === 'own' ? color : '#ffffff';
  const points = line.points
    .toSorted((a, b) => a.x - b.x || a.y - b.y)
    .map((point) => [x.at(point.x).toFixed(1), y.at(point.y).toFixed(1)] as const);
  const path = points.map(([px, py]) => `${px},${py}`).join(' ');
  const dot = (px: string, py: string): string =>
    line.style === 'limit'
      ? ''
      : `<circle cx="${px}" cy="${py}" r="3.5" fill="${fill}" stroke="${color}"/>`;
  const legendY = TOP + 8 + index * LEGEND_LINE;
  const legendX = WIDTH - RIGHT + 18;
  return `<polyline points="${path}" fill="none" stroke="${color}" stroke-width="1.5" stroke-opacity="${opacity}"${dash}/>${points.map(([px, py]) => dot(px, py)).join('')}
<line x1="${legendX}" y1="${legendY}" x2="${legendX + 22}" y2="${legendY}" stroke="${color}" stroke-width="2"${dash}/>${dot(String(legendX + 11), String(legendY))}
<text x="${legendX + 30}" y="${legendY + 4}" fill="#1c2330">${escapeHtml(line.name)}</text>`;
}
