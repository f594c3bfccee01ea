import { inflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { escapeHtml, html } from './escape-html.js';
import { lineChart } from './line-chart.js';
import { renderPage } from './page.js';
import { encodeGreyPng } from './png.js';

describe('html', () => {
  it('escapes values, keeps nested html and joins lists', () => {
    const items = ['<a>', 'b&c'].map((text) => html`<li title="${'"' + text}">${text}</li>`);
    const list = html`<ul>
      ${items}
    </ul>`.text;
    expect(list.replace(/>\s+</g, '><')).toBe(
      '<ul><li title="&quot;&lt;a&gt;">&lt;a&gt;</li><li title="&quot;b&amp;c">b&amp;c</li></ul>',
    );
    expect(escapeHtml("'")).toBe('&#39;');
  });
});

describe('renderPage', () => {
  it('names its style by hash and refuses a style that could close its element', () => {
    const page = renderPage('<t>', 'p { color: red }', html`<p>x</p>`);
    expect(page).toContain('<title>&lt;t&gt;</title>');
    expect(page).toMatch(/style-src &#39;sha256-[A-Za-z0-9+/=]{44}&#39;/);
    expect(() => renderPage('t', '</style><script>', html``)).toThrow(RangeError);
  });
});

describe('encodeGreyPng', () => {
  it('writes a picture whose lines inflate to the pixels', () => {
    const pixels = Uint8Array.from({ length: 6 }, (_, i) => i * 40);
    const png = encodeGreyPng(pixels, 3, 2);
    expect(png.subarray(1, 4).toString()).toBe('PNG');
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([3, 2]);
    const length = png.readUInt32BE(33);
    expect(png.subarray(37, 41).toString()).toBe('IDAT');
    expect([...inflateSync(png.subarray(41, 41 + length))]).toEqual([
      0, 0, 40, 80, 0, 120, 160, 200,
    ]);
  });
  it('refuses a wrong number of pixels', () => {
    expect(() => encodeGreyPng(new Uint8Array(5), 3, 2)).toThrow(/5 pixels are not 3 x 2/);
  });
});

describe('lineChart', () => {
  const draw = (points: { x: number; y: number }[]): string =>
    lineChart('<t>', {
      xLabel: 'x',
      yLabel: 'y',
      logarithmic: { x: true },
      lines: [{ name: 'a', points, marked: 0 }],
      formatY: (y) => `${y} y`,
    }).text;

  it('places points between round ticks, decades evenly', () => {
    const text = draw([
      { x: 0.01, y: 3 },
      { x: 0.1, y: 10 },
      { x: 1, y: 5 },
    ]);
    const path = /points="([^"]*)"/.exec(text)?.[1] ?? '';
    const [a, b, c] = path.split(' ').map((place) => place.split(',').map(Number));
    expect(b?.[0]).toBeCloseTo(((a?.[0] ?? NaN) + (c?.[0] ?? NaN)) / 2, 6);
    // y from 2 to 10: 3 lies an eighth above the lowest line, 5 three eighths
    const [low = NaN, high = NaN, middle = NaN] = [a?.[1], b?.[1], c?.[1]];
    expect((low - middle) / (low - high)).toBeCloseTo(2 / 7, 2);
    expect([...text.matchAll(/>\s*(\d+) y\s*</g)].map((tick) => Number(tick[1]))).toEqual([
      2, 4, 6, 8, 10,
    ]);
    expect([...text.matchAll(/text-anchor="middle"\s*>([\d.]+)</g)].map((tick) => tick[1])).toEqual(
      ['0.01', '0.1', '1'],
    );
    expect(text).toContain('<title>&lt;t&gt;</title>');
  });

  it('draws several lines over the same axes, evenly without logarithms', () => {
    const { text } = lineChart('t', {
      xLabel: 'x',
      yLabel: 'y',
      logarithmic: { y: true },
      lines: [
        {
          name: 'a',
          points: [
            { x: 0, y: 0.1 },
            { x: 10, y: 10 },
          ],
        },
        { name: '<b>', points: [{ x: 5, y: 1 }] },
      ],
    });
    const found = [...text.matchAll(/points="([^"]*)"/g)].map(([, list = '']) =>
      list.split(' ').map((place) => place.split(',').map(Number)),
    );
    const [[first = [], last = []] = [], [middle = []] = []] = found;
    for (const k of [0, 1]) {
      expect(middle[k]).toBeCloseTo(((first[k] ?? NaN) + (last[k] ?? NaN)) / 2, 6);
    }
    expect(text).toMatch(/class="curve line1"[^]*<title>&lt;b&gt;<\/title>/);
    expect(text).not.toContain('<circle');
  });

  it('draws one point and equal values', () => {
    for (const points of [[{ x: 1, y: 0.5 }], [1, 2].map((x) => ({ x, y: 0.5 }))]) {
      expect(draw(points)).not.toMatch(/NaN|Infinity/);
    }
  });
});
