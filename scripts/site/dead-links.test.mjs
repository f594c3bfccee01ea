import { expect, it } from 'vitest';
import { deadLinks } from './dead-links.mjs';

const pages = new Map([
  [
    'index.html',
    '<h1 id="top">a</h1><a href="/guide/b.html#part">b</a><a href="https://else">c</a>',
  ],
  [
    'guide/b.html',
    '<h2 id="part">b</h2><a href="../">up</a><img src="/p.png"><a href="#part">here</a>',
  ],
]);
const isFile = (/** @type {string} */ file) => file === 'p.png';

it('finds nothing where all links lead somewhere', () => {
  expect(deadLinks(pages, isFile)).toEqual([]);
});

it.each([
  ['a page', '<a href="c.html">c</a>', 'c.html'],
  ['a heading', '<a href="/#bottom">c</a>', '/#bottom'],
  ['a heading of the page itself', '<a href="#no">c</a>', '#no'],
  ['a picture', '<img src="q.png">', 'q.png'],
])('finds %s that is not there', (_, html, link) => {
  const worse = new Map([...pages, ['guide/d.html', html]]);
  expect(deadLinks(worse, isFile)).toEqual([`guide/d.html: ${link}`]);
});

it('reads no scripts', () => {
  const html = '<script>const a = \' href="/nowhere"\';</script>';
  expect(deadLinks(new Map([['a.html', html]]), isFile)).toEqual([]);
});
