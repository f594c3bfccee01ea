import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { nativeTexts } from './native-texts.js';
import { TILE_OPERATIONS } from './operations.js';

const runtime = new URL('../../../cpu-runtime/', import.meta.url);

describe('the text that the addon was built from', () => {
  it('is what the emitter writes (else run pnpm build)', () => {
    const files = nativeTexts();
    expect(readdirSync(new URL('build/generated/', runtime)).sort()).toEqual(
      [...files.keys()].sort(),
    );
    for (const [name, text] of files) {
      expect(readFileSync(new URL(`build/generated/${name}`, runtime), 'utf8') === text, name).toBe(
        true,
      );
    }
  });

  it('has the operations of programs in the same order', () => {
    const files = ['native/interpreter/operations.inc', 'build/generated/functions.inc'];
    const text = files.map((name) => readFileSync(new URL(name, runtime), 'utf8')).join('\n');
    const rows = text.matchAll(/^MERCER_(UNARY|BINARY|COMPARISON|TERNARY|TABLE)\((\w+),/gm);
    expect([...rows].map(([, , name]) => name)).toEqual([...TILE_OPERATIONS]);
  });
});
