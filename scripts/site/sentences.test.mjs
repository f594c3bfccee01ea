import { expect, it } from 'vitest';
import { MOST_WORDS, mean, prose, sentenceLengths, wordsOfPages } from './sentences.mjs';

it('counts words of sentences, over line breaks', () => {
  expect(sentenceLengths('One two three. Four\nfive six seven!\n\nEight nine ten')).toEqual([
    3, 4, 3,
  ]);
});

it('knows the end of a sentence inside emphasis and brackets', () => {
  expect(
    sentenceLengths(
      '**One two three.** Four five six. (Seven eight nine.) Ten _one two._ And three more',
    ),
  ).toEqual([3, 3, 3, 3, 3]);
});

it('leaves out code, tables, headings and front matter', () => {
  const text =
    '---\ntitle: a b c d\n---\n# a b c d\n| a | b c d |\n```ts\na b c d.\n```\n<!-- a b c d -->\nOne two three.';
  expect(sentenceLengths(text)).toEqual([3]);
});

it('counts items of a list apart, links by their text and code as a word', () => {
  expect(sentenceLengths('- one two three\n- see [the page](a/b c.md) of `x + y`')).toEqual([3, 5]);
});

it('gives the mean, of nothing 0', () => {
  expect([mean([3, 5]), mean([])]).toEqual([4, 0]);
});

it('finds no page whose sentences are too long', () => {
  const files = prose();
  expect(files).toEqual(
    expect.arrayContaining([
      'README.md',
      'docs/site/guide/deploying.md',
      'docs/adr/0001-packages-and-layers.md',
      'docs/lab/README.md',
      'docs/performance/pairwise.md',
      'packages/core/README.md',
      'packages/cuda-runtime/native/DESIGN.md',
    ]),
  );
  expect(wordsOfPages(files).filter(({ words }) => words > MOST_WORDS)).toEqual([]);
});
