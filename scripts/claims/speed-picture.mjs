// The README's picture: bars of time beside the peers, for the rows of its table that are drawn. Text is at least 12 units of a width
// of 400, so that it can be read where the picture is 400 pixels wide.
import { formatMs } from './measurements.mjs';
import { speedRows } from './speed.mjs';

export const PICTURE = 'docs/speed.svg';

const WIDTH = 400;
const LEFT = 66;
const RIGHT = 328;
const BAR = 15;
const STEP = 19;
const COLORS = { Mercer: '#1f6feb', torch: '#8c959f', other: '#d29922' };

/** @param {number} x @param {number} y @param {string} text @param {string} [rest] */
const label = (x, y, text, rest = '') => `<text x="${x}" y="${y}"${rest}>${text}</text>`;

/** @returns {string} the text of an SVG */
export function speedPicture() {
  const rows = speedRows().filter(({ drawn }) => drawn);
  /** @type {string[]} */
  const parts = [];
  let y = 22;
  parts.push(label(8, y, 'Time on an NVIDIA H200, shorter is better', ' class="title"'));
  for (const { work, ms, peer, torch } of rows) {
    y += 26;
    parts.push(label(8, y, work, ' class="work"'));
    const bars = [
      { name: 'Mercer', ms, color: COLORS.Mercer },
      ...(peer ? [{ ...peer, color: COLORS.other }] : []),
      ...(torch === undefined ? [] : [{ name: 'torch', ms: torch, color: COLORS.torch }]),
    ];
    const longest = Math.max(...bars.map((bar) => bar.ms));
    y += 6;
    for (const bar of bars) {
      const length = Math.max(1, ((RIGHT - LEFT) * bar.ms) / longest);
      const end = LEFT + length;
      parts.push(
        label(LEFT - 6, y + 12, bar.name, ' text-anchor="end"'),
        `<rect x="${LEFT}" y="${y}" width="${length.toFixed(1)}" height="${BAR}" fill="${bar.color}"/>`,
        label(Number((end + 5).toFixed(1)), y + 12, formatMs(bar.ms)),
      );
      y += STEP;
    }
  }
  const height = y + 8;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH * 1.5}" height="${height * 1.5}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="Times of Mercer, Kermac, KeOps and torch on an NVIDIA H200">
<style>text{font:13px system-ui,"Segoe UI",Helvetica,Arial,sans-serif;fill:#1f2328}.title{font-size:15px;font-weight:600}.work{font-weight:600}</style>
<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>
${parts.join('\n')}
</svg>
`;
}
