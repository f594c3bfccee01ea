import { describe, expect, it } from 'vitest';
import { includeSections, sectionOf, titleOf } from './sections.mjs';

const page = [
  '# The `title`',
  'first',
  '```sh',
  '# no heading',
  '```',
  '## One',
  'a',
  '### Inside',
  'b',
  '## Two',
  'c',
].join('\n');

describe('sectionOf', () => {
  it('ends before the next heading of its level', () => {
    expect(sectionOf(page, 'One')).toBe('a\n### Inside\nb');
    expect(sectionOf(page, 'Two')).toBe('c');
  });

  it('gives of the title what stands before the first other heading', () => {
    expect(sectionOf(page, 'The `title`')).toBe('first\n```sh\n# no heading\n```');
  });

  it('says which heading is missing', () => {
    expect(() => sectionOf(page, 'no heading')).toThrow('There is no heading "no heading".');
  });
});

it('includes sections where a page asks for them', () => {
  const read = (/** @type {string} */ file, /** @type {string} */ heading) =>
    `<${file}|${heading}>`;
  expect(includeSections('a\n<!-- include B.md#What it does -->\nc', read)).toBe(
    'a\n<B.md|What it does>\nc',
  );
  expect(includeSections('<!-- other -->', read)).toBe('<!-- other -->');
});

it('gives titles without marks of code', () => {
  expect(titleOf(page)).toBe('The title');
});
