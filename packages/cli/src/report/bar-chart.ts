import { html, type SafeHtml } from './escape-html.js';

/** One bar: its label on the left and its value in words at its end. */
export interface Bar {
  readonly label: string;
  readonly value: number;
  readonly text: string;
}

const WIDTH = 760;
const LABEL_WIDTH = 190;
const TEXT_WIDTH = 90;
const LINE = 30;

/** Horizontal bars from zero, as an SVG picture that scales to its place. */
export function barChart(title: string, bars: readonly Bar[]): SafeHtml {
  const height = bars.length * LINE + 8;
  const most = Math.max(...bars.map((bar) => bar.value), Number.MIN_VALUE);
  const room = WIDTH - LABEL_WIDTH - TEXT_WIDTH;
  const shapes = bars.map((bar, i) => {
    const length = Math.max(2, (bar.value / most) * room);
    const y = i * LINE + 6;
    const middle = y + 14;
    return html`<text x="${LABEL_WIDTH - 12}" y="${middle}" text-anchor="end">${bar.label}</text>
      <rect
        class="bar"
        x="${LABEL_WIDTH}"
        y="${y}"
        width="${length.toFixed(1)}"
        height="${LINE - 10}"
        rx="3"
      ></rect>
      <text class="soft" x="${(LABEL_WIDTH + length + 8).toFixed(1)}" y="${middle}">
        ${bar.text}
      </text>`;
  });
  return html`<svg viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">
    <title>${title}</title>
    <line class="axis" x1="${LABEL_WIDTH}" y1="0" x2="${LABEL_WIDTH}" y2="${height}"></line>
    ${shapes}
  </svg>`;
}
