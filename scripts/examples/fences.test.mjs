import { describe, expect, it } from 'vitest';
import { docstringFences, markdownFences } from './fences.mjs';

const lines = (/** @type {string[]} */ ...text) => text.join('\n');

describe('markdownFences', () => {
  it('finds each ts fence with its line, and no other language', () => {
    const text = lines(
      '# A',
      '```ts',
      'const a = 1;',
      '```',
      '```sh',
      'ls',
      '```',
      '```ts',
      'b();',
      '```',
    );
    expect(markdownFences('a.md', text)).toEqual([
      { file: 'a.md', line: 2, code: 'const a = 1;', noRun: undefined, problem: undefined },
      { file: 'a.md', line: 8, code: 'b();', noRun: undefined, problem: undefined },
    ]);
  });

  it.each(['no-run: needs a GPU', 'no-run needs a GPU', 'no-run (needs a GPU)'])(
    'takes the reason of %s',
    (info) => {
      const [fence] = markdownFences('a.md', lines(`\`\`\`ts ${info}`, 'x();', '```'));
      expect(fence).toMatchObject({ noRun: 'needs a GPU', problem: undefined });
    },
  );

  it('takes the reason from a comment on the first line', () => {
    const [fence] = markdownFences('a.md', lines('```ts no-run', '// needs a GPU', 'x();', '```'));
    expect(fence).toMatchObject({ noRun: 'needs a GPU', problem: undefined });
  });

  it('refuses no-run without a reason, and words it does not know', () => {
    const [bare] = markdownFences('a.md', lines('```ts no-run', 'x();', '```'));
    expect(bare).toMatchObject({ problem: 'no-run without a reason beside it' });
    const [unknown] = markdownFences('a.md', lines('```ts norun', 'x();', '```'));
    expect(unknown?.problem).toContain('norun');
  });
});

describe('docstringFences', () => {
  it('strips the stars and counts lines of the file', () => {
    const text = lines(
      'const x = 1;',
      '/**',
      ' * Adds.',
      ' * ```ts',
      ' * if (x) {',
      ' *   add();',
      ' * }',
      ' * ```',
      ' */',
    );
    expect(docstringFences('a.ts', text)).toEqual([
      {
        file: 'a.ts',
        line: 4,
        code: 'if (x) {\n  add();\n}',
        noRun: undefined,
        problem: undefined,
      },
    ]);
  });

  it('ignores fences outside docstrings', () => {
    expect(docstringFences('a.ts', lines('// ```ts', '// x', '// ```'))).toEqual([]);
  });
});
