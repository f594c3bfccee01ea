import { inflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { escapeHtml, html } from './escape-html.js';
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
