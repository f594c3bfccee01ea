import { describe, expect, it } from 'vitest';
import { isRelative, mapLinks, resolveLink } from './links.mjs';

const marked = (/** @type {string} */ text) => mapLinks(text, (target) => `<${target}>`);

describe('mapLinks', () => {
  it('changes links and pictures of prose', () => {
    expect(marked('See [a](b.md#c) and ![d](e.svg).')).toBe('See [a](<b.md#c>) and ![d](<e.svg>).');
    expect(marked('[`code`](b.md)')).toBe('[`code`](<b.md>)');
    expect(marked('<img src="a.png">')).toBe('<img src="<a.png>">');
  });

  it('leaves code alone', () => {
    const text = '```ts\nx[0](y);\n```\n`x[0](y)`\n\n    x[0](y)';
    expect(marked(text)).toBe(text);
    expect(marked('````md\n```\n[a](b)\n```\n````\n[a](b)')).toBe(
      '````md\n```\n[a](b)\n```\n````\n[a](<b>)',
    );
  });
});

it('tells links to files beside the page from others', () => {
  const targets = ['a.md', '../b', '#c', '/d', 'https://e', 'mailto:f'];
  expect(targets.filter(isRelative)).toEqual(['a.md', '../b']);
});

it('resolves links from the linking file', () => {
  const link = resolveLink('docs/adr/README.md', '../lab/#notes');
  expect(link).toEqual({ file: 'docs/lab', anchor: '#notes' });
});
