import { describe, expect, it } from 'vitest';
import { cpp, indent, lines } from './text.js';

describe('C++ as a template', () => {
  it('takes away what all lines are indented by, and the breaks at both ends', () => {
    expect(cpp`
      if (x) {
        y();

      }
    `).toBe('if (x) {\n  y();\n\n}');
    expect(cpp`one();`).toBe('one();');
  });

  it('puts whole lines as far in as their hole stands', () => {
    const body = 'a();\n\nif (b) {\n  c();\n}';
    expect(cpp`
      {
        ${body}
      }
    `).toBe(`{\n${indent(body)}\n}`);
    expect(cpp`
        ${'first();\nsecond();'}
      third();
    `).toBe('  first();\n  second();\nthird();');
  });

  it('leaves out the line of a hole in which there is nothing', () => {
    expect(cpp`
      a();
      ${false}
      ${undefined}
      ${''}
      ${[false, '', undefined]}
      b();
    `).toBe('a();\nb();');
    expect(cpp`
      ${false}
    `).toBe('');
  });

  it('takes lists of lines, and numbers within lines', () => {
    expect(cpp`
      for (int i = 0; i < ${8}; i += ${2}) {
        ${['a();', false, 'b();']}
      }
    `).toBe(lines('for (int i = 0; i < 8; i += 2) {', '  a();', '  b();', '}'));
  });

  it('keeps what a text says as it is, with dollar signs and backslashes', () => {
    expect(cpp`a ${'$& $1 \\n'} b`).toBe('a $& $1 \\n b');
  });

  it('gives the same template other holes', () => {
    const of = (n: number, more: string): string => cpp`
      x[${n}];
      ${more}
    `;
    expect([of(1, ''), of(2, 'y;')]).toEqual(['x[1];', 'x[2];\ny;']);
  });
});
