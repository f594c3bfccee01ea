import { expect, it } from 'vitest';
import { galleryPages, introduction, programs } from './gallery.mjs';

it('takes a short first sentence as the title', () => {
  expect(introduction('02-sums', '// 2. Short sums: of rows\n//    and columns.\nf();')).toEqual({
    title: 'Short sums',
    about: 'Of rows and columns.',
  });
});

it('leaves a name in code that begins the next sentence', () => {
  expect(introduction('02-sums', '// 2. Sums. sumTo adds.\nf();').about).toBe('sumTo adds.');
});

it('takes the name where the first sentence is long', () => {
  const sentence = 'a'.repeat(61);
  expect(introduction('02-short-sums', `// 2. ${sentence}. B\nf();`)).toEqual({
    title: 'Short sums',
    about: `A${'a'.repeat(60)}. B`,
  });
});

it('has a page with output for every program', () => {
  const pages = galleryPages();
  expect(pages).toHaveLength(programs().length + 1);
  for (const { page, text } of pages.slice(1)) expect(text, page).toContain('## Output');
});
